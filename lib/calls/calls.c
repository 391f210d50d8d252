#include "calls/calls.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "calls/watch.h"
#include "calls/way.h"
#include "calls/when.h"
#include "functions/functions.h"
#include "functions/signature.h"
#include "hooks/hooks.h"
#include "plan/notes.h"
#include "plan/plan.h"
#include "pmu/group.h"
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LEFT_OUT = 16 }; /* that are named in an iteration */

/* What a function had at the last boundary. */
struct seen {
	struct calls_sums sums;
	uint64_t *bucket; /* owned; NULL: none of its calls had ended */
	/* Of one that is measured no longer; the first one is written last, by the watch. */
	atomic_bool is_left_out;
	uint64_t rate;  /* calls a second */
	double cpu;     /* the part of a CPU that they cost */
	bool is_read;   /* what was left out is in a trace */
	bool is_unsaid; /* and in no note */
};

/* A value of a call. */
struct seen_value {
	uint64_t calls, timed, wall_ns, sum;
};

struct calls {
	struct source_use use;
	const struct calls_way *way;
	void *opened; /* owned; of the way */
	struct calls_list list;
	struct calls_watch *watch;     /* owned */
	struct seen *seen;             /* owned; per function */
	struct seen_value *seen_value; /* owned; per value */
	size_t nr_seen_values, seen_value_room;

	/* Between the last two boundaries: */
	struct trace_function *item; /* owned */
	size_t nr, room;
	struct trace_bucket *bucket; /* owned; of all items */
	size_t nr_buckets, bucket_room;
	struct trace_value *value; /* owned */
	size_t nr_values, value_room;
	uint64_t skipped, left; /* sums over functions */
	bool has_failed;
	/* Since it was opened: */
	uint64_t start_ns, end_ns, calls, cost_ns;
	double said_cpu; /* the part of a CPU that the last note said; 0: there was none */

	/* Per event of the list and CPU: what belongs to the last boundary. */
	bool has_counts;
	uint32_t nr_cpus; /* the highest number of a CPU, and one */
	struct pair {
		uint64_t count, lost;
	} * counts; /* owned */

	bool has_left_out; /* ever */
	bool has_said_timeless;
};

/* The list's number of the plan's event; CALLS_MAX_EVENTS: none. */
static size_t slot_of(const struct calls *c, size_t event)
{
	for (size_t i = 0; i < c->list.nr_events; i++)
		if (c->list.event[i] == event)
			return i;
	return CALLS_MAX_EVENTS;
}

void calls_check(const struct host *h, struct event_support *out)
{
	struct err e = {0};
	int rc = calls_kernel_try(h, &e);

	*out = (struct event_support){.state = READING_OK};
	if (rc)
		source_explain(rc, &e, out);
}

/* --- open and close -------------------------------------------------------------------------- */

static void on_left_out(void *arg, size_t function, uint64_t rate, double cpu)
{
	struct calls *c = arg;
	struct calls_function *f = &c->list.function[function];

	if (f->is_counted_on) {
		f->cost_ns = f->counted_ns;
		f->is_untimed = true;
	}
	c->seen[function].rate = rate;
	c->seen[function].cpu = cpu;
	atomic_store(&c->seen[function].is_left_out, true);
}

/* The spec's, in 1e-9 percent; else 5 %. */
static double limit_of(const struct plan *plan)
{
	return plan->spec->max_own_cpu ? (double)plan->spec->max_own_cpu / 1e11 : 0.05;
}

static int start_watch(struct calls *c)
{
	const struct calls_watch_config config = {.way = c->way,
						  .opened = c->opened,
						  .list = &c->list,
						  .limit = limit_of(c->use.plan),
						  .left_out = on_left_out,
						  .arg = c};

	return c->way->leave_out ? calls_watch_new(&config, &c->watch) : 0;
}

static int make_memory(struct calls *c)
{
	const struct cpuset *cpus = &c->use.plan->cpus;

	for (int cpu = cpuset_next(cpus, 0); cpu >= 0; cpu = cpuset_next(cpus, (unsigned)cpu + 1))
		c->nr_cpus = (uint32_t)cpu + 1;
	c->seen = mem_calloc(c->list.nr + 1, sizeof(*c->seen));
	c->counts = mem_calloc(c->list.nr_events * c->nr_cpus + 1, sizeof(*c->counts));
	return c->seen && c->counts ? 0 : -ENOMEM;
}

static void leave(struct source_use *u)
{
	struct calls *c = (struct calls *)u;

	/* The watch may wait for the kernel, which takes the rest back meanwhile. */
	calls_watch_end(c->watch);
	c->way->leave(c->opened);
	calls_watch_free(c->watch);
	c->watch = NULL;
	if (c->way->look_back)
		c->way->look_back(c->opened);
}

