/*
 * From the memories of processes to counts: which processes there are, when they are read, and what
 * is said of them.
 */
#include "heap/heap.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sum.h"
#include "heap/counts.h"
#include "heap/kinds.h"
#include "heap/pages.h"
#include "heap/process.h"
#include "heap/reach.h"
#include "heap/runtime.h"
#include "plan/notes.h"
#include "plan/plan.h"
#include "pmu/group.h"
#include "wire/heap_memory.h"
#include "wire/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- processes that come and go */

/* Adds what processes did that have ended, and frees them. Returns the number of the others. */
static size_t end_processes(struct heap_process **processes, size_t nr_processes,
			    struct heap_ended *to)
{
	size_t nr = 0;

	for (size_t i = 0; i < nr_processes; i++) {
		struct heap_process *p = processes[i];

		if (!p->has_ended || p->is_held) {
			processes[nr++] = p;
			continue;
		}
		heap_counts_add_process(to->counts, p);
		heap_lost_add(&to->lost, &p->sums);
		heap_process_free(p);
	}
	return nr;
}

/* A process that calls exec connects again, with a memory for its new program. */
static void replace(struct heap_process *const *processes, size_t nr, uint32_t pid)
{
	for (size_t i = 0; i < nr; i++)
		processes[i]->is_replaced |= processes[i]->pid == pid;
}

/* Of a session without samples nothing but the sums of a process is of use when it has ended. */
static void fold_added(struct heap_use *h)
{
	size_t nr;

	for (size_t i = 0; i < h->nr_added; i++) {
		heap_process_read(h, h->added[i], NULL);
		heap_missed_add(&h->missed, h->added[i]->memory, h->added[i]->missed);
	}
	nr = end_processes(h->added, h->nr_added, &h->folded);
	h->has_folded |= nr < h->nr_added;
	h->had_heap |= h->has_folded;
	h->nr_all -= h->nr_added - nr;
	h->nr_added = nr;
}

/* Not one that the target started, if these are not measured. */
static bool is_wanted(const struct plan_target *t, uint32_t pid)
{
	bool is_chosen = !t->is_process_only;

	for (size_t i = 0; i < t->nr_ids && !is_chosen; i++)
		is_chosen = t->ids[i] == (pid_t)pid;
	return is_chosen;
}

/* Called by the wire's thread. */
static bool on_heap(void *arg, uint32_t pid, int pidfd, struct wire_heap *memory)
{
	struct heap_use *h = arg;
	struct heap_process *p, **place = NULL;
	bool hides_exceptions;

	if (!is_wanted(&h->use.plan->target, pid))
		return false;
	hides_exceptions = h->config.wants & HEAP_WANTS_EXCEPTIONS &&
			   heap_runtime_is_within(&h->use.plan->host->root, pid);
	p = mem_zalloc(sizeof(*p));
	pthread_mutex_lock(&h->lock);
	replace(h->added, h->nr_added, pid);
	if (!h->has_samples && h->nr_added >= HEAP_FOLD_AT)
		fold_added(h);
	if (p && h->nr_all < HEAP_MAX_PROCESSES)
		place = MEM_ADD(h->added, h->nr_added, h->added_room);
	h->nr_all += place != NULL;
	h->nr_refused += place == NULL;
	h->nr_hiding += hides_exceptions;
	if (place) {
		*p = (struct heap_process){.pid = pid,
					   .pidfd = pidfd,
					   .memory = memory,
					   .lock = PTHREAD_MUTEX_INITIALIZER};
		*place = p;
	}
	pthread_mutex_unlock(&h->lock);
	if (!place)
		mem_free(p);
	else if (h->use.core->add_process)
		h->use.core->add_process(h->use.core->sampling, pid);
	return place;
}

/* Of a process that connected: others have nothing to dump. Called by the wire's thread. */
static bool on_dump(void *arg, uint32_t pid)
{
	const struct source_core *core = ((struct heap_use *)arg)->use.core;

	(void)pid;
	return core->end_iteration(core->session);
}

static struct heap_process *find_process(struct heap_process *const *processes, size_t nr,
					 uint32_t pid)
{
	for (size_t i = 0; i < nr; i++)
		if (processes[i]->pid == pid && !processes[i]->is_replaced)
			return processes[i];
	return NULL;
}

