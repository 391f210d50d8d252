/*
 * Whether measuring calls costs more than it may in a second, looked at ten times by a thread: then
 * the dearest functions are measured no longer, by name, until the others cost less. What it may
 * cost is the spec's max_own_cpu, else 5 % of a CPU; functions of an event with the flag unsafe
 * stay.
 *
 * Why afterwards: how often a function is called is not known before it was counted. Private to
 * calls/.
 */
#ifndef CALLS_WATCH_H
#define CALLS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calls_list;
struct calls_way;

struct calls_watch;

/* Told of each function that is left out: its number in the list, calls a second, and which part
 * of a CPU these cost. In the watch's thread. */
typedef void calls_left_out_fn(void *arg, size_t function, uint64_t rate, double cpu);

struct calls_watch_config {
	const struct calls_way *way;
	void *opened;
	const struct calls_list *list;
	double limit; /* of a CPU: 0.05 is 5 % */
	calls_left_out_fn *left_out;
	void *arg;
};

/* Starts the thread. 0 or -errno. */
int calls_watch_new(const struct calls_watch_config *config, struct calls_watch **out);
/* Has it end soon, without waiting. NULL is fine, also below. */
void calls_watch_end(struct calls_watch *w);
void calls_watch_free(struct calls_watch *w); /* waits for its end */

/* Until the release no function is left out: what is read meanwhile has all calls of each function
 * of which it was not told. Any thread. */
void calls_watch_hold(struct calls_watch *w);
void calls_watch_release(struct calls_watch *w);

/* Chooses which functions to leave out, of the ns that each cost in this time; is_out has what is
 * left out already. Returns how many were added. */
size_t calls_watch_choose(const struct calls_list *list, const uint64_t *cost_ns, uint64_t time_ns,
			  double limit, bool *is_out);

#endif
