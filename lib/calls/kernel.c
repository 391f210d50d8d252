/*
 * Calls measured by programs in the kernel (bpf/hits.h): of any program, also one that runs. The
 * table of prices (functions/) is scaled by what a call of ours costs on this machine.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/root.h"
#include "bpf/hits.h"
#include "calls/way.h"
#include "calls/when.h"
#include "functions/breakpoints.h"
#include "functions/functions.h"
#include "functions/signature.h"
#include "host/host.h"
#include "plan/notes.h"
#include "plan/plan.h"
#include "proc/family.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

_Static_assert((int)CALLS_MAX_EVENTS == (int)HITS_MAX_EVENTS &&
		   (int)CALLS_MAX_OF_FUNCTION == (int)HITS_OF_PLACE,
	       "what a function may belong to");
_Static_assert((int)FUNCTIONS_TEXT == (int)HITS_STRING &&
		   (int)FUNCTIONS_TEXT == (int)TRACE_VALUE_STRING &&
		   (int)FUNCTIONS_RESULT == (int)HITS_RESULT &&
		   (int)FUNCTIONS_MAX_VALUES == (int)HITS_MAX_FIELDS &&
		   (int)FUNCTIONS_MAX_VALUES == (int)PERF_ABI_ENDED_MAX_WORDS &&
		   (int)HITS_NR_VALUE_KINDS == (int)TRACE_VALUE_NR_KINDS,
	       "values of calls");
_Static_assert((int)HITS_TEXT_BYTES == (int)SPEC_WHEN_TEXT_BYTES, "texts of conditions");

enum { MAX_NAME_BYTES = 64 };

struct kernel_way {
	const struct plan_target *target;
	const struct calls_list *list;
	struct hits *hits;             /* owned */
	struct hits_place *places;     /* owned */
	struct hits_capture *captures; /* owned */
	uint32_t *function;            /* owned; of each capture */
	size_t nr_captures;
	struct hits_when *whens; /* owned */
	size_t nr_whens, when_room;
	struct hits_pattern *patterns; /* owned */
	size_t nr_patterns, pattern_room;
	uint64_t lost; /* values: as was said */
};

static void close_way(void *way)
{
	struct kernel_way *k = way;

	hits_close(k->hits);
	mem_free(k->places);
	mem_free(k->captures);
	mem_free(k->function);
	mem_free(k->whens);
	mem_free(k->patterns);
	mem_free(k);
}

static const struct functions_place **list_places(const struct calls_list *list)
{
	const struct functions_place **place = mem_calloc(list->nr + 1, sizeof(*place));

	for (size_t i = 0; place && i < list->nr; i++)
		place[i] = list->function[i].place;
	return place;
}

/* One that other tools do not have is the kernel's. */
static void warn_of_breakpoints(const struct kernel_way *k, uint32_t pid)
{
	MEM_AUTO const struct functions_place **place = list_places(k->list);
	BUF_AUTO(name, MAX_NAME_BYTES);
	size_t first = 0, nr;

	nr = place ? functions_find_breakpoints(pid, place, k->list->nr, &first) : 0;
	if (!nr)
		return;
	proc_add_name(PROC(&root_live, pid), &name);
	log_warning(
	    "process %s still has breakpoints in %zu measured functions, as %.200s: another "
	    "tool has set them, or the kernel could not remove them, and each call costs "
	    "time",
	    buf_str(&name), nr, place[first]->name);
}

static void leave(void *way)
{
	const struct kernel_way *k = way;

	hits_stop(k->hits);
}

/* Where processes are measured, these are looked at. */
static void look_back(const void *way)
{
	const struct kernel_way *k = way;
	struct proc_family family = {.nr = 0};

	for (size_t i = 0; i < k->target->nr_ids && !k->target->is_cgroup; i++)
		(void)proc_family_add(&family, (uint32_t)k->target->ids[i]);
	(void)proc_family_grow(&family, &root_live);
	for (size_t i = 0; i < family.nr; i++)
		warn_of_breakpoints(k, family.pid[i]);
	proc_family_fini(&family);
}

