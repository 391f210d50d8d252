/*
 * Queries the tables and caches the answers, each with the ranges of time and addresses in which it
 * holds: samples come from few threads and few places at a time.
 */
#include "base/mem.h"
#include "profile/processes_internal.h"
#include "trace/record.h"

enum { NR_TASKS = 256, NR_PLACES = 1024, PAGE_SHIFT = 12 };

struct known_task {
	uint64_t from_ns, to_ns; /* to_ns 0: empty */
	uint32_t pid, tid;
	struct profile_task task;
};

struct known_place {
	const struct profile_process *process;
	struct profile_found found; /* to_ns 0: empty */
};

struct profile_lookup {
	const struct profile_processes *p;
	struct known_task tasks[NR_TASKS];
	struct known_place places[NR_PLACES];
};

struct profile_lookup *profile_lookup_new(const struct profile_processes *p)
{
	struct profile_lookup *l = mem_zalloc(sizeof(*l));

	if (l)
		l->p = p;
	return l;
}

void profile_lookup_free(struct profile_lookup *l)
{
	mem_free(l);
}

const struct profile_processes *profile_lookup_processes(const struct profile_lookup *l)
{
	return l->p;
}

/* Life i; NULL if it is another pid's, or none. */
static const struct profile_process *find_life(const struct profile_processes *p, size_t i,
					       uint32_t pid)
{
	const struct profile_process *l = i < p->nr_lives ? &p->lives[i].process : NULL;

	return l && l->pid == pid ? l : NULL;
}

static void find_process(const struct profile_processes *p, uint64_t time_ns, struct known_task *k)
{
	size_t i = profile_lives_until(p, k->pid, time_ns);
	const struct profile_process *l = find_life(p, i - 1, k->pid);
	const struct profile_process *next = find_life(p, i, k->pid);

	k->task.process = l ? l : profile_stranger(p->strangers, k->pid, (uint32_t)p->nr_lives);
	k->from_ns = l ? l->from_ns : 0;
	k->to_ns = next ? next->from_ns : UINT64_MAX;
}

static const struct profile_naming *find_naming(const struct profile_processes *p, size_t i,
						uint32_t tid)
{
	const struct profile_naming *n = i < p->nr_namings ? &p->namings[i] : NULL;

	return n && n->tid == tid ? n : NULL;
}

static bool is_idle(const struct known_task *k)
{
	return k->pid == 0 && k->tid == 0;
}

/* A thread has no number while it ends: the kernel has freed it. */
static bool has_ended(const struct known_task *k)
{
	return k->tid == TRACE_UNKNOWN && k->pid != TRACE_UNKNOWN;
}

/* After the process: intersects the intervals of both. */
static void find_comm(const struct profile_processes *p, uint64_t time_ns, struct known_task *k)
{
	size_t i = profile_namings_until(p, k->tid, time_ns);
	const struct profile_naming *n = find_naming(p, i - 1, k->tid);
	const struct profile_naming *next = find_naming(p, i, k->tid);
	uint32_t comm = n              ? n->comm
			: is_idle(k)   ? PROFILE_COMM_IDLE
			: has_ended(k) ? PROFILE_COMM_ENDED
				       : PROFILE_COMM_UNKNOWN;

	if (n && n->from_ns > k->from_ns)
		k->from_ns = n->from_ns;
	if (next && next->from_ns < k->to_ns)
		k->to_ns = next->from_ns;
	k->task.comm = dict_at(&p->comms.items, comm);
}

/* A thread begins with a name or with its process, so the interval needs no change. */
static void find_thread(const struct profile_processes *p, uint64_t time_ns, struct known_task *k)
{
	size_t i = profile_threads_until(p, k->tid, time_ns);
	const struct profile_thread *t = p->threads;
	bool has_last = i && t[i - 1].tid == k->tid;

	k->task.thread = TRACE_UNKNOWN;
	if (k->pid == k->tid && k->pid && k->pid != TRACE_UNKNOWN)
		k->task.thread = PROFILE_MAIN_THREAD;
	else if (has_last && t[i - 1].pid == k->pid && t[i - 1].from_ns >= k->task.process->from_ns)
		k->task.thread = t[i - 1].number;
}

void profile_lookup_task(struct profile_lookup *l, uint32_t pid, uint32_t tid, uint64_t time_ns,
			 struct profile_task *out)
{
	struct known_task *k = &l->tasks[(tid ^ tid >> 8) % NR_TASKS];

	if (k->pid != pid || k->tid != tid || time_ns < k->from_ns || time_ns >= k->to_ns) {
		*k = (struct known_task){.pid = pid, .tid = tid};
		find_process(l->p, time_ns, k);
		find_comm(l->p, time_ns, k);
		find_thread(l->p, time_ns, k);
	}
	*out = k->task;
}

/* When another thread got the number. */
static uint64_t reused_ns(const struct profile_processes *p, uint32_t pid, uint32_t tid,
			  uint64_t time_ns)
{
	size_t thread = profile_threads_until(p, tid, time_ns);
	const struct profile_process *life =
	    find_life(p, profile_lives_until(p, tid, time_ns), tid);
	uint64_t ns = UINT64_MAX;

	if (thread < p->nr_threads && p->threads[thread].tid == tid &&
	    (pid != tid || p->threads[thread].pid != pid))
		ns = p->threads[thread].from_ns;
	return life && pid != tid && life->from_ns < ns ? life->from_ns : ns;
}

const char *profile_lookup_last_name(struct profile_lookup *l, uint32_t pid, uint32_t tid,
				     uint64_t time_ns)
{
	struct profile_task task;

	profile_lookup_task(l, pid, tid, reused_ns(l->p, pid, tid, time_ns) - 1, &task);
	return task.comm && task.comm->number != PROFILE_COMM_UNKNOWN ? task.comm->name : NULL;
}

const struct profile_mapping *profile_lookup_mapping(struct profile_lookup *l,
						     const struct profile_process *process,
						     uint64_t address, uint64_t time_ns)
{
	uint64_t page = address >> PAGE_SHIFT;
	struct known_place *k =
	    &l->places[(page ^ page >> 10 ^ page >> 20 ^ process->number * 31) % NR_PLACES];
	const struct profile_found *f = &k->found;

	if (k->process == process && address >= f->start && address < f->end &&
	    time_ns >= f->from_ns && time_ns < f->to_ns)
		return f->mapping;
	if (process->number >= l->p->nr_lives)
		return NULL;
	profile_space_find(l->p, process->number, address, time_ns, &k->found);
	k->process = process;
	return k->found.mapping;
}

const struct profile_mapping *profile_lookup_code(struct profile_lookup *l,
						  const struct profile_process *process,
						  uint64_t address, uint64_t time_ns)
{
	const struct profile_mapping *m = profile_lookup_mapping(l, process, address, time_ns);

	return m && profile_mapping_is_code(m) ? m : NULL;
}

uint32_t profile_lookup_epoch(struct profile_lookup *l, const struct profile_process *process,
			      uint64_t time_ns)
{
	return process->number < l->p->nr_lives
		   ? profile_begins_until(l->p, process->number, time_ns)
		   : 0;
}
