/*
 * A sample is folded from its outermost frame down, starting where the stack differs from the
 * previous one of the same process.
 */
#include "report/counter.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/sum.h"
#include "profile/codes.h"
#include "profile/filter.h"
#include "profile/processes.h"
#include "profile/regions.h"
#include "profile/samples.h"
#include "report/fold.h"
#include "report/functions.h"
#include "report/resolver.h"
#include "report/rows.h"
#include "report/singles.h"
#include "report/stack.h"
#include "report/states.h"
#include "report/waker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	NR_RECENT = 64,
	RECENT_DEPTH = 128,
	NR_ROOTS = 64,
	ROOT_BYTES = 8192,
	REGION_BYTES = 64 << 10
};

/* The last stack of a process, outermost address first, and its nodes: the next sample mostly
 * differs only in its innermost frames. */
struct recent {
	uint32_t generation; /* the nodes' */
	uint32_t process, epoch, kernel_epoch;
	const struct report_function *root;
	uint32_t nr;
	uint64_t address[RECENT_DEPTH];
	uint32_t node[RECENT_DEPTH];
};

/* A task's outermost frame. */
struct root {
	uint32_t pid, tid, thread, comm, cmdline;
	const struct report_function *function; /* NULL: empty */
};

struct report_counter {
	struct report_counters *all;
	struct profile_lookup *lookup;
	struct unwinder *unwinder; /* NULL: stack bytes are ignored */
	struct report_resolver *resolver;
	struct report_fold *fold;
	struct report_singles *singles; /* NULL: the fold counts samples */
	uint32_t generation;            /* the fold nodes' */
	uint32_t *of_comm;              /* the report's number of a comm, by the profile's */
	uint32_t *of_cmdline;           /* the same of a command line */
	uint32_t *of_region;            /* the same of the path of a region */
	/* With REPORT_ROOT_REGION, by region: its frame, and what stands for its path. */
	const struct report_function **region_frames, **region_paths; /* owned */
	struct report_program *programs; /* by the profile's number of the comm */
	struct report_stats stats;
	struct report_stack stack;
	struct report_waker waker; /* of the current sample */
	bool wants_wakers, has_waker;
	struct report_wait *waits; /* owned; of the fold's entries */
	size_t nr_waits, waits_room;
	struct recent recent[NR_RECENT];
	struct root roots[NR_ROOTS];
	struct report_rows rows;
	/* The current sample. */
	struct report_key key;
	struct report_place_in_row in_row;
	struct report_place place;
	struct report_program *program;
	uint32_t region;
	enum report_state state;
	const struct report_function *root; /* NULL: none */
	/* Outermost frames by state; NULL: not made yet. */
	const struct report_function *state_roots[REPORT_NR_STATES];
	const struct report_function *part_root; /* of a host or rank */
	const struct report_function *any;       /* stands for all; NULL: they are looked up */
};

static bool has_part(const struct report_counter *c, unsigned part)
{
	return c->all->run->sink->parts & part;
}

/* The number of kernel changes at or before time_ns. */
static uint32_t kernel_epoch(const struct report_counters *all, uint64_t time_ns)
{
	return (uint32_t)ORDER_FIRST(i, all->nr_kernel_changes, all->kernel_changes[i] > time_ns);
}

/* By the frames before rules change them. 0 or -ENOMEM. */
static int set_reason(const struct report_counter *c, struct report_key *key,
		      const struct report_frame *frames, size_t nr)
{
	char buf[REPORT_REASON_BYTES];
	const char *reason = key->reason ? report_seen_reason(key->reason)
					 : report_reason(key->state, frames, nr, buf);

	key->reason = report_functions_text_number(c->all->run->functions, reason);
	return key->reason == UINT32_MAX ? -ENOMEM : 0;
}

/* By the waker's frames before rules remove some, but with merged names; the report may not show
 * them. 0 or -ENOMEM. */
static int set_waker(const struct report_counter *c, struct report_key *key,
		     struct report_frame *frames, size_t nr)
{
	struct report_functions *f = c->all->run->functions;
	const char *name = nr ? frames[0].function->name : "";

	report_functions_merge(frames, nr);
	key->waker = report_functions_text_number(f, name);
	key->waker_function = report_functions_text_number(f, report_waker_function(frames, nr));
	return key->waker == UINT32_MAX || key->waker_function == UINT32_MAX ? -ENOMEM : 0;
}

/* Receives an entry of the fold as it is emptied. */
static int receive(void *arg, const struct report_key *key, const struct report_weight *weight,
		   struct report_frame *frames, size_t nr)
{
	struct report_counter *c = arg;
	const struct report_sink *sink = c->all->run->sink;
	struct report_event_stats *stats = &c->stats.event[key->event];
	struct report_entry e = {.key = *key,
				 .weight = *weight,
				 .frames = frames,
				 .wait = key->wait ? &c->waits[key->wait - 1] : NULL};
	size_t nr_waker = c->wants_wakers ? report_waker_frames(frames, nr) : 0;
	int rc = has_part(c, REPORT_BY_REASON)
		     ? set_reason(c, &e.key, frames + nr_waker, nr - nr_waker)
		     : 0;