static void close_calls(struct source_use *u)
{
	struct calls *c = (struct calls *)u;

	calls_watch_free(c->watch);
	if (c->opened)
		c->way->close(c->opened);
	for (size_t i = 0; i < c->list.nr && c->seen; i++)
		mem_free(c->seen[i].bucket);
	mem_free(c->seen);
	mem_free(c->counts);
	mem_free(c->item);
	mem_free(c->bucket);
	mem_free(c->value);
	mem_free(c->seen_value);
	calls_list_fini(&c->list);
	source_use_clear(u);
}

static int open_calls(struct source_use *u, struct err *e)
{
	struct calls *c = (struct calls *)u;
	int rc;

	c->way = u->source == &calls_agent_source ? &calls_agent_way : &calls_kernel_way;
	rc = calls_list_make(&c->list, u->plan, u->source, e) ?: make_memory(c);
	rc = rc ?: c->way->open(u->plan, &c->list, &c->opened, e) ?: start_watch(c);
	c->start_ns = c->end_ns = clock_monotonic_ns();
	if (rc)
		close_calls(u);
	return rc;
}

static int connect_output(const struct source_use *u, size_t event, uint32_t cpu, int fd)
{
	const struct calls *c = (const struct calls *)u;
	size_t slot = slot_of(c, event);

	return c->way->connect && slot < CALLS_MAX_EVENTS &&
		       spec_event_is_sampled(u->plan->events[event].asked)
		   ? c->way->connect(c->opened, slot, cpu, fd)
		   : 0;
}

static void enable(struct source_use *u, size_t event, bool is_enabled)
{
	struct calls *c = (struct calls *)u;
	size_t slot = slot_of(c, event);

	if (c->way->enable && slot < CALLS_MAX_EVENTS)
		c->way->enable(c->opened, slot, is_enabled);
}

/* --- numbers --------------------------------------------------------------------------------- */

static bool is_equal(const struct calls_sums *a, const struct calls_sums *b)
{
	return a->calls == b->calls && a->wall_ns == b->wall_ns && a->left == b->left &&
	       a->skipped == b->skipped;
}

/* Appends what was added to the function's buckets. */
static int add_buckets(struct calls *c, size_t function, size_t *nr)
{
	uint32_t nr_buckets = c->way->nr_buckets(c->opened);
	struct seen *s = &c->seen[function];

	*nr = 0;
	if (!s->bucket)
		s->bucket = mem_calloc(nr_buckets, sizeof(*s->bucket));
	if (!s->bucket)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_buckets; i++) {
		uint64_t is = c->way->bucket(c->opened, function, i, s->bucket[i]);
		uint64_t added = is - s->bucket[i];
		struct trace_bucket *b =
		    added ? MEM_ADD(c->bucket, c->nr_buckets, c->bucket_room) : NULL;

		if (added && !b)
			return -ENOMEM;
		if (b)
			*b = (struct trace_bucket){i, added};
		*nr += added != 0;
		s->bucket[i] = is;
	}
	return 0;
}

/* Of each event that has the function, from the same buckets. */
static int add_items(struct calls *c, size_t function, const struct calls_sums *now, size_t nr)
{
	const struct calls_function *f = &c->list.function[function];
	const struct calls_sums *before = &c->seen[function].sums;
	uint32_t flags = (f->is_timed ? TRACE_FUNCTION_HAS_TIMES : 0u) |
			 (f->is_timed && c->way->has_cpu ? TRACE_FUNCTION_HAS_CPU : 0u) |
			 (!c->seen[function].is_read ? 0u
			  : f->is_counted_on         ? TRACE_FUNCTION_IS_TIMED_IN_PART
						     : TRACE_FUNCTION_IS_PART);

	for (size_t i = 0; i < c->list.nr_events; i++) {
		struct trace_function *to;

		if (!(f->events >> i & 1))
			continue;
		to = MEM_ADD(c->item, c->nr, c->room);
		if (!to)
			return -ENOMEM;
		*to = (struct trace_function){
		    .event = c->list.event[i],
		    .flags = flags,
		    .way = f->way ?: c->way->number,
		    .bits = c->way->bits(c->opened),
		    .address = f->place->address,
		    .calls = now->calls - before->calls,
		    .wall_ns = now->wall_ns - before->wall_ns,
		    .self_ns = now->self_ns - before->self_ns,
		    .cpu_ns = now->cpu_ns - before->cpu_ns,
		    .max_ns = now->max_ns,
		    .cost_ns = now->cost_ns - before->cost_ns,
		    .name = f->place->name,
		    .object = f->place->path,
		    .nr = nr,
		};
	}
	return 0;
}

