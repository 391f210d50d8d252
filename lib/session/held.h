/*
 * The folder of a session that leaves no files: private, in a memory file system, and
 * removed when this process has ended, in whatever way.
 *
 * Reports read files and nothing else. So --output=-, --top and a disk without room need files,
 * too, which nobody is to see.
 */
#ifndef SESSION_HELD_H
#define SESSION_HELD_H

#include "base/child.h"
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct held {
	char path[PATH_MAX];   /* "": there is none */
	struct child remover;  /* removes it when this process has ended */
	uint64_t least_blocks; /* that must remain free in its file system */
};

#define HELD_NONE ((struct held){.remover = CHILD_NONE})

/* Makes the folder, in $XDG_RUNTIME_DIR or /dev/shm. 0 or -errno with *e, which has no source and
 * no hint. */
int held_open(struct held *h, struct err *e);
/* The same in a folder that need not be in memory. */
int held_open_in(const char *place, struct held *h, struct err *e);
/* True if more than half of what was free in the file system is used; false if there is no folder.
 */
bool held_is_full(const struct held *h);
/* How many bytes may be used until then. */
uint64_t held_room_bytes(const struct held *h);
/* Removes the folder and waits for that. HELD_NONE is allowed. */
void held_close(struct held *h);

#endif
