#include "expose/exposition.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "screen/number.h"
#include "trace/trace.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_NAMES_BYTES = 64 << 20,
	NAME_BYTES = 4096,
};

/* The label of things without a line of their own. */
#define OTHERS "[other]"

struct exposition_family {
	const char *name, *unit, *help;
	enum openmetrics_type type;
	struct openmetrics_scale scale; /* of its numbers */
};

/* --- names ----------------------------------------------------------------------------------- */

static void add_base(struct buf *b, const struct table_column *c, unsigned attempt)
{
	buf_adds(b, "cpuperf_");
	openmetrics_add_name(b, c->metric ? "metric" : c->group);
	buf_addc(b, '_');
	openmetrics_add_name(b, c->name);
	if (attempt > 1)
		buf_printf(b, "_%u", attempt);
}

/* Names of the families that describe the session. */
static bool is_reserved(const char *name)
{
	static const char *const begins[] = {"cpuperf_session",  "cpuperf_event",
					     "cpuperf_samples",  "cpuperf_records",
					     "cpuperf_readings", "cpuperf_latency_seconds"};

	return ARRAY_ANY(x, begins, ARRAY_NR(begins), strncmp(name, *x, strlen(*x)) == 0);
}

static const char *help_of(struct exposition *x, size_t i, const struct table_column *c)
{
	const char *description = c->metric ? NULL : x->config.events[i].description;

	if (c->metric)
		return x->config.is_of_iterations
			   ? "A metric of the spec, of the last iteration."
			   : "A metric of the spec, the mean over the iterations.";
	if (description && *description)
		return description;
	return arena_printf(&x->arena, "%s:%s", c->group, c->name);
}

static bool is_scale(struct openmetrics_scale a, struct openmetrics_scale b)
{
	return a.times == b.times && a.exponent == b.exponent;
}

/* Two events may get one name: they share a family if type and unit agree. */
static int name_column(struct exposition *x, size_t i, const struct table_column *c)
{
	struct exposition_family f = {
	    .type = c->kind == EVENT_COUNT && !c->metric ? OPENMETRICS_COUNTER : OPENMETRICS_GAUGE};
	struct buf unit, base, name;
	size_t at = 0;

	buf_init(&unit, NAME_BYTES);
	buf_init(&base, NAME_BYTES);
	buf_init(&name, 2 * NAME_BYTES);
	add_base(&base, c, 1);
	f.scale =
	    openmetrics_add_unit(&unit, c->unit ? c->unit : "", c->metric ? NULL : buf_str(&base));
	f.unit = arena_strdup(&x->arena, buf_str(&unit));
	for (unsigned attempt = 1; f.unit; attempt++) {
		buf_reset(&base);
		buf_reset(&name);
		add_base(&base, c, attempt);
		openmetrics_add_family(&name, buf_str(&base), f.unit);
		for (at = 0; at < x->nr_families; at++)
			if (strcmp(x->families[at].name, buf_str(&name)) == 0)
				break;
		if (is_reserved(buf_str(&name)))
			continue;
		if (at == x->nr_families ||
		    (x->families[at].type == f.type && is_scale(x->families[at].scale, f.scale) &&
		     strcmp(x->families[at].unit, f.unit) == 0))
			break;
	}
	if (f.unit && at == x->nr_families) {
		f.name = arena_strdup(&x->arena, buf_str(&name));
		f.help = help_of(x, i, c);
		x->families[x->nr_families++] = f;
	}
	x->family_of[i] = (uint32_t)at;
	buf_fini(&unit);
	buf_fini(&base);
	buf_fini(&name);
	return f.unit && x->families[at].name && x->families[at].help ? 0 : -ENOMEM;
}

static int name_columns(struct exposition *x, const struct table *t)
{
	int rc = 0;

	x->families = mem_calloc(t->nr_columns + 1, sizeof(*x->families));
	x->family_of = mem_calloc(t->nr_columns + 1, sizeof(*x->family_of));
	x->is_twin = mem_calloc(t->nr_columns + 1, sizeof(*x->is_twin));
	if (!x->families || !x->family_of || !x->is_twin)
		return -ENOMEM;
	for (size_t i = 0; i < t->nr_columns && rc == 0; i++) {
		for (size_t k = 0; k < t->nr_events; k++)
			x->is_twin[i] |=
			    k != i && strcmp(t->columns[k].label, t->columns[i].label) == 0;
		rc = name_column(x, i, &t->columns[i]);
	}
	return rc;
}

