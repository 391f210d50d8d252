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

#define XXH_INLINE_ALL
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	MAX_THREADS = 64,
	NR_STACKS = 1 << 14, /* that a worker remembers, like the next two */
	NR_ADDRESSES = 1 << 15,
	NR_PLACES = 1 << 15,
	NR_RECENT = 64,
	RECENT_DEPTH = 128,
	NO_PROCESS = UINT32_MAX,
	LEFT_OUT = UINT32_MAX - 1, /* place of stacks that are not wanted */
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

/* All that decides what frames a stack has. Hashed as bytes: no padding. */
struct stack_key {
	struct report_key key;
	uint32_t process, epoch, kernel_epoch, nr_kernel, nr;
};
_Static_assert(sizeof(struct stack_key) == 13 * sizeof(uint32_t), "hashed as bytes");

/* Where the samples of such a stack are counted. Two stacks of one hash of 64 bits do not occur but
 * by design, and who designs that misleads himself. */
struct known_stack {
	uint64_t hash;
	uint32_t place, generation;
};

/* The function at an address, as it was in one epoch of one process. */
struct known_address {
	uint64_t address;
	uint32_t process, epoch;
	const struct report_function *function;
};

/* The function at a place of a file, whoever mapped it where. */
struct known_place {
	const struct profile_object *object;
	uint64_t offset;
	const struct report_function *function;
};

/* The last stack of a process: that of the next sample mostly differs in its innermost frames only.
 */
struct recent {
	uint32_t process, epoch, kernel_epoch, nr;
	uint64_t addresses[RECENT_DEPTH];
	const struct report_function *functions[RECENT_DEPTH];
};

struct worker {
	struct engine *engine;
	struct profile_lookup *lookup;
	struct unwinder *unwinder; /* NULL: stack bytes are passed by */
	struct report_fold *fold;
	uint32_t generation; /* of the fold's places */
	struct known_stack *stacks;
	struct known_address *addresses;
	struct known_place *places;
	struct recent *recent;
	const struct report_function **of_symbol; /* by the number of the symbol */
	size_t nr_of_symbol;
	uint32_t *of_comm; /* the report's number, by the profile's */
	struct report_stats stats;
	struct report_stack stack;
	struct report_frame frames[REPORT_MAX_FRAMES];
	size_t nr_frames;
	/* The stack in hand. */
	const struct profile_process *process;
	uint64_t time_ns;
	struct stack_key key;
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

static int add_frame(struct worker *w, const struct report_function *function, const char *file,
		     uint32_t line)
{
	if (!function)
		return -ENOMEM;
	if (w->nr_frames < REPORT_MAX_FRAMES)
		w->frames[w->nr_frames++] = (struct report_frame){function, file, line};
	return 0;
}

static const struct profile_mapping *find_mapping(struct worker *w, uint64_t address)
{
	return profile_lookup_mapping(w->lookup, w->process, address, w->time_ns);
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

static size_t slot_of(uint64_t a, uint64_t b, size_t nr)
{
	uint64_t h = (a ^ b * 0xc2b2ae3d27d4eb4fu) * 0x9e3779b97f4a7c15u;

	return (h >> 32) & (nr - 1);
}

/* Code made at run time is named by process and time, that of a file by its place there. */
static const struct report_function *find_user(struct worker *w, uint64_t address)
{
	const struct profile_mapping *m = find_mapping(w, address);
	struct symbols *symbols = w->engine->input->symbols;
	struct known_place *k;
	uint64_t offset;

	if (!m || m->object->kind != PROFILE_OBJECT_FILE)
		return reported(w, symbols_user(symbols, m, address));
	offset = address - m->start + m->offset;
	k = &w->places[slot_of(offset, m->object->number, NR_PLACES)];
	if (k->object != m->object || k->offset != offset)
		*k = (struct known_place){m->object, offset,
					  reported(w, symbols_user(symbols, m, address))};
	return k->function;
}

static const struct report_function *find_function(struct worker *w, bool is_kernel,
						   uint64_t address)
{
	uint32_t process = is_kernel ? NO_PROCESS : w->key.process;
	uint32_t epoch = is_kernel ? w->key.kernel_epoch : w->key.epoch;
	struct known_address *k =
	    &w->addresses[slot_of(address, (uint64_t)process << 32 | epoch, NR_ADDRESSES)];

	if (k->function && k->address == address && k->process == process && k->epoch == epoch)
		return k->function;
	*k = (struct known_address){
	    address, process, epoch,
	    is_kernel ? reported(w, symbols_kernel(w->engine->input->symbols, address, w->time_ns))
		      : find_user(w, address)};
	return k->function;
}

/* On x86-64 and arm64 alike. */
static bool is_kernel_address(uint64_t address)
{
	return address >> 63;
}

static bool is_kernel(const struct worker *w, const uint64_t *addresses, uint32_t i)
{
	return w->key.key.branch ? is_kernel_address(addresses[i]) : i < w->key.nr_kernel;
}

/* How many of the outermost addresses are those of the stack before. */
static uint32_t nr_alike(const struct worker *w, const struct recent *r, const uint64_t *addresses)
{
	const struct stack_key *k = &w->key;
	uint32_t nr = 0, most = r->nr < k->nr ? r->nr : k->nr;

	if (r->process != k->process || r->epoch != k->epoch || r->kernel_epoch != k->kernel_epoch)
		return 0;
	while (nr < most && r->addresses[r->nr - 1 - nr] == addresses[k->nr - 1 - nr])
		nr++;
	return nr;
}

/* By what the stack before had, and looking up the rest. */
static int resolve_again(struct worker *w, struct recent *r, const uint64_t *addresses)
{
	const struct stack_key *k = &w->key;
	uint32_t nr = k->nr, alike = nr_alike(w, r, addresses);
	int rc = 0;

	memmove(r->functions + nr - alike, r->functions + r->nr - alike,
		alike * sizeof(*r->functions));
	for (uint32_t i = 0; i < nr && rc == 0; i++) {
		if (i < nr - alike)
			r->functions[i] =
			    find_function(w, is_kernel(w, addresses, i), addresses[i]);
		rc = add_frame(w, r->functions[i], NULL, 0);
	}
	memcpy(r->addresses, addresses, (nr - alike) * sizeof(*addresses));
	if (r->nr != nr)
		memcpy(r->addresses, addresses, nr * sizeof(*addresses));
	r->process = k->process;
	r->epoch = k->epoch;
	r->kernel_epoch = k->kernel_epoch;
	r->nr = rc ? 0 : nr;
	return rc;
}

static int resolve_each(struct worker *w, bool with_lines, const uint64_t *addresses)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->key.nr && rc == 0; i++) {
		bool in_kernel = is_kernel(w, addresses, i);

		rc = with_lines && !in_kernel
			 ? add_lines(w, addresses[i])
			 : add_frame(w, find_function(w, in_kernel, addresses[i]), NULL, 0);
	}
	return rc;
}