static bool is_same_pattern(const struct hits_pattern *a, const struct hits_pattern *b)
{
	return a->len == b->len && a->is_begin == b->is_begin &&
	       memcmp(a->text, b->text, a->len) == 0;
}

/* The number of the text, from 1; each once. 0: there is no memory. */
static uint32_t add_pattern(struct kernel_way *k, const struct calls_term *t)
{
	const struct hits_pattern new = {t->text, t->len, t->is_begin};
	struct hits_pattern *p =
	    ARRAY_FIND(x, k->patterns, k->nr_patterns, is_same_pattern(x, &new));

	p = p ?: MEM_ADD(k->patterns, k->nr_patterns, k->pattern_room);
	if (!p)
		return 0;
	*p = new;
	return (uint32_t)(p - k->patterns) + 1;
}

/* Of a term of nr that begin with the term first of all events. */
static uint8_t number_of(unsigned next, size_t first, size_t nr)
{
	return (uint8_t)(next < CALLS_WHEN_MAX
			     ? first + next
			     : (first + nr) | (next == CALLS_YES ? HITS_MEANT : 0));
}

/* Those of one event. */
static int add_terms(struct kernel_way *k, struct hits_when *to, uint32_t event,
		     const struct calls_term *terms, size_t nr, const struct calls_function *f)
{
	const size_t first = to->nr;

	for (size_t i = 0; i < nr; i++) {
		const struct calls_term *t = &terms[i];
		struct hits_term *term = &to->term[to->nr++];

		*term = (struct hits_term){
		    .event = event,
		    .field = t->field == CALLS_DURATION ? HITS_DURATION : t->field,
		    .next = {number_of(t->next[0], first, nr), number_of(t->next[1], first, nr)},
		    .range = {t->range.low, t->range.span},
		};
		if (!t->text)
			continue;
		term->is_result = f->signature->value[t->field].where == FUNCTIONS_RESULT;
		term->pattern = add_pattern(k, t);
		if (!term->pattern)
			return -ENOMEM;
	}
	return 0;
}

/* Of all events that have the function. 0 or -errno with *e. */
static int make_when(struct kernel_way *k, const struct plan *plan, const struct calls_list *list,
		     const struct calls_function *f, struct hits_when *to, struct err *e)
{
	int rc = 0;

	to->nr = 0;
	for (uint32_t i = 0; i < list->nr_events && rc == 0; i++) {
		struct calls_term terms[CALLS_WHEN_MAX];
		size_t nr;

		if (!(f->events & list->ended & 1ULL << i))
			continue;
		nr = calls_when_terms(plan->events[list->event[i]].asked, f->signature, terms);
		if (to->nr + nr > HITS_MAX_TERMS) {
			err_set(e, -ENOTSUP,
				"the conditions of all events that have %.100s have more than %d "
				"comparisons",
				f->place->name, HITS_MAX_TERMS);
			err_hint(e, "measure some of these events in a session of their own");
			return e->code;
		}
		rc = add_terms(k, to, i, terms, nr, f);
	}
	return rc;
}

static bool is_same_term(const struct hits_term *a, const struct hits_term *b)
{
	return a->event == b->event && a->field == b->field && a->next[0] == b->next[0] &&
	       a->next[1] == b->next[1] && a->is_result == b->is_result &&
	       a->pattern == b->pattern && a->range.low == b->range.low &&
	       a->range.span == b->range.span;
}

static bool is_same_when(const struct hits_when *a, const struct hits_when *b)
{
	for (size_t i = 0; i < a->nr && i < b->nr; i++)
		if (!is_same_term(&a->term[i], &b->term[i]))
			return false;
	return a->nr == b->nr;
}

