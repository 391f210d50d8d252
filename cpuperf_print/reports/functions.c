/*
 * The report functions: what the events of the group function have measured, call by call, over the
 * selected iterations of all sessions, or by session and iteration (--sort). Where calls were
 * counted and not timed, the time that was sampled in a function, divided by its calls, is what one
 * takes.
 */
#include "counts/functions.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "elf/demangle.h"
#include "estimate/histogram.h"
#include "numbers.h"
#include "profile/session.h"
#include "report/flat.h"
#include "reports/function_samples.h"
#include "reports/reports.h"
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	ROWS_FOR_PEOPLE = 20,
	ROWS_WHEN_BRIEF = 10,
	ROWS_WHEN_TIGHT = 5,
	MAX_NAMES = 1 << 18,
	MAX_NAME_BYTES = 128 << 20,
	TEXT_BYTES = 8192,
	OBJECT_BYTES = 256
};

/* A function as it is shown. */
struct row {
	const struct counts_function *of;
	const char *name;                    /* in the source */
	const char *object;                  /* without its folder */
	const struct report_weight *sampled; /* its time; NULL: not known */
};

/* Over all rows, for the heading. */
struct sums {
	uint64_t nr_functions, nr_events, calls;
	uint64_t timed, cost_ns;     /* of functions with times */
	uint64_t nr_untimed;         /* functions without times */
	uint64_t nr_open;            /* calls without a time, of functions that have times */
	uint64_t nr_sampled;         /* functions with sampled times */
	uint64_t nr_parts;           /* functions of which calls are missing */
	uint64_t nr_timed_in_part;   /* functions that were timed at first alone */
	bool has_cpu, has_patterns;  /* an event is not called as its function */
	unsigned ways;               /* bits, 1 << enum trace_function_way */
	char function[OBJECT_BYTES]; /* that one */
	char part[OBJECT_BYTES];     /* one of those */
	char timed_in_part[OBJECT_BYTES];
	char object[OBJECT_BYTES]; /* "": they are of several */
};

struct report {
	struct job *j;
	bool by_iteration, by_session;
	struct counts_functions functions; /* of all, or of the session or iteration being read */
	const struct input *input;         /* of this one */
	uint32_t iteration;
	struct reports_function_samples samples;
	struct arena names;
	struct sums sums;
	struct grid *g;
	struct reports_rest rest;
	uint64_t nr_skipped;
	bool has_rows, has_match, has_values;
};

static const char *const ways[] = {
    "another way", /* of a later version */
    [TRACE_FUNCTION_KERNEL] = "breakpoints",
    [TRACE_FUNCTION_PATCHED] = "patched entries",
    [TRACE_FUNCTION_COMPILED] = "entries made by the compiler",
};

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};

/* leaves: where the table is too wide. */
#define QUANTILE(name, shown, audience, leaves)                                                    \
	{name "_ns", shown, "ns", GRID_AMOUNT, audience, leaves},                                  \
	    {name "_low_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},                         \
	{                                                                                          \
		name "_high_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES                       \
	}

enum {
	EVENT,
	CALLS,
	TIME,
	SELF,
	CPU,
	MEAN,
	NET,
	P50,
	P99 = P50 + 6,
	MAX = P99 + 6,
	COST = MAX + 2,
	SAMPLED,
	SAMPLED_MEAN,
	OBJECT,
};

