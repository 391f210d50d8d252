/*
 * Work that may take long or never end, such as calls into others' drivers: it is done in a thread
 * of its own, which is waited for at most for a time.
 *
 * NVIDIA's library is called so, for at most 2 s: of a GPU that fell off the bus a call may hang.
 * Its values then fail, further readings do not wait, and the end of the source leaves the thread
 * behind.
 */
#ifndef THINGS_BOUNDED_H
#define THINGS_BOUNDED_H

#include <stdbool.h>
#include <stdint.h>

struct bounded;

/* Starts the thread, with all signals blocked. It owns arg: only while no work is in progress may
 * others use it. 0 or -errno: arg is still the caller's then. */
int bounded_new(void (*work)(void *arg), void (*release)(void *arg), void *arg,
		struct bounded **out);
/* Does the work once. 0: it is done; -ETIMEDOUT: it is not, and goes on; -EBUSY: that of an earlier
 * call still goes on: without waiting. */
int bounded_run(struct bounded *b, uint64_t timeout_ns);
/* Earlier work still goes on. */
bool bounded_is_busy(struct bounded *b);
/* Waits for nothing that is in progress: release is called once it is over, which may be never. */
void bounded_close(struct bounded *b);

#endif
