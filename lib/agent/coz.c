/*
 * Progress points of programs that were built with coz's own coz.h: it looks for _coz_get_counter
 * in what is loaded (LD_PRELOAD), and counts in the memory that it returns (coz_counter_t: a count
 * and a word that is not used). No call is made when a point is reached, and no thread is started
 * here, so the counts become values when the program exits: "name", "name begun", "name ended".
 */
#include "agent/marks.h"
#include "agent/names.h"

#include <string.h>

enum { THROUGHPUT = 1, BEGIN = 2, END = 3, MAX_COUNTERS = 1024, KIND_COUNTER = 0x4300 };

/* In a name's extra. */
struct counter {
	size_t count, backoff;
};

static struct agent_name *counters[MAX_COUNTERS];
static uint32_t nr_counters;

/* Also one that loses the race to be the name: its count stays 0. */
static void list(struct agent_name *name)
{
	uint32_t at = __atomic_fetch_add(&nr_counters, 1, __ATOMIC_RELAXED);

	if (at < MAX_COUNTERS)
		__atomic_store_n(&counters[at], name, __ATOMIC_RELEASE);
}

AGENT_EXPORTED struct counter *_coz_get_counter(int type, const char *name);
AGENT_EXPORTED struct counter *_coz_get_counter(int type, const char *name)
{
	struct agent_name *n;

	if (type < THROUGHPUT || type > END || !name || !cpuperf_marks_are_on())
		return NULL;
	n = agent_name(KIND_COUNTER + (uint32_t)type, name, list);
	return n ? (struct counter *)(void *)n->extra : NULL;
}

static const char *text_of(char out[AGENT_TEXT_BYTES], const struct agent_name *n)
{
	static const char *const suffix[] = {"", "", " begun", " ended"};
	size_t len = strlen(n->text), more = strlen(suffix[n->kind - KIND_COUNTER]);

	len = len + more > AGENT_MAX_NAME ? AGENT_MAX_NAME - more : len;
	memcpy(out, n->text, len);
	memcpy(out + len, suffix[n->kind - KIND_COUNTER], more + 1);
	return out;
}

__attribute__((destructor)) static void write_counts(void)
{
	uint32_t nr = __atomic_load_n(&nr_counters, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr && i < MAX_COUNTERS; i++) {
		const struct agent_name *n = __atomic_load_n(&counters[i], __ATOMIC_ACQUIRE);
		const struct counter *c = n ? (const void *)n->extra : NULL;
		char text[AGENT_TEXT_BYTES];

		if (c && c->count)
			cpuperf_marks_int(text_of(text, n), (int64_t)c->count);
	}
}
