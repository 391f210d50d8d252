/*
 * Calls added up in the program by the agent (hooks/hooks.h), which what the compiler has put into
 * the functions calls, or else what the agent writes over their first instructions: of a command
 * that loads it at its start, without any right. It costs a twentieth of what the kernel does for a
 * call, so functions that have it are measured by it; but it takes no samples of single calls, and
 * does not know how long calls were on a CPU.
 *
 * An event is measured in one way. If only some of its functions are prepared, it is the kernel
 * that measures all of them, where it may; else those that are, and the others by replacing
 * instructions (x86-64): where they begin and return, so that calls have times, or else where they
 * begin. If that takes more than measuring may, their calls are counted on, without times.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "calls/calls.h"
#include "calls/way.h"
#include "functions/functions.h"
#include "hooks/hooks.h"
#include "plan/notes.h"
#include "plan/plan.h"
#include "plan/source.h"
#include "trace/trace.h"
#include "wire/loadable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is disabled is counted by the programs all the same, and subtracted: at is what is shown
 * since it was disabled, off what was counted while it was. */
struct paused_count {
	bool is_off;
	uint64_t at, off;
};
struct paused_function {
	bool is_off;
	struct hooks_sums at, off;
	uint64_t *at_bucket, *off_bucket; /* owned, at_bucket with both; NULL: no call had ended */
};

struct agent_way {
	const struct plan *plan;
	struct calls_list *list;
	struct hooks *hooks;                  /* owned */
	const struct functions_place **place; /* owned; of the hooks */
	uint32_t *number; /* owned; the hooks' number of a function; HOOKLESS: it has none */
	struct paused_count events[CALLS_MAX_EVENTS];
	struct paused_function *paused; /* owned; per function */
	int error;                      /* of enabling */
	uint64_t *calls;                /* owned; of the hooks' numbers, as last looked at */
	size_t nr;                      /* of these */
	bool has_times;
	struct hooks_limits said;
	bool has_said, is_patched; /* is_patched: all that is measured is */
};

#define HOOKLESS UINT32_MAX

/* --- whose event it is */

#ifdef __x86_64__
enum { HAS_PATCHES = true };
#else
enum { HAS_PATCHES = false };
#endif

static size_t nr_prepared(const struct event_row *row)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < row->nr_functions; i++)
		nr += row->functions[i].prepared != FUNCTIONS_PREPARED_NOT;
	return nr;
}

static bool has_signature(const struct event_row *row)
{
	return ARRAY_ANY(f, row->functions, row->nr_functions, f->signature);
}

/* The command's program; LOADABLE_UNREADABLE: there is none, which exec reports. */
static enum loadable judge(const struct plan *plan, struct loadable_judged *out)
{
	loadable_judge_named(getenv("PATH"), plan->spec->target.command.item[0], out);
	return out->answer;
}

/* What would let the agent measure the event, of which functions are prepared. NULL: it does. */
static const char *find_obstacle(const struct plan *plan, const struct plan_event *p)
{
	struct loadable_judged judged;

	if (!plan->spec->target.command.nr)
		return "let cpuperf start the program: a process that runs already has no agent";
	if (has_signature(p->event.row))
		return "remove the signature: arguments are recorded by the kernel alone";
	if (spec_event_is_sampled(p->asked))
		return "remove the rate: calls of this program can be counted so, not sampled";
	if (judge(plan, &judged) == LOADABLE_YES || judged.answer == LOADABLE_UNREADABLE)
		return NULL;
	return "link the program dynamically, for this machine, and without set-user-ID, so that "
	       "it loads the agent";
}

bool calls_agent_has(const struct plan *plan, const struct plan_event *p)
{
	size_t nr = p->event.row->functions ? nr_prepared(p->event.row) : 0;
	struct err unused = {0};

	if (strcmp(plan->spec->function_way, "any") != 0)
		return strcmp(plan->spec->function_way, "kernel") != 0;
	return (nr || HAS_PATCHES) && !find_obstacle(plan, p) &&
	       (nr == p->event.row->nr_functions || calls_kernel_try(plan->host, &unused) != 0);
}

