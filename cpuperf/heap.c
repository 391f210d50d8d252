#include "heap.h"

#include "base/array.h"
#include "base/buf.h"
#include "guests.h"
#include "session/plan.h"
#include "target/command.h"
#include "wire/loadable.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PRELOAD_BYTES = 128 << 10 };

static bool has_events(const struct plan *plan)
{
	return ARRAY_ANY(p, plan->events, plan->nr_events, event_heap(&p->event) >= 0);
}

/* Of the entries, which colons or spaces separate. */
static bool preloads_sanitizer(const char *list)
{
	for (size_t len; *list; list += len + !!list[len]) {
		len = strcspn(list, ": ");
		if (loadable_is_sanitizer(list, len))
			return true;
	}
	return false;
}

bool heap_is_measurable(const struct plan *plan, char reason[HEAP_REASON_BYTES])
{
	const struct spec_list *command = &plan->spec->target.command;
	struct loadable_judged judged;
	char library[PATH_MAX];

	if (!has_events(plan) || !command->nr)
		return true;
	if (!guests_find(CPUPERF_AGENT_FROM_BIN, library)) {
		snprintf(reason, HEAP_REASON_BYTES, "libcpuperf-agent.so is not installed");
		return false;
	}
	if (preloads_sanitizer(getenv("LD_PRELOAD") ?: "")) {
		snprintf(reason, HEAP_REASON_BYTES,
			 "LD_PRELOAD has a sanitizer, which must be the first in front of malloc");
		return false;
	}
	loadable_judge_named(getenv("PATH"), command->item[0], &judged);
	snprintf(reason, HEAP_REASON_BYTES, "%s %s", judged.name, loadable_reason(judged.answer));
	/* what is not there is an error of exec */
	return judged.answer == LOADABLE_YES || judged.answer == LOADABLE_UNREADABLE;
}

/* Before what else is preloaded: an allocator there would answer the calls. */
int heap_set_variables(struct target_command *c, const char *socket, struct err *e)
{
	const char *own = getenv("LD_PRELOAD");
	char library[PATH_MAX];
	BUF_AUTO(all, MAX_PRELOAD_BYTES);

	if (!guests_find(CPUPERF_AGENT_FROM_BIN, library))
		return 0;
	buf_printf(&all, "%s%s%s", library, own && *own ? ":" : "", own ? own : "");
	if (buf_error(&all))
		return err_set(e, buf_error(&all), "LD_PRELOAD is too long");
	return target_command_set_variable(c, "CPUPERF_HEAP", socket, e)
		   ?: target_command_set_variable(c, "LD_PRELOAD", buf_str(&all), e);
}