static int add_function(struct calls *c, size_t function)
{
	struct seen *s = &c->seen[function];
	const bool is_out = s->is_left_out;
	struct calls_sums now;
	size_t nr = 0;
	int rc = 0;

	/* one that is left out may have no call any more that would say so */
	c->way->read(c->opened, function, &now);
	if (is_equal(&now, &s->sums) && is_out == s->is_read)
		return 0;
	/* One that ended on a CPU whose counter is behind took 0 ns. */
	if (now.wall_ns != s->sums.wall_ns ||
	    (c->list.function[function].is_timed && now.calls != s->sums.calls))
		rc = add_buckets(c, function, &nr);
	s->is_unsaid |= is_out && !s->is_read;
	s->is_read = is_out;
	rc = rc ?: add_items(c, function, &now, nr);
	c->calls += now.calls - s->sums.calls;
	c->cost_ns += (now.calls - s->sums.calls) * c->list.function[function].cost_ns;
	c->skipped += now.skipped - s->sums.skipped;
	c->left += now.left - s->sums.left;
	s->sums = now;
	return rc;
}

static int add_value(struct calls *c, const struct calls_value *v, struct seen_value *s)
{
	const struct calls_function *f = &c->list.function[v->function];
	const struct functions_value *field;
	struct trace_value *to;

	if (!f->signature || v->field >= f->signature->nr ||
	    (v->calls == s->calls && v->timed == s->timed))
		return 0;
	to = MEM_ADD(c->value, c->nr_values, c->value_room);
	if (!to)
		return -ENOMEM;
	field = &f->signature->value[v->field];
	*to = (struct trace_value){.event = c->list.event[f->signed_by],
				   .field = v->field,
				   .type = field->kind,
				   .kind = v->kind,
				   .address = f->place->address,
				   .number = v->number,
				   .calls = v->calls - s->calls,
				   .timed = v->timed - s->timed,
				   .wall_ns = v->wall_ns - s->wall_ns,
				   .max_ns = v->max_ns,
				   .sum = v->sum - s->sum,
				   .name = f->place->name,
				   .object = f->place->path,
				   .field_name = field->name,
				   .text = v->text};
	*s = (struct seen_value){v->calls, v->timed, v->wall_ns, v->sum};
	return 0;
}

static int add_values(struct calls *c)
{
	size_t nr = c->way->nr_values ? c->way->nr_values(c->opened) : 0;
	int rc = 0;

	while (c->nr_seen_values < nr) {
		struct seen_value *s =
		    MEM_ADD(c->seen_value, c->nr_seen_values, c->seen_value_room);

		if (!s)
			return -ENOMEM;
		*s = (struct seen_value){.calls = 0};
	}
	for (size_t i = 0; i < nr && rc == 0; i++) {
		struct calls_value v;

		if (c->way->value(c->opened, i, &v))
			rc = add_value(c, &v, &c->seen_value[i]);
	}
	return rc;
}

static void read_counts(struct calls *c)
{
	for (size_t i = 0; i < c->list.nr_events; i++)
		for (uint32_t cpu = 0; cpu < c->nr_cpus; cpu++) {
			struct pair *p = &c->counts[i * c->nr_cpus + cpu];

			p->count = c->way->count(c->opened, i, cpu, &p->lost);
		}
	c->has_counts = true;
}

/* Items of one function share its buckets, which have moved while they were added. */
static void set_buckets(struct calls *c)
{
	const struct trace_bucket *at = c->bucket;

	for (size_t i = 0; i < c->nr && at; i++) {
		struct trace_function *f = &c->item[i];

		if (i && (f->name != f[-1].name || f->object != f[-1].object ||
			  f->address != f[-1].address))
			at += f[-1].nr;
		f->bucket = at;
	}
}

static void read_calls(struct source_use *u, uint64_t now_ns)
{
	struct calls *c = (struct calls *)u;
	int rc = 0;

	c->nr = c->nr_buckets = c->nr_values = 0;
	c->skipped = c->left = 0;
	c->end_ns = now_ns;
	rc = c->way->refresh ? c->way->refresh(c->opened) : 0;
	if (c->watch)
		calls_watch_hold(c->watch);
	read_counts(c);
	for (size_t i = 0; i < c->list.nr && rc == 0; i++)
		rc = add_function(c, i);
	if (c->watch)
		calls_watch_release(c->watch);
	rc = rc ?: add_values(c);
	c->has_failed |= rc != 0;
	if (rc)
		c->nr = 0;
	set_buckets(c);
}