const char *calls_remedy(const struct plan *plan, const struct plan_event *p)
{
	const char *obstacle = p->event.row->functions && (HAS_PATCHES || nr_prepared(p->event.row))
				   ? find_obstacle(plan, p)
				   : NULL;

	if (obstacle)
		return obstacle;
	return spec_event_is_sampled(p->asked) || !plan->spec->target.command.nr
		   ? "count calls of a command that is built with -finstrument-functions"
		   : "build the program with -finstrument-functions, which also times calls, or "
		     "with -fpatchable-function-entry=5, and without -static";
}

/* --- open and close */

static void close_way(void *way)
{
	struct agent_way *a = way;

	hooks_close(a->hooks);
	for (size_t i = 0; a->paused && i < a->list->nr; i++)
		mem_free(a->paused[i].at_bucket);
	mem_free(a->paused);
	mem_free(a->calls);
	mem_free(a->place);
	mem_free(a->number);
	mem_free(a);
}

/* In the wire's thread. Not one that the target started, if these are not measured. */
static bool is_wanted(void *arg, uint32_t pid)
{
	const struct plan_target *t = &((const struct agent_way *)arg)->plan->target;

	return !t->is_process_only || ARRAY_ANY(id, t->ids, t->nr_ids, *id == (pid_t)pid);
}

static bool is_count(const struct plan *plan)
{
	return strcmp(plan->spec->function_way, "count") == 0;
}

static int choose_places(struct agent_way *a, struct hooks_config *config)
{
	a->place = mem_calloc(a->list->nr + 1, sizeof(*a->place));
	a->number = mem_calloc(a->list->nr + 1, sizeof(*a->number));
	a->paused = mem_calloc(a->list->nr + 1, sizeof(*a->paused));
	if (!a->place || !a->number || !a->paused)
		return -ENOMEM;
	a->is_patched = HAS_PATCHES;
	for (size_t i = 0; i < a->list->nr; i++) {
		struct calls_function *f = &a->list->function[i];

		if (f->place->prepared == FUNCTIONS_PREPARED_NOT)
			f->way = TRACE_FUNCTION_PATCHED;
		a->number[i] = HOOKLESS;
		a->is_patched &= f->way != 0;
		if (f->way && !HAS_PATCHES)
			continue;
		a->number[i] = (uint32_t)config->nr;
		a->place[config->nr++] = f->place;
	}
	a->nr = config->nr;
	config->has_times = !is_count(a->plan) &&
			    (HAS_PATCHES || ARRAY_ANY(p, a->place, a->nr,
						      (*p)->prepared == FUNCTIONS_PREPARED_BOTH));
	a->calls = mem_calloc(a->nr + 1, sizeof(*a->calls));
	config->place = a->place;
	config->patches = HAS_PATCHES;
	return a->calls ? 0 : -ENOMEM;
}

/* What was found out of each function. The code that counts stays. */
static void set_timed(struct agent_way *a)
{
	a->has_times = hooks_has_times(a->hooks);
	for (size_t i = 0; i < a->list->nr; i++) {
		struct calls_function *f = &a->list->function[i];

		if (f->way) {
			f->is_timed = a->number[i] != HOOKLESS && a->has_times &&
				      !hooks_refused(a->hooks, a->number[i]) &&
				      !hooks_untimed(a->hooks, a->number[i]);
			f->is_kept |= !f->is_timed;
			f->is_counted_on = true;
			f->counted_ns = (uint32_t)functions_patched_ns(f->is_timed, true);
			f->cost_ns = (uint32_t)functions_patched_ns(f->is_timed, false);
		} else {
			f->is_timed = a->has_times && f->place->prepared == FUNCTIONS_PREPARED_BOTH;
			f->cost_ns = (uint32_t)functions_prepared_ns(
			    f->is_timed ? FUNCTIONS_PREPARED_BOTH : FUNCTIONS_PREPARED_ENTRY);
		}
	}
}

static const char *why_not(const struct plan *plan, const struct calls_list *list)
{
	if (!plan->target.is_command)
		return "the agent measures functions in a command that cpuperf starts";
	if (!HAS_PATCHES &&
	    !ARRAY_ANY(f, list->function, list->nr, f->place->prepared != FUNCTIONS_PREPARED_NOT))
		return "the compiler has not prepared these functions: build the program with "
		       "-finstrument-functions, or measure with --function-way=kernel";
	if (ARRAY_ANY(f, list->function, list->nr, f->signature))
		return "arguments and results are recorded by the kernel alone: omit the "
		       "signature, or "
		       "use --function-way=kernel";
	return plan->compiled_refused;
}

