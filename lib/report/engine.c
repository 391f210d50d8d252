/*
 * Each worker takes the next file, folds its samples, and resolves what was folded when the table
 * is full: functions are looked up once for many samples. The sink is behind a lock, as are
 * problems.
 */
#include "report/engine.h"

#include "base/mem.h"
#include "profile/processes.h"
#include "profile/samples.h"
#include "report/filter.h"
#include "report/fold.h"
#include "report/functions.h"
#include "report/stack.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_THREADS = 64,
	NR_CACHED = 1 << 14,
	MAX_FRAMES = 2 * REPORT_MAX_DEPTH,
	NO_PROCESS = UINT32_MAX,
	PROGRESS_NS = 100000000,
};

/* All that the workers share. */
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
	pthread_mutex_t lock; /* of the sink, of stats and of problem */
	pthread_cond_t ended;
	unsigned nr_running;
};

/* The function at an address, as it was in one epoch of one process. */
struct cached {
	uint64_t address;
	uint32_t process, epoch;
	const struct report_function *function;
};

struct worker {
	struct engine *engine;
	struct profile_lookup *lookup;
	struct unwinder *unwinder; /* NULL: stack bytes are passed by */
	struct report_fold *fold;
	struct cached *cache;
	const struct report_function **of_symbol; /* by the number of the symbol */
	size_t nr_of_symbol;
	uint32_t *of_comm; /* the report's number + 1, by the profile's number */
	struct report_stats stats;
	struct report_stack stack;
	struct report_frame frames[MAX_FRAMES];
	size_t nr_frames;
	const struct report_folded *folded; /* in hand */
};

static bool has_part(const struct worker *w, unsigned part)
{
	return w->engine->run->sink->parts & part;
}

/* How many of the changes lie before or at time_ns. */
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

/* Names are kept by the symbols' numbers, so that the lock of the report's is met once for each. */
static const struct report_function *reported(struct worker *w, const struct symbol_function *s)
{
	size_t room = w->nr_of_symbol;

	if (s->number >= room) {
		const struct report_function **list;

		room = ((size_t)s->number + 1024) * 2;
		list = mem_resize(w->of_symbol, room * sizeof(*list));
		if (!list)
			return NULL;
		memset(list + w->nr_of_symbol, 0, (room - w->nr_of_symbol) * sizeof(*list));
		w->of_symbol = list;
		w->nr_of_symbol = room;
	}
	if (!w->of_symbol[s->number])
		w->of_symbol[s->number] = report_functions_get(w->engine->run->functions, s);
	return w->of_symbol[s->number];
}

static struct cached *find_cached(struct worker *w, uint32_t process, uint32_t epoch,
				  uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)process << 40 ^ epoch) * 0x9e3779b97f4a7c15u;

	return &w->cache[hash >> 50 & (NR_CACHED - 1)];
}

static int add_frame(struct worker *w, const struct report_function *function, const char *file,
		     uint32_t line)
{
	if (!function)
		return -ENOMEM;
	if (w->nr_frames < MAX_FRAMES)
		w->frames[w->nr_frames++] = (struct report_frame){function, file, line};
	return 0;
}

static const struct profile_mapping *find_mapping(struct worker *w, uint64_t address)
{
	return profile_lookup_mapping(w->lookup, w->folded->process, address, w->folded->time_ns);
}

/* With the functions that are inlined there, and lines. */
static int add_lines(struct worker *w, uint64_t address)
{
	struct symbol_line lines[SYMBOL_MAX_LINES];
	size_t nr = symbols_lines(w->engine->input->symbols, find_mapping(w, address), address,
				  lines, SYMBOL_MAX_LINES);
	size_t i = w->engine->run->with_inlined || !nr ? 0 : nr - 1;
	int rc = 0;

	for (; i < nr && rc == 0; i++)
		rc = add_frame(w, reported(w, lines[i].function), lines[i].file, lines[i].line);
	return rc;
}

static const struct symbol_function *find_symbol(struct worker *w, bool is_kernel, uint64_t address)
{
	struct symbols *s = w->engine->input->symbols;

	return is_kernel ? symbols_kernel(s, address, w->folded->time_ns)
			 : symbols_user(s, find_mapping(w, address), address);
}

