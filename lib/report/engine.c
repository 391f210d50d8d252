/*
 * Each worker reads the next file and folds its samples, from the outermost frame down, starting
 * where the stack differs from the previous one of the same process. The sink and problems are
 * behind a lock.
 */
#include "report/engine.h"

#include "base/mem.h"
#include "base/order.h"
#include "base/thread.h"
#include "counts/tally.h"
#include "profile/filter.h"
#include "profile/processes.h"
#include "profile/samples.h"
#include "report/fold.h"
#include "report/functions.h"
#include "report/resolver.h"
#include "report/singles.h"
#include "report/stack.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_THREADS = 64,
	NR_RECENT = 64,
	RECENT_DEPTH = 128,
	PROGRESS_NS = 100000000,
};

/* State shared by the workers. */
struct engine {
	const struct report_run *run;
	const struct report_input *input;
	struct report_stats *stats;
	const bool *is_wanted;    /* by event */
	uint64_t *kernel_changes; /* times at which the kernel's code changed, in order */
	size_t nr_kernel_changes;
	size_t nr_files;
	atomic_size_t next_file;
	atomic_uint_fast64_t bytes;
	atomic_int rc;
	pthread_mutex_t lock; /* protects the sink, stats and problem */
	pthread_cond_t ended;
	unsigned nr_running;
};

/* The last stack of a process, outermost address first, and its nodes: the next sample mostly
 * differs only in its innermost frames. */
struct recent {
	uint32_t generation; /* the nodes' */
	uint32_t process, epoch, kernel_epoch;
	uint32_t nr;
	uint64_t address[RECENT_DEPTH];
	uint32_t node[RECENT_DEPTH];
};

struct worker {
	struct engine *engine;
	struct profile_lookup *lookup;
	struct unwinder *unwinder; /* NULL: stack bytes are ignored */
	struct report_resolver *resolver;
	struct report_fold *fold;
	struct report_singles *singles;  /* NULL: the fold counts samples */
	uint32_t generation;             /* the fold nodes' */
	uint32_t *of_comm;               /* the report's number of a comm, by the profile's */
	struct report_program *programs; /* by the profile's number of the comm */
	struct report_stats stats;
	struct table *table; /* one row: the sampling of the current file */
	struct report_stack stack;
	struct recent recent[NR_RECENT];
	/* The current sample. */
	struct report_key key;
	struct report_place place;
	struct report_program *program;
};

static bool has_part(const struct worker *w, unsigned part)
{
	return w->engine->run->sink->parts & part;
}