static const struct grid_column columns[] = {
    [EVENT] = {"event", NULL, NULL, GRID_TEXT, GRID_ALL, 7},
    [CALLS] = {"calls", NULL, NULL, GRID_COUNT, GRID_ALL},
    [TIME] = {"wall_ns", "time", "ns", GRID_AMOUNT, GRID_ALL, 5},
    [SELF] = {"self_ns", "self", "ns", GRID_AMOUNT, GRID_ALL},
    [CPU] = {"cpu_ns", "CPU", "ns", GRID_AMOUNT, GRID_ALL, 3},
    [MEAN] = {"mean_ns", "mean", "ns", GRID_AMOUNT, GRID_ALL},
    [NET] = {"net_mean_ns", "net", "ns", GRID_AMOUNT, GRID_ALL, 6},
    [P50] = QUANTILE("p50", "p50", GRID_ALL, 4),
    QUANTILE("p90", NULL, GRID_ONLY_MACHINES, 0),
    [P99] = QUANTILE("p99", "p99", GRID_ALL, 0),
    QUANTILE("p99_9", NULL, GRID_ONLY_MACHINES, 0),
    [MAX] = {"max_ns", "max", "ns", GRID_AMOUNT, GRID_ALL},
    {"cost_ns", NULL, "ns", GRID_AMOUNT, GRID_ONLY_MACHINES},
    [COST] = {"cost", "cost", "%", GRID_PERCENT, GRID_ONLY_PEOPLE, 1},
    [SAMPLED] = {"sampled_self_ns", "self, sampled", "ns", GRID_ESTIMATE, GRID_ALL},
    [SAMPLED_MEAN] = {"sampled_mean_ns", "of a call", "ns", GRID_ESTIMATE, GRID_ALL},
    [OBJECT] = {"object", NULL, NULL, GRID_TEXT, GRID_ONLY_PEOPLE, 2},
    {"function", NULL, NULL, GRID_TEXT, GRID_ALL},
    {"symbol", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"object", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"address", NULL, NULL, GRID_ADDRESS, GRID_ONLY_MACHINES},
    {"way", NULL, NULL, GRID_TEXT, GRID_ONLY_MACHINES},
    {"timed", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
    {"is_part", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES},
};

static bool has_mean(const struct counts_function *f)
{
	return f->has_times && f->timed;
}

/* Without what measuring has added; the estimate may be more than there is. */
static double net_mean(const struct counts_function *f)
{
	uint64_t ns = f->wall_ns > f->cost_ns ? f->wall_ns - f->cost_ns : 0;

	return (double)ns / (double)f->timed;
}

static void put_some(struct grid *g, bool is_there, uint64_t n)
{
	is_there ? grid_count(g, n) : grid_none(g);
}

static void put_times(struct grid *g, const struct counts_function *f)
{
	MEM_AUTO struct histogram *h = mem_zalloc(sizeof(*h));
	const bool has = has_mean(f);

	put_some(g, f->has_times, f->wall_ns);
	put_some(g, f->has_times, f->self_ns);
	put_some(g, f->has_cpu, f->cpu_ns);
	reports_put_ns(g, has ? (double)f->wall_ns / (double)f->timed : NAN);
	reports_put_ns(g, has && f->cost_ns ? net_mean(f) : NAN);
	if (h && has)
		counts_function_histogram(f, h);
	for (size_t i = 0; i < ARRAY_NR(quantiles); i++) {
		struct histogram_quantile q = {NAN, NAN, NAN};

		if (h && has)
			q = histogram_quantile(h, quantiles[i]);
		reports_put_ns(g, q.ns);
		reports_put_ns(g, q.low_ns);
		reports_put_ns(g, q.high_ns);
	}
	put_some(g, has, f->max_ns);
	put_some(g, f->cost_ns, f->cost_ns);
	grid_percent(g, has && f->cost_ns ? (double)f->cost_ns / (double)f->wall_ns : NAN);
}

static void put_sampled(const struct report *r, struct grid *g, const struct row *row)
{
	struct interval share;
	double total;

	if (!row->sampled || !row->of->calls) {
		grid_none(g);
		grid_none(g);
		return;
	}
	total = reports_function_samples_share(&r->samples, r->j, row->sampled, &share);
	grid_estimate(g, total, &share);
	grid_estimate(g, total / (double)row->of->calls, &share);
}

static size_t way_of(const struct counts_function *f)
{
	return f->way < ARRAY_NR(ways) ? f->way : 0;
}

static void put_row(const struct report *r, const struct row *row)
{
	const struct counts_function *f = row->of;
	struct grid *g = r->g;

	grid_row(g);
	if (r->by_session)
		grid_text(g, r->input->path);
	if (r->by_iteration)
		grid_count(g, r->iteration);
	grid_text(g, job_event(r->j, f->event)->label);
	grid_count(g, f->calls);
	put_times(g, f);
	put_sampled(r, g, row);
	grid_text(g, row->object);
	grid_text(g, row->name);
	grid_text(g, counts_function_name(&r->functions, f));
	grid_text(g, counts_function_object(&r->functions, f));
	grid_count(g, f->address);
	grid_text(g, counts_function_way(f));
	grid_count(g, f->timed);
	grid_count(g, f->is_part);
}

static size_t nr_events(const struct profile_facts *f)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->nr_events; i++)
		nr += strcmp(f->events[i].group, "function") == 0;
	return nr;
}

