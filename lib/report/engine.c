/*
 * Threads read the session's files, each the next one, and pass the samples to their counters.
 */
#include "report/engine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/thread.h"
#include "counts/tally.h"
#include "profile/filter.h"
#include "profile/processes.h"
#include "profile/samples.h"
#include "report/counter.h"

#include <errno.h>
#include <unistd.h>

enum { MAX_THREADS = 64, PROGRESS_NS = 100000000, SMALL_BYTES = 64 << 10 };

/* State shared by the workers; what changes is protected by the counters' lock. */
struct engine {
	struct report_counters counters;
	struct report_stats *stats;
	size_t nr_files;
	atomic_size_t next_file;
	atomic_uint_fast64_t bytes;
	pthread_cond_t ended;
	unsigned nr_running;
};

struct worker {
	struct engine *engine;
	struct report_counter *counter;
	struct table *table;           /* one row: the sampling of the current file */
	const struct trace_head *head; /* of that file */
};

static void report_problem(void *arg, bool is_loss, const struct err *problem)
{
	struct engine *g = arg;
	const struct report_run *run = g->counters.run;

	pthread_mutex_lock(&g->counters.lock);
	run->problem(run->arg, is_loss, problem);
	pthread_mutex_unlock(&g->counters.lock);
}

static void add_rest(struct report_rest *to, const struct sampled *s)
{
	if (__builtin_add_overflow(to->ns, s->residual, &to->ns))
		to->ns = s->residual < 0 ? INT64_MIN : INT64_MAX;
	sum_add(&to->weight, s->n.weight);
}

/* The values that were counted, of a file of the last iteration. */
static void add_values(struct engine *g, const struct table *t)
{
	for (size_t i = 0; i < t->nr_events; i++) {
		struct report_event_stats *to = &g->stats->event[g->counters.of_event[i].event];
		const struct cell *c = table_cell(t, 0, i);

		if (t->columns[i].kind != EVENT_VALUE || !cell_has_value(c))
			continue;
		to->value = to->has_value && to->value > c->value ? to->value : c->value;
		to->has_value = true;
	}
}

/* Computes coverage as tables do, with the file as a row. */
static void add_coverage(struct worker *w, const struct profile_trace *trace)
{
	struct report_stats *stats = w->engine->stats;
	struct table *t = w->table;

	t->nr_rows = 0;
	counts_tally_add(t, trace);
	pthread_mutex_lock(&w->engine->counters.lock);
	for (size_t i = 0; i < t->nr_events && t->sampled; i++) {
		const struct sampled *s = table_sampled(t, 0, i);
		const struct sampled_event ev = table_sampling(t, 0, i);
		struct report_event_stats *to;

		to = &stats->event[w->engine->counters.of_event[i].event];
		sampled_total(&to->sampled, s);
		if (s->has_residual && s->claim == SAMPLED_LASTING)
			add_rest(&to->lasting, s);
		if (s->has_residual && s->claim == SAMPLED_PARTIAL &&
		    t->columns[i].sampling.is_clock)
			add_rest(&to->excluded, s);
		to->is_short |= sampled_is_short(&ev, s);
	}
	if (trace->head.iteration == w->engine->counters.last_iteration)
		add_values(w->engine, t);
	sum_add(&stats->nr_lost, table_lost(t));
	if (t->sampled && t->row_sampling[0].divisor > stats->divisor)
		stats->divisor = t->row_sampling[0].divisor;
	if (t->sampled && t->row_sampling[0].held_to_ns) {
		const struct table_sampling *s = &t->row_sampling[0];
		uint64_t held_ns = s->held_to_ns - s->held_from_ns;

		stats->held_ns = held_ns > stats->held_ns ? held_ns : stats->held_ns;
	}
	pthread_mutex_unlock(&w->engine->counters.lock);
}

static void omit(void *arg, uint32_t event, uint64_t samples, uint64_t weight)
{
	struct worker *w = arg;

	report_counter_omit(w->counter, w->head, event, samples, weight);
}

/* Times of the filter are since the session's start. */
static void select_times(struct worker *w, struct profile_samples *samples)
{
	const struct profile_filter *f = w->engine->counters.run->filter;
	const uint64_t start_ns = w->engine->counters.input->start_ns;
	uint64_t last_ns;

	if (!f->from_ns && !f->to_ns)
		return;
	if (!f->to_ns || __builtin_add_overflow(start_ns, f->to_ns, &last_ns))
		last_ns = UINT64_MAX;
	profile_samples_within(samples, f->from_ns ? start_ns + f->from_ns : 0, last_ns, omit, w);
}

static int read_samples(struct worker *w, struct profile_samples *samples)
{
	struct engine *g = w->engine;
	uint64_t counted = 0;
	struct profile_sample s;
	int rc = 0, failed = 0;

	while (!failed && !g->counters.rc && !report_counters_are_canceled(&g->counters) &&
	       (rc = profile_samples_next(samples, &s)) == 1) {
		uint64_t bytes = profile_samples_bytes(samples);

		failed = report_counter_add(w->counter, w->head, &s);
		if (bytes != counted)
			g->bytes += bytes - counted;
		counted = bytes;
	}
	if (!failed && profile_samples_trace(samples))
		add_coverage(w, profile_samples_trace(samples));
	return failed ? failed : rc < 0 ? rc : 0;
}

