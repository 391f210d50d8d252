#include "experiments/causal_attached.h"

#include "attach/attach.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "parts.h"
#include "proc/proc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static void name_it(struct causal_attached *a)
{
	char comm[32] = "";

	(void)proc_load_line(PROC(&root_live, (uint32_t)a->pid), "comm", comm, sizeof(comm));
	str_disarm(comm);
	snprintf(a->subject, sizeof(a->subject), "process %d (%s)", a->pid, comm);
}

static int find(struct causal_attached *a, struct err *e)
{
	const struct target_choice choice = {.pids = a->pids, .nr_pids = 1, .has_children = true};

	return target_tasks_find(&root_live, &choice, &a->tasks, e);
}

int causal_attached_open(struct causal_attached *a, const char *text, struct err *e)
{
	uint64_t pid;
	int rc;

	snprintf(e->source, sizeof(e->source), "--pid");
	if (str_parse_u64(text, &pid) || !pid || pid > INT32_MAX)
		return err_set(e, -EINVAL, "\"%s\" is not the number of one process", text);
	a->pid = (pid_t)pid;
	snprintf(a->text, sizeof(a->text), "%d", a->pid);
	a->pids[0] = a->text;
	name_it(a);
	rc = part_check(PART_CAUSAL, a->library, e) ?: attach_check(a->pid, a->library, e);
	if (rc)
		return rc;
	a->fd = sys()->pidfd_open(a->pid);
	rc = a->fd < 0 ? a->fd : 0;
	return rc == -ENOSYS ? 0 /* its end is seen as one that passes nothing any more */
	       : rc          ? err_set(e, rc, "process %d: %s", a->pid, strerror(-rc))
			     : find(a, e);
}

void causal_attached_close(struct causal_attached *a)
{
	causal_attached_end(a);
	io_close(&a->fd);
	target_tasks_fini(&a->tasks);
	mem_free(a->in);
	*a = (struct causal_attached){.fd = -1};
}

static int attach_to(struct causal_attached *a, pid_t pid, uint32_t number, struct err *e)
{
	int rc = attach_begin(pid, a->library, number, NULL, e);

	if (rc == 0 || rc == -ETIMEDOUT) /* the call may end by itself, later */
		a->in[a->nr_in++] = pid;
	if (rc == 0 && a->has_marked)
		(void)marked_look(&a->marked, (uint32_t)pid);
	return rc;
}

int causal_attached_begin(struct causal_attached *a, uint32_t number, struct err *e)
{
	int rc;

	a->in = mem_calloc(a->tasks.nr_processes + 1, sizeof(*a->in));
	if (!a->in)
		return err_set(e, -ENOMEM, "out of memory");
	marked_init(&a->marked, &root_live, number);
	a->has_marked = true;
	rc = attach_to(a, a->pid, number, e);
	for (size_t i = 0; i < a->tasks.nr_processes && rc == 0; i++) {
		const pid_t pid = a->tasks.processes[i];
		struct err one = {0};

		if (pid != a->pid &&
		    (attach_check(pid, a->library, &one) || attach_to(a, pid, number, &one)))
			log_warning("--causal: %s", one.msg);
	}
	return rc;
}

void causal_attached_end(struct causal_attached *a)
{
	for (size_t i = 0; i < a->nr_in; i++)
		attach_leave(a->in[i], parts[PART_CAUSAL].name);
	a->nr_in = 0;
	if (!a->has_marked)
		return;
	marked_end(&a->marked);
	marked_fini(&a->marked);
	a->has_marked = false;
}

bool causal_attached_has_ended(const struct causal_attached *a, uint64_t until_ns)
{
	struct pollfd p = {.fd = a->fd, .events = POLLIN};
	const uint64_t now = clock_monotonic_ns(), ns = until_ns > now ? until_ns - now : 0;
	const struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	return ppoll(&p, 1, until_ns == UINT64_MAX ? NULL : &left, NULL) > 0;
}

bool causal_attached_has(const struct causal_attached *a, uint32_t pid)
{
	return ARRAY_ANY(x, a->tasks.processes, a->tasks.nr_processes, (uint32_t)*x == pid);
}