/* Why the function is not measured; NULL: it is. */
static const char *refusal_of(const struct agent_way *a, size_t function)
{
	if (a->number[function] == HOOKLESS)
		return "the compiler has not prepared it";
	return hooks_refused(a->hooks, a->number[function]);
}

static int refuse_all(const struct agent_way *a, struct err *e)
{
	for (size_t i = 0; i < a->list->nr; i++)
		if (!refusal_of(a, i))
			return 0;
	return err_set(e, -ENOTSUP,
		       "%.100s is not measured in the program: %s%s; --function-way=kernel, or "
		       "-finstrument-functions, measures it",
		       a->list->function[0].place->name, refusal_of(a, 0),
		       a->list->nr > 1 ? ", nor is any other of these" : "");
}

static int open_way(const struct plan *plan, struct calls_list *list, void **out, struct err *e)
{
	const char *refusal = why_not(plan, list);
	struct loadable_judged judged;
	struct hooks_config config = {.is_wanted = is_wanted};
	struct agent_way *a;
	int rc;

	if (refusal)
		return err_set(e, -ENOTSUP, "%.255s", refusal);
	if (judge(plan, &judged) != LOADABLE_YES && judged.answer != LOADABLE_UNREADABLE)
		return err_set(e, -ENOTSUP, "%s %s", judged.name, loadable_reason(judged.answer));
	a = mem_zalloc(sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->plan = plan;
	a->list = list;
	config.arg = a;
	rc = choose_places(a, &config) ?: hooks_open(&config, &a->hooks, e) ?: refuse_all(a, e);
	if (rc) {
		close_way(a);
		return rc == -ENOMEM ? rc : -ENOTSUP; /* no right would help */
	}
	set_timed(a);
	*out = a;
	return 0;
}

static void leave(void *way)
{
	hooks_leave(((struct agent_way *)way)->hooks);
}

static const char *socket_of(const void *way)
{
	return hooks_socket(((const struct agent_way *)way)->hooks);
}

/* --- numbers */

/* Also what was counted while it was disabled. */
static void read_all(const struct agent_way *a, size_t function, struct hooks_sums *out)
{
	*out = (struct hooks_sums){.calls = 0};
	if (a->number[function] != HOOKLESS)
		hooks_sums(a->hooks, a->number[function], out);
}

static const uint64_t *buckets_of(const struct agent_way *a, size_t function)
{
	return a->number[function] == HOOKLESS ? NULL
					       : hooks_buckets(a->hooks, a->number[function]);
}

/* A program may write less than it had. */
static uint64_t beyond(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* *to becomes a - b, but for the longest call. */
static void subtract(const struct hooks_sums *a, const struct hooks_sums *b, struct hooks_sums *to)
{
	*to = (struct hooks_sums){.calls = beyond(a->calls, b->calls),
				  .ended = beyond(a->ended, b->ended),
				  .wall_ns = beyond(a->wall_ns, b->wall_ns),
				  .self_ns = beyond(a->self_ns, b->self_ns),
				  .cost_ns = beyond(a->cost_ns, b->cost_ns),
				  .max_ns = a->max_ns};
}

static void read_shown(const struct agent_way *a, size_t function, struct hooks_sums *out)
{
	const struct paused_function *p = &a->paused[function];
	struct hooks_sums all;

	read_all(a, function, &all);
	if (p->is_off)
		*out = p->at;
	else
		subtract(&all, &p->off, out);
}

static void read_sums(const void *way, size_t function, struct calls_sums *out)
{
	struct hooks_sums s;

	read_shown(way, function, &s);
	*out = (struct calls_sums){.calls = s.calls,
				   .wall_ns = s.wall_ns,
				   .self_ns = s.self_ns,
				   .cost_ns = s.cost_ns,
				   .max_ns = s.max_ns};
}

/* What the programs have tried is a call of the kind that they measure most of. */
static void set_prices(struct agent_way *a, double cost_ns)
{
	for (size_t i = 0; i < a->list->nr && cost_ns > 0; i++) {
		struct calls_function *f = &a->list->function[i];

		if ((!f->way || f->is_timed) && f->is_timed == a->has_times && !f->is_untimed)
			f->cost_ns = cost_ns < 1 ? 1 : (uint32_t)(cost_ns + 0.5);
	}
}

/* What lies in the time of a call is tried by each process, on its machine. */
static int refresh(void *way)
{
	struct agent_way *a = way;
	int rc = hooks_read(a->hooks) ?: a->error;
	struct hooks_limits l;

	a->error = 0;
	hooks_limits(a->hooks, &l);
	set_prices(a, l.cost_ns);
	for (size_t i = 0; i < a->list->nr && rc == 0; i++) {
		struct calls_function *f = &a->list->function[i];
		struct hooks_sums s;

		if (!f->is_timed)
			continue;
		hooks_sums(a->hooks, a->number[i], &s);
		if (s.ended)
			f->inside_ns = (uint32_t)(s.cost_ns / s.ended);
	}
	return rc;
}

/* Also what was counted while it was disabled. */
static uint64_t count_all(const struct agent_way *a, size_t event)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->list->nr; i++) {
		struct hooks_sums s;

		if (!(a->list->function[i].events >> event & 1))
			continue;
		read_all(a, i, &s);
		sum += s.calls;
	}
	return sum;
}