	if (report_counters_are_canceled(c->all))
		return -ECANCELED;
	if (rc == 0 && has_part(c, REPORT_BY_WAKER))
		rc = set_waker(c, &e.key, frames, nr_waker);
	if (!c->all->run->with_wakers) {
		e.frames = frames += nr_waker;
		nr -= nr_waker;
	}
	if (rc == 0 && key->branch)
		report_functions_merge(frames, nr);
	else if (rc == 0)
		rc = report_functions_shape(c->all->run->functions, frames, &nr);
	if (rc)
		return rc;
	e.nr_frames = nr;
	report_weight_add(nr ? &stats->counted : &stats->omitted, weight);
	return nr ? sink->entry(sink->arg, &e) : 0;
}

/* Passes waiting samples to the sink, and all_of_fold: what the fold has counted. */
static int flush(struct report_counter *c, bool all_of_fold)
{
	struct report_counters *all = c->all;
	int rc;

	pthread_mutex_lock(&all->lock);
	rc = all->rc;
	if (rc == 0 && c->singles)
		rc = report_singles_flush(c->singles);
	if (rc == 0 && all_of_fold)
		rc = report_fold_empty(c->fold);
	if (rc && !all->rc)
		all->rc = rc;
	pthread_mutex_unlock(&all->lock);
	c->generation += all_of_fold;
	c->nr_waits = all_of_fold ? 0 : c->nr_waits;
	if (c->singles && all_of_fold)
		report_singles_clear(c->singles);
	return rc;
}

/* What stood in the futex may be its owner if it is another thread of the process. 0 or -ENOMEM. */
static int set_owner(struct report_counter *c, const struct profile_sample *s, uint32_t owner,
		     struct report_wait *w)
{
	struct profile_task task;

	w->owner = TRACE_UNKNOWN;
	if (!owner || owner == s->record.tid)
		return 0;
	profile_lookup_task(c->lookup, s->record.pid, owner, s->time_ns, &task);
	if (task.thread == TRACE_UNKNOWN)
		return 0;
	w->owner = owner;
	w->owner_comm = report_functions_text_number(c->all->run->functions, task.comm->name);
	return w->owner_comm == UINT32_MAX ? -ENOMEM : 0;
}

/* 0 or -ENOMEM. */
static int add_wait(struct report_counter *c, const struct profile_sample *s)
{
	struct trace_futex futex;
	struct report_wait *w;

	if (!has_part(c, REPORT_BY_FUTEX) || !trace_futex_decode(s->layout, &s->record, &futex))
		return 0;
	w = MEM_ADD(c->waits, c->nr_waits, c->waits_room);
	if (!w)
		return -ENOMEM;
	*w = (struct report_wait){.futex = futex.address,
				  .ns = s->record.wait_ns,
				  .time_ns = s->time_ns,
				  .process = c->place.process->number,
				  .lasts = futex.lasts};
	c->key.wait = c->nr_waits;
	return set_owner(c, s, futex.owner, w);
}

/* Moves *node to the child for an address: its function, and those inlined there. 0 or -ENOMEM;
 * *node is REPORT_FOLD_FULL if the fold is full. */
static int step(struct report_counter *c, bool is_kernel, uint64_t address, uint32_t *node)
{
	struct report_frame frames[REPORT_MAX_INLINED];
	size_t nr = report_resolver_frames(c->resolver, &c->place, is_kernel, address, frames);

	if (!nr)
		return -ENOMEM;
	while (nr && *node != REPORT_FOLD_FULL)
		*node = report_fold_child(c->fold, *node, &frames[--nr]);
	return 0;
}

static struct recent *find_recent(struct report_counter *c)
{
	const struct report_place *p = &c->place;
	struct recent *r = &c->recent[p->number % NR_RECENT];

	if (r->generation == c->generation && r->process == p->number && r->epoch == p->epoch &&
	    r->kernel_epoch == p->kernel_epoch && r->root == c->root)
		return r;
	r->generation = c->generation;
	r->process = p->number;
	r->epoch = p->epoch;
	r->kernel_epoch = p->kernel_epoch;
	r->root = c->root;
	r->nr = 0;
	return r;
}

/* The frames of the regions around the sample, the outermost first. */
static uint32_t region_node(struct report_counter *c)
{
	const struct profile_processes *p = c->all->input->processes;
	uint32_t path[PROFILE_MAX_REGION_DEPTH + 1], node = REPORT_FOLD_ROOT;
	size_t nr = 0;

	for (uint32_t i = c->region; nr < ARRAY_NR(path); i = profile_region(p, i)->parent) {
		path[nr++] = i;
		if (profile_region(p, i)->parent == PROFILE_NO_REGION)
			break;
	}
	while (nr && node != REPORT_FOLD_FULL) {
		const struct report_frame frame = {.function = c->region_frames[path[--nr]]};

		node = report_fold_child(c->fold, node, &frame);
	}
	return node;
}

static uint32_t root_node(struct report_counter *c)
{
	const struct report_frame frame = {.function = c->root};

	if (c->region_frames)
		return region_node(c);
	return c->root ? report_fold_child(c->fold, REPORT_FOLD_ROOT, &frame) : REPORT_FOLD_ROOT;
}

/* Walks down from the outermost frame. Nodes are reused while addresses equal those of the previous
 * stack. */
