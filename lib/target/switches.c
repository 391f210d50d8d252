/*
 * The kernel adds up the switches of threads that have ended only for wait4, so each thread is
 * read.
 */
#include "target/switches.h"

#include "base/buf.h"
#include "base/root.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { MAX_THREADS = 65536, MAX_STATUS_BYTES = 64 << 10, MAX_STAT_BYTES = 16 << 20 };

struct thread {
	uint32_t tid; /* the key */
	uint64_t nr;
};

/* The number behind a name at the start of a line. */
static bool find_number(const struct buf *text, const char *name, uint64_t *out)
{
	const char *p = strstr(buf_str(text), name), *end = buf_str(text) + text->len;

	if (!p)
		return false;
	p += strlen(name);
	p += strspn(p, " \t");
	return str_scan_u64(&p, end, out) == 0;
}

/* Threads and processes that were ever created here. */
static uint64_t count_forks(const struct root *root)
{
	BUF_AUTO(text, MAX_STAT_BYTES);
	uint64_t nr = 0;

	if (root_load(root, "/proc/stat", &text) || !find_number(&text, "\nprocesses ", &nr))
		return 0;
	return nr;
}

static void init(struct dict *d)
{
	dict_init(d, sizeof(struct thread), DICT_KEY(struct thread, tid), MAX_THREADS);
}

void target_switches_init(struct target_switches *s, const struct root *root, bool counts_all)
{
	*s = (struct target_switches){
	    .root = root, .has_read = counts_all, .nr_forks = count_forks(root)};
	init(&s->threads);
	init(&s->now);
}

void target_switches_fini(struct target_switches *s)
{
	dict_fini(&s->threads);
	dict_fini(&s->now);
}

struct listing {
	struct target_switches *s;
	uint32_t pid;
};

/* A smaller number is that of another thread with the same tid. */
static void add_thread(struct target_switches *s, uint32_t tid, uint64_t nr)
{
	const struct thread *before = dict_at(&s->threads, dict_find(&s->threads, &tid));
	bool is_same = before && before->nr <= nr;
	struct thread *t = dict_get(&s->now, &tid);

	if (t)
		t->nr = nr;
	s->misses_some |= !t;
	s->nr_same += is_same;
	if (s->has_read)
		s->nr += nr - (is_same ? before->nr : 0);
}

static int read_thread(const char *name, void *arg)
{
	const struct listing *l = arg;
	BUF_AUTO(text, MAX_STATUS_BYTES);
	uint64_t voluntary, involuntary, tid;
	char path[64];

	if (str_parse_u64(name, &tid) || tid > UINT32_MAX)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", l->pid, (uint32_t)tid);
	if (root_load(l->s->root, path, &text) == 0 &&
	    find_number(&text, "\nvoluntary_ctxt_switches:", &voluntary) &&
	    find_number(&text, "\nnonvoluntary_ctxt_switches:", &involuntary))
		add_thread(l->s, (uint32_t)tid, voluntary + involuntary);
	return 0;
}

void target_switches_read(struct target_switches *s, uint32_t pid)
{
	struct listing l = {s, pid};
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	(void)root_each(s->root, path, read_thread, &l);
}

void target_switches_end(struct target_switches *s)
{
	s->misses_some |= s->nr_same < s->threads.nr;
	s->nr_same = 0;
	s->has_read = true;
	dict_fini(&s->threads);
	s->threads = s->now;
	init(&s->now);
}

bool target_switches_are_all(const struct target_switches *s)
{
	return !s->misses_some && s->nr_forks && count_forks(s->root) == s->nr_forks;
}
