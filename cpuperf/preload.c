#include "preload.h"

#include "base/array.h"
#include "base/buf.h"
#include "calls/calls.h"
#include "heap.h"
#include "parts.h"
#include "plan/plan.h"
#include "session/session.h"
#include "target/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_BYTES = 128 << 10 };

static bool find_functions(const struct spec_list *command, char library[PATH_MAX])
{
	struct err none = {0};

	(void)command; /* else its events are the kernel's (calls/agent.c) */
	return part_check_preload(PART_FUNCTIONS, library, &none) == 0;
}

/* In the order in which they are loaded: nothing may answer malloc before the agent of the heap. */
static const struct {
	const char *variable;
	bool (*find)(const struct spec_list *command, char library[PATH_MAX]);
} libraries[] = {
    {"CPUPERF_HEAP", heap_find_library},
    {"CPUPERF_FUNCTIONS", find_functions},
};

void preload_check(struct plan *plan)
{
	char library[PATH_MAX];
	struct err e = {0};

	if (!ARRAY_ANY(p, plan->events, plan->nr_events, p->source == &calls_agent_source) ||
	    part_check_preload(PART_FUNCTIONS, library, &e) == 0)
		return;
	plan->compiled_refused =
	    arena_printf(&plan->arena, "%.140s%s%.110s", e.msg, *e.hint ? ": " : "", e.hint)
		?: "libcpuperf-functions.so cannot be loaded";
}

int preload_set_variables(struct target_command *c, const struct plan *plan,
			  const struct session *s, struct err *e)
{
	const char *own = getenv("LD_PRELOAD");
	BUF_AUTO(all, MAX_BYTES);
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(libraries) && rc == 0; i++) {
		const char *socket = session_socket(s, libraries[i].variable);
		char library[PATH_MAX];

		if (!socket || !libraries[i].find(&plan->spec->target.command, library))
			continue;
		buf_printf(&all, "%s%s", all.len ? ":" : "", library);
		rc = target_command_set_variable(c, libraries[i].variable, socket, e);
	}
	if (rc || !all.len)
		return rc;
	if (own && *own)
		buf_printf(&all, ":%s", own);
	if (buf_error(&all))
		return err_set(e, buf_error(&all), "LD_PRELOAD is too long");
	return target_command_set_variable(c, "LD_PRELOAD", buf_str(&all), e);
}