static int walk(struct report_counter *c, const uint64_t *addresses, size_t nr, size_t nr_kernel,
		uint32_t *node)
{
	struct recent *r = find_recent(c);
	size_t depth = 0;
	int rc = 0;

	*node = root_node(c);
	while (depth < r->nr && depth < nr && r->address[depth] == addresses[nr - 1 - depth])
		*node = r->node[depth++];
	r->nr = (uint32_t)depth;
	for (; depth < nr && rc == 0 && *node != REPORT_FOLD_FULL; depth++) {
		size_t i = nr - 1 - depth;

		rc = step(c, i < nr_kernel, addresses[i], node);
		if (depth >= RECENT_DEPTH || rc || *node == REPORT_FOLD_FULL)
			continue;
		r->address[depth] = addresses[i];
		r->node[depth] = *node;
		r->nr = (uint32_t)depth + 1;
	}
	return rc;
}

/* A stack of one frame. */
static void walk_one(struct report_counter *c, const struct report_function *function,
		     uint32_t *node)
{
	const struct report_frame frame = {.function = function};

	*node = root_node(c);
	if (*node != REPORT_FOLD_FULL)
		*node = report_fold_child(c->fold, *node, &frame);
}

static int no_address(struct report_counter *c, const struct profile_sample *s, uint32_t *node)
{
	const char *name = s->layout->is_by_switches ? "[no sample before]"
			   : s->is_rest              ? REPORT_NOT_SAMPLED
						     : "[no address]";
	const struct report_function *function =
	    report_functions_named(c->all->run->functions, name, "");

	if (function)
		walk_one(c, function, node);
	return function ? 0 : -ENOMEM;
}

/* The first part of a stack has the places of all of its parts: they are used only where no other
 * part counts elsewhere. */
static bool has_places(const struct report_counter *c, const struct profile_sample *s)
{
	const struct profile_filter *f = c->all->run->filter;

	return s->places && (s->samples == s->nr_places ||
			     !(has_part(c, REPORT_BY_SLICE) || f->from_ns || f->to_ns));
}

static struct report_count count_of(const struct report_counter *c, const struct profile_sample *s)
{
	return (struct report_count){
	    .samples = s->samples,
	    .weight = s->weight,
	    .unit = s->unit,
	    .places = has_places(c, s) ? s->places : NULL,
	    .nr_places = s->nr_places,
	    .row = c->in_row.row,
	    .place = c->in_row.place,
	    .has_units = trace_layout_has_units(s->layout),
	    .is_maximum = s->layout->is_maximum,
	};
}

/* Each clock has a row of its own: that of a CPU, or of tasks on it. Samples that are not selected
 * have places, too: what lies between two of a row is not beside each other. Those before the range
 * of time have none: they may not have been read. */
static void find_place(struct report_counter *c, const struct trace_head *head,
		       const struct profile_sample *s)
{
	const struct report_input *in = c->all->input;
	const bool is_of_task =
	    in->has_own_clocks && s->layout->is_inherited && !s->layout->is_selected;
	const struct report_row_key key = {.iteration = head->iteration,
					   .trace = head->trace,
					   .cpu = s->cpu,
					   .clock = is_of_task ? s->record.stream : 0,
					   .tid = is_of_task ? s->record.tid : 0,
					   .event = s->id->event,
					   .session = in->number};

	report_rows_find(&c->rows, &key, !is_of_task && c->all->of_event[s->id->event].is_clock,
			 in->start_ns, s, &c->in_row);
}

static int add_single(struct report_counter *c, uint32_t node, const struct profile_sample *s)
{
	const struct report_count count = count_of(c, s);
	const struct report_sample sample = {.key = c->key,
					     .time_ns = c->place.time_ns,
					     .samples = s->samples,
					     .weight = s->weight,
					     .unit = s->unit,
					     .region = c->region,
					     .is_made = s->is_rest,
					     .has_waker = c->has_waker && c->waker.is_known,
					     .waker = c->waker.tid};
	struct report_event_stats *stats = &c->stats.event[c->key.event];
	int rc = (report_singles_is_full(c->singles) ? flush(c, false) : 0)
		     ?: report_singles_add(c->singles, c->fold, node, &sample);

	if (rc < 0)
		return rc;
	report_weight_count(rc ? &stats->counted : &stats->omitted, &count);
	return 0;
}

/* Goes on from the innermost frame of the wait. */
static int walk_waker(struct report_counter *c, uint32_t *node)
{
	const struct report_frame mark = {.function = c->waker.mark};
	const struct report_frame name = {.function = c->waker.name};
	const struct report_stack *st = &c->waker.stack;

	*node = report_fold_child(c->fold, *node, &mark);
	for (size_t i = 0; i < st->nr && *node != REPORT_FOLD_FULL; i++) {
		struct report_frame frames[REPORT_MAX_INLINED];
		size_t nr = report_resolver_frames(c->resolver, &c->waker.place, i < st->nr_kernel,
						   st->address[i], frames);

		if (!nr)
			return -ENOMEM;
		for (size_t k = 0; k < nr && *node != REPORT_FOLD_FULL; k++)
			*node = report_fold_child(c->fold, *node, &frames[k]);
	}
	if (*node != REPORT_FOLD_FULL)
		*node = report_fold_child(c->fold, *node, &name);
	return 0;
}