static int add_address(struct worker *w, bool is_kernel, uint64_t address)
{
	const struct report_fold_key *k = &w->folded->key;
	uint32_t process = is_kernel ? NO_PROCESS : k->process;
	uint32_t epoch = is_kernel ? k->kernel_epoch : k->epoch;
	struct cached *c = find_cached(w, process, epoch, address);

	if (!c->function || c->address != address || c->process != process || c->epoch != epoch)
		*c = (struct cached){address, process, epoch,
				     reported(w, find_symbol(w, is_kernel, address))};
	return add_frame(w, c->function, NULL, 0);
}

/* On x86-64 and arm64 alike. */
static bool is_kernel_address(uint64_t address)
{
	return address >> 63;
}

static int resolve(struct worker *w)
{
	const struct report_folded *f = w->folded;
	bool with_lines = w->engine->run->with_inlined || has_part(w, REPORT_BY_LINE);
	int rc = 0;

	w->nr_frames = 0;
	for (uint32_t i = 0; i < f->key.nr_addresses && rc == 0; i++) {
		bool is_kernel =
		    f->key.key.branch ? is_kernel_address(f->addresses[i]) : i < f->key.nr_kernel;

		rc = with_lines && !is_kernel ? add_lines(w, f->addresses[i])
					      : add_address(w, is_kernel, f->addresses[i]);
	}
	if (rc == 0 && !w->nr_frames)
		rc = add_frame(
		    w, report_functions_named(w->engine->run->functions, "[no address]", ""), NULL,
		    0);
	return rc;
}

static int give(struct worker *w, size_t nr_frames)
{
	const struct report_sink *sink = w->engine->run->sink;
	struct report_entry e = {.key = w->folded->key.key,
				 .weight = w->folded->weight,
				 .frames = w->frames,
				 .nr_frames = nr_frames};
	int rc;

	pthread_mutex_lock(&w->engine->lock);
	rc = sink->entry(sink->arg, &e);
	pthread_mutex_unlock(&w->engine->lock);
	return rc;
}

/* What was folded, when the table is emptied. */
static int take_folded(void *arg, const struct report_folded *f)
{
	struct worker *w = arg;
	struct report_event_stats *stats = &w->stats.event[f->key.key.event];
	bool is_branch = has_part(w, REPORT_BY_BRANCH);
	int rc;

	w->folded = f;
	rc = resolve(w);
	if (rc == 0 && !is_branch)
		rc = report_functions_shape(w->engine->run->functions, w->frames, &w->nr_frames);
	if (rc)
		return rc;
	report_weight_add(w->nr_frames ? &stats->taken : &stats->left, &f->weight);
	return w->nr_frames ? give(w, w->nr_frames) : 0;
}

/* Which of the sample's facts the report asks for; false: it is not wanted. */
static bool make_key(struct worker *w, const struct trace_head *head,
		     const struct profile_sample *s, const struct profile_task *task,
		     struct report_fold_key *out)
{
	const struct report_filter *f = w->engine->run->filter;
	const struct trace_record *r = &s->record;
	int64_t since_ns = (int64_t)(s->time_ns - w->engine->input->start_ns);

	if (!report_ranges_has(&f->pids, r->pid) ||
	    !report_globs_match(&f->comms, task->comm->name))
		return false;
	if ((f->from_ns && since_ns < (int64_t)f->from_ns) ||
	    (f->to_ns && since_ns >= (int64_t)f->to_ns))
		return false;
	*out = (struct report_fold_key){
	    .key = {.event = s->id->event,
		    .session = has_part(w, REPORT_BY_SESSION) ? w->engine->input->number : 0,
		    .iteration = has_part(w, REPORT_BY_ITERATION) ? head->iteration : 0,
		    .cpu = has_part(w, REPORT_BY_CPU) ? head->cpu : 0,
		    .pid = has_part(w, REPORT_BY_PID) ? r->pid : 0,
		    .tid = has_part(w, REPORT_BY_TID) ? r->tid : 0,
		    .comm = has_part(w, REPORT_BY_COMM) ? w->of_comm[task->comm->number] : 0},
	};
	return true;
}

static void leave(struct worker *w, const struct profile_sample *s)
{
	struct report_weight one = {1, s->weight, (double)s->weight * (double)s->weight};

	report_weight_add(&w->stats.event[s->id->event].left, &one);
}

static int fold(struct worker *w, const struct profile_sample *s, const struct profile_task *task,
		struct report_fold_key *key)
{
	struct report_stack *st = &w->stack;

