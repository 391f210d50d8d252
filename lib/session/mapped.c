/*
 * A table of files under a lock that is held only briefly. Must not open anything.
 */
#include "session/mapped.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/thread.h"

#include <stddef.h>
#include <string.h>

enum {
	RECORD_COMM = 3,
	RECORD_EXIT = 4,
	RECORD_MMAP2 = 10,
	MISC_COMM_EXEC = 1 << 13,
	PROT_EXECUTE = 4,
	TAIL_BYTES = 16, /* task and time */
	MIN_BYTES = 32,  /* of the records that are looked at */
};
#define IDLE_NS          UINT64_C(1000000000)  /* the longest wait */
#define FIRST_PAUSE_NS   UINT64_C(2000000000)  /* between two queries for a file */
#define SAME_PAUSE_NS    UINT64_C(16000000000) /* at most, if it does not change */
#define LONGEST_PAUSE_NS UINT64_C(64000000000) /* if it cannot be identified */

/* PERF_RECORD_MMAP2 without a build-id. If another listener requested build-ids,
 * PERF_RECORD_MISC_MMAP_BUILD_ID may be set although the record has this layout; readers handle
 * that. */
struct record {
	uint32_t kind;
	uint16_t misc, size;
	uint32_t pid, tid;
	uint64_t start, len, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
	char path[SURVEY_IDENTIFY_PATH_BYTES + TAIL_BYTES];
};
_Static_assert(offsetof(struct record, path) == 72, "PERF_RECORD_MMAP2");

struct mapped_file {
	uint64_t inode, generation;
	uint32_t major, minor;
	uint32_t path; /* in paths; the end of the key */
	uint32_t pid;
	uint64_t start, end; /* of its last mapping */
	bool is_wanted;      /* mapped, and not yet queried */
	bool is_left;        /* not to be queried */
	uint64_t due_ns, pause_ns;
};

int mapped_init(struct mapped *m)
{
	memset(m, 0, sizeof(*m)); /* large: no temporary on the stack */
	dict_init_texts(&m->paths, sizeof(const char *), MAPPED_MAX_FILES, MAPPED_MAX_TEXT_BYTES);
	dict_init(&m->files, sizeof(struct mapped_file), DICT_KEY(struct mapped_file, path),
		  MAPPED_MAX_FILES);
	return thread_cond_init(&m->wake) ?: -pthread_mutex_init(&m->lock, NULL);
}

void mapped_fini(struct mapped *m)
{
	pthread_cond_destroy(&m->wake);
	pthread_mutex_destroy(&m->lock);
	dict_fini(&m->paths);
	dict_fini(&m->files);
}

static struct mapped_file *file_at(const struct mapped *m, uint32_t number)
{
	return dict_at(&m->files, number);
}

/* Files with equal due times are ordered by their first mapping. */
static bool is_before(const struct mapped *m, uint32_t a, uint32_t b)
{
	uint64_t a_ns = file_at(m, a)->due_ns, b_ns = file_at(m, b)->due_ns;

	return a_ns < b_ns || (a_ns == b_ns && a < b);
}

static void queue_push(struct mapped *m, uint32_t number)
{
	uint32_t at = m->nr_queued++;

	for (; at && is_before(m, number, m->queue[(at - 1) / 2]); at = (at - 1) / 2)
		m->queue[at] = m->queue[(at - 1) / 2];
	m->queue[at] = number;
}

static uint32_t queue_pop(struct mapped *m)
{
	uint32_t first = m->queue[0], last = m->queue[--m->nr_queued], at = 0, child;

	while ((child = 2 * at + 1) < m->nr_queued) {
		if (child + 1 < m->nr_queued && is_before(m, m->queue[child + 1], m->queue[child]))
			child++;
		if (!is_before(m, m->queue[child], last))
			break;
		m->queue[at] = m->queue[child];
		at = child;
	}
	m->queue[at] = last;
	return first;
}

/* NULL: the table is full. */
static struct mapped_file *get_file(struct mapped *m, const struct record *r)
{
	const struct mapped_file key = {.inode = r->inode,
					.generation = r->generation,
					.major = r->major,
					.minor = r->minor,
					.path = dict_add(&m->paths, r->path)};
	struct mapped_file *f = key.path == DICT_NONE ? NULL : dict_get(&m->files, &key);

	m->is_full |= !f;
	if (f && !f->pause_ns)
		f->pause_ns = FIRST_PAUSE_NS;
	return f;
}