/* False: the fold is full. */
static int try_count(struct report_counter *c, const uint64_t *addresses, size_t nr,
		     size_t nr_kernel, const struct profile_sample *s, bool *is_counted)
{
	const struct report_count count = count_of(c, s);
	uint32_t node;
	int rc = 0;

	if (c->any)
		walk_one(c, c->any, &node);
	else
		rc = nr ? walk(c, addresses, nr, nr_kernel, &node) : no_address(c, s, &node);
	if (rc == 0 && node != REPORT_FOLD_FULL && c->has_waker)
		rc = walk_waker(c, &node);
	*is_counted = rc == 0 && node != REPORT_FOLD_FULL &&
		      (c->singles || report_fold_count(c->fold, node, &c->key, &count));
	return *is_counted && c->singles ? add_single(c, node, s) : rc;
}

static int count(struct report_counter *c, const uint64_t *addresses, size_t nr, size_t nr_kernel,
		 const struct profile_sample *s)
{
	bool is_counted;
	int rc = add_wait(c, s) ?: try_count(c, addresses, nr, nr_kernel, s, &is_counted);

	if (rc || is_counted)
		return rc;
	return flush(c, true)
		   ?: add_wait(c, s)
		   ?: try_count(c, addresses, nr, nr_kernel, s, &is_counted);
}

/* Fills in the parts of the key that the report needs; false: the sample is not selected. */
static bool make_key(struct report_counter *c, const struct trace_head *head,
		     const struct profile_sample *s, const struct profile_task *task)
{
	const struct profile_filter *f = c->all->run->filter;
	const struct trace_record *r = &s->record;
	uint64_t start_ns = c->all->input->start_ns, slice = 0;
	bool is_timed;

	if (!profile_ranges_has(&f->cpus, s->cpu) || !profile_ranges_has(&f->pids, r->pid) ||
	    !profile_ranges_has(&f->tids, r->tid) ||
	    !profile_globs_match(&f->comms, task->comm->name) ||
	    !profile_choice_has(&c->all->choice, task->process))
		return false;
	if (!profile_filter_has_time(f, start_ns, s->time_ns))
		return false;
	/* what was added up has no time, and so no region */
	is_timed = !s->layout->is_heap && !s->is_rest;
	c->region = is_timed
			? profile_region_of(c->all->input->processes, r->tid, s->time_ns, s->labels)
			: PROFILE_NO_REGION;
	if (c->all->within_region && !c->all->within_region[c->region])
		return false;
	if (is_timed && profile_is_paused(c->all->input->processes, r->pid, r->tid, s->time_ns)) {
		c->stats.nr_paused++;
		return false;
	}
	if (has_part(c, REPORT_BY_SLICE) && s->time_ns > start_ns)
		slice = (s->time_ns - start_ns) / c->all->run->sink->slice_ns;
	c->state = c->all->of_event[s->id->event].state;
	if (c->state && r->wait && r->wait <= TRACE_WAIT_IS_UNKNOWN)
		c->state = r->wait == TRACE_WAIT_BOTH ? REPORT_WAITING : REPORT_UNKNOWN;
	if (c->state && !r->tid)
		c->state = REPORT_IDLE;
	c->key = (struct report_key){
	    .event = c->all->of_event[s->id->event].event,
	    .session = has_part(c, REPORT_BY_SESSION) ? c->all->input->number : 0,
	    .host = has_part(c, REPORT_BY_HOST) ? c->all->input->host : 0,
	    .rank = has_part(c, REPORT_BY_HOST) ? c->all->input->rank : 0,
	    .iteration = has_part(c, REPORT_BY_ITERATION) ? head->iteration : 0,
	    .cpu = has_part(c, REPORT_BY_CPU) ? s->cpu : 0,
	    .pid = has_part(c, REPORT_BY_PID) ? r->pid : 0,
	    .tid = has_part(c, REPORT_BY_TID) ? r->tid : 0,
	    .thread = has_part(c, REPORT_BY_TID) ? task->thread : 0,
	    .comm = has_part(c, REPORT_BY_COMM) ? c->of_comm[task->comm->number] : 0,
	    .cmdline = has_part(c, REPORT_BY_CMDLINE) ? c->of_cmdline[task->process->cmdline] : 0,
	    .state = has_part(c, REPORT_BY_STATE) ? c->state : 0,
	    .reason = has_part(c, REPORT_BY_REASON) && c->state ? r->wait_reason : 0,
	    .region = has_part(c, REPORT_BY_REGION) ? c->of_region[c->region] : 0,
	    .slice = slice < UINT32_MAX ? (uint32_t)slice : UINT32_MAX,
	};
	c->place = (struct report_place){.process = task->process, .time_ns = s->time_ns};
	c->program = &c->programs[task->comm->number];
	return true;
}

/* "name (pid/tid #number)". */
static void name_thread(const struct trace_record *r, const struct profile_task *task,
			char text[ROOT_BYTES])
{
	int len = snprintf(text, ROOT_BYTES, "%s (%" PRIu32 "/", task->comm->name, r->pid);

	len += r->tid == TRACE_UNKNOWN
		   ? snprintf(text + len, ROOT_BYTES - (size_t)len, "-")
		   : snprintf(text + len, ROOT_BYTES - (size_t)len, "%" PRIu32, r->tid);
	if (task->thread != TRACE_UNKNOWN)
		len += snprintf(text + len, ROOT_BYTES - (size_t)len, " #%" PRIu32, task->thread);
	snprintf(text + len, ROOT_BYTES - (size_t)len, ")");
}

