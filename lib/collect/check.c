/*
 * Checks whether an event of misc works here, by one reading.
 */
#include "base/err.h"
#include "collect/collect.h"
#include "host/host.h"

#include <stdio.h>
#include <string.h>

static void read_once(const struct host *h, const struct event *ev,
		      const struct collect_choice *choice, struct event_support *out)
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
	collect_close(c);
}

void collect_check(const struct host *h, const struct event *ev,
		   const struct collect_choice *choice, struct event_support *out)
{
	static const char *const self = "0";
	/* one process is enough of what may be thousands */
	bool is_process = ev->row->choice && strcmp(ev->row->choice, "pids") == 0;
	const struct collect_choice one = {&self, is_process};

	event_support_check(h, ev, 0, out);
	if (out->state == READING_OK)
		read_once(h, ev, choice && choice->nr ? choice : &one, out);
}
