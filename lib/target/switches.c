/*
 * The kernel adds up the switches of threads that have ended only for wait4, so each thread is
 * read.
 */
#include "target/switches.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/root.h"
#include "base/str.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"

#include <string.h>

enum { MAX_THREADS = 65536, MAX_STAT_BYTES = 16 << 20 };

struct thread {
	uint32_t tid; /* the key */
	uint64_t nr;
};

/* Threads and processes that were ever created here. */
static uint64_t count_forks(const struct root *root)
{
	static const char name[] = "\nprocesses ";
	BUF_AUTO(text, MAX_STAT_BYTES);
	const char *p = root_load(root, "/proc/stat", &text) ? NULL : strstr(buf_str(&text), name);
	uint64_t nr;

	p = p ? p + strlen(name) : "";
	return str_scan_u64(&p, p + strlen(p), &nr) ? 0 : nr;
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

static int read_thread(uint32_t tid, void *arg)
{
	const struct listing *l = arg;
	uint64_t voluntary, involuntary;
	struct proc_key keys[] = {{"voluntary_ctxt_switches", &voluntary},
				  {"nonvoluntary_ctxt_switches", &involuntary}};

	if (proc_keys_load(PROC(l->s->root, l->pid, tid), "status", keys, ARRAY_NR(keys)) == 0 &&
	    keys[0].nr && keys[1].nr)
		add_thread(l->s, tid, voluntary + involuntary);
	return 0;
}

void target_switches_read(struct target_switches *s, uint32_t pid)
{
	struct listing l = {s, pid};

	(void)proc_each_thread(PROC(s->root, pid), read_thread, &l);
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