/* 0 or -ENOMEM. */
static int set_state_root(struct report_counter *c)
{
	const struct report_function **root = &c->state_roots[c->state];

	if (c->state && !*root)
		*root = report_functions_named(c->all->run->functions, report_state_names[c->state],
					       "");
	c->root = *root;
	return c->state && !c->root ? -ENOMEM : 0;
}

/* The same in a whole session. 0 or -ENOMEM. */
static int set_part_root(struct report_counter *c, enum report_root root)
{
	const struct report_input *in = c->all->input;
	struct report_functions *f = c->all->run->functions;
	char rank[ROOT_BYTES];

	if (c->part_root || (root == REPORT_ROOT_RANK && in->rank == TRACE_UNKNOWN)) {
		c->root = c->part_root;
		return 0;
	}
	snprintf(rank, sizeof(rank), "rank %" PRIu32, in->rank);
	c->part_root = report_functions_named(
	    f, root == REPORT_ROOT_RANK ? rank : report_functions_text(f, in->host), "");
	c->root = c->part_root;
	return c->root ? 0 : -ENOMEM;
}

/* 0 or -ENOMEM. */
static int set_root(struct report_counter *c, const struct trace_record *r, uint64_t time_ns,
		    struct profile_task *task)
{
	const enum report_root root = c->all->run->root;
	struct root *at = &c->roots[r->tid % NR_ROOTS];
	uint32_t cmdline = task->process->cmdline;
	char text[ROOT_BYTES];

	if (!root || !has_part(c, REPORT_BY_STACK))
		return 0;
	if (root == REPORT_ROOT_STATE)
		return set_state_root(c);
	if (root == REPORT_ROOT_HOST || root == REPORT_ROOT_RANK)
		return set_part_root(c, root);
	if (root == REPORT_ROOT_REGION) {
		c->root = c->region_paths[c->region];
		return 0;
	}
	if (root == REPORT_ROOT_PROCESS)
		profile_lookup_task(c->lookup, r->pid, r->pid, time_ns, task);
	if (!at->function || at->pid != r->pid || at->tid != r->tid || at->thread != task->thread ||
	    at->comm != task->comm->number || at->cmdline != cmdline) {
		const char *comm = task->comm->name;

		if (root == REPORT_ROOT_PROCESS)
			snprintf(text, sizeof(text), "%s (%" PRIu32 ")", comm, r->pid);
		else if (root == REPORT_ROOT_THREAD)
			name_thread(r, task, text);
		else
			snprintf(text, sizeof(text), "%s",
				 root == REPORT_ROOT_COMM
				     ? comm
				     : profile_cmdline(c->all->input->processes, cmdline));
		*at = (struct root){
		    r->pid,       r->tid,
		    task->thread, task->comm->number,
		    cmdline,      report_functions_named(c->all->run->functions, text, "")};
	}
	c->root = at->function;
	return c->root ? 0 : -ENOMEM;
}

static void set_process(struct report_counter *c)
{
	c->place.number = c->place.process->number;
	c->place.epoch = report_resolver_epoch(c->resolver, c->place.process, c->place.time_ns);
}

static enum report_start start_of(void *arg, uint64_t address)
{
	struct report_counter *c = arg;

	return report_resolver_start(c->resolver, &c->place, address);
}

/* The stack of a wait begins in the program that sampled it, on the way back from the switch. */
static void remove_switch(struct report_counter *c, struct report_stack *st)
{
	size_t nr = 0;

	while (nr < st->nr_kernel &&
	       report_resolver_is_switch(c->resolver, &c->place, st->address[nr]))
		nr++;
	report_stack_remove(st, nr);
}

static int make_waker(struct report_counter *c, const struct profile_sample *s)
{
	const struct report_waker_config config = {.lookup = c->lookup,
						   .unwinder = c->unwinder,
						   .resolver = c->resolver,
						   .functions = c->all->run->functions};

	return report_waker_make(&c->waker, &config, s, kernel_epoch(c->all, s->time_ns));
}

/* Whether the innermost address of the process is in no mapping; that of a lifetime needs none. */
static bool is_unmapped(struct report_counter *c, const struct report_stack *st, uint64_t time_ns)
{
	const uint64_t address = st->address[st->nr_kernel];

	return !perf_abi_is_life(address) && !profile_is_code(address) &&
	       !profile_lookup_mapping(c->lookup, c->place.process, address, time_ns);
}

/* Where the interpreter is mapped that interpreted at the sample; NULL: its frames are asked for.
 */
static const struct profile_mapping *interpreter_of(struct report_counter *c,
						    const struct profile_sample *s)
{
	return c->all->run->with_native
		   ? NULL
		   : profile_lookup_mapping(c->lookup, c->place.process, s->interpreted->loop_begin,
					    s->time_ns);
}