/* The number of kernel changes at or before time_ns. */
static uint32_t kernel_epoch(const struct engine *g, uint64_t time_ns)
{
	size_t low = 0, high = g->nr_kernel_changes;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (g->kernel_changes[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low;
}

/* Receives an entry of the fold as it is emptied. */
static int receive(void *arg, const struct report_key *key, const struct report_weight *weight,
		   struct report_frame *frames, size_t nr)
{
	struct worker *w = arg;
	const struct report_sink *sink = w->engine->run->sink;
	struct report_event_stats *stats = &w->stats.event[key->event];
	int rc = key->branch ? 0 : report_functions_shape(w->engine->run->functions, frames, &nr);

	if (rc)
		return rc;
	report_weight_add(nr ? &stats->taken : &stats->left, weight);
	return nr ? sink->entry(sink->arg, &(struct report_entry){*key, *weight, frames, nr}) : 0;
}

/* Passes waiting samples to the sink, and all_of_fold: what the fold has counted. A sink that
 * failed is not called again by any worker. */
static int flush(struct worker *w, bool all_of_fold)
{
	struct engine *g = w->engine;
	int rc;

	pthread_mutex_lock(&g->lock);
	rc = g->rc;
	if (rc == 0 && w->singles)
		rc = report_singles_flush(w->singles);
	if (rc == 0 && all_of_fold)
		rc = report_fold_empty(w->fold);
	if (rc && !g->rc)
		g->rc = rc;
	pthread_mutex_unlock(&g->lock);
	w->generation += all_of_fold;
	if (w->singles && all_of_fold)
		report_singles_clear(w->singles);
	return rc;
}

/* Moves *node to the child for an address: its function, and those inlined there. 0 or -ENOMEM;
 * *node is REPORT_FOLD_FULL if the fold is full. */
static int step(struct worker *w, bool is_kernel, uint64_t address, uint32_t *node)
{
	struct report_frame frames[REPORT_MAX_INLINED];
	size_t nr = report_resolver_frames(w->resolver, &w->place, is_kernel, address, frames);

	if (!nr)
		return -ENOMEM;
	while (nr && *node != REPORT_FOLD_FULL)
		*node = report_fold_child(w->fold, *node, &frames[--nr]);
	return 0;
}

static struct recent *find_recent(struct worker *w)
{
	const struct report_place *p = &w->place;
	struct recent *r = &w->recent[p->number % NR_RECENT];

	if (r->generation == w->generation && r->process == p->number && r->epoch == p->epoch &&
	    r->kernel_epoch == p->kernel_epoch)
		return r;
	r->generation = w->generation;
	r->process = p->number;
	r->epoch = p->epoch;
	r->kernel_epoch = p->kernel_epoch;
	r->nr = 0;
	return r;
}

/* Walks down from the outermost frame. Nodes are reused while addresses equal those of the previous
 * stack. */
static int walk(struct worker *w, const uint64_t *addresses, size_t nr, size_t nr_kernel,
		uint32_t *node)
{
	struct recent *r = find_recent(w);
	size_t depth = 0;
	int rc = 0;

	*node = REPORT_FOLD_ROOT;
	while (depth < r->nr && depth < nr && r->address[depth] == addresses[nr - 1 - depth])
		*node = r->node[depth++];
	r->nr = (uint32_t)depth;
	for (; depth < nr && rc == 0 && *node != REPORT_FOLD_FULL; depth++) {
		size_t i = nr - 1 - depth;

		rc = step(w, i < nr_kernel, addresses[i], node);
		if (depth >= RECENT_DEPTH || rc || *node == REPORT_FOLD_FULL)
			continue;
		r->address[depth] = addresses[i];
		r->node[depth] = *node;
		r->nr = (uint32_t)depth + 1;
	}
	return rc;
}

static int no_address(struct worker *w, uint32_t *node)
{
	const struct report_frame frame = {
	    .function = report_functions_named(w->engine->run->functions, "[no address]", "")};

	if (!frame.function)
		return -ENOMEM;
	*node = report_fold_child(w->fold, REPORT_FOLD_ROOT, &frame);
	return 0;
}

/* The sample's time since the beginning of the report, in units of the shortest block. */
static uint64_t block_of(const struct worker *w)
{
	uint64_t start_ns = w->engine->input->start_ns + w->engine->run->filter->from_ns;
	uint64_t time_ns = w->place.time_ns;

	return time_ns > start_ns ? (time_ns - start_ns) >> INTERVAL_BLOCK_SHIFT : 0;
}

static int add_single(struct worker *w, uint32_t node, uint64_t weight)
{
	const struct report_sample sample = {
	    .key = w->key, .time_ns = w->place.time_ns, .weight = weight};
	struct report_event_stats *stats = &w->stats.event[w->key.event];
	int rc = report_singles_is_full(w->singles) ? flush(w, false) : 0;

	if (rc == 0)
		rc = report_singles_add(w->singles, w->fold, node, &sample);
	if (rc < 0)
		return rc;
	report_weight_count(rc ? &stats->taken : &stats->left, weight, block_of(w));
	return 0;
}

/* False: the fold is full. */
static int try_count(struct worker *w, const uint64_t *addresses, size_t nr, size_t nr_kernel,
		     uint64_t weight, bool *is_counted)
{
	uint32_t node;
	int rc = nr ? walk(w, addresses, nr, nr_kernel, &node) : no_address(w, &node);

	*is_counted =
	    rc == 0 && node != REPORT_FOLD_FULL &&
	    (w->singles || report_fold_count(w->fold, node, &w->key, weight, block_of(w)));
	return *is_counted && w->singles ? add_single(w, node, weight) : rc;
}

static int count(struct worker *w, const uint64_t *addresses, size_t nr, size_t nr_kernel,
		 uint64_t weight)
{
	bool is_counted;
	int rc = try_count(w, addresses, nr, nr_kernel, weight, &is_counted);

	if (rc || is_counted)
		return rc;
	rc = flush(w, true);
	return rc ? rc : try_count(w, addresses, nr, nr_kernel, weight, &is_counted);
}

/* Fills in the parts of the key that the report needs; false: the sample is not selected. */
static bool make_key(struct worker *w, const struct trace_head *head,
		     const struct profile_sample *s, const struct profile_task *task)
{
	const struct profile_filter *f = w->engine->run->filter;
	const struct trace_record *r = &s->record;
	uint64_t start_ns = w->engine->input->start_ns, slice = 0;

	if (!profile_ranges_has(&f->cpus, s->cpu) || !profile_ranges_has(&f->pids, r->pid) ||
	    !profile_globs_match(&f->comms, task->comm->name))
		return false;
	if (!profile_filter_has_time(f, start_ns, s->time_ns))
		return false;
	if (has_part(w, REPORT_BY_SLICE) && s->time_ns > start_ns)
		slice = (s->time_ns - start_ns) / w->engine->run->sink->slice_ns;
	w->key = (struct report_key){
	    .event = s->id->event,
	    .session = has_part(w, REPORT_BY_SESSION) ? w->engine->input->number : 0,
	    .iteration = has_part(w, REPORT_BY_ITERATION) ? head->iteration : 0,
	    .cpu = has_part(w, REPORT_BY_CPU) ? s->cpu : 0,
	    .pid = has_part(w, REPORT_BY_PID) ? r->pid : 0,
	    .tid = has_part(w, REPORT_BY_TID) ? r->tid : 0,
	    .comm = has_part(w, REPORT_BY_COMM) ? w->of_comm[task->comm->number] : 0,
	    .slice = slice < UINT32_MAX ? (uint32_t)slice : UINT32_MAX,
	};
	w->place = (struct report_place){.process = task->process, .time_ns = s->time_ns};
	w->program = &w->programs[task->comm->number];
	return true;
}

static void set_process(struct worker *w)
{
	w->place.number = w->place.process->number;
	w->place.epoch = profile_lookup_epoch(w->lookup, w->place.process, w->place.time_ns);
}

static enum report_start start_of(void *arg, uint64_t address)
{
	struct worker *w = arg;

	return report_resolver_start(w->resolver, &w->place, address);
}

static int count_stack(struct worker *w, const struct profile_sample *s)
{
	struct report_stack *st = &w->stack;

	report_stack_make(w->unwinder, w->place.process, s, has_part(w, REPORT_BY_STACK), st);
	if (st->nr_kernel)
		w->place.kernel_epoch = kernel_epoch(w->engine, s->time_ns);
	if (st->nr > st->nr_kernel) {
		set_process(w);
		w->stats.nr_user++;
		w->stats.nr_unmapped += !profile_lookup_mapping(
		    w->lookup, w->place.process, st->address[st->nr_kernel], s->time_ns);
	}
	report_stack_finish(w->unwinder, w->place.process, s, start_of, w, st);
	w->program->nr[st->end] += st->has_callers;
	return count(w, st->address, st->nr, st->nr_kernel, s->weight);
}

/* Holds for x86-64 and arm64. */
static bool is_kernel_address(uint64_t address)
{
	return address >> 63;
}

/* The function of one end of a branch is the frame at its node. */
static int count_branch(struct worker *w, const struct trace_branch *b)
{
	uint32_t node = REPORT_FOLD_ROOT;
	int rc = step(w, is_kernel_address(b->to), b->to, &node);

	if (rc == 0 && node != REPORT_FOLD_FULL)
		rc = step(w, is_kernel_address(b->from), b->from, &node);
	if (rc)
		return rc;
	return node != REPORT_FOLD_FULL &&
		       report_fold_count(w->fold, node, &w->key, b->cycles, block_of(w))
		   ? 0
		   : -EAGAIN;
}

static int count_branches(struct worker *w, const struct profile_sample *s)
{
	struct trace_branch b;
	int rc = 0;

	w->place.kernel_epoch = kernel_epoch(w->engine, s->time_ns);
	set_process(w);
	for (uint64_t i = 0; i < s->record.nr_branches && rc == 0; i++) {
		trace_record_branch(&s->record, i, &b);
		w->key.branch = b.mispredicted ? REPORT_MISPREDICTED
				: b.predicted  ? REPORT_PREDICTED
					       : REPORT_PREDICTION_UNKNOWN;
		rc = count_branch(w, &b);
		if (rc == -EAGAIN)
			rc = flush(w, true) ?: count_branch(w, &b);
	}
	return rc;
}

static int count_sample(struct worker *w, const struct trace_head *head,
			const struct profile_sample *s)
{
	struct profile_task task;

	if (!w->engine->is_wanted[s->id->event])
		return 0;
	profile_lookup_task(w->lookup, s->record.pid, s->record.tid, s->time_ns, &task);
	if (!make_key(w, head, s, &task)) {
		report_weight_count(&w->stats.event[s->id->event].left, s->weight, 0);
		return 0;
	}
	return has_part(w, REPORT_BY_BRANCH) ? count_branches(w, s) : count_stack(w, s);
}

static void report_problem(void *arg, bool is_loss, const struct err *problem)
{
	struct engine *g = arg;

	pthread_mutex_lock(&g->lock);
	g->run->problem(g->run->arg, is_loss, problem);
	pthread_mutex_unlock(&g->lock);
}

static void add_u64(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

/* Computes coverage as tables do, with the file as a row. */
static void add_coverage(struct worker *w, const struct profile_trace *trace)
{
	struct table *t = w->table;

	counts_tally_add(t, trace);
	for (size_t i = 0; i < t->nr_events && t->sampled; i++) {
		const struct sampled *s = table_sampled(t, 0, i);
		struct report_event_stats *to = &w->stats.event[i];

		sampled_total(&to->sampled, s);
		to->is_short |= sampled_is_short(&t->columns[i].sampling, s);
	}
	add_u64(&w->stats.nr_lost, table_lost(t));
	t->nr_rows = 0;
}

static int read_samples(struct worker *w, struct profile_samples *samples)
{
	const struct trace_head *head = profile_samples_head(samples);
	struct engine *g = w->engine;
	uint64_t counted = 0;
	struct profile_sample s;
	int rc = 0, failed = 0;

	while (!failed && !g->rc && (rc = profile_samples_next(samples, &s)) == 1) {
		uint64_t bytes = profile_samples_bytes(samples);

		failed = count_sample(w, head, &s);
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
	struct engine *g = w->engine;
	struct profile_trace_file file = profile_session_file(g->input->session, i);
	struct profile_samples *samples;
	uint32_t cpu;
	int rc;

	if (!profile_ranges_has(&g->run->filter->iterations, file.iteration))
		return 0;
	rc = profile_samples_open(g->input->session, i, report_problem, g, &samples);
	if (rc != 1)
		return rc;
	rc = 0;
	cpu = profile_samples_head(samples)->cpu;
	/* samples of a trace of many CPUs have their own CPU */
	if (cpu == UINT32_MAX || profile_ranges_has(&g->run->filter->cpus, cpu))
		rc = read_samples(w, samples);
	profile_samples_close(samples);
	return rc;
}

static int read_comms(struct worker *w)
{
	const struct engine *g = w->engine;
	size_t nr = profile_nr_comms(g->input->processes);

	w->of_comm = mem_calloc(nr + 1, sizeof(*w->of_comm));
	w->programs = mem_calloc(nr + 1, sizeof(*w->programs));
	if (!w->of_comm || !w->programs)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && has_part(w, REPORT_BY_COMM); i++) {
		w->of_comm[i] = report_functions_text_number(
		    g->run->functions, profile_comm(g->input->processes, i)->name);
		if (w->of_comm[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* 0 or -ENOMEM. */
static int worker_init(struct worker *w, struct engine *g)
{
	const struct report_input *in = g->input;
	const struct metric_set no_metrics = {.nr = 0};
	struct profile_facts facts = *profile_session_facts(in->session);
	struct report_resolver_config resolver = {.symbols = in->symbols,
						  .functions = g->run->functions};
	struct unwinder_config unwinder = {
	    .finder = in->finder, .machine = facts.head.machine, .vdso = in->vdso};
	int rc;

	w->engine = g;
	w->generation = 1;
	w->lookup = profile_lookup_new(in->processes);
	w->fold = report_fold_new(receive, w);
	w->stats.event = mem_calloc(g->stats->nr_events + 1, sizeof(*w->stats.event));
	if (!w->lookup || !w->fold || !w->stats.event)
		return -ENOMEM;
	if (g->run->sink->samples) {
		w->singles = report_singles_new(g->run->functions, g->run->sink);
		if (!w->singles)
			return -ENOMEM;
	}
	resolver.lookup = w->lookup;
	resolver.with_inlined = g->run->with_inlined && !has_part(w, REPORT_BY_BRANCH);
	resolver.with_lines = has_part(w, REPORT_BY_LINE);
	resolver.with_addresses = has_part(w, REPORT_BY_ADDRESS);
	w->resolver = report_resolver_new(&resolver);
	facts.max_rows = 1;
	if (!w->resolver || counts_tally_new(&facts, &no_metrics, &w->table, NULL) || read_comms(w))
		return -ENOMEM;
	unwinder.lookup = w->lookup;
	rc = unwinder_new(&unwinder, &w->unwinder);
	/* if stacks of that machine cannot be unwound, callchains are still used */
	return rc == -ENOTSUP ? 0 : rc;
}

static void worker_fini(struct worker *w)
{
	unwinder_free(w->unwinder);
	report_singles_free(w->singles);
	report_fold_free(w->fold);
	report_resolver_free(w->resolver);
	profile_lookup_free(w->lookup);
	mem_free(w->of_comm);
	mem_free(w->programs);
	mem_free(w->stats.event);
	table_free(w->table);
}

/* Adds the worker's statistics to the shared ones. 0 or -ENOMEM. */
static int add_stats(struct worker *w)
{
	const struct engine *g = w->engine;
	struct report_stats *to = g->stats;

	for (size_t i = 0; i < to->nr_events; i++) {
		report_weight_add(&to->event[i].taken, &w->stats.event[i].taken);
		report_weight_add(&to->event[i].left, &w->stats.event[i].left);
		sampled_total(&to->event[i].sampled, &w->stats.event[i].sampled);
		to->event[i].is_short |= w->stats.event[i].is_short;
	}
	add_u64(&to->nr_lost, w->stats.nr_lost);
	to->nr_user += w->stats.nr_user;
	to->nr_unmapped += w->stats.nr_unmapped;
	for (uint32_t i = 0; i < profile_nr_comms(g->input->processes); i++) {
		struct report_program *program, *from = &w->programs[i];

		if (!report_program_all(from))
			continue;
		from->comm = report_functions_text_number(
		    g->run->functions, profile_comm(g->input->processes, i)->name);
		program = from->comm == UINT32_MAX ? NULL : dict_get(&to->programs, &from->comm);
		if (!program)
			return -ENOMEM;
		for (int end = 0; end < REPORT_NR_ENDS; end++)
			program->nr[end] += from->nr[end];
	}
	return 0;
}

static void *run_worker(void *arg)
{
	struct engine *g = arg;
	struct worker *w = mem_zalloc(sizeof(*w));
	int rc = w ? worker_init(w, g) : -ENOMEM, none = 0;
	size_t i;

	while (rc == 0 && !g->rc && (i = g->next_file++) < g->nr_files)
		rc = read_file(w, i);
	if (rc == 0)
		rc = flush(w, true);
	pthread_mutex_lock(&g->lock);
	rc = rc ? rc : add_stats(w);
	if (rc)
		atomic_compare_exchange_strong(&g->rc, &none, rc);
	g->nr_running--;
	pthread_cond_signal(&g->ended);
	pthread_mutex_unlock(&g->lock);
	if (w)
		worker_fini(w);
	mem_free(w);
	return NULL;
}

static int compare_times(const void *a, const void *b)
{
	return order_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int read_kernel_changes(struct engine *g)
{
	size_t nr = profile_nr_ksymbols(g->input->processes);

	g->kernel_changes = mem_calloc(2 * nr + 1, sizeof(*g->kernel_changes));
	if (!g->kernel_changes)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct profile_ksymbol *k = profile_ksymbol(g->input->processes, i);

		g->kernel_changes[g->nr_kernel_changes++] = k->from_ns;
		g->kernel_changes[g->nr_kernel_changes++] = k->to_ns;
	}
	qsort(g->kernel_changes, g->nr_kernel_changes, sizeof(*g->kernel_changes), compare_times);
	return 0;
}

static unsigned nr_threads(const struct engine *g)
{
	long nr = g->run->nr_threads ? g->run->nr_threads : sysconf(_SC_NPROCESSORS_ONLN);

	if (nr > MAX_THREADS)
		nr = MAX_THREADS;
	if (nr > 0 && (size_t)nr > g->nr_files)
		nr = (long)g->nr_files;
	return nr < 1 ? 1 : (unsigned)nr;
}

/* The calling thread reports progress until all workers have ended. */
static void wait_for_all(struct engine *g)
{
	struct timespec until;

	pthread_mutex_lock(&g->lock);
	while (g->nr_running) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PROGRESS_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&g->ended, &g->lock, &until);
		if (g->run->progress)
			g->run->progress(g->run->arg, g->bytes);
	}
	pthread_mutex_unlock(&g->lock);
}

/* If no thread can be started, the caller does the work, and reports its progress at the end. */
static void run_all(struct engine *g)
{
	pthread_t thread[MAX_THREADS];
	unsigned wanted = nr_threads(g), nr = 0;

	g->nr_running = wanted;
	while (nr < wanted && thread_start(&thread[nr], run_worker, g) == 0)
		nr++;
	if (nr < wanted) {
		pthread_mutex_lock(&g->lock);
		g->nr_running -= wanted - nr;
		g->nr_running += nr == 0;
		pthread_mutex_unlock(&g->lock);
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
	const struct profile_facts *f = profile_session_facts(input->session);
	MEM_AUTO bool *is_wanted = mem_calloc(f->nr_events + 1, sizeof(*is_wanted));
	struct engine g = {.run = run,
			   .input = input,
			   .stats = stats,
			   .is_wanted = is_wanted,
			   .nr_files = profile_session_nr_files(input->session)};

	if (!is_wanted || read_kernel_changes(&g))
		return -ENOMEM;
	for (size_t i = 0; i < f->nr_events; i++)
		is_wanted[i] = profile_filter_has_event(run->filter, &f->events[i]);
	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.ended, NULL);
	run_all(&g);
	pthread_cond_destroy(&g.ended);
	pthread_mutex_destroy(&g.lock);
	mem_free(g.kernel_changes);
	stats->bytes += g.bytes;
	return g.rc;
}