/* --- lines ----------------------------------------------------------------------------------- */

static int flush(struct exposition *x, struct err *e)
{
	return x->config.flush ? x->config.flush(x->config.arg, e) : 0;
}

/* An exact number × 10^exponent. */
static void put_shifted(struct buf *b, unsigned __int128 v, int exponent)
{
	uint64_t ten = 1;

	for (int i = 0; i < -exponent; i++)
		ten *= 10;
	screen_wide(b, v / ten, false);
	if (ten == 1)
		return;
	buf_addc(b, '.');
	for (uint64_t rest = (uint64_t)(v % ten), i = ten / 10; i; i /= 10)
		buf_addc(b, (char)('0' + rest / i % 10));
}

static void put_real(struct buf *b, double v, struct openmetrics_scale scale)
{
	screen_metric(b, openmetrics_scaled(v, scale));
}

static void put_number(struct buf *b, const struct table_column *c, const struct sums_sum *s,
		       struct openmetrics_scale scale)
{
	bool is_last = c->kind == EVENT_VALUE;

	if (c->kind == EVENT_SHARE)
		screen_metric(b, s->base ? (double)s->raw / (double)s->base : 0);
	else if (s->last.is_real)
		put_real(b, is_last ? s->last.value : s->real, scale);
	else
		put_shifted(b, (is_last ? s->last.count : s->count) * scale.times, scale.exponent);
}

static void put_cpu(struct exposition *x, size_t cpu)
{
	if (x->sums.cpus[cpu].number != TABLE_ALL_CPUS)
		openmetrics_label_u64(&x->m, "cpu", x->sums.cpus[cpu].number);
}

/* What things are, by the beginning of the event's name, and their labels: of their number, or
 * first word, if they begin with one, and of the rest. */
static const struct thing_kind {
	const char *begin, *first, *rest;
	bool is_any_word; /* the first need not be a number */
} thing_kinds[] = {{"disk_", NULL, "device", false},        {"net_", NULL, "device", false},
		   {"cgroup_", NULL, "cgroup", false},      {"process_", "pid", "comm", false},
		   {"bpf_", "id", "program", false},        {"syscall", "pid", "comm", false},
		   {"block", "device", "operation", true},  {"irq", "irq", "action", false},
		   {"softirq", "vector", "softirq", false}, {"", NULL, "thing", false}};

static void put_thing(struct exposition *x, const char *event, const char *thing)
{
	const struct thing_kind *kind = thing_kinds;
	size_t first = 0;
	char word[NAME_BYTES];

	while (strncmp(event, kind->begin, strlen(kind->begin)) != 0)
		kind++;
	if (kind->first)
		first = kind->is_any_word ? strcspn(thing, " ") : strspn(thing, "0123456789");
	if (first && first < sizeof(word) && thing[first] == ' ') {
		snprintf(word, sizeof(word), "%.*s", (int)first, thing);
		openmetrics_label(&x->m, kind->first, word);
		thing += first + 1;
	}
	openmetrics_label(&x->m, kind->rest, thing);
}

enum { NO_CPU = SIZE_MAX };

/* Begins the line of an event with its labels. thing: NULL: none; cpu: an index. */
static void begin(struct exposition *x, const struct table *t, size_t column, const char *thing,
		  size_t cpu)
{
	openmetrics_begin(&x->m);
	openmetrics_label(&x->m, "event", t->columns[column].label);
	if (x->is_twin[column])
		openmetrics_label_u64(&x->m, "column", column);
	if (thing)
		put_thing(x, t->columns[column].name, thing);
	if (cpu != NO_CPU && table_is_of_cpu(&t->columns[column]))
		put_cpu(x, cpu);
}

/* It has no number of the last iteration: its point of an earlier one is written; and without times
 * a value would be taken for one of now, of a process that ended, say. */
static bool is_past(const struct exposition *x, const struct table_column *c,
		    const struct sums_sum *s)
{
	if (s->realtime_ns == x->sums.end_realtime_ns)
		return false;
	return x->config.has_no_times ? c->kind == EVENT_VALUE : x->config.is_of_iterations;
}

static void put_line(struct exposition *x, const struct table *t, size_t column, const char *thing,
		     size_t cpu, const struct sums_sum *s)
{
	if (!s->has_value)
		return;
	begin(x, t, column, thing, cpu);
	openmetrics_value(&x->m);
	put_number(x->m.out, &t->columns[column], s, x->families[x->family_of[column]].scale);
	openmetrics_end(&x->m, s->realtime_ns);
}