static void add_cut(struct heap_use *h, const struct heap_searched *searched)
{
	h->nr_cut++;
	sum_add(&h->cut_blocks, searched->blocks);
	sum_add(&h->cut_searched, searched->searched);
}

/* The process, which stays until it is released; NULL: it did not connect. */
static struct heap_process *hold(struct heap_use *h, uint32_t pid)
{
	struct heap_process *p;

	pthread_mutex_lock(&h->lock);
	p = find_process(h->added, h->nr_added, pid) ?: find_process(h->processes, h->nr, pid);
	if (p)
		p->is_held = true;
	pthread_mutex_unlock(&h->lock);
	return p;
}

/* The lock is not held meanwhile. Called by the wire's thread. */
static bool on_reach(void *arg, uint32_t pid)
{
	struct heap_use *h = arg;
	struct heap_process *p = hold(h, pid);
	struct heap_searched searched = {0};
	struct heap_reach what = {.root = &h->use.plan->host->root,
				  .pid = pid,
				  .limit_ns = HEAP_REACH_SECONDS * UINT64_C(1000000000),
				  .searched = &searched,
				  .keep = heap_process_keep_unreachable,
				  .arg = p};
	int rc;

	if (!p)
		return false;
	what.memory = p->memory;
	rc = heap_reach(&what);
	pthread_mutex_lock(&h->lock);
	p->is_held = false;
	p->was_cut = rc == -ETIMEDOUT && searched.blocks;
	if (p->was_cut)
		add_cut(h, &searched);
	pthread_mutex_unlock(&h->lock);
	return rc == 0;
}

static struct heap_pages pages_of(const struct heap_use *h)
{
	return (struct heap_pages){.root = &h->use.plan->host->root,
				   .rate = h->config.rate,
				   .has_resident = h->has_resident,
				   .has_untouched = h->config.wants & HEAP_WANTS_UNTOUCHED,
				   .has_pattern = h->config.wants & HEAP_WANTS_PATTERN};
}

/* The lock is not held meanwhile. Called by the wire's thread. */
static bool on_pages(void *arg, uint32_t pid)
{
	struct heap_use *h = arg;
	const struct heap_pages pages = pages_of(h);
	struct heap_process *p = NULL;

	if (h->config.wants & HEAP_WANTS_LAST_PAGES)
		p = hold(h, pid);
	if (!p)
		return false;
	heap_process_keep_pages(p, &pages);
	pthread_mutex_lock(&h->lock);
	p->is_held = false;
	pthread_mutex_unlock(&h->lock);
	return true;
}

static void take_one(struct heap_use *h, struct heap_process *added)
{
	struct heap_process **place;

	replace(h->processes, h->nr, added->pid);
	place = MEM_ADD(h->processes, h->nr, h->room);
	if (place) {
		*place = added;
		return;
	}
	heap_process_free(added);
	h->nr_refused++;
	h->nr_all--;
}

/* folded: receives what was added up early. */
static void take_added(struct heap_use *h, struct heap_ended *folded)
{
	pthread_mutex_lock(&h->lock);
	h->had_process |= h->nr_added != 0 || h->has_folded;
	for (size_t i = 0; i < h->nr_added; i++)
		take_one(h, h->added[i]);
	h->nr_added = 0;
	heap_ended_add(folded, &h->folded);
	h->folded = (struct heap_ended){0};
	pthread_mutex_unlock(&h->lock);
}

static void end_taken(struct heap_use *h, struct heap_ended *to)
{
	size_t nr;

	pthread_mutex_lock(&h->lock);
	nr = end_processes(h->processes, h->nr, to);
	h->nr_all -= h->nr - nr;
	h->nr = nr;
	pthread_mutex_unlock(&h->lock);
}

/* Those of the iteration that is over: what was live then is so no more. */
static void forget_ended(struct heap_use *h)
{
	end_taken(h, &h->ended_now);
	heap_counts_forget_live(h->ended_now.counts);
	heap_ended_add(&h->ended, &h->ended_now);
	h->ended_now = (struct heap_ended){0};
}

/* --- readings */

static void read_process(struct heap_use *h, struct heap_process *p, const struct heap_pages *pages)
{
	heap_process_read(h, p, pages);
	pthread_mutex_lock(&h->lock);
	heap_missed_add(&h->missed, p->memory, p->missed);
	pthread_mutex_unlock(&h->lock);
}

