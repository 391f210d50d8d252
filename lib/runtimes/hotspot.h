/*
 * The code that HotSpot, the virtual machine of Java, has compiled: read from the memory of a
 * process that runs. The process does nothing for it, is not stopped, and need not have been
 * started for it.
 *
 * libjvm.so exports tables of its own structures (gHotSpotVMStructs), by which debuggers find their
 * way: so versions of Java differ in offsets that they say themselves. They lead to the code cache,
 * which is divided into blocks; each compiled method has one, and leads to its name.
 *
 * Why not jcmd Compiler.perfmap: it makes a thread in the process, writes a file into its /tmp, and
 * needs a signal that kills what is no such machine; and it has no times, so that code which was
 * replaced since has the name of what is there now.
 *
 * What is inlined into a method is read with its name (runtimes/scopes.h), or, as a look may take
 * only so long for that, at a later look: then the name is passed again, with the same time.
 *
 * The process runs meanwhile. What a block said is used if it says the same after its name was
 * read: the machine frees a method only after its code. All of it is hostile.
 */
#ifndef RUNTIMES_HOTSPOT_H
#define RUNTIMES_HOTSPOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot;
struct trace_compiled;

/* From a time on other code is at some addresses. */
typedef void hotspot_fn(void *arg, const struct trace_compiled *change);

/* What looks at all processes share, of one thread. Zeroes at first. */
struct hotspot_shared {
	atomic_bool is_left; /* by any thread: a look ends soon */
	bool wants_methods;  /* also those that are interpreted (runtimes/methods.h) */
	bool is_last;        /* looks read all that is left */
	uint64_t once_ns;    /* CPU time of looks for what is read once; grows */
	uint64_t scopes_ns;  /* of a look for what is inlined; 0: as much as is usual */
	/* private */
	struct hotspot_codes {
		struct hotspot_code *item; /* owned; by address, without overlaps */
		size_t nr, room;
	} now;            /* at this look */
	size_t nr_blocks; /* for which there is memory, of all processes */
	uint8_t *map;     /* owned */
	size_t map_room;
	uint8_t *code, *points; /* owned: of the code that is named */
	size_t code_room, points_room;
	struct scopes *scopes; /* owned; of that code; NULL: not yet */
};
void hotspot_shared_fini(struct hotspot_shared *s);

/* Looks whether the process has one, whose code of the first look has its name from since_ns on.
 * Errors are those of vmstructs_find. */
int hotspot_open(struct hotspot_shared *shared, uint32_t pid, uint64_t since_ns,
		 struct hotspot **out);
void hotspot_close(struct hotspot *h); /* NULL is fine */

/* Passes what has changed since the last look. 0; -ESRCH: the process has ended, or executes
 * another program; -ENOMEM; -ECANCELED: it was left. */
int hotspot_look(struct hotspot *h, hotspot_fn *fn, void *arg, bool *has_changed);
/* There will be no more looks, as the machine has ended: passes until when its names apply. If it
 * was about to free code, to the last look; else to now. */
void hotspot_leave(struct hotspot *h, hotspot_fn *fn, void *arg);

#endif
