/*
 * Asks the tables, and remembers: samples come from few threads and few places at a time. Each
 * answer is kept with the ranges of time and addresses in which it is the same.
 */
#include "base/mem.h"
#include "profile/processes_internal.h"

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

/* The time is in the range from the one before up to the next, where those are of the same key. */
static void find_process(const struct profile_processes *p, uint64_t time_ns, struct known_task *k)
{
	size_t next = profile_lives_until(p, k->pid, time_ns);
	const struct profile_process *l = next ? &p->lives[next - 1].process : NULL;

	if (l && l->pid == k->pid) {
		k->task.process = l;
		k->from_ns = l->from_ns;
	} else {
		k->task.process = profile_stranger(p->strangers, k->pid, (uint32_t)p->nr_lives);
	}
	if (next < p->nr_lives && p->lives[next].process.pid == k->pid)
		k->to_ns = p->lives[next].process.from_ns;
}

static bool is_idle(const struct known_task *k)
{
	return k->pid == 0 && k->tid == 0;
}

static void find_comm(const struct profile_processes *p, uint64_t time_ns, struct known_task *k)
{
	size_t next = profile_namings_until(p, k->tid, time_ns);
	const struct profile_naming *n = next ? &p->namings[next - 1] : NULL;
	uint32_t comm = is_idle(k) ? PROFILE_COMM_IDLE : PROFILE_COMM_UNKNOWN;

	if (n && n->tid == k->tid) {
		comm = n->comm;
		if (n->from_ns > k->from_ns)
			k->from_ns = n->from_ns;
	}
	if (next < p->nr_namings && p->namings[next].tid == k->tid &&
	    p->namings[next].from_ns < k->to_ns)
		k->to_ns = p->namings[next].from_ns;
	k->task.comm = p->comms.item[comm];
}

void profile_lookup_task(struct profile_lookup *l, uint32_t pid, uint32_t tid, uint64_t time_ns,
			 struct profile_task *out)
{
	struct known_task *k = &l->tasks[(tid ^ tid >> 8) % NR_TASKS];

	if (k->pid != pid || k->tid != tid || time_ns < k->from_ns || time_ns >= k->to_ns) {
		*k = (struct known_task){.pid = pid, .tid = tid, .to_ns = UINT64_MAX};
		find_process(l->p, time_ns, k);
		find_comm(l->p, time_ns, k);
	}
	*out = k->task;
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

uint32_t profile_lookup_epoch(struct profile_lookup *l, const struct profile_process *process,
			      uint64_t time_ns)
{
	return process->number < l->p->nr_lives
		   ? profile_begins_until(l->p, process->number, time_ns)
		   : 0;
}
