#include "heap.h"

#include "attach/attach.h"
#include "base/array.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "parts.h"
#include "plan/plan.h"
#include "wire/loadable.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* library: that which such a program loads at its start. 0, or -errno with *e: it is not installed,
 * or cannot be loaded. */
static int find_library(enum loadable answer, char library[PATH_MAX], struct err *e)
{
	return part_check_preload(answer == LOADABLE_OTHER ? PART_AGENT_I386 : PART_AGENT, library,
				  e);
}

/* A reason has no second line. */
static void set_reason(const struct err *e, char reason[HEAP_REASON_BYTES])
{
	snprintf(reason, HEAP_REASON_BYTES, "%.140s%s%.110s", e->msg, *e->hint ? ": " : "",
		 e->hint);
}

bool heap_is_measurable(const struct plan *plan, char reason[HEAP_REASON_BYTES])
{
	const struct spec_list *command = &plan->spec->target.command;
	struct loadable_judged judged;
	char library[PATH_MAX];
	struct err e = {0};

	if (!has_events(plan) || !command->nr)
		return true;
	if (preloads_sanitizer(getenv("LD_PRELOAD") ?: "")) {
		snprintf(reason, HEAP_REASON_BYTES,
			 "LD_PRELOAD has a sanitizer, which must be the first in front of malloc");
		return false;
	}
	loadable_judge_named(getenv("PATH"), command->item[0], &judged);
	/* what is not there is an error of exec */
	if (judged.answer != LOADABLE_YES && judged.answer != LOADABLE_UNREADABLE &&
	    judged.answer != LOADABLE_OTHER) {
		snprintf(reason, HEAP_REASON_BYTES, "%s %s", judged.name,
			 loadable_reason(judged.answer));
		return false;
	}
	if (find_library(judged.answer, library, &e) == 0)
		return true;
	if (judged.answer == LOADABLE_OTHER) /* which has an agent only where its compiler is */
		snprintf(reason, HEAP_REASON_BYTES, "%.80s %s: %.110s", judged.name,
			 loadable_reason(judged.answer), e.msg);
	else
		set_reason(&e, reason);
	return false;
}

bool heap_find_library(const struct spec_list *command, char library[PATH_MAX])
{
	struct loadable_judged judged;
	struct err none = {0};

	loadable_judge_named(getenv("PATH"), command->item[0], &judged);
	return find_library(judged.answer, library, &none) == 0;
}

/* --- processes that run already */

static int refuse_all(size_t nr, struct err *e)
{
	return err_set(e, -ENOTSUP, "none of the %zu processes can have the agent", nr);
}

/* Those that are named: one at least must do. */
static int check_pids(const struct spec_list *pids, const char *library, struct err *e)
{
	struct err first = *e, ignored;
	int rc = 0;

	for (size_t i = 0; i < pids->nr; i++) {
		uint64_t pid = 0;

		ignored = *e;
		if (str_parse_u64(pids->item[i], &pid) || !pid || pid > INT32_MAX)
			return err_set(e, -EINVAL, "\"%s\" is not a process number", pids->item[i]);
		rc = attach_check((pid_t)pid, library, i ? &ignored : &first);
		if (!rc)
			return 0;
	}
	if (pids->nr == 1)
		*e = first;
	return pids->nr > 1 ? refuse_all(pids->nr, e) : rc;
}

int heap_check_attach(const struct plan *plan, struct err *e)
{
	const struct spec_target *t = &plan->spec->target;
	char library[PATH_MAX];
	int rc;

	snprintf(e->source, sizeof(e->source), "--attach");
	if (!has_events(plan))
		return err_set(e, -EINVAL, "no event is of the groups heap or resource");
	rc = part_check(PART_AGENT, library, e);
	if (rc)
		return rc;
	return t->comms.nr || t->cgroups.nr ? 0 : check_pids(&t->pids, library, e);
}

int heap_attach(const struct plan_target *t, const char *socket, struct heap_attached *out,
		struct err *e)
{
	const char *digits = strrchr(socket, '-');
	uint32_t number = digits ? (uint32_t)strtoul(digits + 1, NULL, 16) : 0;
	char library[PATH_MAX];
	int rc;

	snprintf(e->source, sizeof(e->source), "--attach");
	if (!t->nr_agents)
		return err_set(e, -ESRCH, "the control group has no process");
	*out = (struct heap_attached){.pid = mem_calloc(t->nr_agents, sizeof(*out->pid))};
	rc = out->pid ? part_check(PART_AGENT, library, e) : err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->nr_agents && rc == 0; i++) {
		struct err one = *e;
		int refused = attach_check(t->agents[i], library, &one)
				  ?: attach_begin(t->agents[i], library, number, NULL, &one);

		if (!refused)
			out->pid[out->nr++] = t->agents[i];
		else if (t->nr_agents > 1)
			log_warning("--attach: %s", one.msg);
		else
			*e = one, rc = refused;
	}
	if (rc == 0 && !out->nr)
		rc = refuse_all(t->nr_agents, e);
	if (rc)
		heap_detach(out);
	return rc;
}

void heap_detach(struct heap_attached *a)
{
	for (size_t i = 0; i < a->nr; i++)
		attach_leave(a->pid[i], parts[PART_AGENT].name);
	mem_free(a->pid);
	*a = (struct heap_attached){.nr = 0};
}
