/*
 * Reads the values of processes by an iterator in the kernel (bpf/tasks.h): all of them at once,
 * when they are listed. What it does not read comes from /proc (process/proc.c), and so does all
 * of a process whose threads end too often while it is read, and all of all from the reading on at
 * which the iterator fails.
 */
#include "process/tasks.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/root.h"
#include "bpf/tasks.h"
#include "process/task_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BIT(n) (1u << (n))

enum {
	MEMORY = BIT(PROCESS_RSS) | BIT(PROCESS_VMS) | BIT(PROCESS_SHARED) | BIT(PROCESS_PEAK_RSS),
	IO = BIT(PROCESS_READ_BYTES) | BIT(PROCESS_WRITE_BYTES),
	FIELDS = MEMORY | IO | BIT(PROCESS_CPU_TIME) | BIT(PROCESS_RUN_DELAY) |
		 BIT(PROCESS_THREADS) | BIT(PROCESS_MINOR_FAULTS) | BIT(PROCESS_MAJOR_FAULTS) |
		 BIT(PROCESS_FAULTS),
};

/* What /proc does not have of threads that have ended. */
enum { NR_OF_THREADS = 3 };
static const enum process_field of_threads[NR_OF_THREADS] = {PROCESS_RUN_DELAY, PROCESS_READ_BYTES,
							     PROCESS_WRITE_BYTES};

static const struct process_reader *const proc = &process_proc_reader;

struct reader {
	struct root root;
	uint32_t wanted, by_tasks; /* bits of fields; the latter are read by the iterator */
	struct tasks *tasks;       /* NULL: it has failed */
	void *names;               /* of /proc: names, and the fields that the iterator lacks */
	void *all;                 /* of /proc: all fields; NULL: they were not needed yet */
	struct bpf_tasks_process *list;   /* of the last reading; by number, ascending */
	struct bpf_tasks_thread *threads; /* the further ones; by process and number, ascending */
	size_t nr, room, nr_threads, threads_room;
	size_t at; /* the process after the one found last */
	uint64_t page_bytes;
};

/* What /proc has of a process. */
struct of_proc {
	void *process;
	struct process_values values;
};

struct watched {
	uint32_t pid;
	uint64_t start_ns;
	struct of_proc *rest, *all; /* owned: of reader.names and reader.all; NULL: not attached */
	struct task first;
	struct task_table others;
	uint64_t unseen_ns, nr_unseen; /* of threads that ended: CPU time that was not read */
	uint64_t before[NR_OF_THREADS],
	    nr_missed_before; /* since the iterator failed: until then */
	bool is_of_all;       /* the last values are of reader.all alone */
};

uint32_t process_tasks_fields(void)
{
	return FIELDS;
}

/* ---- reading */

static int add(const struct bpf_tasks_process *process, const struct bpf_tasks_thread *thread,
	       void *arg)
{
	struct reader *r = arg;
	struct bpf_tasks_process *p = NULL;
	struct bpf_tasks_thread *t = NULL;

	if (r->nr + r->nr_threads >= PROC_IDS_MAX)
		return -EFBIG;
	if (process && (p = MEM_ADD(r->list, r->nr, r->room)))
		*p = *process;
	else if (thread && (t = MEM_ADD(r->threads, r->nr_threads, r->threads_room)))
		*t = *thread;
	return p || t ? 0 : -ENOMEM;
}

static int compare_threads(const void *a, const void *b)
{
	const struct bpf_tasks_thread *x = a, *y = b;

	return x->process != y->process ? (x->process > y->process) - (x->process < y->process)
					: (x->pid > y->pid) - (x->pid < y->pid);
}

/* What is not in ascending order, as a kernel in error might write, must not be found twice. */
static int check_order(const struct reader *r)
{
	for (size_t i = 1; i < r->nr; i++)
		if (r->list[i].first.pid <= r->list[i - 1].first.pid)
			return -EIO;
	return 0;
}

static int read_tasks(struct reader *r)
{
	int rc;

	r->nr = r->nr_threads = r->at = 0;
	rc = tasks_read(r->tasks, add, r) ?: check_order(r);
	order_sort(r->threads, r->nr_threads, sizeof(*r->threads), compare_threads);
	return rc;
}

static const struct bpf_tasks_process *find(const struct reader *r, uint32_t pid)
{
	size_t at = r->at;

	if (at >= r->nr || r->list[at].first.pid != pid)
		at = ORDER_FIRST(i, r->nr, r->list[i].first.pid >= pid);
	return at < r->nr && r->list[at].first.pid == pid ? &r->list[at] : NULL;
}