static void begin_counts(struct heap_use *h)
{
	struct heap_ended all = h->ended;

	heap_ended_add(&all, &h->ended_now);
	memcpy(h->counts, all.counts, sizeof(h->counts));
	h->lost = all.lost;
}

static bool misses_search(const struct heap_use *h, const struct heap_process *p)
{
	return h->config.wants & HEAP_WANTS_REACH && heap_process_is_leaking(p) &&
	       !p->unreachable && !p->was_cut;
}

/* Once for each process. */
static bool is_newly_guessed(const struct heap_use *h, struct heap_process *p)
{
	const bool was = p->is_guessed;

	p->is_guessed |= h->config.wants & HEAP_WANTS_PEAK && p->sums.rate > 1 &&
			 !p->sums.is_counted && p->sums.peak;
	return p->is_guessed && !was;
}

/* Once for each process. */
static bool is_newly_bypassed(struct heap_process *p)
{
	const bool was = p->is_bypassed;

	p->is_bypassed |= p->sums.is_bypassed;
	return p->is_bypassed && !was;
}

/* Once for each process; what it allocates from then on is left to chance. */
static bool is_newly_thinned(const struct heap_use *h, struct heap_process *p)
{
	const bool was = p->is_thinned;

	p->is_thinned |= h->config.wants & HEAP_WANTS_ADAPTIVE && p->sums.rate > 1;
	return p->is_thinned && !was;
}

/* Of several processes: the first, and the coarsest. */
static void note_thinned(struct heap_use *h, const struct wire_heap_sums *sums)
{
	if (!h->nr_thinned++) {
		h->exact_samples = sums->exact_samples;
		h->exact_ns = sums->exact_ns;
	}
	h->thin_rate = sums->rate > h->thin_rate ? sums->rate : h->thin_rate;
}

/* It has ended with blocks, of which the pages are gone: nobody looked at them before. */
static bool has_lost_pages(struct heap_process *p)
{
	return p->has_ended && !heap_process_has_last_pages(p) &&
	       ARRAY_ANY(s, p->now, p->nr_now,
			 s->resource == HEAP_RESOURCE_NONE && s->amount[WIRE_HEAP_LIVE].bytes);
}

static void note_process(struct heap_use *h, struct heap_process *p, bool wants_pages)
{
	h->nr_unread += p->misses_pages;
	h->nr_unsearched += misses_search(h, p);
	h->nr_guessed += is_newly_guessed(h, p);
	h->nr_bypassed += is_newly_bypassed(p);
	if (is_newly_thinned(h, p))
		note_thinned(h, &p->sums);
	h->nr_gone += wants_pages && has_lost_pages(p);
	h->had_heap |= !p->is_bypassed;
	h->has_pages |= !p->has_ended;
}

void heap_read(struct source_use *u, uint64_t now_ns)
{
	struct heap_use *h = (struct heap_use *)u;
	const bool wants_pages = h->config.wants & HEAP_WANTS_LAST_PAGES;
	const struct heap_pages pages = pages_of(h);

	if (h->has_samples) /* of these the stacks were read since */
		forget_ended(h);
	take_added(h, &h->ended_now);
	h->lost_before = h->lost;
	memcpy(h->counts_before, h->times_at, sizeof(h->counts_before));
	begin_counts(h);
	h->has_pages = false;
	h->nr_gone = 0;
	for (size_t i = 0; i < h->nr; i++) {
		wire_heap_begin_reading(h->processes[i]->memory);
		read_process(h, h->processes[i], wants_pages ? &pages : NULL);
		wire_heap_end_reading(h->processes[i]->memory);
		note_process(h, h->processes[i], wants_pages);
		heap_counts_add_process(h->counts, h->processes[i]);
		heap_lost_add(&h->lost, &h->processes[i]->sums);
	}
	memcpy(h->times_at, h->counts, sizeof(h->times_at));
	if (!h->has_samples)
		forget_ended(h);
	h->start_ns = h->nr_readings++ ? h->start_ns : now_ns;
	h->begin_ns = h->end_ns ? h->end_ns : now_ns;
	h->end_ns = now_ns;
}