/* On which CPU it was does not matter. */
static uint64_t count(const void *way, size_t event, uint32_t cpu, uint64_t *lost)
{
	const struct agent_way *a = way;
	const struct paused_count *p = &a->events[event];

	(void)cpu;
	*lost = 0;
	return p->is_off ? p->at : beyond(count_all(a, event), p->off);
}

/* --- --control */

static void switch_count(struct paused_count *p, uint64_t all, bool is_off)
{
	if (is_off)
		p->at = beyond(all, p->off);
	else
		p->off = beyond(all, p->at);
	p->is_off = is_off;
}

static int switch_buckets(struct paused_function *p, const uint64_t *all, bool is_off)
{
	if (!all)
		return 0;
	if (!p->at_bucket) {
		p->at_bucket = mem_calloc(2 * (size_t)HOOKS_BUCKETS, sizeof(*p->at_bucket));
		if (!p->at_bucket)
			return -ENOMEM;
		p->off_bucket = p->at_bucket + HOOKS_BUCKETS;
	}
	for (size_t i = 0; i < HOOKS_BUCKETS; i++)
		if (is_off)
			p->at_bucket[i] = beyond(all[i], p->off_bucket[i]);
		else
			p->off_bucket[i] = beyond(all[i], p->at_bucket[i]);
	return 0;
}

/* It is disabled if all its events are. */
static int switch_function(struct agent_way *a, size_t function)
{
	struct paused_function *p = &a->paused[function];
	struct hooks_sums all;
	bool is_off = true;

	for (size_t i = 0; i < a->list->nr_events; i++)
		if (a->list->function[function].events >> i & 1)
			is_off &= a->events[i].is_off;
	if (is_off == p->is_off)
		return 0;
	read_all(a, function, &all);
	if (is_off)
		subtract(&all, &p->off, &p->at);
	else
		subtract(&all, &p->at, &p->off);
	p->is_off = is_off;
	return switch_buckets(p, buckets_of(a, function), is_off);
}

/* What was called until now belongs to what is shown, or does not. */
static void enable(void *way, size_t event, bool is_enabled)
{
	struct agent_way *a = way;
	int rc;

	if (a->events[event].is_off != is_enabled)
		return;
	rc = hooks_read(a->hooks);
	switch_count(&a->events[event], count_all(a, event), !is_enabled);
	for (size_t i = 0; i < a->list->nr; i++)
		if (a->list->function[i].events >> event & 1)
			rc = rc ?: switch_function(a, i);
	a->error = a->error ?: rc;
}

/* --- what it costs */

static int look(void *way)
{
	struct agent_way *a = way;
	double cost_ns;
	int rc = hooks_look(a->hooks, a->calls, &cost_ns);

	if (rc == 0)
		set_prices(a, cost_ns);
	return rc;
}

static uint64_t calls(const void *way, size_t function)
{
	const struct agent_way *a = way;

	return a->number[function] == HOOKLESS ? 0 : a->calls[a->number[function]];
}

