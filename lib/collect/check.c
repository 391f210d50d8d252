/*
 * Checks whether an event of misc works here, by one reading.
 */
#include "base/err.h"
#include "collect/collect.h"
#include "host/host.h"

#include <stdio.h>
#include <string.h>

/* A sum over processes excludes those that may not be read. */
static void explain_partly(const struct collect *c, struct event_support *out)
{
	uint32_t set = collect_set(c, 0);
	size_t nr[READING_NR_STATES] = {0}, nr_all;

	for (size_t k = 0; set != UINT32_MAX && k < collect_nr_things(c, set); k++) {
		struct things_one thing;
		struct reading r;

		collect_get_thing(c, set, k, &thing);
		if (collect_get_of_thing(c, 0, &thing, &r))
			nr[r.state]++;
	}
	nr_all = nr[READING_OK] + nr[READING_NO_PERMISSION];
	if (!nr[READING_NO_PERMISSION])
		return;
	snprintf(out->reason, sizeof(out->reason), "%zu of %zu processes can be read",
		 nr[READING_OK], nr_all);
	snprintf(out->hint, sizeof(out->hint), "the others need their user, or CAP_SYS_PTRACE");
}

static void read_once(const struct host *h, const struct event *ev,
		      const struct things_choice *choice, struct event_support *out)
{
	const struct err *why;
	struct collect *c;
	const char *note;
	int state, rc = collect_open(&h->root, ev, choice, 1, &c, &state);

	if (rc) {
		event_support_explain(h, ev, -rc, out);
		return;
	}
	if (state == 0) {
		collect_read(c);
		state = collect_status(c, 0);
	}
	if (state) {
		event_support_explain(h, ev, -state, out);
		/* the source's own text is more exact than the errno's */
		why = collect_why(c, 0);
		note = why ? why->msg : collect_note(c);
		if (note)
			snprintf(out->reason, sizeof(out->reason), "%.*s",
				 (int)sizeof(out->reason) - 1, note);
		if (why)
			snprintf(out->hint, sizeof(out->hint), "%.*s", (int)sizeof(out->hint) - 1,
				 why->hint);
	}
	if (!state)
		explain_partly(c, out);
	collect_close(c);
}

int collect_check_follow(const struct host *h, const struct event *ev, struct err *why)
{
	struct collect *c;
	int state, rc = collect_open(&h->root, ev, NULL, 1, &c, &state);

	if (rc)
		return rc;
	rc = collect_follow(c, why);
	collect_close(c);
	return rc;
}

int collect_check_kernel(const struct host *h, const struct event *ev, const char **way,
			 struct err *why)
{
	struct collect *c;
	int state, rc = collect_open(&h->root, ev, NULL, 1, &c, &state);

	if (rc)
		return rc;
	rc = collect_use_kernel(c, why);
	*way = collect_way(c, 0);
	collect_close(c);
	return rc;
}

void collect_check(const struct host *h, const struct event *ev, const struct things_choice *choice,
		   struct event_support *out)
{
	static const char *const self = "0";
	/* of thousands of processes, one is enough if all may be read */
	bool is_process =
	    ev->row->choice && strcmp(ev->row->choice, "pids") == 0 && host_may_trace(&h->root);
	const struct things_choice one = {&self, is_process, NULL};

	event_support_check(h, ev, 0, out);
	if (out->state == READING_OK)
		read_once(h, ev, choice && choice->nr ? choice : &one, out);
}
