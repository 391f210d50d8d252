/*
 * Programs with marks (cpuperf/mark.h) that run already: the state of each of their objects is
 * found by its ELF note in the memory of the process, and its word `on` is set, which is the
 * permission to connect. Everything read there is hostile: a word is written only where it lies in
 * a writable private mapping of the object's own file, after the magic number, and holds 0 or the
 * number of a recorder that is gone.
 *
 * Not thread-safe.
 *
 * The note is looked for in memory (elf/image.h), not in the file, which may be gone or in another
 * mount namespace. At the start the target's processes or all are looked at, then each process
 * whose side band shows an executable mapping; so those of a command are found that lost the
 * variable (`env -i`), and those of another network namespace are named. Between the check of a
 * word and its writing the process may unmap it: a window of microseconds that /proc/PID/mem
 * cannot close.
 */
#ifndef MARKS_MARKED_H
#define MARKS_MARKED_H

#include "base/dict.h"

#include <stdbool.h>
#include <stdint.h>

struct root;

enum { MARKED_MAX_WORDS = 65536 };

struct marked {
	const struct root *root; /* borrowed */
	uint32_t number;         /* of the recorder */
	struct dict words;       /* struct marked_word: those set */
	uint32_t nr_old;         /* objects of another version of the header */
	uint32_t nr_busy;        /* objects that another recorder measures */
	uint32_t nr_denied;      /* objects that this user may not write */
	uint32_t nr_apart;       /* objects in processes of another network namespace: they cannot
				  * connect */
};

void marked_init(struct marked *m, const struct root *root, uint32_t number);
void marked_fini(struct marked *m);
/* Sets the words of all objects of the process that are not set. 0; -errno if its memory or
 * mappings cannot be read. */
int marked_look(struct marked *m, uint32_t pid);
/* Whether an object of the process was set. */
bool marked_has(const struct marked *m, uint32_t pid);
/* Sets the words that still hold the number to 0, of objects that have not connected: those that
 * have end their connection at their next mark. */
void marked_end(struct marked *m);

#endif