static int leave_out(void *way, const bool *is_out)
{
	struct agent_way *a = way;
	bool *of_hooks = mem_calloc(a->nr + 1, sizeof(*of_hooks));

	if (!of_hooks)
		return -ENOMEM;
	for (size_t i = 0; i < a->list->nr; i++)
		if (a->number[i] != HOOKLESS)
			of_hooks[a->number[i]] = is_out[i];
	hooks_leave_out(a->hooks, of_hooks);
	mem_free(of_hooks);
	return 0;
}

static uint64_t bucket(const void *way, size_t function, uint32_t i, uint64_t before)
{
	const struct agent_way *a = way;
	const struct paused_function *p = &a->paused[function];
	const uint64_t *all = buckets_of(a, function);
	uint64_t now = all ? all[i] : 0;

	if (p->at_bucket)
		now = p->is_off ? p->at_bucket[i] : beyond(now, p->off_bucket[i]);
	else if (p->is_off)
		now = 0;
	/* a program that writes less than it has had is wrong alone */
	return now > before ? now : before;
}

static uint32_t bits(const void *way)
{
	(void)way;
	return HOOKS_BITS;
}

static uint32_t nr_buckets(const void *way)
{
	(void)way;
	return HOOKS_BUCKETS;
}

/* --- notes */

enum { NR_LIMITS = 8 };

/* Of processes whose code could not be changed, as a reason has been added. */
static void note_unplaced(const struct agent_way *a, const struct hooks_limits *now,
			  struct notes *notes)
{
	static const struct {
		int error;
		const char *text;
	} reasons[] = {
	    {EACCES, "their code may not be written (SELinux, or a sandbox)"},
	    {EPERM, "their code may not be written (a sandbox)"},
	    {ESTALE, "their code is not what the file has"},
	    {EEXIST, "they have a breakpoint, of another tool or of one that the kernel left; "
		     "--function-way=kernel measures them beside it"},
	    {ENOSPC, "they are too many"},
	    {ERANGE, "what they refer to is too far away"},
	    {EBUSY, "the program has threads before it begins"},
	};
	const char *text = "no memory near their code";

	if (now->unplaced <= a->said.unplaced)
		return;
	for (size_t i = 0; i < ARRAY_NR(reasons); i++)
		if (reasons[i].error == now->unplaced_error)
			text = reasons[i].text;
	notes_add(notes, 0, "%u functions are not counted in a process: %s",
		  now->unplaced - a->said.unplaced, text);
}

/* Of processes for which the recorder could do nothing, as a limit of its own. */
static void note_failed(const struct hooks_limits *was, const struct hooks_limits *now,
			struct notes *notes)
{
	if (now->failed > was->failed)
		notes_add(notes, 0,
			  "%u processes were not measured: the recorder could make no memory for "
			  "their calls: %s",
			  now->failed - was->failed, strerror(now->failed_error));
	else if (now->failed_error && !was->failed_error)
		notes_add(notes, 0, "processes could not connect: the recorder: %s",
			  strerror(now->failed_error));
}

/* Of processes that have ended, too, so each number only grows: what is new is said. */
static void note_limits(struct agent_way *a, struct notes *notes)
{
	struct hooks_limits now, *was = &a->said;

	hooks_limits(a->hooks, &now);
	const struct {
		uint64_t nr;
		const char *text;
	} rows[NR_LIMITS] = {
	    {now.missed - was->missed,
	     "calls were not counted: a program called more functions than are told apart, or "
	     "calls came while it connected"},
	    {now.untimed - was->untimed,
	     "calls have no times: they were left by longjmp, an exception or the end of their "
	     "thread, or too many were open"},
	    {now.joined - was->joined,
	     "threads have calls without times: there were more than 127 at a time"},
	    {now.unpatched - was->unpatched,
	     "functions have fewer than 5 bytes of NOPs where they begin, or lie where nothing may "
	     "be written: their calls are not counted"},
	    {now.half - was->half,
	     "functions are counted, not timed, in a process: where they return, its code is not "
	     "what the file has"},
	    {now.refused - was->refused,
	     "processes were not measured: there were more than the recorder has room for"},
	    {now.late - was->late,
	     "processes could not connect in time, as many began at once: their calls are missing"},
	    {now.large - was->large,
	     "processes have more functions and threads than the recorder reads: some of their "
	     "calls are not counted"},
	};

	for (size_t i = 0; i < NR_LIMITS; i++)
		if (rows[i].nr && rows[i].nr < INT64_MAX)
			notes_add(notes, 0, "%" PRIu64 " %s", rows[i].nr, rows[i].text);
	note_unplaced(a, &now, notes);
	note_failed(was, &now, notes);
	*was = now;
}