static void hide(struct grid_column *c, bool is_hidden)
{
	if (is_hidden)
		c->audience = GRID_ONLY_MACHINES;
}

/* An answer has 4 KB: it has what people see, and the object. */
static void shorten(struct grid_column *of)
{
	static const size_t kept[] = {CALLS, TIME, SELF, MEAN,         NET,
				      P50,   P99,  MAX,  SAMPLED_MEAN, OBJECT + 1};

	for (size_t i = 0; i < ARRAY_NR(columns); i++)
		if (!ARRAY_ANY(k, kept, ARRAY_NR(kept), *k == i))
			of[i].audience = GRID_ONLY_PEOPLE;
}

/* People have no column in which all cells would be empty, or the same. */
static struct grid *make_grid(const struct report *r)
{
	static const struct grid_column session = {"session", NULL, NULL, GRID_TEXT, GRID_ALL},
					iteration = {"iteration", NULL, NULL, GRID_NUMBER,
						     GRID_ALL};
	struct grid_column all[2 + ARRAY_NR(columns)];
	const struct sums *s = &r->sums;
	const bool is_one = !r->by_session && !r->by_iteration;
	const bool has_times = !is_one || s->nr_untimed < s->nr_functions;
	struct grid_column *of;
	size_t nr = 0;

	if (r->by_session)
		all[nr++] = session;
	if (r->by_iteration)
		all[nr++] = iteration;
	of = &all[nr];
	nr += ARRAY_NR(columns);
	memcpy(of, columns, sizeof(columns));
	if (output_is_answer(r->j->output))
		shorten(of);
	if (r->j->output->form != GRID_PEOPLE)
		return reports_grid(r->j, all, nr);
	hide(&of[EVENT], nr_events(job_input(r->j)->facts) < 2 || (is_one && !s->has_patterns));
	hide(&of[OBJECT], is_one && s->object[0]); /* the heading has it */
	for (size_t i = TIME; i < SAMPLED; i++)
		hide(&of[i], !has_times);
	hide(&of[CPU], is_one && !s->has_cpu);
	hide(&of[NET], is_one && !s->cost_ns);
	hide(&of[COST], is_one && !s->cost_ns);
	hide(&of[SAMPLED], !s->nr_sampled);
	hide(&of[SAMPLED_MEAN], !s->nr_sampled);
	return reports_grid(r->j, all, nr);
}

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const uint64_t self[] = {x->of->has_times ? x->of->self_ns
				 : x->sampled     ? x->sampled->weight
						  : 0,
				 y->of->has_times ? y->of->self_ns
				 : y->sampled     ? y->sampled->weight
						  : 0};

	return order_u64(self[1], self[0])
		   ?: order_u64(y->of->calls, x->of->calls)
		   ?: strcmp(x->name, y->name)
		   ?: strcmp(x->object, y->object)
		   ?: order_u64(x->of->address, y->of->address)
		   ?: order_u64(x->of->event, y->of->event);
}

static const char *name_of(struct report *r, const struct counts_function *f)
{
	const char *linkage = counts_function_name(&r->functions, f), *name = NULL;
	char source[ELF_MAX_NAME_BYTES];

	if (elf_demangle(linkage, source))
		name = arena_strdup(&r->names, source);
	return name ?: linkage; /* at the limit of memory, too */
}

struct named {
	const char *key;
	const struct counts_function *of;
	bool is_twin;
};

