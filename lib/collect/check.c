/*
 * Whether an event of misc works here: it is read once.
 */
#include "base/err.h"
#include "collect/collect.h"
#include "host/host.h"

#include <stdio.h>
#include <string.h>

/* More than an errno, if its source has more to say. */
static void explain(const struct host *h, const struct event *ev, int error, const struct err *why,
		    struct event_support *out)
{
	event_support_explain(h, ev, error, out);
	if (!why)
		return;
	snprintf(out->reason, sizeof(out->reason), "%.*s", (int)sizeof(out->reason) - 1, why->msg);
	snprintf(out->hint, sizeof(out->hint), "%.*s", (int)sizeof(out->hint) - 1, why->hint);
}

static void read_once(const struct host *h, const struct event *ev, struct event_support *out)
{
	static const char *const self = "0";
	const struct event_row *row = ev->row;
	/* one process does for all: there may be thousands */
	struct collect_choice choice = {&self, row->choice && strcmp(row->choice, "pids") == 0};
	struct collect *c;
	int state, rc = collect_open(&h->root, ev, &choice, 1, &c, &state);

	if (rc) {
		explain(h, ev, -rc, NULL, out);
		return;
	}
	if (state == 0) {
		collect_read(c);
		state = collect_status(c, 0);
	}
	if (state)
		explain(h, ev, -state, collect_why(c, 0), out);
	collect_close(c);
}

void collect_check(const struct host *h, const struct event *ev, struct event_support *out)
{
	event_support_check(h, ev, 0, out);
	if (out->state == READING_OK)
		read_once(h, ev, out);
}
