/*
 * A bounded queue before a descriptor, and the thread that writes it: adding never waits for the
 * reader of the descriptor.
 */
#ifndef BASE_OUTLET_H
#define BASE_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outlet;

/* fd is borrowed, and must stay open until the end of the program if outlet_close gives up.
 * max_bytes may wait. The thread pauses for pause_ms after it has emptied the queue, so that texts
 * in quick succession wake it once. 0 or -errno. */
int outlet_new(int fd, size_t max_bytes, unsigned pause_ms, struct outlet **out);

/* Copies text to the end of the queue. An empty queue takes any length. False: left out whole,
 * because there is no room or no memory, or a write failed before. Thread-safe, as is all below. */
bool outlet_add(struct outlet *o, const void *text, size_t len, bool is_counted);
/* How many of those that are counted are written. */
uint64_t outlet_nr_written(struct outlet *o);
bool outlet_is_empty(struct outlet *o);
/* A write failed, or the next one will: nobody can read any more. */
bool outlet_is_broken(struct outlet *o);
/* Waits until all is written. 0; -errno of the write that failed; -ETIMEDOUT: for quiet_ms nothing
 * was taken. */
int outlet_wait(struct outlet *o, unsigned quiet_ms);
/* Does not wait: what is not written yet never is. If the thread is held in a write, it is left
 * behind, and releases the memory when it comes back. NULL is fine. */
void outlet_close(struct outlet *o);

#endif