static struct named *find_named(struct dict *names, const struct row *row)
{
	BUF_AUTO(key, TEXT_BYTES);

	buf_printf(&key, "%s/%s", row->object, row->name);
	return buf_error(&key) ? NULL : dict_get(names, buf_str(&key));
}

/* Several functions of a file may have one name in the source, as static ones or copies of a
 * constructor have: those have their addresses. Without memory they have not. */
static void name_apart(struct report *r, struct row *rows, size_t nr)
{
	struct dict names;
	struct named *n;

	dict_init_texts(&names, sizeof(*n), MAX_NAMES, MAX_NAME_BYTES);
	for (size_t i = 0; i < nr; i++) {
		n = find_named(&names, &rows[i]);
		if (n && !n->of)
			n->of = rows[i].of;
		if (n)
			n->is_twin |= n->of->address != rows[i].of->address;
	}
	for (size_t i = 0; i < nr; i++) {
		const char *apart = NULL;

		n = find_named(&names, &rows[i]);
		if (n && n->is_twin)
			apart = arena_printf(&r->names, "%s (0x%" PRIx64 ")", rows[i].name,
					     rows[i].of->address);
		rows[i].name = apart ?: rows[i].name;
	}
	dict_fini(&names);
}

/* Owned by the caller. NULL without memory. */
static struct row *make_rows(struct report *r)
{
	const size_t nr = r->functions.rows.nr;
	struct row *rows = mem_calloc(nr + 1, sizeof(*rows));

	for (uint32_t i = 0; rows && i < nr; i++) {
		const struct counts_function *f = counts_functions_at(&r->functions, i);
		const char *object = counts_function_object(&r->functions, f);

		rows[i].of = f;
		rows[i].name = name_of(r, f);
		rows[i].object = str_base_name(object);
		if (!f->has_times)
			rows[i].sampled = reports_function_samples_find(
			    &r->samples, counts_function_name(&r->functions, f), object);
	}
	if (!rows)
		return NULL;
	order_sort(rows, nr, sizeof(*rows), compare);
	if (r->j->output->form == GRID_PEOPLE)
		name_apart(r, rows, nr);
	return rows;
}

static void add_sums(struct report *r, const struct row *row)
{
	const struct counts_function *f = row->of;
	struct sums *s = &r->sums;

	if (!s->nr_functions)
		snprintf(s->object, sizeof(s->object), "%s", row->object);
	else if (strcmp(s->object, row->object) != 0)
		s->object[0] = '\0';
	s->nr_functions++;
	s->calls += f->calls;
	s->has_patterns |= strcmp(job_event(r->j, f->event)->label, row->name) != 0;
	s->ways |= 1U << way_of(f);
	s->has_cpu |= f->has_cpu;
	s->nr_sampled += row->sampled != NULL;
	if (f->is_part && !s->nr_parts++)
		snprintf(s->part, sizeof(s->part), "%s", row->name);
	if (f->is_timed_in_part && !s->nr_timed_in_part++)
		snprintf(s->timed_in_part, sizeof(s->timed_in_part), "%s", row->name);
	if (!f->has_times) {
		s->nr_untimed++;
		return;
	}
	if (f->cost_ns && f->timed > s->timed) {
		s->timed = f->timed;
		s->cost_ns = f->cost_ns;
		snprintf(s->function, sizeof(s->function), "%s", row->name);
	}
	if (f->calls > f->timed)
		s->nr_open += f->calls - f->timed;
}

static const char *name_at(const void *rows, size_t i)
{
	return ((const struct row *)rows)[i].name;
}

/* Removes those that --function does not match, and says so if none is left. Returns how many are.
 */
static size_t select_rows(struct report *r, struct row *rows, size_t nr)
{
	size_t nr_left = 0;

	for (size_t i = 0; i < nr; i++)
		if (reports_is_wanted(r->j, &(struct report_function){.name = rows[i].name}))
			nr_left++;
	if (nr && !nr_left && !r->by_session && !r->by_iteration)
		reports_no_function(r->j, "function", name_at, rows, nr);
	for (size_t i = 0, to = 0; i < nr; i++)
		if (reports_is_wanted(r->j, &(struct report_function){.name = rows[i].name}))
			rows[to++] = rows[i];
	return nr_left;
}