static int read_file(struct worker *w, size_t i)
{
	const struct report_input *in = w->engine->counters.input;
	const struct profile_filter *filter = w->engine->counters.run->filter;
	struct profile_trace_file file = profile_session_file(in->session, i);
	struct profile_samples *samples;
	uint32_t cpu;
	int rc;

	if (!profile_ranges_has(&filter->iterations, file.iteration))
		return 0;
	rc = profile_samples_open(in->session, i, report_problem, w->engine, &samples);
	if (rc != 1)
		return rc;
	rc = 0;
	profile_samples_thin(samples, w->engine->counters.run->every);
	select_times(w, samples);
	w->head = profile_samples_head(samples);
	cpu = w->head->cpu;
	/* samples of a trace of many CPUs have their own CPU */
	if (cpu == UINT32_MAX || profile_ranges_has(&filter->cpus, cpu))
		rc = read_samples(w, samples);
	profile_samples_close(samples);
	return rc;
}

static int read_files(struct worker *w)
{
	struct engine *g = w->engine;
	const struct metric_set no_metrics = {.nr = 0};
	struct profile_facts facts = *profile_session_facts(g->counters.input->session);
	size_t i;
	int rc;

	facts.max_rows = 1;
	rc = counts_tally_new(&facts, &no_metrics, &w->table, NULL)
		 ?: report_counter_new(&g->counters, &w->counter);
	while (rc == 0 && !g->counters.rc && !report_counters_are_canceled(&g->counters) &&
	       (i = g->next_file++) < g->nr_files)
		rc = read_file(w, i);
	if (rc == 0 && report_counters_are_canceled(&g->counters))
		rc = -ECANCELED;
	return rc ?: report_counter_flush(w->counter);
}

static void *run_worker(void *arg)
{
	struct engine *g = arg;
	struct worker w = {.engine = g};
	int rc = read_files(&w), none = 0;

	pthread_mutex_lock(&g->counters.lock);
	rc = rc ?: report_counter_stats(w.counter, g->stats);
	if (rc)
		atomic_compare_exchange_strong(&g->counters.rc, &none, rc);
	g->nr_running--;
	pthread_cond_signal(&g->ended);
	pthread_mutex_unlock(&g->counters.lock);
	report_counter_free(w.counter);
	table_free(w.table);
	return NULL;
}

/* 0: the caller has read all before a thread would have begun. */
static unsigned nr_threads(const struct engine *g)
{
	long nr = g->counters.run->nr_threads;

	if (!nr && profile_session_bytes(g->counters.input->session) <= SMALL_BYTES)
		return 0;
	if (!nr)
		nr = sysconf(_SC_NPROCESSORS_ONLN);
	if (nr > MAX_THREADS)
		nr = MAX_THREADS;
	if (nr > 0 && (size_t)nr > g->nr_files)
		nr = (long)g->nr_files;
	return nr < 1 ? 1 : (unsigned)nr;
}

/* The calling thread reports progress until all workers have ended. */
static void wait_for_all(struct engine *g)
{
	pthread_mutex_lock(&g->counters.lock);
	while (g->nr_running) {
		thread_cond_wait(&g->ended, &g->counters.lock, clock_monotonic_ns() + PROGRESS_NS);
		if (g->counters.run->progress)
			g->counters.run->progress(g->counters.run->arg, g->bytes);
	}
	pthread_mutex_unlock(&g->counters.lock);
}

/* If no thread is wanted, or none can be started, the caller does the work, without progress. */
static void run_all(struct engine *g)
{
	pthread_t thread[MAX_THREADS];
	unsigned wanted = nr_threads(g), nr = 0;

	g->nr_running = wanted + !wanted;
	while (nr < wanted && thread_start(&thread[nr], run_worker, g) == 0)
		nr++;
	if (nr < wanted) {
		pthread_mutex_lock(&g->counters.lock);
		g->nr_running -= wanted - nr;
		g->nr_running += nr == 0;
		pthread_mutex_unlock(&g->counters.lock);
	}
	if (nr == 0)
		run_worker(g);
	wait_for_all(g);
	while (nr)
		pthread_join(thread[--nr], NULL);
}

int report_stats_init(struct report_stats *s, size_t nr_events)
{
	*s = (struct report_stats){.nr_events = nr_events};
	dict_init(&s->programs, sizeof(struct report_program), sizeof(uint32_t), DICT_MAX);
	s->event = mem_calloc(nr_events + 1, sizeof(*s->event));
	return s->event ? 0 : -ENOMEM;
}

void report_stats_fini(struct report_stats *s)
{
	mem_free(s->event);
	dict_fini(&s->programs);
	*s = (struct report_stats){.nr_events = 0};
}

int report_engine_read(const struct report_run *run, const struct report_input *input,
		       struct report_stats *stats)
{
	struct engine g = {.stats = stats, .nr_files = profile_session_nr_files(input->session)};
	int rc = report_counters_init(&g.counters, run, input) ?: thread_cond_init(&g.ended);

	if (rc == 0) {
		run_all(&g);
		pthread_cond_destroy(&g.ended);
		stats->bytes += g.bytes;
		rc = g.counters.rc;
	}
	report_counters_fini(&g.counters);
	return rc;
}