/* Functions that have the same one share it. */
static int add_when(struct kernel_way *k, const struct plan *plan, const struct calls_list *list,
		    size_t function, struct err *e)
{
	struct hits_when new, *when;
	int rc = make_when(k, plan, list, &list->function[function], &new, e);

	if (rc)
		return rc;
	when = ARRAY_FIND(w, k->whens, k->nr_whens, is_same_when(w, &new));
	when = when ?: MEM_ADD(k->whens, k->nr_whens, k->when_room);
	if (!when)
		return -ENOMEM;
	*when = new;
	k->places[function].when = (uint32_t)(when - k->whens) + 1;
	return 0;
}

static int make_whens(struct kernel_way *k, const struct plan *plan, const struct calls_list *list,
		      struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < list->nr && rc == 0; i++)
		if (list->function[i].events & list->ended)
			rc = add_when(k, plan, list, i, e);
	return rc;
}

static void add_capture(struct kernel_way *k, const struct calls_list *list, size_t function)
{
	const struct calls_function *f = &list->function[function];
	struct hits_capture *c = &k->captures[k->nr_captures];

	*c = (struct hits_capture){.events = 1ULL << f->signed_by,
				   .wanted = f->events & list->ended,
				   .nr = f->signature->nr};
	for (size_t i = 0; i < f->signature->nr; i++) {
		const struct functions_value *v = &f->signature->value[i];

		c->field[i] = (struct hits_field){.type = (enum hits_field_type)v->kind,
						  .where = (enum hits_field_where)v->where,
						  .number = v->number,
						  .bytes = v->bytes};
	}
	k->function[k->nr_captures++] = (uint32_t)function;
	k->places[function].capture = (uint32_t)k->nr_captures;
}

/* 0 or -errno with *e. */
static int make_captures(struct kernel_way *k, const struct calls_list *list, struct err *e)
{
	size_t nr = 0;

	for (size_t i = 0; i < list->nr; i++)
		nr += list->function[i].signature != NULL;
	if (nr > HITS_MAX_CAPTURES)
		return err_set(e, -ENOTSUP,
			       "arguments of at most %d functions can be recorded, and the names "
			       "mean %zu",
			       HITS_MAX_CAPTURES, nr);
	k->captures = mem_calloc(nr + 1, sizeof(*k->captures));
	k->function = mem_calloc(nr + 1, sizeof(*k->function));
	if (!k->captures || !k->function)
		return -ENOMEM;
	for (size_t i = 0; i < list->nr; i++)
		if (list->function[i].signature)
			add_capture(k, list, i);
	return 0;
}

static int make_places(struct kernel_way *k, const struct calls_list *list)
{
	k->places = mem_calloc(list->nr + 1, sizeof(*k->places));
	if (!k->places)
		return -ENOMEM;
	for (size_t i = 0; i < list->nr; i++) {
		const struct calls_function *f = &list->function[i];

		k->places[i] =
		    (struct hits_place){.path = f->place->path,
					.offset = f->place->offset,
					.events = f->events,
					.is_timed = f->place->ret == FUNCTIONS_RETURN_REPLACED};
	}
	return 0;
}

/* Of the kinds that were measured the price is that; of others by the table. What a call without
 * times costs lies in no time of its own. */
static struct hits_price price_of(const struct hits *h, const struct functions_place *p)
{
	enum hits_kind kind = p->entry == FUNCTIONS_STEPPED ? HITS_STEPPED : HITS_CHEAP;
	const struct functions_place known = {.entry = kind == HITS_STEPPED ? FUNCTIONS_STEPPED
									    : FUNCTIONS_CHEAP,
					      .ret = FUNCTIONS_RETURN_REPLACED};
	struct hits_price measured = hits_price(h, kind);
	const struct functions_place untimed = {.entry = p->entry, .ret = FUNCTIONS_RETURN_NONE};
	double share = (double)functions_hit_ns(p) / (double)functions_hit_ns(&known);
	double entry_share = (double)functions_hit_ns(&untimed) / (double)functions_hit_ns(&known);