/* Between two boundaries. */
static void look(struct source_use *u)
{
	struct calls *c = (struct calls *)u;

	if (c->way->refresh)
		c->has_failed |= c->way->refresh(c->opened) != 0;
}

static void end_reading(struct source_use *u)
{
	((struct calls *)u)->has_counts = false;
}

/* What the ring had no room for, PERF_FORMAT_LOST counts too. */
static int count(const struct source_use *u, size_t event, uint32_t cpu, struct pmu_count *out)
{
	const struct calls *c = (const struct calls *)u;
	size_t slot = slot_of(c, event);

	out->raw = out->lost = 0;
	if (slot == CALLS_MAX_EVENTS)
		return 0;
	if (c->has_counts && cpu < c->nr_cpus) {
		out->raw = c->counts[slot * c->nr_cpus + cpu].count;
		out->lost = c->counts[slot * c->nr_cpus + cpu].lost;
	} else {
		out->raw = c->way->count(c->opened, slot, cpu, &out->lost);
	}
	return 0;
}

static size_t functions(struct source_use *u, const struct trace_function **out)
{
	struct calls *c = (struct calls *)u;

	*out = c->item;
	return c->nr;
}

static size_t call_values(struct source_use *u, const struct trace_value **out)
{
	struct calls *c = (struct calls *)u;

	*out = c->value;
	return c->nr_values;
}

/* --- notes ----------------------------------------------------------------------------------- */

/* Of what the last reading has as a part: what was left out since then is whole in it, and the last
 * reading of all may be followed by no other. */
static void note_left_out(struct calls *c, struct notes *notes)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->list.nr; i++) {
		struct seen *s = &c->seen[i];

		if (!s->is_unsaid)
			continue;
		s->is_unsaid = false;
		c->has_left_out = true;
		if (nr++ < MAX_LEFT_OUT)
			notes_add(notes, 0,
				  "%.200s is %s no longer: its %" PRIu64
				  " calls a second cost %.3g %% of a CPU, and all may cost %.3g %% "
				  "(max_own_cpu; the flag \"unsafe\" measures it all the same)",
				  c->list.function[i].place->name,
				  c->list.function[i].is_counted_on ? "counted on, and timed"
								    : "counted",
				  s->rate, s->cpu * 100, limit_of(c->use.plan) * 100);
	}
	if (nr > MAX_LEFT_OUT)
		notes_add(notes, 0,
			  "%zu other functions are counted or timed no longer, for the same reason",
			  nr - MAX_LEFT_OUT);
}

/* Once: what may never count, of what is counted where calls end. */
static void note_timeless(struct calls *c, struct notes *notes)
{
	const struct calls_function *first = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < c->list.nr && !c->has_said_timeless; i++) {
		const struct calls_function *f = &c->list.function[i];

		if (!(f->events & c->list.ended) || f->place->ret == FUNCTIONS_RETURN_REPLACED)
			continue;
		first = first ? first : f;
		nr++;
	}
	c->has_said_timeless = true;
	if (nr)
		notes_add(notes, 0,
			  "the ends of calls of %.200s%s are not seen: none of them meets a "
			  "condition or a shortest duration (--list-functions says why)",
			  first->place->name, nr > 1 ? " and of others" : "");
}

/* The mean of what lies within a call's time. */
static double inside_us(const struct calls *c)
{
	double sum = 0, nr = 0;

	for (size_t i = 0; i < c->list.nr; i++)
		if (c->list.function[i].inside_ns) {
			sum += (double)c->seen[i].sums.calls * c->list.function[i].inside_ns;
			nr += (double)c->seen[i].sums.calls;
		}
	return nr > 0 ? sum / nr / 1e3 : 0;
}

/* Of two that matter; numbers stay without an exponent. */
static int digits(double v)
{
	return v < 1 ? 2 : v < 10 ? 1 : 0;
}

/* At first, and where it has become more. */
static void note_cost(struct calls *c, struct notes *notes)
{
	double time_ns = (double)(c->end_ns - c->start_ns), cpu;

	if (!c->calls || time_ns <= 0)
		return;
	cpu = (double)c->cost_ns / time_ns;
	if (c->said_cpu > 0 && cpu < 2 * c->said_cpu)
		return;
	c->said_cpu = cpu;
	if (inside_us(c) > 0)
		notes_add(notes, 0,
			  "measuring calls costs about %.*f %% of a CPU (%" PRIu64
			  " calls); each call's time contains about %.*f us of it",
			  digits(cpu * 100), cpu * 100, c->calls, digits(inside_us(c)),
			  inside_us(c));
	else
		notes_add(notes, 0,
			  "counting calls costs about %.*f %% of a CPU (%" PRIu64 " calls)",
			  digits(cpu * 100), cpu * 100, c->calls);
}