	report_stack_make(w->unwinder, task->process, s, has_part(w, REPORT_BY_STACK), st);
	if (st->is_unwound) {
		w->stats.nr_unwound++;
		w->stats.nr_ends[st->end]++;
	}
	key->nr_addresses = (uint32_t)st->nr;
	key->nr_kernel = (uint32_t)st->nr_kernel;
	if (st->nr_kernel)
		key->kernel_epoch = kernel_epoch(w->engine, s->time_ns);
	if (st->nr > st->nr_kernel) {
		key->process = task->process->number;
		key->epoch = profile_lookup_epoch(w->lookup, task->process, s->time_ns);
	}
	return report_fold_add(w->fold, key, st->address, s->weight, s->time_ns, task->process);
}

/* Both ends of a branch by themselves: the kernel's addresses come first in a stack, but not here.
 */
static int fold_branch(struct worker *w, const struct profile_sample *s,
		       const struct profile_task *task, struct report_fold_key *key,
		       const struct trace_branch *b)
{
	const uint64_t ends[2] = {b->from, b->to};

	key->key.branch = b->mispredicted ? REPORT_MISPREDICTED
			  : b->predicted  ? REPORT_PREDICTED
					  : REPORT_NOT_TOLD;
	key->nr_addresses = 2;
	key->kernel_epoch = kernel_epoch(w->engine, s->time_ns);
	key->process = task->process->number;
	key->epoch = profile_lookup_epoch(w->lookup, task->process, s->time_ns);
	return report_fold_add(w->fold, key, ends, b->cycles, s->time_ns, task->process);
}

static int fold_branches(struct worker *w, const struct profile_sample *s,
			 const struct profile_task *task, struct report_fold_key *key)
{
	struct trace_branch b;
	int rc = 0;

	for (uint64_t i = 0; i < s->record.nr_branches && rc == 0; i++) {
		trace_record_branch(&s->record, i, &b);
		rc = fold_branch(w, s, task, key, &b);
	}
	return rc;
}

static int take_sample(struct worker *w, const struct trace_head *head,
		       const struct profile_sample *s)
{
	struct report_fold_key key;
	struct profile_task task;

	if (!w->engine->is_wanted[s->id->event])
		return 0;
	profile_lookup_task(w->lookup, s->record.pid, s->record.tid, s->time_ns, &task);
	if (!make_key(w, head, s, &task, &key)) {
		leave(w, s);
		return 0;
	}
	return has_part(w, REPORT_BY_BRANCH) ? fold_branches(w, s, &task, &key)
					     : fold(w, s, &task, &key);
}

static void take_problem(void *arg, bool is_loss, const struct err *problem)
{
	struct engine *g = arg;

	pthread_mutex_lock(&g->lock);
	g->run->problem(g->run->arg, is_loss, problem);
	pthread_mutex_unlock(&g->lock);
}

static int read_samples(struct worker *w, struct profile_samples *samples)
{
	const struct trace_head *head = profile_samples_head(samples);
	struct engine *g = w->engine;
	uint64_t told = 0;
	struct profile_sample s;
	int rc, failed = 0;

	while (!failed && !g->rc && (rc = profile_samples_next(samples, &s)) == 1) {
		uint64_t bytes = profile_samples_bytes(samples);

		failed = take_sample(w, head, &s);
		if (bytes != told)
			g->bytes += bytes - told;
		told = bytes;
	}
	return failed ? failed : rc < 0 ? rc : 0;
}

static int read_file(struct worker *w, size_t i)
{
	struct engine *g = w->engine;
	struct profile_trace_file file = profile_session_file(g->input->session, i);
	struct profile_samples *samples;
	int rc;

	if (!report_ranges_has(&g->run->filter->iterations, file.iteration))
		return 0;
	rc = profile_samples_open(g->input->session, i, take_problem, g, &samples);
	if (rc != 1)
		return rc;
	if (report_ranges_has(&g->run->filter->cpus, profile_samples_head(samples)->cpu))
		rc = read_samples(w, samples);
	else
		rc = 0;
	profile_samples_close(samples);
	return rc;
}