static void put_sum(struct exposition *x, const struct table *t, size_t column, const char *thing,
		    size_t cpu, const struct sums_sum *s)
{
	if (!is_past(x, &t->columns[column], s))
		put_line(x, t, column, thing, cpu, s);
}

static void put_metric(struct exposition *x, const struct table *t, size_t column)
{
	const struct spread *spread = &x->sums.summary->column[column].spread;
	double value = spread->mean;

	if (x->config.is_of_iterations ? !cell_has_value(&t->totals[column]) : !spread->nr)
		return;
	if (x->config.is_of_iterations)
		value = t->totals[column].value;
	begin(x, t, column, NULL, NO_CPU);
	openmetrics_value(&x->m);
	put_real(x->m.out, value, x->families[x->family_of[column]].scale);
	openmetrics_end(&x->m, x->sums.end_realtime_ns);
}

/* Of what has ended it has no values. */
static void put_top(struct exposition *x, const struct table *t, size_t column)
{
	const struct top_event *ev = &x->top.events[column];

	for (size_t i = 0; i < ev->nr; i++)
		put_line(x, t, column, ev->things[i].name, NO_CPU, &ev->things[i].sum);
	put_line(x, t, column, OTHERS, NO_CPU, &ev->others);
}

/* Things replace the event's number, their sum: with both, a sum over lines would count twice. */
static int put_column(struct exposition *x, const struct table *t, size_t column, struct err *e)
{
	int rc = 0;

	if (column >= t->nr_events) {
		put_metric(x, t, column);
		return flush(x, e);
	}
	if (t->columns[column].scope != EVENT_SCOPE_THINGS)
		for (size_t cpu = 0; cpu < x->sums.nr_cpus; cpu++)
			put_sum(x, t, column, NULL, cpu, sums_at(&x->sums, column, cpu));
	if (x->config.max_things)
		put_top(x, t, column);
	for (uint32_t k = 0; k < x->sums.things.nr && rc == 0; k++) {
		const struct sums_thing *thing = dict_at(&x->sums.things, k);

		if (thing->column != column)
			continue;
		put_sum(x, t, column, thing->name, NO_CPU, &thing->sum);
		rc = flush(x, e);
	}
	return rc ?: flush(x, e);
}

static int put_families(struct exposition *x, const struct table *t, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < x->nr_families && rc == 0; i++) {
		const struct exposition_family *f = &x->families[i];

		openmetrics_family(&x->m, f->type, f->name, f->unit, f->help);
		for (size_t column = 0; column < t->nr_columns && rc == 0; column++)
			if (x->family_of[column] == i)
				rc = put_column(x, t, column, e);
	}
	return rc;
}

/* --- of all events --------------------------------------------------------------------------- */

/* A family with a line for each event and CPU. */
struct common {
	const char *name, *unit, *help;
	enum openmetrics_type type;
	size_t offset; /* of a uint64_t in sums_sum; 0: the running share */
};

static bool has_common(const struct common *c, const struct sums_sum *s)
{
	if (!c->offset)
		return s->is_perf && s->enabled_ns;
	return s->is_sampled && (c->offset != offsetof(struct sums_sum, sampled.lost) ||
				 s->sampled.lost != SAMPLED_UNKNOWN);
}

static const struct common commons[] = {
    {"cpuperf_event_running_ratio", "ratio",
     "Share of its enabled time in which the event was counted; below 1 the "
     "number is an estimate.",
     OPENMETRICS_GAUGE, 0},
    {"cpuperf_samples", "", "Samples taken.", OPENMETRICS_COUNTER,
     offsetof(struct sums_sum, sampled.samples)},
    {"cpuperf_samples_idle", "", "Samples of the idle task, included in samples.",
     OPENMETRICS_COUNTER, offsetof(struct sums_sum, sampled.idle)},
    {"cpuperf_samples_weight", "", "The sum of the periods of the samples.", OPENMETRICS_COUNTER,
     offsetof(struct sums_sum, sampled.weight)},
    {"cpuperf_samples_lost", "", "Samples lost, where the kernel counts them per event.",
     OPENMETRICS_COUNTER, offsetof(struct sums_sum, sampled.lost)},
    {"cpuperf_samples_throttled", "", "Number of times the kernel paused the event.",
     OPENMETRICS_COUNTER, offsetof(struct sums_sum, sampled.throttled)},
};

