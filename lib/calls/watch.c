#include "calls/watch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "calls/way.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* Looking takes at most a fiftieth of the time. */
enum { LOOK_NS = 100000000, WINDOW_NS = 1000000000, LOOK_COST = 50 };

struct calls_watch {
	struct calls_watch_config config;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool ends;
	pthread_mutex_t switching;
	uint64_t *before;  /* owned; calls of each function when the window began */
	uint64_t *cost_ns; /* owned; of those since */
	bool *is_out;      /* owned */
};

static size_t find_dearest(const struct calls_list *list, const uint64_t *cost_ns,
			   const bool *is_out)
{
	size_t found = list->nr;

	for (size_t i = 0; i < list->nr; i++)
		if (!is_out[i] && !list->function[i].is_kept && cost_ns[i] &&
		    (found == list->nr || cost_ns[i] > cost_ns[found]))
			found = i;
	return found;
}

size_t calls_watch_choose(const struct calls_list *list, const uint64_t *cost_ns, uint64_t time_ns,
			  double limit, bool *is_out)
{
	double most_ns = limit * (double)time_ns, sum = 0;
	size_t nr = 0;

	for (size_t i = 0; i < list->nr; i++)
		if (!is_out[i])
			sum += (double)cost_ns[i];
	while (sum > most_ns) {
		size_t i = find_dearest(list, cost_ns, is_out);

		if (i == list->nr)
			break; /* the rest is kept */
		is_out[i] = true;
		sum -= (double)cost_ns[i];
		nr++;
	}
	return nr;
}

static void begin_window(struct calls_watch *w)
{
	const struct calls_watch_config *c = &w->config;

	if (c->way->look)
		(void)c->way->look(c->opened);
	for (size_t i = 0; i < c->list->nr; i++)
		w->before[i] = c->way->calls(c->opened, i);
}

static void tell(struct calls_watch *w, const bool *was_out, uint64_t time_ns)
{
	const struct calls_watch_config *c = &w->config;

	for (size_t i = 0; i < c->list->nr; i++) {
		double cost = c->list->function[i].cost_ns, seconds = (double)time_ns / 1e9;

		if (!w->is_out[i] || was_out[i] || cost <= 0)
			continue;
		c->left_out(c->arg, i, (uint64_t)((double)w->cost_ns[i] / cost / seconds + 0.5),
			    (double)w->cost_ns[i] / (double)time_ns);
	}
}

/* Whether functions are left out. What was spent is compared with what a whole window may cost: a
 * burst of calls is none. */
static bool look(struct calls_watch *w, uint64_t time_ns)
{
	const struct calls_watch_config *c = &w->config;
	MEM_AUTO bool *was_out = mem_calloc(c->list->nr, sizeof(*was_out));

	if (!was_out || (c->way->look && c->way->look(c->opened)))
		return false;
	for (size_t i = 0; i < c->list->nr; i++) {
		w->cost_ns[i] =
		    (c->way->calls(c->opened, i) - w->before[i]) * c->list->function[i].cost_ns;
		was_out[i] = w->is_out[i];
	}
	if (!calls_watch_choose(c->list, w->cost_ns, time_ns < WINDOW_NS ? WINDOW_NS : time_ns,
				c->limit, w->is_out))
		return false;
	pthread_mutex_lock(&w->switching);
	if (c->way->leave_out(c->opened, w->is_out) == 0)
		tell(w, was_out, time_ns);
	else
		memcpy(w->is_out, was_out, c->list->nr * sizeof(*was_out));
	pthread_mutex_unlock(&w->switching);
	if (c->way->leave_rest)
		c->way->leave_rest(c->opened);
	return true;
}

void calls_watch_hold(struct calls_watch *w)
{
	pthread_mutex_lock(&w->switching);
}

void calls_watch_release(struct calls_watch *w)
{
	pthread_mutex_unlock(&w->switching);
}

/* When to look next: what looking costs is part of the cost. */
static uint64_t next_look(uint64_t begin_ns, uint64_t end_ns)
{
	const uint64_t pause_ns = LOOK_COST * (end_ns - begin_ns);

	return end_ns + (pause_ns < LOOK_NS     ? LOOK_NS
			 : pause_ns < WINDOW_NS ? pause_ns
						: WINDOW_NS);
}

static void *watch(void *arg)
{
	struct calls_watch *w = arg;
	uint64_t window = clock_monotonic_ns(), due = window + LOOK_NS;

	pthread_mutex_lock(&w->lock);
	while (!w->ends) {
		uint64_t now = clock_monotonic_ns();

		if (now < due) {
			thread_cond_wait(&w->cond, &w->lock, due);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		if (look(w, now - window) || now - window >= WINDOW_NS) {
			begin_window(w); /* setting breakpoints takes a while */
			window = clock_monotonic_ns();
		}
		due = next_look(now, clock_monotonic_ns());
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void fini(struct calls_watch *w)
{
	mem_free(w->before);
	mem_free(w->cost_ns);
	mem_free(w->is_out);
	mem_free(w);
}

int calls_watch_new(const struct calls_watch_config *config, struct calls_watch **out)
{
	size_t nr = config->list->nr + 1;
	struct calls_watch *w = mem_zalloc(sizeof(*w));
	int rc;

	if (!w)
		return -ENOMEM;
	w->config = *config;
	w->before = mem_calloc(nr, sizeof(*w->before));
	w->cost_ns = mem_calloc(nr, sizeof(*w->cost_ns));
	w->is_out = mem_calloc(nr, sizeof(*w->is_out));
	rc = w->before && w->cost_ns && w->is_out ? thread_cond_init(&w->cond) : -ENOMEM;
	if (rc) {
		fini(w);
		return rc;
	}
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->switching, NULL);
	rc = thread_start_blocked(&w->thread, watch, w);
	if (rc) {
		pthread_cond_destroy(&w->cond);
		pthread_mutex_destroy(&w->lock);
		pthread_mutex_destroy(&w->switching);
		fini(w);
		return rc;
	}
	*out = w;
	return 0;
}

void calls_watch_end(struct calls_watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

void calls_watch_free(struct calls_watch *w)
{
	if (!w)
		return;
	calls_watch_end(w);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->switching);
	fini(w);
}