/* 0: all. */
static uint64_t top_of(const struct report *r)
{
	uint64_t usual = ROWS_FOR_PEOPLE;

	if (r->by_session || r->by_iteration)
		usual = 0;
	else if (r->j->is_brief)
		usual = job_is_tight(r->j) ? ROWS_WHEN_TIGHT : ROWS_WHEN_BRIEF;
	return reports_top(r->j, usual);
}

/* Prints the rows so far, and begins anew. */
static int put_rows(struct report *r)
{
	const uint64_t top = top_of(r) ?: UINT64_MAX;
	MEM_AUTO struct row *rows = make_rows(r);
	size_t nr;

	if (!rows)
		return -ENOMEM;
	r->has_rows |= r->functions.rows.nr > 0;
	nr = select_rows(r, rows, r->functions.rows.nr);
	r->has_match |= nr > 0;
	for (size_t i = 0; i < nr; i++)
		add_sums(r, &rows[i]);
	if (!r->g)
		r->g = make_grid(r);
	if (!r->g)
		return -ENOMEM;
	for (size_t i = 0; i < nr && i < top; i++)
		put_row(r, &rows[i]);
	if (nr > top) {
		r->rest.nr += nr - top;
		r->rest.is_beyond_top = true;
	}
	r->nr_skipped += r->functions.nr_skipped;
	counts_functions_fini(&r->functions);
	arena_fini(&r->names);
	arena_init(&r->names, MAX_NAME_BYTES);
	return 0;
}

static int add_trace(void *arg, const struct profile_trace *t)
{
	struct report *r = arg;
	const struct profile_filter *filter = &r->j->selection->filter;
	int rc = 0;

	if (r->by_iteration && t->head.iteration != r->iteration)
		rc = put_rows(r);
	r->iteration = t->head.iteration;
	r->has_values |= t->nr_values > 0;
	for (size_t i = 0; i < t->nr_functions && rc == 0; i++)
		if (profile_filter_has_event(filter, &t->events[t->functions[i].function.event]))
			rc = counts_functions_add(&r->functions, &t->functions[i].function);
	return rc;
}

static int read_session(struct report *r, const struct input *o)
{
	int rc;

	r->input = o;
	rc = reports_each_trace(r->j, o, add_trace, r);
	return rc ?: r->by_session || r->by_iteration ? put_rows(r) : 0;
}

/* Of all, before they are printed. */
static int read_samples(struct report *r, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->functions.rows.nr && rc == 0; i++) {
		const struct counts_function *f = counts_functions_at(&r->functions, i);

		if (!f->has_times)
			rc = reports_function_samples_want(
			    &r->samples, counts_function_name(&r->functions, f),
			    counts_function_object(&r->functions, f), f->address);
	}
	return rc ?: reports_function_samples_read(&r->samples, r->j, e);
}

static void add_ways(const struct sums *s, struct buf *out)
{
	const char *before = "; measured by ";

	for (size_t i = 0; i < ARRAY_NR(ways); i++) {
		if (!(s->ways >> i & 1))
			continue;
		buf_printf(out, "%s%s", before, ways[i]);
		before = ", ";
	}
}

static void put_line(const struct report *r, struct buf *line)
{
	reports_headline(r->j, line);
	buf_reset(line);
}

/* Calls of that function, and of so many with it. */
static void put_some_of(const struct report *r, const char *name, uint64_t nr, const char *what)
{
	BUF_AUTO(line, TEXT_BYTES);

	buf_printf(&line, "Calls of %s", name);
	if (nr > 1)
		buf_printf(&line, " and %s more", COMMAS(nr - 1));
	buf_adds(&line, what);
	put_line(r, &line);
}

