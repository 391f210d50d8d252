#include "heap/missed.h"

#include "base/sum.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct heap_missed_one *find(struct heap_missed_all *in, const struct wire_heap_missed *m)
{
	for (size_t i = 0; i < in->nr; i++)
		if (in->item[i].why == m->why && strcmp(in->item[i].name, m->name) == 0)
			return &in->item[i];
	if (in->nr == HEAP_MAX_MISSED)
		return NULL;
	in->item[in->nr] = (struct heap_missed_one){.why = m->why};
	memcpy(in->item[in->nr].name, m->name, sizeof(m->name));
	return &in->item[in->nr++];
}

void heap_missed_add(struct heap_missed_all *to, const struct wire_heap *memory,
		     uint32_t seen[WIRE_HEAP_NR_MISSED])
{
	struct wire_heap_missed m;

	for (size_t i = 0; i < WIRE_HEAP_NR_MISSED; i++) {
		struct heap_missed_one *found;

		if (!wire_heap_missed(memory, i, &m))
			continue;
		if (m.nr > seen[i]) {
			found = find(to, &m);
			sum_add(found ? &found->nr : &to->more[m.why], m.nr - seen[i]);
		}
		seen[i] = m.nr;
	}
}

void heap_missed_forget(struct heap_missed_all *m, enum heap_miss but)
{
	const size_t nr = m->nr;

	m->nr = 0;
	for (size_t i = 0; i < nr; i++)
		if (m->item[i].why == (uint32_t)but)
			m->item[m->nr++] = m->item[i];
	memset(m->more, 0, sizeof(m->more));
}

/* Of a reason: before the names or the number, and behind. */
static const struct {
	const char *before, *behind;
	bool has_names;
} texts[HEAP_NR_MISSES] = {
    [HEAP_MISS_UNREADABLE] = {"programs that were executed are not measured",
			      "their files cannot be read", true},
    [HEAP_MISS_FOREIGN] = {"programs that were executed are not measured",
			   "they are for another kind of machine than cpuperf's agent", true},
    [HEAP_MISS_STATIC] = {"programs that were executed are not measured",
			  "they are linked statically, so that they load no agent", true},
    [HEAP_MISS_LOADER] = {"programs that were executed are not measured",
			  "they have another loader than cpuperf, as with another C library (musl)",
			  true},
    [HEAP_MISS_RIGHTS] = {"programs that were executed are not measured",
			  "they have more rights than their user (setuid, setgid or capabilities), "
			  "so that they load no agent",
			  true},
    [HEAP_MISS_SANITIZER] = {"programs that were executed are not measured",
			     "they have a sanitizer, which must be the first in front of malloc",
			     true},
    [HEAP_MISS_AGENT] = {"programs that were executed are not measured",
			 "libcpuperf-agent.so cannot be read where they run (another root folder, "
			 "or user)",
			 true},
    [HEAP_MISS_ROOM] = {"programs that were executed are not measured",
			"there was no memory for an environment with the agent", true},
    [HEAP_MISS_FILTER] = {"programs that were executed are not measured",
			  "they cannot make system calls that the agent needs (seccomp)", true},
    [HEAP_MISS_CHILDREN] = {"child processes are not measured",
			    "they cannot make system calls that the agent needs (seccomp)", false},
    [HEAP_MISS_PAGES] = {"blocks that were freed are not in untouched",
			 "their process cannot call mincore (seccomp)", false},
    [HEAP_MISS_TIMES] = {"processes whose times are no longer measured",
			 "they cannot make system calls that timers need (seccomp)", false},
    [HEAP_MISS_CONNECT] = {"child processes are not measured",
			   "they could not connect (another user, network or root folder; seccomp)",
			   false},
    [HEAP_MISS_LIMIT] =
	{"processes in which there is room for fewer stacks and blocks",
	 "the agent takes an eighth of their RLIMIT_AS, or 32 MiB if they lock all memory", false},
};

void heap_missed_note(const struct heap_missed_all *from, enum heap_miss why, char *text,
		      size_t bytes)
{
	enum { MAX_NAMES = 4, NAME_BYTES = 24 };
	const bool has_names = texts[why].has_names;
	char names[MAX_NAMES * (NAME_BYTES + 32)] = "";
	uint64_t nr = from->more[why], nr_names = 0;
	size_t len = 0;

	for (size_t i = 0; i < from->nr; i++) {
		const struct heap_missed_one *m = &from->item[i];

		if (m->why != why)
			continue;
		sum_add(&nr, m->nr);
		if (nr_names++ < MAX_NAMES)
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%.*s",
						len ? ", " : "", NAME_BYTES, m->name);
	}
	*text = '\0';
	if (nr && has_names)
		snprintf(text, bytes, "%s (%s%s; %" PRIu64 "): %s", texts[why].before, names,
			 nr_names > MAX_NAMES || from->more[why] ? ", …" : "", nr,
			 texts[why].behind);
	else if (nr)
		snprintf(text, bytes, "%s (%" PRIu64 "): %s", texts[why].before, nr,
			 texts[why].behind);
}