/* Of a process that ended in the iteration before. */
static void add_past(uint64_t counts[HEAP_NR_COUNTS], const struct heap_process *p)
{
	struct heap_ended past = {.counts = {0}};

	heap_counts_add_process(past.counts, p);
	heap_counts_forget_live(past.counts);
	for (int kind = 0; kind < EVENT_HEAP_NR_KINDS; kind++)
		heap_counts_add(&counts[kind], kind, past.counts[kind]);
}

/* Those that have ended since the last reading are read for good, if nothing needs their stacks. */
static void look_at_ends(struct heap_use *h)
{
	for (size_t i = 0; i < h->nr; i++)
		if (!h->processes[i]->has_ended && heap_process_is_gone(h->processes[i]))
			read_process(h, h->processes[i], NULL);
	end_taken(h, &h->ended_now);
}

void heap_look(struct source_use *u)
{
	struct heap_use *h = (struct heap_use *)u;
	const struct wire_heap_sums lost = h->lost;

	take_added(h, &h->ended_now);
	if (!h->has_samples)
		look_at_ends(h);
	begin_counts(h);
	h->lost = lost;
	for (size_t i = 0; i < h->nr; i++)
		if (h->processes[i]->has_ended)
			add_past(h->counts, h->processes[i]);
		else
			heap_process_look(h->processes[i], h->counts);
}

/* --- */

enum {
	OF_MEMORY = HEAP_WANTS_BLOCKS | HEAP_WANTS_PEAK | HEAP_WANTS_OVERHEAD |
		    HEAP_WANTS_UNTOUCHED | HEAP_WANTS_LIVES | HEAP_WANTS_REACH | HEAP_WANTS_PATHS
};

/* Beside samples the event may be counted. */
static void set_interval(uint64_t *interval_ns, const struct spec_event *asked)
{
	if (spec_event_is_sampled(asked))
		*interval_ns = plan_interval_ns(asked);
}

/* Peaks of stacks, pages and pointers are of one rate: parts of them at several do not add up. */
enum {
	OF_ONE_RATE = HEAP_WANTS_PATHS | HEAP_WANTS_UNTOUCHED | HEAP_WANTS_LAST_PAGES |
		      HEAP_WANTS_PATTERN | HEAP_WANTS_REACH
};

/* All that is sampled of memory. */
static bool is_adaptive(const struct heap_use *h, const struct wire_heap_config *c)
{
	bool is_any = false;

	if (c->wants & OF_ONE_RATE || c->rate <= 1)
		return false;
	for (size_t i = 0; i < h->use.plan->nr_events; i++) {
		const struct spec_event *asked = h->use.plan->events[i].asked;
		int kind = heap_kind_of(h->use.plan, i);

		if (kind < 0 || heap_kind(kind)->resource || !asked->rate)
			continue;
		if (!(asked->flags & SPEC_ADAPTIVE))
			return false;
		is_any = true;
	}
	return is_any;
}

/* Without a rate, each allocation is tracked for what threads do not add up. */
static void configure(struct heap_use *h, struct wire_heap_config *out)
{
	*out = (struct wire_heap_config){.rate = 0};
	for (size_t i = 0; i < h->use.plan->nr_events; i++) {
		const struct spec_event *asked = h->use.plan->events[i].asked;
		int kind = heap_kind_of(h->use.plan, i);

		if (kind < 0)
			continue;
		out->wants |= heap_kind(kind)->wants;
		if (kind == EVENT_HEAP_UNTOUCHED && spec_has_pattern(h->use.plan->spec))
			out->wants |= HEAP_WANTS_PATTERN;
		h->has_resident |= kind == EVENT_HEAP_RESIDENT;
		h->has_samples |= spec_event_is_sampled(asked);
		if (kind == EVENT_HEAP_CPU_TIME || kind == EVENT_HEAP_REAL_TIME)
			set_interval(&out->interval_ns[kind == EVENT_HEAP_REAL_TIME], asked);
		if (!heap_kind(kind)->resource)
			out->rate = asked->rate ? asked->rate : out->rate;
		if (spec_event_is_sampled(asked) && asked->flags & (SPEC_CALLCHAIN | SPEC_PC))
			out->wants |= HEAP_WANTS_STACKS;
	}
	if (out->wants & OF_MEMORY && !out->rate)
		out->rate = 1;
	if (is_adaptive(h, out))
		out->wants |= HEAP_WANTS_ADAPTIVE;
}

