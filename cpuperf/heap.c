#include "heap.h"

#include "attach/attach.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "guests.h"
#include "session/plan.h"
#include "target/command.h"
#include "wire/loadable.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
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

/* --- processes that run already */

static int find_agent(char library[PATH_MAX], struct err *e)
{
	return guests_find(CPUPERF_AGENT_FROM_BIN, library)
		   ? 0
		   : err_set(e, -ENOENT, "libcpuperf-agent.so is not installed");
}

int heap_check_attach(const struct plan *plan, struct err *e)
{
	const struct spec_list *pids = &plan->spec->target.pids;
	char library[PATH_MAX];
	int rc = 0;

	snprintf(e->source, sizeof(e->source), "--attach");
	if (!has_events(plan))
		return err_set(e, -EINVAL, "no event is of the groups heap or resource");
	rc = find_agent(library, e);
	for (size_t i = 0; !rc && i < pids->nr; i++) {
		uint64_t pid = 0;

		rc = str_parse_u64(pids->item[i], &pid)
			 ? err_set(e, -EINVAL, "%s is no process", pids->item[i])
			 : attach_check((pid_t)pid, library, e);
	}
	return rc;
}

int heap_attach(const pid_t *pid, size_t nr, const char *socket, struct heap_attached *out,
		struct err *e)
{
	const char *digits = strrchr(socket, '-');
	uint32_t number = digits ? (uint32_t)strtoul(digits + 1, NULL, 16) : 0;
	struct attach_figures figures = {0};
	char library[PATH_MAX];
	int rc;

	snprintf(e->source, sizeof(e->source), "--attach");
	*out = (struct heap_attached){.pid = mem_calloc(nr, sizeof(*pid))};
	rc = out->pid ? find_agent(library, e) : err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr && rc == 0; i++) {
		rc = attach_begin(pid[i], library, number, &figures, e);
		if (rc)
			break;
		out->pid[out->nr++] = pid[i];
		log_verbose(1,
			    "process %d: %u entries of %u objects are rewritten; a thread was "
			    "stopped for %.1f ms, at the %u. attempt",
			    pid[i], figures.entries, figures.objects,
			    (double)figures.stopped_ns / 1e6, figures.tries);
	}
	if (rc)
		heap_detach(out);
	return rc;
}

void heap_detach(struct heap_attached *a)
{
	struct attach_figures figures = {0};

	for (size_t i = 0; i < a->nr; i++) {
		struct err e = {0};
		int rc = attach_end(a->pid[i], &figures, &e);

		if (rc == 0)
			log_verbose(1,
				    "process %d is as before; a thread was stopped for %.1f ms, at "
				    "the %u. attempt",
				    a->pid[i], (double)figures.stopped_ns / 1e6, figures.tries);
		else if (rc != -ESRCH)
			log_warning("the agent stays in use, without effect: %s", e.msg);
	}
	mem_free(a->pid);
	*a = (struct heap_attached){.nr = 0};
}