/* What has to be known to read the times. */
static void put_heading(const struct report *r)
{
	const struct sums *s = &r->sums;
	BUF_AUTO(line, TEXT_BYTES);

	if (!job_is_tight(r->j))
		buf_addc(&r->j->output->text, '\n');
	buf_adds(&line, "Functions");
	if (s->object[0])
		buf_printf(&line, " of %s", s->object);
	buf_printf(&line, ": %s %s", COMMAS(s->calls), str_plural(s->calls, "call", "calls"));
	if (!r->by_session && !r->by_iteration)
		buf_printf(&line, " of %s %s", COMMAS(s->nr_functions),
			   str_plural(s->nr_functions, "function", "functions"));
	add_ways(s, &line);
	put_line(r, &line);
	if (s->cost_ns && s->timed) {
		buf_printf(&line, "Measuring added about %s to each call of %s: net is without",
			   HUMAN((double)s->cost_ns / (double)s->timed, "ns"), s->function);
		put_line(r, &line);
	}
	if (s->nr_parts)
		put_some_of(r, s->part, s->nr_parts,
			    " are missing: they cost too much (max_own_cpu)");
	if (s->nr_timed_in_part)
		put_some_of(r, s->timed_in_part, s->nr_timed_in_part,
			    " were timed at first, then counted: times cost too much "
			    "(max_own_cpu)");
	if (s->nr_open) {
		buf_printf(&line, "%s %s no time: %snot ended yet, or nested too deep%s",
			   COMMAS(s->nr_open), str_plural(s->nr_open, "call has", "calls have"),
			   s->nr_timed_in_part ? "of these, or " : "",
			   s->nr_parts ? ", or open when the others were left out" : "");
		put_line(r, &line);
	}
	if (s->nr_untimed) {
		buf_printf(&line, "Calls of %s were counted, not timed%s",
			   s->nr_untimed == s->nr_functions
			       ? "all functions"
			       : str_plural(s->nr_untimed, "one function", "some functions"),
			   s->nr_sampled ? ": their times are sampled" : "");
		put_line(r, &line);
	}
	if (r->nr_skipped) {
		buf_adds(&line, "Some functions are missing: there are more than can be added up");
		put_line(r, &line);
	}
}

static int put_nothing(struct report *r, struct err *e)
{
	if (!r->has_rows && !r->j->is_default)
		buf_adds(&r->j->output->text,
			 "\nNo functions: events of the group function measure them\n");
	grid_free(r->g);
	return output_flush(r->j->output, e);
}

bool reports_has_functions(const struct profile_facts *f)
{
	return nr_events(f) > 0;
}

static int print(struct report *r, struct err *e)
{
	int rc = 0;

	for (size_t i = r->j->first; i < r->j->first + r->j->nr && rc == 0; i++)
		rc = read_session(r, &r->j->inputs->item[i]);
	if (rc == 0 && !r->by_session && !r->by_iteration)
		rc = read_samples(r, e);
	rc = rc ?: put_rows(r);
	if (rc && !e->code)
		err_set(e, rc, "the functions cannot be printed: %s", strerror(-rc));
	if (rc == 0 && r->j->output->form == GRID_PEOPLE) {
		if (!r->has_match) /* no header alone */
			return put_nothing(r, e);
		put_heading(r);
	}
	if (rc == 0)
		reports_rest_put(r->j, &r->rest, NULL, r->g);
	rc = reports_end(r->j, r->g, rc, e);
	return rc == 0 && r->has_values && r->j->output->form == GRID_PEOPLE
		   ? reports_values(r->j, e)
		   : rc;
}

int reports_functions(struct job *j, struct err *e)
{
	const unsigned by = j->selection->columns;
	struct report *r = mem_zalloc(sizeof(*r));
	int rc;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->j = j;
	r->by_iteration = by >> REPORT_ITERATION & 1;
	/* iterations are those of a session: of several, each row names its own */
	r->by_session = by >> REPORT_SESSION & 1 || (r->by_iteration && j->nr > 1);
	arena_init(&r->names, MAX_NAME_BYTES);
	rc = print(r, e);
	counts_functions_fini(&r->functions);
	reports_function_samples_fini(&r->samples);
	arena_fini(&r->names);
	mem_free(r);
	return rc;
}