/* Why the heap of the target cannot be measured; NULL: it can. */
static const char *why_not(const struct plan *plan, uint32_t wants)
{
	const struct plan_target *t = &plan->target;

	if (!t->is_command && !t->has_agent)
		return "the heap is measured by an agent in a command that cpuperf starts, or in a "
		       "process that runs, with --attach";
	if (wants & HEAP_WANTS_REACH && t->has_agent)
		return "unreachable needs all allocations since a program's start: it cannot be "
		       "measured with --attach";
	if (plan->has_control)
		return "--control cannot disable the agent: use --windows or --delay";
	return plan->heap_refused;
}

/* Called by the wire's thread. */
static void on_old(void *arg, uint32_t pid)
{
	struct heap_use *h = arg;

	(void)pid;
	pthread_mutex_lock(&h->lock);
	h->nr_old++;
	h->had_old = true;
	pthread_mutex_unlock(&h->lock);
}

/* The agent may be loaded into processes of other users. */
static bool may_connect(void *arg, uint32_t pid)
{
	const struct plan_target *t = &((const struct heap_use *)arg)->use.plan->target;

	return t->has_agent && ARRAY_ANY(id, t->agents, t->nr_agents, (uint32_t)*id == pid);
}

int heap_open(struct source_use *u, struct err *e)
{
	struct heap_use *h = (struct heap_use *)u;
	struct wire_config config = {.arg = h,
				     .heap = &h->config,
				     .heap_added = on_heap,
				     .heap_old = on_old,
				     .heap_dump = on_dump,
				     .heap_reach = on_reach,
				     .heap_pages = on_pages,
				     .may_connect = may_connect};
	const char *refusal;
	int rc;

	configure(h, &h->config);
	refusal = why_not(u->plan, h->config.wants);
	if (refusal)
		return err_set(e, -ENOTSUP, "%.255s", refusal);
	pthread_mutex_init(&h->lock, NULL);
	rc = wire_open(&config, &h->wire, e);
	if (rc == 0 && wire_start(h->wire)) {
		wire_free(h->wire);
		h->wire = NULL;
		rc = err_set(e, -EAGAIN, "no thread can receive what programs allocate");
	}
	return rc && rc != -ENOMEM ? -ENOTSUP : rc; /* no right would help */
}

const char *heap_socket(const struct source_use *u)
{
	return wire_name(((const struct heap_use *)u)->wire);
}

void heap_close(struct source_use *u)
{
	struct heap_use *h = (struct heap_use *)u;

	wire_free(h->wire); /* its thread has ended */
	for (size_t i = 0; i < h->nr_added; i++)
		heap_process_free(h->added[i]);
	for (size_t i = 0; i < h->nr; i++)
		heap_process_free(h->processes[i]);
	mem_free(h->added);
	mem_free(h->processes);
	source_use_clear(u);
}

uint64_t heap_count(const struct heap_use *h, size_t event)
{
	int kind = heap_kind_of(h->use.plan, event);

	if (kind == EVENT_HEAP_PEAK_TIME)
		return heap_growth(h->counts[kind], h->start_ns);
	return kind < 0 ? 0 : h->counts[kind];
}

bool heap_is_silent(const struct heap_use *h)
{
	return h->nr_readings > 1 && !h->had_process;
}

static bool is_of_pages(int kind)
{
	return kind == EVENT_HEAP_RESIDENT || kind == EVENT_HEAP_UNTOUCHED;
}

bool heap_has_count(const struct heap_use *h, size_t event)
{
	const int kind = heap_kind_of(h->use.plan, event);

	if (kind < 0 || h->nr_readings < 2)
		return true;
	if (heap_is_silent(h) || (!heap_kind(kind)->resource && !h->had_heap))
		return false;
	if (kind == EVENT_HEAP_PEAK_TIME) /* samples may have seen none */
		return h->counts[kind];
	return !is_of_pages(kind) || h->has_pages || h->counts[kind] || !h->nr_gone;
}

