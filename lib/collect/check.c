/*
 * Whether an event of misc works here: it is read once.
 */
#include "base/err.h"
#include "collect/collect.h"
#include "host/host.h"

#include <stdio.h>
#include <string.h>

static void set_reason(struct event_support *out, const char *reason, const char *hint)
{
	snprintf(out->reason, sizeof(out->reason), "%.*s", (int)sizeof(out->reason) - 1, reason);
	snprintf(out->hint, sizeof(out->hint), "%.*s", (int)sizeof(out->hint) - 1, hint);
}

static void read_once(const struct host *h, const struct event *ev,
		      const struct collect_choice *choice, struct event_support *out)
{
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
		/* a source has more to say than an errno */
		note = collect_note(c);
		if (collect_why(c, 0))
			set_reason(out, collect_why(c, 0)->msg, collect_why(c, 0)->hint);
		else if (note)
			set_reason(out, note, out->hint);
	}
	collect_close(c);
}

void collect_check(const struct host *h, const struct event *ev,
		   const struct collect_choice *choice, struct event_support *out)
{
	static const char *const self = "0";
	/* one process is enough: there may be thousands */
	bool is_process = ev->row->choice && strcmp(ev->row->choice, "pids") == 0;
	const struct collect_choice one = {&self, is_process};

	event_support_check(h, ev, 0, out);
	if (out->state == READING_OK)
		read_once(h, ev, choice && choice->nr ? choice : &one, out);
}