static int resolve(struct worker *w, const uint64_t *addresses)
{
	struct report_functions *functions = w->engine->run->functions;
	bool with_lines = w->engine->run->with_inlined || has_part(w, REPORT_BY_LINE);
	int rc;

	w->nr_frames = 0;
	if (with_lines || w->key.nr > RECENT_DEPTH)
		rc = resolve_each(w, with_lines, addresses);
	else
		rc = resolve_again(w, &w->recent[w->key.process % NR_RECENT], addresses);
	if (rc == 0 && !w->nr_frames)
		rc = add_frame(w, report_functions_named(functions, "[no address]", ""), NULL, 0);
	if (rc == 0 && !w->key.key.branch)
		rc = report_functions_shape(functions, w->frames, &w->nr_frames);
	return rc;
}

/* An entry of the table that is emptied. */
static int give(void *arg, const struct report_entry *e)
{
	struct worker *w = arg;
	const struct report_sink *sink = w->engine->run->sink;

	report_weight_add(&w->stats.event[e->key.event].taken, &e->weight);
	return sink->entry(sink->arg, e);
}

static int empty(struct worker *w)
{
	int rc;

	pthread_mutex_lock(&w->engine->lock);
	rc = report_fold_empty(w->fold);
	pthread_mutex_unlock(&w->engine->lock);
	w->generation++;
	return rc;
}

/* Looks the stack up, and makes it an entry. */
static int find_place(struct worker *w, const uint64_t *addresses, uint32_t *place)
{
	int rc = resolve(w, addresses);

	*place = LEFT_OUT;
	if (rc || !w->nr_frames)
		return rc;
	*place = report_fold_place(w->fold, &w->key.key, w->frames, w->nr_frames);
	if (*place != REPORT_FOLD_FULL)
		return 0;
	rc = empty(w);
	*place = report_fold_place(w->fold, &w->key.key, w->frames, w->nr_frames);
	return rc;
}

static void leave(struct worker *w, uint32_t event, uint64_t weight)
{
	const struct report_weight one = {1, weight, (double)weight * (double)weight};

	report_weight_add(&w->stats.event[event].left, &one);
}

/* Counts the stack in hand, of key.nr addresses. */
static int count(struct worker *w, const uint64_t *addresses, uint64_t weight)
{
	uint64_t hash = XXH3_64bits_withSeed(addresses, w->key.nr * sizeof(*addresses),
					     XXH3_64bits(&w->key, sizeof(w->key)));
	struct known_stack *k = &w->stacks[hash & (NR_STACKS - 1)];
	int rc = 0;

	if (k->hash != hash || k->generation != w->generation) {
		uint32_t place;

		rc = find_place(w, addresses, &place);
		if (rc)
			return rc;
		*k = (struct known_stack){hash, place, w->generation};
	}
	if (k->place == LEFT_OUT)
		leave(w, w->key.key.event, weight);
	else
		report_fold_count(w->fold, k->place, weight);
	return 0;
}