static int know_comms(struct worker *w)
{
	const struct engine *g = w->engine;
	size_t nr = profile_nr_comms(g->input->processes);

	w->of_comm = mem_calloc(nr + 1, sizeof(*w->of_comm));
	if (!w->of_comm)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && has_part(w, REPORT_BY_COMM); i++) {
		w->of_comm[i] = report_functions_number(g->run->functions,
							profile_comm(g->input->processes, i)->name);
		if (w->of_comm[i] == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* Where stacks of that machine cannot be unwound, callchains still are there. */
static int make_unwinder(struct worker *w)
{
	const struct report_input *in = w->engine->input;
	const struct unwinder_config config = {
	    .finder = in->finder,
	    .lookup = w->lookup,
	    .machine = profile_session_facts(in->session)->head.machine,
	};
	int rc = unwinder_new(&config, &w->unwinder);

	return rc == -ENOTSUP ? 0 : rc;
}

static int worker_init(struct worker *w, struct engine *g)
{
	w->engine = g;
	w->lookup = profile_lookup_new(g->input->processes);
	w->fold = report_fold_new(take_folded, w);
	w->cache = mem_calloc(NR_CACHED, sizeof(*w->cache));
	w->stats.event = mem_calloc(g->stats->nr_events + 1, sizeof(*w->stats.event));
	if (!w->lookup || !w->fold || !w->cache || !w->stats.event)
		return -ENOMEM;
	return know_comms(w) ? -ENOMEM : make_unwinder(w);
}

static void worker_fini(struct worker *w)
{
	unwinder_free(w->unwinder);
	report_fold_free(w->fold);
	profile_lookup_free(w->lookup);
	mem_free(w->cache);
	mem_free(w->of_symbol);
	mem_free(w->of_comm);
	mem_free(w->stats.event);
}

static void add_stats(struct worker *w)
{
	struct report_stats *to = w->engine->stats;

	for (size_t i = 0; i < to->nr_events; i++) {
		report_weight_add(&to->event[i].taken, &w->stats.event[i].taken);
		report_weight_add(&to->event[i].left, &w->stats.event[i].left);
	}
	to->nr_unwound += w->stats.nr_unwound;
	for (size_t i = 0; i <= UNWIND_MAX; i++)
		to->nr_ends[i] += w->stats.nr_ends[i];
}

static int work(struct worker *w)
{
	struct engine *g = w->engine;
	size_t i;
	int rc = 0;

	while (rc == 0 && !g->rc && (i = g->next_file++) < g->nr_files)
		rc = read_file(w, i);
	return rc ? rc : report_fold_flush(w->fold);
}

static void *run_worker(void *arg)
{
	struct engine *g = arg;
	struct worker *w = mem_zalloc(sizeof(*w));
	int rc = w ? worker_init(w, g) : -ENOMEM, none = 0;

	if (rc == 0)
		rc = work(w);
	pthread_mutex_lock(&g->lock);
	if (rc)
		atomic_compare_exchange_strong(&g->rc, &none, rc);
	else
		add_stats(w);
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
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int know_kernel_changes(struct engine *g)
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

static int know_events(struct engine *g, bool **out)
{
	const struct profile_facts *f = profile_session_facts(g->input->session);
	bool *wanted = mem_calloc(f->nr_events + 1, sizeof(*wanted));

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < f->nr_events; i++)
		wanted[i] = report_filter_has_event(g->run->filter, &f->events[i]);
	*out = wanted;
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

/* The calling thread tells of the progress until all have ended. */
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

/* With one thread, or without leave to start more, the caller does the work. */
static void run_all(struct engine *g)
{
	pthread_t thread[MAX_THREADS];
	unsigned wanted = nr_threads(g), nr = 0;

	g->nr_running = wanted;
	while (nr < wanted && pthread_create(&thread[nr], NULL, run_worker, g) == 0)
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

int report_engine_read(const struct report_run *run, const struct report_input *input,
		       struct report_stats *stats)
{
	struct engine g = {.run = run, .input = input, .stats = stats};
	bool *wanted = NULL;
	int rc;

	g.nr_files = profile_session_nr_files(input->session);
	rc = know_kernel_changes(&g);
	if (rc == 0)
		rc = know_events(&g, &wanted);
	if (rc == 0) {
		g.is_wanted = wanted;
		pthread_mutex_init(&g.lock, NULL);
		pthread_cond_init(&g.ended, NULL);
		run_all(&g);
		pthread_cond_destroy(&g.ended);
		pthread_mutex_destroy(&g.lock);
		rc = g.rc;
		stats->bytes += g.bytes;
	}
	mem_free(wanted);
	mem_free(g.kernel_changes);
	return rc;
}