static uint64_t number_at(const void *of, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)of + offset);
}

static int put_common(struct exposition *x, const struct table *t, const struct common *c,
		      struct err *e)
{
	int rc = 0;

	openmetrics_family(&x->m, c->type, c->name, c->unit, c->help);
	for (size_t i = 0; i < t->nr_events && rc == 0; i++) {
		for (size_t cpu = 0; cpu < x->sums.nr_cpus; cpu++) {
			const struct sums_sum *s = sums_at(&x->sums, i, cpu);

			if (!has_common(c, s))
				continue;
			begin(x, t, i, NULL, cpu);
			openmetrics_value(&x->m);
			if (c->offset)
				buf_u64(x->m.out, number_at(s, c->offset));
			else
				screen_metric(
				    x->m.out,
				    fmin((double)s->running_ns / (double)s->enabled_ns, 1));
			openmetrics_end(&x->m, x->sums.end_realtime_ns);
		}
		rc = flush(x, e);
	}
	return rc;
}

static void put_state(struct exposition *x, const struct table *t, size_t column, size_t cpu,
		      const char *state, uint64_t nr)
{
	if (!nr)
		return;
	begin(x, t, column, NULL, cpu);
	openmetrics_label(&x->m, "state", state);
	openmetrics_value(&x->m);
	buf_u64(x->m.out, nr);
	openmetrics_end(&x->m, x->sums.end_realtime_ns);
}

static int put_things_states(struct exposition *x, const struct table *t, struct err *e)
{
	int rc = 0;

	openmetrics_family(&x->m, OPENMETRICS_GAUGE, "cpuperf_event_things", "",
			   "Things (disks, processes ...) by state in the last iteration, for "
			   "events of which some things have no number; the sum covers the \"ok\" "
			   "ones.");
	for (size_t i = 0; i < t->nr_events && x->sums.nr_cpus && rc == 0; i++) {
		const struct sums_sum *s = sums_at(&x->sums, i, 0);
		bool are_all_ok = true;

		for (size_t state = CELL_OK + 1; state < CELL_NR_STATES; state++)
			are_all_ok &= !s->nr_things[state];
		if (are_all_ok)
			continue;
		for (size_t state = CELL_OK; state < CELL_NR_STATES; state++)
			put_state(x, t, i, 0, cell_state_name((enum cell_state)state),
				  s->nr_things[state]);
		rc = flush(x, e);
	}
	return rc;
}

static int put_states(struct exposition *x, const struct table *t, struct err *e)
{
	int rc = 0;

	openmetrics_family(&x->m, OPENMETRICS_GAUGE, "cpuperf_event_iterations", "",
			   "Iterations by the event's state in them; only \"ok\", \"partial\" and "
			   "\"offline\" enter sums.");
	for (size_t i = 0; i < t->nr_events && rc == 0; i++) {
		for (size_t at = 0; at < x->sums.nr_cpus * CELL_NR_STATES; at++) {
			size_t cpu = at / CELL_NR_STATES, state = at % CELL_NR_STATES;
			const struct sums_sum *s = sums_at(&x->sums, i, cpu);

			put_state(x, t, i, cpu, cell_state_name((enum cell_state)state),
				  s->nr_states[state]);
			if (state == CELL_OK)
				put_state(x, t, i, cpu, "partial", s->nr_partial);
		}
		rc = flush(x, e);
	}
	return rc;
}

static void put_event(struct exposition *x, const struct table *t, size_t i)
{
	const struct trace_event *ev = &x->config.events[i];
	const struct exposition_family *f = &x->families[x->family_of[i]];

	begin(x, t, i, NULL, NO_CPU);
	openmetrics_label(&x->m, "group", ev->group);
	openmetrics_label(&x->m, "name", ev->name);
	openmetrics_label(&x->m, "unit", *f->unit ? f->unit : ev->unit);
	openmetrics_label(&x->m, "metric_family", f->name);
	openmetrics_label(&x->m, "source", ev->source);
	openmetrics_label(&x->m, "state", reading_state_name(ev->state));
	openmetrics_label(&x->m, "reason", ev->reason);
	openmetrics_value(&x->m);
	buf_adds(x->m.out, "1");
	openmetrics_end(&x->m, x->sums.end_realtime_ns);
}