/* Which of the sample's facts the report asks for; false: it is not wanted. */
static bool make_key(struct worker *w, const struct trace_head *head,
		     const struct profile_sample *s, const struct profile_task *task)
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
	w->key = (struct stack_key){
	    .key = {.event = s->id->event,
		    .session = has_part(w, REPORT_BY_SESSION) ? w->engine->input->number : 0,
		    .iteration = has_part(w, REPORT_BY_ITERATION) ? head->iteration : 0,
		    .cpu = has_part(w, REPORT_BY_CPU) ? head->cpu : 0,
		    .pid = has_part(w, REPORT_BY_PID) ? r->pid : 0,
		    .tid = has_part(w, REPORT_BY_TID) ? r->tid : 0,
		    .comm = has_part(w, REPORT_BY_COMM) ? w->of_comm[task->comm->number] : 0},
	};
	w->process = task->process;
	w->time_ns = s->time_ns;
	return true;
}

static void set_process(struct worker *w)
{
	w->key.process = w->process->number;
	w->key.epoch = profile_lookup_epoch(w->lookup, w->process, w->time_ns);
}

static int take_stack(struct worker *w, const struct profile_sample *s)
{
	struct report_stack *st = &w->stack;

	report_stack_make(w->unwinder, w->process, s, has_part(w, REPORT_BY_STACK), st);
	if (st->is_unwound) {
		w->stats.nr_unwound++;
		w->stats.nr_ends[st->end]++;
	}
	w->key.nr = (uint32_t)st->nr;
	w->key.nr_kernel = (uint32_t)st->nr_kernel;
	if (st->nr_kernel)
		w->key.kernel_epoch = kernel_epoch(w->engine, s->time_ns);
	if (st->nr > st->nr_kernel)
		set_process(w);
	return count(w, st->address, s->weight);
}

/* The two ends of each as a stack; which of them are the kernel's their addresses say. */
static int take_branches(struct worker *w, const struct profile_sample *s)
{
	struct trace_branch b;
	int rc = 0;

	w->key.nr = 2;
	w->key.kernel_epoch = kernel_epoch(w->engine, s->time_ns);
	set_process(w);
	for (uint64_t i = 0; i < s->record.nr_branches && rc == 0; i++) {
		trace_record_branch(&s->record, i, &b);
		w->key.key.branch = b.mispredicted ? REPORT_MISPREDICTED
				    : b.predicted  ? REPORT_PREDICTED
						   : REPORT_NOT_TOLD;
		rc = count(w, (const uint64_t[]){b.from, b.to}, b.cycles);
	}
	return rc;
}

static int take_sample(struct worker *w, const struct trace_head *head,
		       const struct profile_sample *s)
{
	struct profile_task task;

	if (!w->engine->is_wanted[s->id->event])
		return 0;
	profile_lookup_task(w->lookup, s->record.pid, s->record.tid, s->time_ns, &task);
	if (!make_key(w, head, s, &task)) {
		leave(w, s->id->event, s->weight);
		return 0;
	}
	return has_part(w, REPORT_BY_BRANCH) ? take_branches(w, s) : take_stack(w, s);
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
	    .vdso = in->vdso,
	};
	int rc = unwinder_new(&config, &w->unwinder);

	return rc == -ENOTSUP ? 0 : rc;
}

static int worker_init(struct worker *w, struct engine *g)
{
	w->engine = g;
	w->lookup = profile_lookup_new(g->input->processes);
	w->fold = report_fold_new(give, w);
	w->generation = 1;
	w->stacks = mem_calloc(NR_STACKS, sizeof(*w->stacks));
	w->addresses = mem_calloc(NR_ADDRESSES, sizeof(*w->addresses));
	w->places = mem_calloc(NR_PLACES, sizeof(*w->places));
	w->stats.event = mem_calloc(g->stats->nr_events + 1, sizeof(*w->stats.event));
	w->recent = mem_calloc(NR_RECENT, sizeof(*w->recent));
	if (!w->lookup || !w->fold || !w->stacks || !w->addresses || !w->places || !w->recent ||
	    !w->stats.event)
		return -ENOMEM;
	return know_comms(w) ? -ENOMEM : make_unwinder(w);
}

static void worker_fini(struct worker *w)
{
	unwinder_free(w->unwinder);
	report_fold_free(w->fold);
	profile_lookup_free(w->lookup);
	mem_free(w->stacks);
	mem_free(w->addresses);
	mem_free(w->places);
	mem_free(w->recent);
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
	return rc ? rc : empty(w);
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
