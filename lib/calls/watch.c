#include "calls/watch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "calls/way.h"

#include <errno.h>
#include <pthread.h>

enum { LOOK_NS = 1000000000 };

struct calls_watch {
	struct calls_watch_config config;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool ends;
	uint64_t *before;  /* owned; calls of each function at the last look */
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

static uint64_t calls_since(struct calls_watch *w, size_t function)
{
	const struct calls_watch_config *c = &w->config;
	uint64_t now = c->way->calls(c->opened, function), before = w->before[function];

	w->before[function] = now;
	return now - before;
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

static void look(struct calls_watch *w, uint64_t time_ns)
{
	const struct calls_watch_config *c = &w->config;
	MEM_AUTO bool *was_out = mem_calloc(c->list->nr, sizeof(*was_out));

	for (size_t i = 0; i < c->list->nr; i++) {
		w->cost_ns[i] = calls_since(w, i) * c->list->function[i].cost_ns;
		if (was_out)
			was_out[i] = w->is_out[i];
	}
	if (!was_out || !calls_watch_choose(c->list, w->cost_ns, time_ns, c->limit, w->is_out))
		return;
	if (c->way->leave_out(c->opened, w->is_out) == 0)
		tell(w, was_out, time_ns);
	else
		for (size_t i = 0; i < c->list->nr; i++)
			w->is_out[i] = was_out[i];
}

static void *watch(void *arg)
{
	struct calls_watch *w = arg;
	uint64_t last = clock_monotonic_ns();

	pthread_mutex_lock(&w->lock);
	while (!w->ends) {
		uint64_t now = clock_monotonic_ns();

		if (now - last < LOOK_NS) {
			thread_cond_wait(&w->cond, &w->lock, last + LOOK_NS);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		look(w, now - last);
		last = clock_monotonic_ns();
		for (size_t i = 0; i < w->config.list->nr; i++)
			(void)calls_since(w, i); /* setting breakpoints takes a while */
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
	rc = thread_start_blocked(&w->thread, watch, w);
	if (rc) {
		pthread_cond_destroy(&w->cond);
		pthread_mutex_destroy(&w->lock);
		fini(w);
		return rc;
	}
	*out = w;
	return 0;
}

void calls_watch_free(struct calls_watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	fini(w);
}