static int put_events(struct exposition *x, const struct table *t, struct err *e)
{
	int rc = 0;

	openmetrics_family(&x->m, OPENMETRICS_INFO, "cpuperf_event", "",
			   "The events of the spec, and whether they could be measured.");
	for (size_t i = 0; i < t->nr_events && rc == 0; i++) {
		put_event(x, t, i);
		rc = flush(x, e);
	}
	for (size_t i = 0; i < ARRAY_NR(commons) && rc == 0; i++)
		if (x->sums.is_sampling || commons[i].type == OPENMETRICS_GAUGE)
			rc = put_common(x, t, &commons[i], e);
	return rc ?: put_states(x, t, e) ?: put_things_states(x, t, e);
}

/* --- latencies ------------------------------------------------------------------------------- */

/* Edges of buckets are powers of two, the same in each session: 128 ns to 69 s. */
enum { FIRST_EDGE = 7, LAST_EDGE = 36 };

static void begin_latency(struct exposition *x, const struct table *t,
			  const struct latencies_row *row, const char *suffix)
{
	openmetrics_begin_part(&x->m, suffix);
	openmetrics_label(&x->m, "event", t->columns[row->event].label);
	if (x->is_twin[row->event])
		openmetrics_label_u64(&x->m, "column", row->event);
	if (row->part[0])
		openmetrics_label(&x->m, "part", row->part);
	if (row->what[0])
		put_thing(x, t->columns[row->event].name,
			  strcmp(row->what, "others") == 0 ? OTHERS : row->what);
}

static void end_latency(struct exposition *x, unsigned __int128 value, int exponent)
{
	openmetrics_value(&x->m);
	put_shifted(x->m.out, value, exponent);
	openmetrics_end(&x->m, x->sums.end_realtime_ns);
}

/* le is the last ns of a bucket. */
static void put_latency(struct exposition *x, const struct table *t,
			const struct latencies_row *row)
{
	const struct histogram *h = row->histogram;
	uint64_t below = 0;
	size_t at = 0;
	BUF_AUTO(le, NAME_BYTES);

	for (unsigned edge = FIRST_EDGE; edge <= LAST_EDGE; edge++) {
		for (; histogram_low(at) < UINT64_C(1) << edge; at++)
			below += h->bucket[at];
		buf_reset(&le);
		put_shifted(&le, (UINT64_C(1) << edge) - 1, -9);
		begin_latency(x, t, row, "_bucket");
		openmetrics_label(&x->m, "le", buf_str(&le));
		end_latency(x, below, 0);
	}
	begin_latency(x, t, row, "_bucket");
	openmetrics_label(&x->m, "le", "+Inf");
	end_latency(x, h->count, 0);
	begin_latency(x, t, row, "_count");
	end_latency(x, h->count, 0);
	begin_latency(x, t, row, "_sum");
	end_latency(x, h->sum_ns, -9);
}

/* What an event is of replaces all of it: with both, a sum over lines would count twice. */
static int put_latencies(struct exposition *x, const struct table *t, struct err *e)
{
	struct latencies_row *rows = latencies_sorted(&x->latencies);
	size_t nr = x->latencies.rows.nr;
	int rc = 0;

	openmetrics_family(&x->m, OPENMETRICS_HISTOGRAM, "cpuperf_latency_seconds", "seconds",
			   "How long things took: the events of the group latency.");
	for (size_t i = 0; rows && i < nr && rc == 0; i++) {
		bool is_all = !rows[i].what[0] && i + 1 < nr && rows[i + 1].what[0] &&
			      rows[i + 1].event == rows[i].event &&
			      strcmp(rows[i + 1].part, rows[i].part) == 0;

		if (!is_all)
			put_latency(x, t, &rows[i]);
		rc = flush(x, e);
	}
	mem_free(rows);
	return rows && rc != -ENOMEM ? rc : err_set(e, -ENOMEM, "out of memory");
}

/* --- of the session -------------------------------------------------------------------------- */