/* What events that choose calls by their ends have of those that have no times. */
static const char *uncounted(const struct calls *c)
{
	return c->list.ended ? "; events with longer_than or when do not count them" : "";
}

static void add_notes(struct source_use *u, struct notes *notes)
{
	struct calls *c = (struct calls *)u;

	if (c->has_failed)
		notes_add(notes, 0, "the calls of functions could not be read: out of memory");
	c->has_failed = false;
	note_left_out(c, notes);
	note_timeless(c, notes);
	note_cost(c, notes);
	if (c->way->notes)
		c->way->notes(c->opened, notes);
	if (c->skipped)
		notes_add(notes, 0,
			  "%" PRIu64 " %s no times: 64 calls of their task were open, and "
			  "the kernel sees the return of no more; or it had changed its stack%s",
			  c->skipped, str_plural(c->skipped, "call has", "calls have"),
			  uncounted(c));
	if (c->left)
		notes_add(
		    notes, 0,
		    "%" PRIu64
		    " %s no times: left by longjmp, an exception or exec%s, not by a return%s",
		    c->left, str_plural(c->left, "call has", "calls have"),
		    c->has_left_out ? ", or open when functions were left out" : "", uncounted(c));
}

/* --- what may be asked ----------------------------------------------------------------------- */

/* Of one of its functions at least. */
static bool has_times(const struct plan_event *p)
{
	return ARRAY_ANY(f, p->event.row->functions, p->event.row->nr_functions,
			 f->ret == FUNCTIONS_RETURN_REPLACED);
}

/* Calls are sampled by their number. */
static int check(const struct plan *plan, const struct plan_event *p, struct spec_pos *pos,
		 struct err *e)
{
	const char *name = p->event.row->name;

	if (p->source != &calls_source && p->source != &calls_agent_source)
		return 0;
	if (p->event.row->danger && !(p->asked->flags & SPEC_UNSAFE)) {
		err_set(e, -EINVAL, "function:%s is not measured: %s", name, p->event.row->danger);
		err_hint(e, "the flag \"unsafe\" of the event measures it all the same");
		return -EINVAL;
	}
	if (p->source == &calls_agent_source && spec_event_is_sampled(p->asked))
		return source_refuse_sampling(p, ", or with --function-way=kernel", e);
	if (p == plan->timebase)
		return source_refuse_timebase(p, e);
	if (spec_event_is_of_ended(p->asked) && !has_times(p)) {
		err_set(e, -EINVAL, "function:%s: how long its calls last is not known: %s", name,
			p->event.row->functions[0].reason ?: "their ends are not seen");
		err_hint(e, "count them: omit what is behind @ (the keys longer_than and when)");
		return -EINVAL;
	}
	if (p->asked->when && calls_when_check(p, pos, e))
		return -EINVAL;
	return p->asked->frequency
		   ? err_set(e, -EINVAL,
			     "function:%s has no frequency: its rate is the calls per sample", name)
		   : 0;
}

static void explain(const struct plan *plan, const struct plan_event *p, struct event_support *out)
{
	const size_t len = strlen(out->hint);

	if (out->state == READING_NO_PERMISSION)
		snprintf(out->hint + len, sizeof(out->hint) - len, "%s%s", len ? "; or " : "",
			 calls_remedy(plan, p));
}

#define CALLS_FUNCTIONS                                                                            \
	.groups = {EVENT_GROUP_FUNCTION}, .is_alone = true, .check = check,                        \
	.bytes = sizeof(struct calls), .open = open_calls, .close = close_calls,                   \
	.connect = connect_output, .enable = enable, .read = read_calls, .done = end_reading,      \
	.count = count, .leave = leave, .functions = functions, .call_values = call_values,        \
	.notes = add_notes

const struct source calls_source = {
    .name = "calls",
    CALLS_FUNCTIONS,
    .explain = explain,
};

static const char *socket_of(const struct source_use *u)
{
	const struct calls *c = (const struct calls *)u;

	return c->way->socket(c->opened);
}

const struct source calls_agent_source = {
    .name = "calls in programs",
    CALLS_FUNCTIONS,
    .is_own = calls_agent_has,
    .is_in_target = true,
    .stays_open = true,
    .look = look,
    .variable = HOOKS_VARIABLE,
    .socket = socket_of,
};
