/*
 * A map is shared by the places that it has: the first may also be the largest.
 */
#include "collect/memory_map.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/root.h"
#include "proc/smaps.h"
#include "things/bounded.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum place { BEGIN, PEAK, LAST, NR_PLACES };
_Static_assert((int)NR_PLACES == (int)MEMORY_MAP_MAX, "places");

struct reading {
	struct proc_smaps smaps;
	struct mapping_row *rows; /* owned; objects are of smaps */
	struct mapping_map map;   /* its rows are these */
	uint64_t resident, cpu_ns;
	unsigned nr_users;
};

/* What the thread has that reads: the memory of a process may be locked by a thread of it that
 * waits for a file system that never answers. */
struct job {
	struct root root;
	pid_t *pids; /* owned */
	size_t nr;
	struct reading *out; /* owned; NULL: there is none to place */
};

struct memory_map {
	uint64_t wait_ns;
	struct bounded *reader;
	struct job *job; /* the reader's */
	pthread_mutex_t lock;
	uint64_t next_ns;              /* no reading before */
	struct reading *at[NR_PLACES]; /* NULL: none; of this iteration */
	struct reading *taken[NR_PLACES];
	struct mapping_map out[NR_PLACES];
};

static void let_go(struct reading **place)
{
	struct reading *r = *place;

	*place = NULL;
	if (!r || --r->nr_users)
		return;
	proc_smaps_fini(&r->smaps);
	mem_free(r->rows);
	mem_free(r);
}

static void put(struct reading **place, struct reading *r)
{
	r->nr_users++;
	let_go(place);
	*place = r;
}

static void release(void *arg)
{
	struct job *job = arg;

	let_go(&job->out);
	mem_free(job->pids);
	mem_free(job);
}

static void read_processes(void *arg)
{
	const struct job *job = arg;
	struct reading *out = job->out;

	out->map.time_ns = clock_monotonic_ns();
	out->cpu_ns = clock_thread_cpu_ns();
	for (size_t i = 0; i < job->nr; i++) {
		const int rc = proc_smaps_read(&out->smaps, &job->root, job->pids[i]);

		out->map.nr_processes += rc == 0;
		out->map.nr_unread += rc && rc != -ESRCH;
	}
	out->map.nr = proc_smaps_rows(&out->smaps, &out->rows);
	out->map.row = out->rows;
	out->resident = mapping_resident(&out->map);
	out->map.took_ns = clock_monotonic_ns() - out->map.time_ns;
	out->cpu_ns = clock_thread_cpu_ns() - out->cpu_ns;
}

int memory_map_new(const struct root *root, unsigned wait_ms, struct memory_map **out)
{
	struct memory_map *m = mem_zalloc(sizeof(*m));
	struct job *job = mem_zalloc(sizeof(*job));
	int rc = -ENOMEM;

	if (m && job) {
		job->root = *root;
		rc = bounded_new(read_processes, release, job, &m->reader);
	}
	if (rc) {
		mem_free(m);
		mem_free(job);
		return rc;
	}
	m->job = job;
	m->wait_ns = wait_ms * UINT64_C(1000000);
	pthread_mutex_init(&m->lock, NULL);
	*out = m;
	return 0;
}

void memory_map_free(struct memory_map *m)
{
	if (!m)
		return;
	bounded_close(m->reader);
	for (int i = 0; i < NR_PLACES; i++) {
		let_go(&m->at[i]);
		let_go(&m->taken[i]);
	}
	pthread_mutex_destroy(&m->lock);
	mem_free(m);
}

static void place(struct memory_map *m, struct reading *r)
{
	if (!r->map.nr)
		return;
	if (!m->at[BEGIN])
		put(&m->at[BEGIN], r);
	if (!m->at[PEAK] || r->resident > m->at[PEAK]->resident)
		put(&m->at[PEAK], r);
	put(&m->at[LAST], r);
}

/* What the reader has read, also after it was waited for. */
static void place_read(struct memory_map *m)
{
	struct reading *r = m->job->out;

	if (!r)
		return;
	m->next_ns = r->map.time_ns + r->map.took_ns + MEMORY_MAP_PAUSE * r->cpu_ns;
	place(m, r);
	let_go(&m->job->out);
}

/* 0 or -ENOMEM. */
static int fill(struct job *job, const pid_t *pids, size_t nr)
{
	mem_free(job->pids);
	job->pids = mem_calloc(nr, sizeof(*pids));
	job->out = job->pids ? mem_zalloc(sizeof(*job->out)) : NULL;
	if (!job->out)
		return -ENOMEM;
	memcpy(job->pids, pids, nr * sizeof(*pids));
	job->nr = nr;
	job->out->nr_users = 1;
	proc_smaps_init(&job->out->smaps);
	return 0;
}

static void read_now(struct memory_map *m, const pid_t *pids, size_t nr)
{
	if (bounded_is_busy(m->reader))
		return;
	place_read(m);
	if (clock_monotonic_ns() < m->next_ns || fill(m->job, pids, nr))
		return;
	if (bounded_run(m->reader, m->wait_ns) == 0)
		place_read(m);
}

void memory_map_read(struct memory_map *m, const pid_t *pids, size_t nr)
{
	pthread_mutex_lock(&m->lock);
	read_now(m, pids, nr);
	pthread_mutex_unlock(&m->lock);
}

void memory_map_end_pause(struct memory_map *m)
{
	pthread_mutex_lock(&m->lock);
	m->next_ns = 0;
	pthread_mutex_unlock(&m->lock);
}

size_t memory_map_take(struct memory_map *m, const struct mapping_map **out)
{
	static const uint32_t flags[] = {MAPPING_IS_BEGIN, MAPPING_IS_PEAK, MAPPING_IS_END};
	size_t nr = 0;

	pthread_mutex_lock(&m->lock);
	if (!bounded_is_busy(m->reader))
		place_read(m);
	for (int i = 0; i < NR_PLACES; i++) {
		let_go(&m->taken[i]);
		m->taken[i] = m->at[i];
		m->at[i] = NULL;
	}
	for (int i = 0; i < NR_PLACES && m->taken[i]; i++) {
		if (!i || m->taken[i] != m->taken[i - 1])
			m->out[nr++] = m->taken[i]->map;
		m->out[nr - 1].flags |= flags[i];
	}
	for (int i = 0; i < NR_PLACES && m->taken[LAST]; i++)
		put(&m->at[i], m->taken[LAST]);
	pthread_mutex_unlock(&m->lock);
	*out = m->out;
	return nr;
}