/* Whether the code is of the function of the frame; else it was read at another time. */
static bool is_of(struct report_counter *c, const struct report_frame *outer, uint64_t function)
{
	struct report_frame frames[REPORT_MAX_INLINED];

	return function &&
	       report_resolver_frames(c->resolver, &c->place, false, function, frames) &&
	       frames[0].function == outer->function;
}

static enum report_code code_at(void *arg, uint64_t address, uint64_t function)
{
	struct report_counter *c = arg;
	struct report_frame frames[REPORT_MAX_INLINED];
	size_t nr;
	const struct profile_mapping *m =
	    profile_lookup_mapping(c->lookup, c->place.process, address, c->place.time_ns);

	if (m && profile_object_is_file(m->object))
		return REPORT_CODE_OF_FILE;
	nr = report_resolver_frames(c->resolver, &c->place, false, address, frames);
	if (nr && report_resolver_is_script(c->resolver, &c->place, address))
		return is_of(c, &frames[nr - 1], function) ? REPORT_CODE_SCRIPT
							   : REPORT_CODE_WITHOUT_NAME;
	return nr && frames[0].function->is_known ? REPORT_CODE_NAMED : REPORT_CODE_WITHOUT_NAME;
}

static void put_interpreted(struct report_counter *c, const struct profile_sample *s,
			    bool with_callers)
{
	const struct profile_processes *processes = c->all->input->processes;
	const struct report_placing placing = {.processes = processes,
					       .with_native = c->all->run->with_native,
					       .code = code_at,
					       .arg = c};

	if (s->interpreted->language == TRACE_LANGUAGE_JAVASCRIPT)
		report_stack_place(&placing, s->interpreted, with_callers, &c->stack);
	else
		report_stack_merge(processes, s->interpreted, interpreter_of(c, s), with_callers,
				   &c->stack);
}

static int count_stack(struct report_counter *c, const struct profile_sample *s)
{
	const bool is_wait = s->layout->is_wait && !s->layout->is_by_switches;
	const bool with_callers = has_part(c, REPORT_BY_STACK);
	const bool counts_end = with_callers || is_wait;
	struct report_stack *st = &c->stack;

	/* which function is interpreted follows from the callers */
	report_stack_make(c->unwinder, c->place.process, s, counts_end || s->interpreted, st);
	if (st->nr_kernel)
		c->place.kernel_epoch = kernel_epoch(c->all, s->time_ns);
	if (is_wait)
		remove_switch(c, st);
	if (st->nr > st->nr_kernel) {
		set_process(c);
		c->stats.nr_user += s->samples;
		c->stats.nr_unmapped += is_unmapped(c, st, s->time_ns) ? s->samples : 0;
	}
	report_stack_finish(c->unwinder, c->place.process, s, start_of, c, st);
	if (s->interpreted)
		put_interpreted(c, s, counts_end);
	c->program->nr[st->end] += counts_end && st->has_callers ? s->samples : 0;
	if (!c->all->run->sink->entry && !c->singles)
		return 0;
	if (!with_callers && st->nr > 1)
		st->nr = 1;
	c->has_waker = c->wants_wakers && s->layout->has_waker;
	if (c->has_waker && make_waker(c, s))
		return -ENOMEM;
	return count(c, st->address, st->nr, st->nr_kernel, s);
}

/* Holds for x86-64 and arm64. */
static bool is_kernel_address(uint64_t address)
{
	return address >> 63;
}

/* The function of one end of a branch is the frame at its node. */
static int count_branch(struct report_counter *c, const struct trace_branch *b)
{
	const struct report_count count = {
	    .samples = 1, .weight = b->cycles, .unit = b->cycles ?: 1};
	uint32_t node = REPORT_FOLD_ROOT;
	int rc = step(c, is_kernel_address(b->to), b->to, &node);

	if (rc == 0 && node != REPORT_FOLD_FULL)
		rc = step(c, is_kernel_address(b->from), b->from, &node);
	if (rc)
		return rc;
	return node != REPORT_FOLD_FULL && report_fold_count(c->fold, node, &c->key, &count)
		   ? 0
		   : -EAGAIN;
}

static int count_branches(struct report_counter *c, const struct profile_sample *s)
{
	struct trace_branch b;
	int rc = 0;

	c->place.kernel_epoch = kernel_epoch(c->all, s->time_ns);
	set_process(c);
	for (uint64_t i = 0; i < s->record.nr_branches && rc == 0; i++) {
		trace_record_branch(&s->record, i, &b);
		c->key.branch = b.mispredicted ? REPORT_MISPREDICTED
				: b.predicted  ? REPORT_PREDICTED
					       : REPORT_PREDICTION_UNKNOWN;
		rc = count_branch(c, &b);
		if (rc == -EAGAIN)
			rc = flush(c, true) ?: count_branch(c, &b);
	}
	return rc;
}

/* Of a wait that is only partly in the times that are selected, that part, which weighs as much of
 * the whole: each ns of a sampled wait stands for as many. A task that waits does not leave its
 * region. */
static void cut_wait(struct report_counter *c, const struct report_counted *counted,
		     struct profile_sample *s)
{
	const uint64_t from_ns =
	    s->time_ns > s->record.wait_ns ? s->time_ns - s->record.wait_ns : 0;
	const uint64_t ns = s->time_ns - from_ns;
	const uint64_t part_ns = profile_spans_ns(&c->all->spans, from_ns, s->time_ns);
	const uint64_t whole = s->weight;
	struct report_weight rest = {0};