/* Samples that were expected by the clocks; 0: few. */
static uint64_t missing(const struct heap_use *h, int kind, int sampled, uint64_t interval_ns)
{
	enum { FEW = 10, PART = 20 };
	uint64_t ns = heap_growth(h->times_at[kind], h->counts_before[kind]);
	uint64_t less_ns =
	    heap_growth(ns, heap_growth(h->times_at[sampled], h->counts_before[sampled]));
	uint64_t nr = interval_ns ? less_ns / interval_ns : 0;

	return nr > FEW && less_ns > ns / PART ? nr : 0;
}

/* The text begins with a plural. */
static void put_note(char note[HEAP_NOTE_BYTES], uint64_t nr, const char *text)
{
	static const struct {
		const char *many, *one;
	} words[] = {
	    {"processes have ", "process has "},
	    {"processes call a malloc of their own,", "process calls a malloc of its own,"},
	    {"processes ", "process "}};

	for (size_t i = 0; nr == 1 && i < ARRAY_NR(words); i++)
		if (strncmp(text, words[i].many, strlen(words[i].many)) == 0) {
			snprintf(note, HEAP_NOTE_BYTES, "1 %s%s", words[i].one,
				 text + strlen(words[i].many));
			return;
		}
	snprintf(note, HEAP_NOTE_BYTES, "%" PRIu64 " %s", nr, text);
}

/* Returns the number of searches. */
static uint64_t take_cut(struct heap_use *h, char text[HEAP_NOTE_BYTES])
{
	uint64_t nr;

	pthread_mutex_lock(&h->lock);
	nr = h->nr_cut;
	snprintf(
	    text, HEAP_NOTE_BYTES,
	    "searches for pointers were ended after %d s, when %" PRIu64 " of %" PRIu64
	    " blocks had been searched: any other may be reachable, so unreachable misses them",
	    HEAP_REACH_SECONDS, h->cut_searched, h->cut_blocks);
	h->nr_cut = 0;
	h->cut_blocks = h->cut_searched = 0;
	pthread_mutex_unlock(&h->lock);
	return nr;
}

static uint64_t take_thinned(struct heap_use *h, char text[HEAP_NOTE_BYTES])
{
	const uint64_t nr = h->nr_thinned;

	snprintf(text, HEAP_NOTE_BYTES,
		 "processes have exact numbers of the first allocations alone (%s%" PRIu64
		 " in %" PRIu64 " ms of CPU time): then a sample was taken per %" PRIu64
		 " KiB%s, so that recording stays cheap",
		 nr > 1 ? "one of them: " : "", h->exact_samples, h->exact_ns / 1000000,
		 h->thin_rate >> 10, nr > 1 ? ", or more" : "");
	h->nr_thinned = 0;
	h->thin_rate = 0;
	return nr;
}

/* Less room does no harm as long as there is some. */
static void note_missed(struct heap_use *h, bool is_full,
			char notes[HEAP_NR_MISSES][HEAP_NOTE_BYTES])
{
	pthread_mutex_lock(&h->lock);
	for (int why = 0; why < HEAP_NR_MISSES; why++) {
		notes[why][0] = '\0';
		if (why && (why != HEAP_MISS_LIMIT || is_full))
			heap_missed_note(&h->missed, (enum heap_miss)why, notes[why],
					 HEAP_NOTE_BYTES);
	}
	heap_missed_forget(&h->missed, is_full ? HEAP_MISS_NONE : HEAP_MISS_LIMIT);
	pthread_mutex_unlock(&h->lock);
}