static int need_all(struct reader *r)
{
	return r->all ? 0 : proc->open(&r->root, r->wanted, &r->all);
}

static int list_tasks(void *state, struct proc_ids *out)
{
	struct reader *r = state;
	uint32_t *ids;
	int rc = r->tasks ? read_tasks(r) : -ENOTSUP;

	if (rc && r->tasks) { /* from now on /proc is read */
		tasks_close(r->tasks);
		r->tasks = NULL;
		r->nr = r->nr_threads = 0;
	}
	if (rc)
		return need_all(r) ?: proc->list(r->all, out);
	if (out->cap < r->nr) {
		ids = mem_resize(out->list, 2 * r->nr * sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		out->list = ids;
		out->cap = 2 * r->nr;
	}
	for (out->nr = 0; out->nr < r->nr; out->nr++)
		out->list[out->nr] = r->list[out->nr].first.pid;
	return 0;
}

/* ---- one process */

static void detach_proc(void *of_reader, struct of_proc *p)
{
	if (p)
		proc->detach(of_reader, p->process);
	mem_free(p);
}

/* 0, -ESRCH or -ENOMEM. */
static int read_proc(void *of_reader, uint32_t pid, struct of_proc **p)
{
	int rc = 0;

	if (!*p) {
		*p = mem_zalloc(sizeof(**p));
		rc = *p ? proc->attach(of_reader, pid, &(*p)->process) : -ENOMEM;
		if (rc) {
			mem_free(*p);
			*p = NULL;
		}
	}
	return rc ?: proc->read(of_reader, (*p)->process, &(*p)->values);
}

static void detach_tasks(void *state, void *process)
{
	struct reader *r = state;
	struct watched *w = process;

	detach_proc(r->names, w->rest);
	detach_proc(r->all, w->all);
	task_table_fini(&w->others);
	mem_free(w);
}

static int attach_tasks(void *state, uint32_t pid, void **process)
{
	struct reader *r = state;
	const struct bpf_tasks_process *p = r->tasks ? find(r, pid) : NULL;
	struct watched *w;

	if (r->tasks && !p)
		return -ESRCH;
	w = mem_zalloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->pid = pid;
	w->start_ns = p ? p->start_ns : 0;
	*process = w;
	return 0;
}

static void set(const struct reader *r, struct process_values *out, enum process_field field,
		uint64_t value)
{
	if (!(r->by_tasks & BIT(field)))
		return;
	out->of[field] = value;
	out->has |= BIT(field);
}

/* Numbers of pages are those of the kernel; the product fits for every address space. */
static void set_memory(const struct reader *r, const struct bpf_tasks_process *p,
		       struct process_values *out)
{
	set(r, out, PROCESS_VMS, p->vms_pages * r->page_bytes);
	set(r, out, PROCESS_RSS, p->rss_pages * r->page_bytes);
	set(r, out, PROCESS_SHARED, p->shared_pages * r->page_bytes);
	set(r, out, PROCESS_PEAK_RSS, p->peak_pages * r->page_bytes);
}

static void set_counters(const struct reader *r, const struct bpf_tasks_process *p,
			 struct process_values *out)
{
	set(r, out, PROCESS_CPU_TIME, p->cpu_ns);
	set(r, out, PROCESS_MINOR_FAULTS, p->minor_faults);
	set(r, out, PROCESS_MAJOR_FAULTS, p->major_faults);
	set(r, out, PROCESS_FAULTS, p->minor_faults + p->major_faults);
	set(r, out, PROCESS_READ_BYTES, p->read_bytes);
	set(r, out, PROCESS_WRITE_BYTES, p->write_bytes);
	set(r, out, PROCESS_THREADS, p->nr_threads);
}

static void drop_nothing(struct task *gone, void *arg)
{
	(void)gone;
	(void)arg;
}

/* The table of the process's further threads is that of the last reading. -ENOMEM. */
static int read_threads(struct reader *r, struct watched *w)
{
	size_t at = ORDER_FIRST(i, r->nr_threads, r->threads[i].process >= w->pid), end = at;
	const struct bpf_tasks_thread *list = at < r->nr_threads ? &r->threads[at] : NULL;
	MEM_AUTO uint32_t *ids = NULL;
	int rc;

	while (end < r->nr_threads && r->threads[end].process == w->pid)
		end++;
	if (at == end && !w->others.nr)
		return 0;
	ids = mem_calloc(end - at + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < end - at; i++)
		ids[i] = list[i].pid;
	rc = task_table_sync(&w->others, ids, end - at, drop_nothing, NULL);
	for (size_t i = 0; i < end - at && rc == 0; i++)
		task_table_set(&w->others, &w->others.list[i],
			       &(struct task_times){list[i].cpu_ns, list[i].delay_ns});
	return rc;
}

/* Of threads that ended, the kernel adds up the CPU time, not the delay: what they used after their
 * last reading shows in the former alone. */
static int set_delay(struct reader *r, struct watched *w, const struct bpf_tasks_process *p,
		     struct process_values *out)
{
	struct task_times sum;
	uint64_t unseen_ns;
	int rc = read_threads(r, w);

	if (rc)
		return rc;
	task_table_set(&w->others, &w->first,
		       &(struct task_times){p->first.cpu_ns, p->first.delay_ns});
	task_table_sum(&w->others, &sum);
	unseen_ns = p->ended_ns > w->others.past.cpu_ns ? p->ended_ns - w->others.past.cpu_ns : 0;
	if (unseen_ns > w->unseen_ns)
		w->nr_unseen++;
	w->unseen_ns = unseen_ns;
	set(r, out, PROCESS_RUN_DELAY, sum.delay_ns + w->first.last.delay_ns);
	out->missed = BIT(PROCESS_RUN_DELAY);
	out->nr_missed = w->nr_unseen + w->others.nr_ended;
	return 0;
}

static void copy(const struct process_values *from, uint32_t fields, struct process_values *to)
{
	for (int f = 0; f < PROCESS_NR_FIELDS; f++)
		if (fields & from->has & BIT(f))
			to->of[f] = from->of[f];
	to->has |= fields & from->has;
}

/* 0; -ESRCH: it has ended since the iterator saw it; -ENOMEM. */
static int read_rest(struct reader *r, struct watched *w, struct process_values *out)
{
	const struct process_values *rest;
	int rc = r->wanted & ~r->by_tasks ? read_proc(r->names, w->pid, &w->rest) : 0;

	if (rc || !w->rest)
		return rc;
	rest = &w->rest->values;
	copy(rest, ~r->by_tasks, out);
	memcpy(out->trouble, rest->trouble, sizeof(out->trouble));
	out->error = rest->error;
	out->is_reopened = rest->is_reopened;
	return 0;
}

static uint64_t ahead(const struct process_values *before, const struct process_values *now,
		      enum process_field field)
{
	bool is_ahead = before->has & BIT(field) && before->of[field] > now->of[field];

	return is_ahead ? before->of[field] - now->of[field] : 0;
}

/* The kernel itself adds threads up while none may end. */
static int read_torn(struct reader *r, struct watched *w, const struct process_values *before,
		     struct process_values *out)
{
	int rc = need_all(r) ?: read_proc(r->all, w->pid, &w->all);

	if (rc)
		return rc;
	copy(&w->all->values, r->by_tasks & ~BIT(PROCESS_RUN_DELAY), out);
	for (size_t i = 0; i < NR_OF_THREADS; i++)
		out->of[of_threads[i]] += ahead(before, out, of_threads[i]);
	out->clock_ns = w->all->values.clock_ns;
	return 0;
}

/* Since the iterator failed. Counters go on from where they are. */
static int read_all(struct reader *r, struct watched *w, struct process_values *out)
{
	const struct process_values before = *out;
	int rc = need_all(r) ?: read_proc(r->all, w->pid, &w->all);

	if (rc)
		return rc;
	*out = w->all->values;
	if (!w->is_of_all) { /* threads that have ended are not in /proc */
		if (out->clock_ns && out->clock_ns < before.clock_ns)
			return -ESRCH; /* another process has the number */
		for (size_t i = 0; i < NR_OF_THREADS; i++)
			w->before[i] = ahead(&before, out, of_threads[i]);
		w->nr_missed_before = before.nr_missed;
	}
	for (size_t i = 0; i < NR_OF_THREADS; i++)
		out->of[of_threads[i]] += w->before[i];
	out->nr_missed += w->nr_missed_before;
	w->is_of_all = true;
	return 0;
}

static int read_process(struct reader *r, struct watched *w, const struct bpf_tasks_process *p,
			struct process_values *out)
{
	const struct process_values before = *out;
	int rc = 0;

	out->time_ns = p->time_ns;
	out->clock_ns = p->cpu_ns;
	out->has = 0;
	memset(out->trouble, 0, sizeof(out->trouble));
	set_counters(r, p, out);
	set_memory(r, p, out);
	if (p->flags & BPF_TASKS_TORN)
		rc = read_torn(r, w, &before, out);
	if (rc == 0 && r->by_tasks & BIT(PROCESS_RUN_DELAY))
		rc = set_delay(r, w, p, out);
	return rc ?: read_rest(r, w, out);
}

static int read_watched(void *state, void *process, struct process_values *values)
{
	struct reader *r = state;
	struct watched *w = process;
	const struct bpf_tasks_process *p;

	if (!r->tasks)
		return read_all(r, w, values);
	p = find(r, w->pid);
	if (!p || p->start_ns != w->start_ns)
		return -ESRCH;
	r->at = (size_t)(p - r->list) + 1;
	return read_process(r, w, p, values);
}

/* ---- the reader */

static uint32_t self_of(const void *state)
{
	const struct reader *r = state;

	return proc->self(r->names);
}

static bool is_of_machine(const void *state)
{
	const struct reader *r = state;

	return proc->is_of_machine(r->names);
}

static int command_of(void *state, uint32_t pid, char out[PROCESS_COMMAND_BYTES])
{
	struct reader *r = state;
	const struct bpf_tasks_process *p = find(r, pid);

	if (!p || p->flags & BPF_TASKS_OF_KERNEL)
		return proc->command(r->names, pid, out);
	snprintf(out, PROCESS_COMMAND_BYTES, "%.*s", (int)sizeof(p->comm), p->comm);
	return 0;
}

static uint32_t parent_of(void *state, uint32_t pid)
{
	struct reader *r = state;
	const struct bpf_tasks_process *p = find(r, pid);

	return p ? p->parent : proc->parent(r->names, pid);
}

static int family_of(void *state, uint32_t pid, void *process, struct process_family *out)
{
	struct reader *r = state;

	(void)process;
	return proc->family(r->names, pid, NULL, out);
}

static uint64_t clock_of(const void *state, uint32_t pid)
{
	const struct reader *r = state;
	const struct bpf_tasks_process *p = find(r, pid);

	return p ? p->cpu_ns : proc->clock(r->names, pid);
}

static void close_tasks(void *state)
{
	struct reader *r = state;

	tasks_close(r->tasks);
	if (r->names)
		proc->close(r->names);
	if (r->all)
		proc->close(r->all);
	mem_free(r->list);
	mem_free(r->threads);
	mem_free(r);
}

/* The kernel that does not account for waiting has counted no run of this process either. */
static void find_fields(struct reader *r)
{
	const struct bpf_tasks_process *self = find(r, (uint32_t)getpid());

	r->by_tasks = r->wanted & FIELDS;
	if (!self || !self->nr_runs)
		r->by_tasks &= ~BIT(PROCESS_RUN_DELAY);
}

static int open_tasks(struct reader *r, struct err *e)
{
	const struct tasks_config config = {
	    .has_memory = r->wanted & MEMORY,
	    .has_io = r->wanted & IO,
	    .has_threads = r->wanted & BIT(PROCESS_RUN_DELAY),
	};
	int rc = tasks_open(&config, &r->tasks, e);

	if (rc)
		return rc;
	rc = read_tasks(r);
	if (rc)
		return err_set(e, rc, "the iterator over tasks fails: %s", strerror(-rc));
	find_fields(r);
	rc = proc->open(&r->root, r->wanted & ~r->by_tasks, &r->names);
	return rc ? err_set(e, rc, "/proc: cannot be read: %s", strerror(-rc)) : 0;
}

int process_tasks_open(const struct root *root, uint32_t wanted, void **state, struct err *e)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	int rc;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->root = *root;
	r->wanted = wanted;
	r->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	rc = open_tasks(r, e);
	if (rc)
		close_tasks(r);
	else
		*state = r;
	return rc;
}

uint32_t process_tasks_by(const void *state)
{
	const struct reader *r = state;

	return r->tasks ? r->by_tasks : 0;
}

const struct process_reader process_tasks_reader = {
    .close = close_tasks,
    .self = self_of,
    .is_of_machine = is_of_machine,
    .list = list_tasks,
    .command = command_of,
    .parent = parent_of,
    .family = family_of,
    .clock = clock_of,
    .attach = attach_tasks,
    .detach = detach_tasks,
    .read = read_watched,
};