	if (part_ns == ns || !part_ns) /* of none, its time decides */
		return;
	s->weight = (uint64_t)((double)whole * ((double)part_ns / (double)ns));
	s->unit = (uint64_t)((double)s->unit * ((double)part_ns / (double)ns));
	s->record.wait_ns = part_ns;
	s->time_ns = profile_spans_last(&c->all->spans, s->time_ns);
	rest.weight = whole - s->weight;
	report_weight_add(&c->stats.event[counted->event].omitted, &rest);
}

/* False: its samples neither count nor are they omitted. */
static bool is_counted(struct report_counter *c, const struct trace_head *head,
		       const struct report_counted *counted)
{
	bool is_earlier = counted->is_of_last && head->iteration != c->all->last_iteration;

	if (counted->is_wanted && is_earlier)
		c->stats.event[counted->event].is_of_last = true;
	return counted->is_wanted && !is_earlier;
}

void report_counter_omit(struct report_counter *c, const struct trace_head *head, uint32_t event,
			 uint64_t samples, uint64_t weight)
{
	const struct report_counted *counted = &c->all->of_event[event];
	const struct report_weight sum = {.samples = samples, .weight = weight};

	if (is_counted(c, head, counted))
		report_weight_add(&c->stats.event[counted->event].omitted, &sum);
}

/* Where a sample counts that is no entry; NULL: it is one. */
static struct report_weight *rest_of(struct report_counter *c, const struct trace_head *head,
				     const struct report_counted *counted,
				     const struct profile_sample *s,
				     const struct profile_task *task)
{
	struct report_event_stats *stats = &c->stats.event[counted->event];

	if (!make_key(c, head, s, task))
		return &stats->omitted;
	return c->all->run->without_idle && !s->record.pid && !s->record.tid ? &stats->idle : NULL;
}

int report_counter_add(struct report_counter *c, const struct trace_head *head,
		       const struct profile_sample *sample)
{
	const struct report_counted *counted = &c->all->of_event[sample->id->event];
	const struct profile_sample *s = sample;
	struct report_weight *rest;
	struct profile_sample cut;
	struct profile_task task;

	if (!is_counted(c, head, counted))
		return 0;
	if (s->is_rest)
		sum_add(&c->stats.event[counted->event].unsampled_ns, s->weight);
	c->in_row = (struct report_place_in_row){0};
	if (s->is_in_row &&
	    profile_filter_has_time(c->all->run->filter, c->all->input->start_ns, s->time_ns))
		find_place(c, head, s);
	if (s->record.wait_ns && s->samples == 1) {
		cut = *s;
		cut_wait(c, counted, &cut);
		s = &cut;
	}
	profile_lookup_task(c->lookup, s->record.pid, s->record.tid, s->time_ns, &task);
	rest = rest_of(c, head, counted, s, &task);
	if (rest) {
		report_weight_count(
		    rest, &(struct report_count){.samples = s->samples,
						 .weight = s->weight,
						 .unit = s->unit,
						 .has_units = trace_layout_has_units(s->layout),
						 .is_maximum = s->layout->is_maximum});
		return 0;
	}
	if (has_part(c, REPORT_BY_BRANCH))
		return count_branches(c, s);
	if (c->any)
		return count(c, NULL, 0, 0, s);
	return set_root(c, &s->record, s->time_ns, &task) ?: count_stack(c, s);
}

static bool number(const struct report_counter *c, const char *text, uint32_t *out)
{
	*out = report_functions_text_number(c->all->run->functions, text);
	return *out != UINT32_MAX;
}

static int read_texts(struct report_counter *c)
{
	const struct report_counters *all = c->all;
	size_t nr = profile_nr_comms(all->input->processes);

	c->of_comm = mem_calloc(nr + 1, sizeof(*c->of_comm));
	c->programs = mem_calloc(nr + 1, sizeof(*c->programs));
	if (!c->of_comm || !c->programs)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && has_part(c, REPORT_BY_COMM); i++)
		if (!number(c, profile_comm(all->input->processes, i)->name, &c->of_comm[i]))
			return -ENOMEM;
	nr = profile_nr_cmdlines(all->input->processes);
	c->of_cmdline = mem_calloc(nr, sizeof(*c->of_cmdline));
	if (!c->of_cmdline)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && has_part(c, REPORT_BY_CMDLINE); i++)
		if (!number(c, profile_cmdline(all->input->processes, i), &c->of_cmdline[i]))
			return -ENOMEM;
	return 0;
}

static int read_regions(struct report_counter *c)
{
	const struct profile_processes *p = c->all->input->processes;
	size_t nr = profile_nr_regions(p);
	BUF_AUTO(text, REGION_BYTES);

	c->of_region = mem_calloc(nr, sizeof(*c->of_region));
	if (!c->of_region)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && has_part(c, REPORT_BY_REGION); i++) {
		buf_reset(&text);
		profile_region_text(p, i, &text);
		if (buf_error(&text) || !number(c, buf_str(&text), &c->of_region[i]))
			return -ENOMEM;
	}
	return 0;
}

