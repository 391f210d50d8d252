/*
 * The maps of a target's memory in an iteration: the first, that with the most resident memory, and
 * the last. For any threads.
 *
 * They are added up from smaps by kind and object, and written as frames of the target's trace at
 * a boundary, before which the target is read once more. After each reading the thread pauses for
 * 100 times the CPU time that it took. A file of smaps is of the memory that its process had when
 * it was opened: a process of which a second read finds nothing has ended or called exec
 * meanwhile, and is not added. cpuperf_print/memory_maps.h makes three moments of a session of
 * them.
 */
#ifndef COLLECT_MEMORY_MAP_H
#define COLLECT_MEMORY_MAP_H

#include "base/mapping.h"

#include <stddef.h>
#include <sys/types.h>

struct memory_map;
struct root;

enum {
	MEMORY_MAP_PAUSE = 100, /* a pause is so many times the CPU time of the reading before it */
	MEMORY_MAP_MAX = 3,     /* maps of an iteration */
	MEMORY_MAP_WAIT_MS = 500,
};

/* root is copied. wait_ms: for a reading, MEMORY_MAP_WAIT_MS but in tests. 0 or -errno. */
int memory_map_new(const struct root *root, unsigned wait_ms, struct memory_map **out);
/* Leaves a reading behind that never ends. NULL is fine. */
void memory_map_free(struct memory_map *m);
/* Reads the processes, unless the pause is not over or an earlier reading still goes on. */
void memory_map_read(struct memory_map *m, const pid_t *pids, size_t nr);
/* The next reading does not wait for the end of the pause. */
void memory_map_end_pause(struct memory_map *m);
/* The maps since the last call, in order of time, each once; *out and what it has is borrowed until
 * the next call. The first is the last of the call before, if there was one. At most
 * MEMORY_MAP_MAX; 0: no process could be read, or no memory. */
size_t memory_map_take(struct memory_map *m, const struct mapping_map **out);

#endif
