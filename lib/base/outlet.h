/*
 * A bounded queue in front of a descriptor, and a thread that writes it: adding never blocks.
 *
 * All output during measuring goes through three of them: standard output, standard error and the
 * log. The measuring thread appends; a full queue drops new output and reports how much.
 * cpuperf_print writes directly.
 */
#ifndef BASE_OUTLET_H
#define BASE_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outlet;

/* fd is borrowed, and must stay open until the process ends if outlet_close abandons the thread.
 * max_bytes: of the queue. The thread pauses for pause_ms after it has emptied the queue, so that
 * several texts wake it once. 0 or -errno. */
int outlet_new(int fd, size_t max_bytes, unsigned pause_ms, struct outlet **out);

/* Copies text to the queue; an empty queue accepts any length. False: not added, because the queue
 * is full, there is no memory, or a write failed. Thread-safe, like all functions below. */
bool outlet_add(struct outlet *o, const void *text, size_t len, bool is_counted);
/* The number of counted texts that were written. */
uint64_t outlet_nr_written(struct outlet *o);
bool outlet_is_empty(struct outlet *o);
/* A write failed or will fail: there is no reader. */
bool outlet_is_broken(struct outlet *o);
/* Waits until all is written. 0; -errno of the failed write; -ETIMEDOUT: nothing was written for
 * quiet_ms. */
int outlet_wait(struct outlet *o, unsigned quiet_ms);
/* Drops what is queued, without waiting. A thread that is blocked in a write is abandoned, and
 * frees the memory when it returns. NULL is fine. */
void outlet_close(struct outlet *o);

#endif