	if (!measured.cost_ns)
		measured = (struct hits_price){(uint32_t)functions_hit_ns(&known),
					       (uint32_t)functions_hit_ns(&known) / 2};
	if (p->ret != FUNCTIONS_RETURN_REPLACED)
		measured.inside_ns = 0;
	return (struct hits_price){(uint32_t)(measured.cost_ns * share),
				   (uint32_t)(measured.inside_ns * share),
				   (uint32_t)(measured.cost_ns * entry_share)};
}

/* What a value that is recorded adds to a call. */
enum { VALUE_NS = 150 };

static void set_prices(struct kernel_way *k, struct calls_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		struct calls_function *f = &list->function[i];
		struct hits_price p = price_of(k->hits, f->place);
		uint32_t values_ns = f->signature ? VALUE_NS * (uint32_t)f->signature->nr : 0;

		p.cost_ns += values_ns;
		p.entry_ns += values_ns;

		f->is_timed = f->place->ret == FUNCTIONS_RETURN_REPLACED;
		f->cost_ns = p.cost_ns;
		f->inside_ns = p.inside_ns;
		hits_set_price(k->hits, i, p);
	}
}

/* A breakpoint costs each process that has it: of a target that is one process, others have none.
 */
static pid_t only_process(const struct plan_target *t)
{
	return t->is_process_only && !t->is_cgroup && t->nr_ids == 1 ? t->ids[0] : 0;
}

static uint32_t pmu_of(const struct host *h)
{
	const struct host_pmu *pmu = host_find_pmu(h, "uprobe");

	return pmu ? pmu->type : 0;
}

/* Who unwinds a copy of the stack needs them. */
static bool has_returns(const struct plan *plan, const struct calls_list *list)
{
	for (size_t i = 0; i < list->nr_events; i++)
		if (list->rate[i] && plan->events[list->event[i]].asked->flags & SPEC_USER_STACK)
			return true;
	return false;
}

/* A breakpoint is set in each process that maps the file, or in one alone. */
static int check_patched(const struct kernel_way *k, pid_t only, struct err *e)
{
	MEM_AUTO const struct functions_place **place = list_places(k->list);

	return place ? functions_check_patched((uint32_t)only, place, k->list->nr, e) : -ENOMEM;
}

static int start(struct kernel_way *k, const struct plan *plan, struct calls_list *list,
		 struct err *e)
{
	const struct plan_target *t = &plan->target;
	const struct hits_config config = {
	    .nr_events = list->nr_events,
	    .rates = list->rate,
	    .ended = list->ended,
	    .has_returns = has_returns(plan, list),
	    .places = k->places,
	    .nr_places = list->nr,
	    .captures = k->captures,
	    .nr_captures = k->nr_captures,
	    .whens = k->whens,
	    .nr_whens = k->nr_whens,
	    .patterns = k->patterns,
	    .nr_patterns = k->nr_patterns,
	    .process = only_process(t),
	    .pmu = pmu_of(plan->host),
	    .cpu = (uint32_t)cpuset_next(&plan->cpus, 0),
	    .follow = plan_follow(plan),
	    .cpus = plan->has_all_cpus ? NULL : &plan->cpus,
	};
	int rc = check_patched(k, config.process, e) ?: hits_open(&config, &k->hits, e);

	if (rc)
		return rc;
	set_prices(k, list);
	for (size_t i = 0; i < t->nr_ids && !t->is_cgroup; i++)
		(void)hits_add_process(k->hits, t->ids[i]); /* a thread, or it has ended */
	return hits_start(k->hits, e);
}

static int open_way(const struct plan *plan, struct calls_list *list, void **out, struct err *e)
{
	struct kernel_way *k = mem_zalloc(sizeof(*k));
	int rc = k ? make_places(k, list) : -ENOMEM;

	if (k) {
		k->target = &plan->target;
		k->list = list;
	}
	rc = rc ?: make_captures(k, list, e) ?: make_whens(k, plan, list, e);
	rc = rc ?: start(k, plan, list, e);
	if (rc && k)
		close_way(k);
	if (rc == 0)
		*out = k;
	return rc;
}