enum { MAX_NAMED = 4, MAX_NOTE_BYTES = 900, MAX_NAME_BYTES = 160 };

/* Why calls of one that is measured have no times. NULL: they have, or nobody has asked for them.
 */
static const char *untimed_of(const struct agent_way *a, size_t function)
{
	return a->number[function] == HOOKLESS ? NULL
					       : hooks_untimed(a->hooks, a->number[function]);
}

/* What is said of functions that have the same reason. */
struct saying {
	const char *(*reason)(const struct agent_way *a, size_t function);
	const char *text;
};

/* Those that have the same reason as the function, if it is the first one of them. */
static void note_same(const struct agent_way *a, const struct saying *s, size_t function,
		      struct notes *notes)
{
	const char *why = s->reason(a, function);
	BUF_AUTO(names, MAX_NOTE_BYTES);
	size_t nr = 0;

	for (size_t i = 0; i < a->list->nr; i++) {
		const char *other = s->reason(a, i);

		if (!other || strcmp(other, why) != 0)
			continue;
		if (i < function)
			return;
		if (nr++ < MAX_NAMED)
			buf_printf(&names, "%s%.*s", nr > 1 ? ", " : "", MAX_NAME_BYTES,
				   a->list->function[i].place->name);
	}
	if (nr > MAX_NAMED)
		buf_printf(&names, " and %zu more", nr - MAX_NAMED);
	notes_add(notes, 0, "%s: %s: %s", s->text, buf_str(&names), why);
}

/* Reasons are few. */
static void note_reasons(const struct agent_way *a, const struct saying *s, struct notes *notes)
{
	enum { MAX_REASONS = 32 };
	const char *said[MAX_REASONS];
	size_t nr = 0;

	for (size_t i = 0; i < a->list->nr; i++) {
		const char *why = s->reason(a, i);

		if (!why || nr == MAX_REASONS || ARRAY_ANY(x, said, nr, strcmp(*x, why) == 0))
			continue;
		said[nr++] = why;
		note_same(a, s, i, notes);
	}
}

/* Once. */
static void note_refused(struct agent_way *a, struct notes *notes)
{
	static const struct saying sayings[] = {{refusal_of, "not measured"},
						{untimed_of, "counted, not timed"}};

	for (size_t i = 0; i < ARRAY_NR(sayings) && !a->has_said; i++)
		note_reasons(a, &sayings[i], notes);
	a->has_said = true;
}

/* Once: a program that calls none does not connect. */
static void note_silence(struct agent_way *a, struct notes *notes)
{
	struct hooks_limits l;

	hooks_limits(a->hooks, &l);
	if (!a->has_said && !l.processes && !l.late && !l.refused && !l.failed_error)
		notes_add(notes, 0,
			  "no process of the command has called one of these functions so far, or "
			  "it could not load libcpuperf-functions.so: its environment, its user "
			  "or its sandbox is another");
}

/* Once: what is not there at the start is not counted. */
static void note_absence(const struct agent_way *a, struct notes *notes)
{
	struct hooks_limits l;

	hooks_limits(a->hooks, &l);
	if (!a->has_said && a->is_patched && l.processes && !l.placed && !l.unplaced)
		notes_add(notes, 0,
			  "no process of the command has had the file of these functions when it "
			  "started: what a program loads later (dlopen) is counted with "
			  "--function-way=kernel alone");
}

static void add_notes(void *way, struct notes *notes)
{
	struct agent_way *a = way;

	note_absence(a, notes);
	note_silence(a, notes);
	note_refused(a, notes);
	note_limits(a, notes);
}

const struct calls_way calls_agent_way = {
    .number = TRACE_FUNCTION_COMPILED,
    .open = open_way,
    .close = close_way,
    .leave = leave,
    .enable = enable,
    .leave_out = leave_out,
    .look = look,
    .refresh = refresh,
    .count = count,
    .calls = calls,
    .read = read_sums,
    .bucket = bucket,
    .bits = bits,
    .nr_buckets = nr_buckets,
    .notes = add_notes,
    .socket = socket_of,
};