void heap_notes(struct heap_use *h, char notes[HEAP_NR_NOTES][HEAP_NOTE_BYTES])
{
	char cut[HEAP_NOTE_BYTES], thinned[HEAP_NOTE_BYTES];
	const struct {
		uint64_t nr;
		const char *text;
	} rows[HEAP_NR_OWN_NOTES] = {
	    {heap_growth(h->lost.no_node, h->lost_before.no_node),
	     "samples of the heap have no stack: there was no room for more stacks"},
	    {heap_growth(h->lost.no_block, h->lost_before.no_block),
	     "allocations found no room in the table of blocks: they count as live"},
	    {heap_growth(h->lost.nested, h->lost_before.nested),
	     "calls within the agent, as of signal handlers, were not measured"},
	    {heap_growth(h->lost.invalid, h->lost_before.invalid),
	     "allocations have an address that is not tracked: they count as live"},
	    {heap_growth(h->lost.deep, h->lost_before.deep),
	     "stacks of the heap are deeper than the agent follows: outermost callers are missing"},
	    {h->use.plan->target.has_agent ? heap_growth(h->lost.unknown, h->lost_before.unknown)
					   : 0,
	     "frees were of blocks of before the agent was attached: they are in no number"},
	    {missing(h, EVENT_HEAP_CPU_TIME, HEAP_CPU_SAMPLED, h->config.interval_ns[0]),
	     "samples of cpu_time are missing: threads ran for less than a tick of the kernel at a "
	     "time, blocked the signal, or were not created by pthread_create"},
	    {missing(h, EVENT_HEAP_REAL_TIME, HEAP_REAL_SAMPLED, h->config.interval_ns[1]),
	     "samples of real_time are missing: threads waited in no function of libc that is "
	     "known, or ran as those that cpu_time misses"},
	    {h->nr_refused,
	     "processes have a heap that was not measured: there were too many in an iteration"},
	    {h->nr_old,
	     "processes have an agent of another version than this cpuperf (loaded before, or of "
	     "another root folder): their heap was not measured; install one version, and start "
	     "them again"},
	    {h->nr_unsearched, "processes ended without a search for pointers to their blocks: by "
			       "a signal or abort, traced, or of 32 bits; unreachable misses them"},
	    {take_cut(h, cut), cut},
	    {h->nr_guessed,
	     "processes have a peak whose moment is that of the largest estimate, which is too "
	     "large by more than its error: they were attached to, forked without an exec, or "
	     "have an allocator without malloc_usable_size"},
	    {take_thinned(h, thinned), thinned},
	    {h->nr_bypassed,
	     "processes call a malloc of their own, or of a library in front of the agent: "
	     "the heap was not measured"},
	    {h->nr_hiding,
	     "processes have the C++ runtime within the program (-static-libstdc++): its "
	     "exceptions are in no number; usdt:libstdcxx:throw counts them"},
	    {h->nr_gone,
	     "processes ended without a look at the pages of their blocks: by a signal, "
	     "abort or exec; resident and untouched miss them"},
	    {h->nr_unread,
	     "processes have pages that could not be read: resident and untouched miss them"},
	    {heap_is_silent(h) && !h->had_old,
	     "command, but no process of it loaded libcpuperf-agent.so: no heap was measured"},
	};

	pthread_mutex_lock(&h->lock);
	h->nr_refused = h->nr_hiding = h->nr_old = 0;
	pthread_mutex_unlock(&h->lock);
	h->nr_unread = h->nr_unsearched = h->nr_guessed = h->nr_bypassed = 0;
	note_missed(h, rows[0].nr || rows[1].nr, notes + HEAP_NR_OWN_NOTES);
	for (size_t i = 0; i < HEAP_NR_OWN_NOTES; i++) {
		notes[i][0] = '\0';
		if (rows[i].nr)
			put_note(notes[i], rows[i].nr, rows[i].text);
	}
}

static void add_notes(struct source_use *u, struct notes *notes)
{
	char text[HEAP_NR_NOTES][HEAP_NOTE_BYTES];

	heap_notes((struct heap_use *)u, text);
	for (size_t i = 0; i < HEAP_NR_NOTES; i++)
		if (*text[i])
			notes_add(notes, 0, "%s", text[i]);
}

/* On which CPU it was does not matter. */
static int count(const struct source_use *u, size_t event, uint32_t cpu, struct pmu_count *out)
{
	const struct heap_use *h = (const struct heap_use *)u;

	(void)cpu;
	out->raw = heap_count(h, event);
	return heap_has_count(h, event) ? 0 : -ENODATA;
}

const struct source heap_source = {
    .name = "heap",
    .groups = {EVENT_GROUP_HEAP, EVENT_GROUP_RESOURCE},
    .is_alone = true,
    .is_in_target = true,
    .stays_open = true,
    .check = heap_check,
    .bytes = sizeof(struct heap_use),
    .open = heap_open,
    .close = heap_close,
    .read = heap_read,
    .look = heap_look,
    .count = count,
    .next = heap_next,
    .histograms = heap_sizes,
    .variable = "CPUPERF_HEAP",
    .socket = heap_socket,
    .notes = add_notes,
};