int calls_kernel_try(const struct host *h, struct err *e)
{
	const struct hits_config config = {.pmu = pmu_of(h)};
	struct hits *hits = NULL;
	int rc = hits_open(&config, &hits, e);

	hits_close(hits);
	return rc;
}

static int connect_output(void *way, size_t event, uint32_t cpu, int fd)
{
	const struct kernel_way *k = way;

	return hits_add_output(k->hits, event, cpu, fd);
}

static void enable(void *way, size_t event, bool is_enabled)
{
	const struct kernel_way *k = way;

	hits_switch(k->hits, event, is_enabled);
}

static int leave_out(void *way, const bool *is_out)
{
	const struct kernel_way *k = way;

	return hits_leave_out(k->hits, is_out);
}

static void leave_rest(void *way)
{
	const struct kernel_way *k = way;

	hits_leave_rest(k->hits);
}

static uint64_t count(const void *way, size_t event, uint32_t cpu, uint64_t *lost)
{
	const struct kernel_way *k = way;

	return hits_count(k->hits, event, cpu, lost);
}

static uint64_t calls(const void *way, size_t function)
{
	const struct kernel_way *k = way;

	return hits_calls(k->hits, function);
}

static void read_sums(const void *way, size_t function, struct calls_sums *out)
{
	const struct kernel_way *k = way;
	struct hits_sums s;

	hits_read(k->hits, function, &s);
	*out = (struct calls_sums){.calls = s.calls,
				   .wall_ns = s.wall_ns,
				   .self_ns = s.self_ns,
				   .cpu_ns = s.cpu_ns,
				   .cost_ns = s.cost_ns,
				   .max_ns = s.max_ns,
				   .skipped = s.skipped,
				   .left = s.left};
}

/* The kernel's words begin again at 0. */
static uint64_t bucket(const void *way, size_t function, uint32_t i, uint64_t before)
{
	const struct kernel_way *k = way;

	return before + (uint32_t)(hits_buckets(k->hits, function)[i] - (uint32_t)before);
}

static uint32_t bits(const void *way)
{
	const struct kernel_way *k = way;

	return hits_bits(k->hits);
}

static uint32_t nr_buckets(const void *way)
{
	const struct kernel_way *k = way;

	return hits_nr_buckets(k->hits);
}

static size_t nr_values(const void *way)
{
	const struct kernel_way *k = way;

	return hits_nr_values(k->hits);
}

static bool value(const void *way, size_t number, struct calls_value *out)
{
	const struct kernel_way *k = way;
	struct hits_value v;

	if (!hits_value(k->hits, number, &v) || v.capture >= k->nr_captures)
		return false;
	*out = (struct calls_value){.function = k->function[v.capture],
				    .field = v.field,
				    .kind = v.kind,
				    .number = v.number,
				    .text = v.text,
				    .calls = v.calls,
				    .timed = v.timed,
				    .wall_ns = v.wall_ns,
				    .max_ns = v.max_ns,
				    .sum = v.sum};
	return true;
}

static void add_notes(void *way, struct notes *notes)
{
	struct kernel_way *k = way;
	uint64_t lost = hits_values_lost(k->hits);

	if (lost > k->lost)
		notes_add(notes, 0,
			  "%" PRIu64 " arguments and results of calls are in no row: there are "
			  "more different ones than can be stored",
			  lost - k->lost);
	k->lost = lost;
}

const struct calls_way calls_kernel_way = {
    .number = TRACE_FUNCTION_KERNEL,
    .has_cpu = true,
    .open = open_way,
    .close = close_way,
    .leave = leave,
    .look_back = look_back,
    .connect = connect_output,
    .enable = enable,
    .leave_out = leave_out,
    .leave_rest = leave_rest,
    .count = count,
    .calls = calls,
    .read = read_sums,
    .bucket = bucket,
    .bits = bits,
    .nr_buckets = nr_buckets,
    .nr_values = nr_values,
    .value = value,
    .notes = add_notes,
};