static void put_rings(struct exposition *x)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} rows[] = {
	    {"cpuperf_records_lost", "Records lost because the CPU's ring was full.",
	     offsetof(struct sums_cpu, lost)},
	    {"cpuperf_readings", "Readings within iterations, at the timebase's pace.",
	     offsetof(struct sums_cpu, ticks)},
	    {"cpuperf_readings_missed", "Readings skipped because they came too late.",
	     offsetof(struct sums_cpu, ticks_missed)},
	};

	for (size_t i = 0; i < ARRAY_NR(rows); i++) {
		openmetrics_family(&x->m, OPENMETRICS_COUNTER, rows[i].name, "", rows[i].help);
		for (size_t cpu = 0; cpu < x->sums.nr_cpus; cpu++) {
			openmetrics_begin(&x->m);
			put_cpu(x, cpu);
			openmetrics_value(&x->m);
			buf_u64(x->m.out, number_at(&x->sums.cpus[cpu], rows[i].offset));
			openmetrics_end(&x->m, x->sums.end_realtime_ns);
		}
	}
}

static void put_gauge(struct exposition *x, const char *name, const char *unit, const char *help,
		      uint64_t value, int exponent)
{
	openmetrics_family(&x->m, OPENMETRICS_GAUGE, name, unit, help);
	openmetrics_begin(&x->m);
	openmetrics_value(&x->m);
	put_shifted(x->m.out, value, exponent);
	openmetrics_end(&x->m, x->sums.end_realtime_ns);
}

static void put_session(struct exposition *x)
{
	const struct exposition_session *s = &x->config.session;
	const struct {
		const char *name, *value;
	} labels[] = {{"session_id", s->session_id},
		      {"boot_id", s->boot_id},
		      {"host", s->host},
		      {"machine", s->machine},
		      {"config_name", s->config_name},
		      {"kernel", s->kernel},
		      {"cpu_model", s->cpu_model},
		      {"tool", s->tool}};

	openmetrics_family(&x->m, OPENMETRICS_INFO, "cpuperf_session", "",
			   "The machine and program that measured this.");
	openmetrics_begin(&x->m);
	for (size_t i = 0; i < ARRAY_NR(labels); i++)
		if (labels[i].value)
			openmetrics_label(&x->m, labels[i].name, labels[i].value);
	openmetrics_value(&x->m);
	buf_adds(x->m.out, "1");
	openmetrics_end(&x->m, x->sums.end_realtime_ns);
	put_gauge(x, "cpuperf_session_iterations", "", "Iterations read.",
		  x->sums.summary->nr_iterations, 0);
	put_gauge(x, "cpuperf_session_measured_seconds", "seconds",
		  "Total length of the iterations.", x->sums.measured_ns, -9);
	if (x->sums.start_realtime_ns)
		put_gauge(x, "cpuperf_session_start_time_seconds", "seconds",
			  "Start of the first iteration, since 1970.", x->sums.start_realtime_ns,
			  -9);
}

int exposition_init(struct exposition *x, const struct exposition_config *config,
		    const struct table *t)
{
	int rc;

	*x = (struct exposition){.config = *config};
	arena_init(&x->arena, MAX_NAMES_BYTES);
	rc = sums_init(&x->sums, t->nr_columns);
	x->sums.omits_things = config->max_things;
	if (rc == 0 && config->max_things)
		rc = top_init(&x->top, config->max_things, t->nr_events);

	return rc ?: name_columns(x, t);
}

void exposition_fini(struct exposition *x)
{
	mem_free(x->families);
	mem_free(x->family_of);
	mem_free(x->is_twin);
	sums_fini(&x->sums);
	top_fini(&x->top);
	latencies_fini(&x->latencies);
	arena_fini(&x->arena);
}

const char *exposition_family(const struct exposition *x, size_t column,
			      struct openmetrics_scale *scale)
{
	const struct exposition_family *f = &x->families[x->family_of[column]];

	*scale = f->scale;
	return f->name;
}

int exposition_add(struct exposition *x, const struct table *t)
{
	return sums_add(&x->sums, t) ?: x->config.max_things ? top_add(&x->top, t) : 0;
}

int exposition_put(struct exposition *x, const struct table *t, struct buf *out, bool is_classic,
		   struct err *e)
{
	int rc;

	x->m = (struct openmetrics){.out = out,
				    .is_classic = is_classic,
				    .has_no_times = x->config.has_no_times,
				    .on_line = x->m.on_line,
				    .arg = x->m.arg,
				    .shared = {x->m.shared[0], x->m.shared[1]}};
	put_session(x);
	rc = put_families(x, t, e) ?: put_latencies(x, t, e) ?: put_events(x, t, e);
	if (rc == 0 && x->sums.is_sampling)
		put_rings(x);
	return rc;
}