static void want(struct mapped *m, const struct record *r)
{
	struct mapped_file *f = get_file(m, r);

	if (!f || f->is_left)
		return;
	f->pid = r->pid;
	f->start = r->start;
	f->end = r->start + r->len;
	if (f->is_wanted)
		return;
	f->is_wanted = true;
	queue_push(m, (uint32_t)(f - (const struct mapped_file *)m->files.items));
	m->has_news = true;
}

static void add_mapping(struct mapped *m, const struct pmu_view *v, uint64_t at, uint16_t size)
{
	size_t head = offsetof(struct record, path), len[2];
	const void *part[2];
	struct record r;

	if (size <= head + TAIL_BYTES || size > sizeof(r))
		return;
	pmu_view_span(v, at, at + size, part, len);
	memcpy(&r, part[0], len[0]);
	memcpy((char *)&r + len[0], part[1], len[1]);
	if (r.prot & PROT_EXECUTE && r.inode && r.path[0] == '/' &&
	    memchr(r.path, '\0', size - head - TAIL_BYTES)) {
		want(m, &r);
		if (m->on_mapping)
			m->on_mapping(m->arg, r.pid, r.path);
	}
}

static struct mapped_exec *exec_at(struct mapped *m, uint32_t number)
{
	return &m->execs[number % MAPPED_MAX_EXECS];
}

/* A program that only starts another one, as env(1) does, is that process by then. Rings are read
 * one after the other: the later one of two may come first. */
static void add_exec(struct mapped *m, uint32_t pid, uint64_t time_ns)
{
	const uint32_t nr = m->next_exec - m->first_exec;
	struct mapped_exec *last = exec_at(m, m->next_exec - 1);

	if (nr && last->pid == pid) {
		last->time_ns = last->time_ns > time_ns ? last->time_ns : time_ns;
		return;
	}
	if (nr == MAPPED_MAX_EXECS)
		return;
	*exec_at(m, m->next_exec++) = (struct mapped_exec){pid, time_ns};
	m->has_news = true;
}

/* It has no command line any more. A later process may have that number. */
static void remove_exec(struct mapped *m, uint32_t pid, uint64_t time_ns)
{
	for (uint32_t i = m->first_exec; i != m->next_exec; i++) {
		struct mapped_exec *e = exec_at(m, i);

		if (e->pid == pid && e->time_ns <= time_ns)
			e->pid = 0;
	}
}

/* Its last word is the time. */
static void add_record(struct mapped *m, const struct pmu_view *v, uint64_t at, uint16_t size)
{
	const uint64_t word = pmu_view_word(v, at), ids = pmu_view_word(v, at + sizeof(word));
	const uint64_t time_ns = pmu_view_word(v, at + size - sizeof(word));
	const uint32_t tid = (uint32_t)pmu_view_word(v, at + 2 * sizeof(word));

	switch ((uint32_t)word) {
	case RECORD_MMAP2:
		add_mapping(m, v, at, size);
		break;
	case RECORD_COMM:
		if (word >> 32 & MISC_COMM_EXEC)
			add_exec(m, (uint32_t)ids, time_ns);
		break;
	case RECORD_EXIT: /* pid, ppid, tid, ptid */
		if (tid == (uint32_t)ids)
			remove_exec(m, tid, time_ns);
		break;
	}
}

static void scan(struct mapped *m, const struct pmu_view *v, uint64_t at, uint64_t to)
{
	pthread_mutex_lock(&m->lock);
	while (at < to) {
		uint64_t word = pmu_view_word(v, at);
		uint16_t size = (uint16_t)(word >> 48);

		if (size < sizeof(word) || size > to - at)
			break;
		if (size >= MIN_BYTES)
			add_record(m, v, at, size);
		at += size;
	}
	pthread_mutex_unlock(&m->lock);
}

void mapped_listen(struct mapped *m, mapped_fn *fn, void *arg)
{
	pthread_mutex_lock(&m->lock);
	m->on_mapping = fn;
	m->arg = arg;
	pthread_mutex_unlock(&m->lock);
}

void mapped_scan(struct mapped *m, const struct pmu_ring *ring, uint64_t at, uint64_t to)
{
	const struct pmu_view v = pmu_ring_view(ring);

	scan(m, &v, at, to);
}

void mapped_wake(struct mapped *m)
{
	bool has_news;

	pthread_mutex_lock(&m->lock);
	has_news = m->has_news;
	m->has_news = false;
	pthread_mutex_unlock(&m->lock);
	if (has_news) /* without the lock, for which who wakes would have to wait */
		pthread_cond_signal(&m->wake);
}

void mapped_add(struct mapped *m, const void *records, size_t len)
{
	scan(m, &(struct pmu_view){.data = records, .mask = UINT64_MAX}, 0, len);
	mapped_wake(m);
}