/* 0 or -ENOMEM. */
static int make_region_frames(struct report_counter *c)
{
	const struct profile_processes *p = c->all->input->processes;
	size_t nr = profile_nr_regions(p);
	BUF_AUTO(text, REGION_BYTES);

	if (c->all->run->root != REPORT_ROOT_REGION)
		return 0;
	c->region_frames = mem_calloc(nr, sizeof(*c->region_frames));
	c->region_paths = mem_calloc(nr, sizeof(*c->region_paths));
	if (!c->region_frames || !c->region_paths)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		struct report_functions *all = c->all->run->functions;

		buf_reset(&text);
		profile_region_text(p, i, &text);
		c->region_frames[i] = report_functions_named(all, profile_region(p, i)->name, "");
		c->region_paths[i] = report_functions_named(all, buf_str(&text), "");
		if (!c->region_frames[i] || !c->region_paths[i])
			return -ENOMEM;
	}
	return 0;
}

static int init(struct report_counter *c)
{
	const struct report_run *run = c->all->run;
	const struct report_input *in = c->all->input;
	const struct profile_facts *facts = profile_session_facts(in->session);
	struct report_resolver_config resolver = {.symbols = in->symbols,
						  .functions = run->functions,
						  .with_inlined = run->with_inlined &&
								  !has_part(c, REPORT_BY_BRANCH),
						  .with_lines = has_part(c, REPORT_BY_LINE),
						  .with_addresses = has_part(c, REPORT_BY_ADDRESS)};
	struct unwinder_config unwinder = {
	    .finder = in->finder,
	    .machine = facts->head.machine,
	    .vdso = in->vdso,
	    .find_made = report_find_made,
	    .find_method = report_find_method,
	    .arg = in->symbols,
	};
	const bool needs_none = run->sink->ignores_frames && !has_part(c, REPORT_BY_STACK) &&
				!report_functions_use_callers(run->functions);
	int rc;

	c->generation = 1;
	c->any = needs_none ? report_functions_named(run->functions, "[any]", "") : NULL;
	c->wants_wakers =
	    has_part(c, REPORT_BY_STACK) && (run->with_wakers || has_part(c, REPORT_BY_WAKER));
	c->lookup = resolver.lookup = profile_lookup_new(in->processes);
	unwinder.maps = report_stack_maps(c->lookup);
	c->fold = report_fold_new(receive, c);
	c->singles = run->sink->samples ? report_singles_new(run->functions, run->sink) : NULL;
	if (!c->lookup || !c->fold || (run->sink->samples && !c->singles) ||
	    (needs_none && !c->any))
		return -ENOMEM;
	c->resolver = report_resolver_new(&resolver);
	if (!c->resolver || report_stats_init(&c->stats, facts->nr_events) || read_texts(c) ||
	    read_regions(c) || make_region_frames(c))
		return -ENOMEM;
	rc = unwinder_new(&unwinder, &c->unwinder);
	/* if stacks of that machine cannot be unwound, callchains are still used */
	return rc == -ENOTSUP ? 0 : rc;
}

int report_counter_new(struct report_counters *all, struct report_counter **out)
{
	struct report_counter *c = mem_zalloc(sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->all = all;
	rc = init(c);
	if (rc)
		report_counter_free(c);
	else
		*out = c;
	return rc;
}

void report_counter_free(struct report_counter *c)
{
	if (!c)
		return;
	unwinder_free(c->unwinder);
	report_singles_free(c->singles);
	report_fold_free(c->fold);
	report_resolver_free(c->resolver);
	profile_lookup_free(c->lookup);
	report_stats_fini(&c->stats);
	mem_free(c->of_comm);
	mem_free(c->of_cmdline);
	mem_free(c->of_region);
	mem_free(c->region_frames);
	mem_free(c->region_paths);
	mem_free(c->programs);
	mem_free(c->waits);
	mem_free(c);
}

int report_counter_flush(struct report_counter *c)
{
	return flush(c, true);
}

int report_counter_stats(const struct report_counter *c, struct report_stats *to)
{
	const struct report_input *in = c->all->input;

	for (size_t i = 0; i < to->nr_events; i++) {
		report_weight_add(&to->event[i].counted, &c->stats.event[i].counted);
		report_weight_add(&to->event[i].omitted, &c->stats.event[i].omitted);
		report_weight_add(&to->event[i].idle, &c->stats.event[i].idle);
		sum_add(&to->event[i].unsampled_ns, c->stats.event[i].unsampled_ns);
		to->event[i].is_of_last |= c->stats.event[i].is_of_last;
	}
	to->nr_user += c->stats.nr_user;
	to->nr_unmapped += c->stats.nr_unmapped;
	to->nr_paused += c->stats.nr_paused;
	for (uint32_t i = 0; i < profile_nr_comms(in->processes); i++) {
		struct report_program *program, *from = &c->programs[i];

		if (!report_program_all(from))
			continue;
		from->comm = report_functions_text_number(c->all->run->functions,
							  profile_comm(in->processes, i)->name);
		program = from->comm == UINT32_MAX ? NULL : dict_get(&to->programs, &from->comm);
		if (!program)
			return -ENOMEM;
		for (int end = 0; end < REPORT_NR_ENDS; end++)
			program->nr[end] += from->nr[end];
	}
	return 0;
}