void mapped_end(struct mapped *m)
{
	pthread_mutex_lock(&m->lock);
	m->is_ending = true;
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->lock);
}

bool mapped_is_ending(struct mapped *m)
{
	bool is_ending;

	pthread_mutex_lock(&m->lock);
	is_ending = m->is_ending;
	pthread_mutex_unlock(&m->lock);
	return is_ending;
}

/* When the next file is due; UINT64_MAX: none is wanted. */
static uint64_t next_due_ns(const struct mapped *m)
{
	return m->nr_queued ? file_at(m, m->queue[0])->due_ns : UINT64_MAX;
}

static void make_question(const struct mapped *m, const struct mapped_file *f,
			  struct survey_identify_question *q)
{
	const char *path = dict_text(&m->paths, f->path);
	size_t len = strnlen(path, sizeof(q->path) - 1);

	q->inode = f->inode;
	q->generation = f->generation;
	q->start = f->start;
	q->end = f->end;
	q->major = f->major;
	q->minor = f->minor;
	q->pid = f->pid;
	memcpy(q->path, path, len);
	q->path[len] = '\0';
}

static bool is_due(const struct mapped *m)
{
	return m->nr_queued && (m->is_ending || next_due_ns(m) <= clock_monotonic_ns());
}

/* To the end of a second: those that are due in it are asked for at once. */
static uint64_t next_ns(uint64_t pause_ns)
{
	return (clock_monotonic_ns() + pause_ns + IDLE_NS - 1) / IDLE_NS * IDLE_NS;
}

/* Under the lock: moves what is due, as much as there is room for. */
static void take_due(struct mapped *m, struct mapped_due *due)
{
	struct mapped_file *f;

	due->nr_pids = due->nr_files = 0;
	while (due->nr_pids < ARRAY_NR(due->pid) && m->first_exec != m->next_exec) {
		const uint32_t pid = exec_at(m, m->first_exec++)->pid;

		if (pid)
			due->pid[due->nr_pids++] = pid;
	}
	while (due->nr_files < ARRAY_NR(due->file) && is_due(m)) {
		f = file_at(m, queue_pop(m));
		if (!f->is_wanted)
			continue;
		f->is_wanted = false; /* later mappings cause another query */
		f->due_ns = next_ns(f->pause_ns);
		make_question(m, f, &due->file[due->nr_files]);
		due->number[due->nr_files++] =
		    (uint32_t)(f - (const struct mapped_file *)m->files.items);
	}
}

bool mapped_next(struct mapped *m, struct mapped_due *due)
{
	const uint64_t until_ns = clock_monotonic_ns() + IDLE_NS;
	bool is_found;

	pthread_mutex_lock(&m->lock);
	for (take_due(m, due); !due->nr_pids && !due->nr_files; take_due(m, due)) {
		const uint64_t due_ns = next_due_ns(m), now_ns = clock_monotonic_ns();

		if (m->is_ending || now_ns >= until_ns)
			break;
		if (due_ns > now_ns)
			(void)thread_cond_wait(&m->wake, &m->lock,
					       due_ns < until_ns ? due_ns : until_ns);
	}
	is_found = due->nr_pids || due->nr_files || !m->is_ending;
	pthread_mutex_unlock(&m->lock);
	return is_found;
}

/* One that does not change is asked for ever more rarely: the last answer holds for all mappings
 * before it, and each file is asked for at the end. That needs a path: others are reached only as
 * long as a process has them mapped. */
static uint64_t pause_ns(const struct mapped_file *f, const struct survey_identify_answer *a)
{
	const bool is_found = a->state == SURVEY_IDENTIFY_FOUND;
	const uint64_t longest_ns = is_found ? SAME_PAUSE_NS : LONGEST_PAUSE_NS;

	if (is_found && !a->is_same)
		return FIRST_PAUSE_NS;
	return f->pause_ns < longest_ns / 2 ? 2 * f->pause_ns : longest_ns;
}

void mapped_answered(struct mapped *m, uint32_t number, const struct survey_identify_answer *a)
{
	struct mapped_file *f;

	pthread_mutex_lock(&m->lock);
	f = dict_at(&m->files, number);
	m->nr_foreign += a->state == SURVEY_IDENTIFY_FOREIGN;
	f->is_left = a->state == SURVEY_IDENTIFY_FOREIGN || a->state == SURVEY_IDENTIFY_SILENT;
	f->is_wanted &= !f->is_left;
	f->pause_ns = pause_ns(f, a);
	pthread_mutex_unlock(&m->lock);
}
