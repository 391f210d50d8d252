/*
 * The counts of a session as OpenMetrics: one number for each event and CPU (or thing), the sum
 * over all iterations, or the last value of a gauge. Events without a number have no line;
 * cpuperf_event_iterations contains the number of iterations that were counted.
 */
#include "export/openmetrics.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "counts/series.h"
#include "counts/tally.h"
#include "estimate/running.h"
#include "exports/exports.h"
#include "screen/format.h"
#include "screen/number.h"
#include "sums.h"
#include "tables.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_NAMES_BYTES = 64 << 20,
	NAME_BYTES = 4096,
};

struct family {
	const char *name, *unit, *help;
	enum openmetrics_type type;
	int exponent; /* the number is written × 10^exponent */
};

struct exposition {
	struct job *j;
	const struct input *opened;
	struct openmetrics m;
	struct arena arena;
	struct family *families; /* owned */
	size_t nr_families;
	uint32_t *family_of; /* owned; by column */
	bool *is_twin;       /* owned; another column has its label too */
	struct sums sums;
};

/* --- names ----------------------------------------------------------------------------------- */

static enum openmetrics_type type_of(const struct table_column *c)
{
	return c->kind == EVENT_COUNT && !c->metric ? OPENMETRICS_COUNTER : OPENMETRICS_GAUGE;
}

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
	static const char *const begins[] = {"cpuperf_session", "cpuperf_event", "cpuperf_samples",
					     "cpuperf_records", "cpuperf_readings"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* The index of the family with that name, or nr_families. */
static size_t find_family(const struct exposition *x, const char *name)
{
	size_t i = 0;

	while (i < x->nr_families && strcmp(x->families[i].name, name) != 0)
		i++;
	return i;
}

static bool is_alike(const struct family *a, const struct family *b)
{
	return a->type == b->type && a->exponent == b->exponent && strcmp(a->unit, b->unit) == 0;
}

static const char *help_of(struct exposition *x, size_t i, const struct table_column *c)
{
	const struct trace_event *ev = &x->opened->facts->events[i];

	if (c->metric)
		return "A metric of the spec, the mean over the iterations.";
	if (ev->description && *ev->description)
		return ev->description;
	return arena_printf(&x->arena, "%s:%s", c->group, c->name);
}

/* Two events may get one name: they share a family if type and unit agree. */
static int name_column(struct exposition *x, size_t i, const struct table_column *c)
{
	struct family f = {.type = type_of(c)};
	struct buf unit, base, name;
	size_t at = 0;

	buf_init(&unit, NAME_BYTES);
	buf_init(&base, NAME_BYTES);
	buf_init(&name, 2 * NAME_BYTES);
	add_base(&base, c, 1);
	f.exponent =
	    openmetrics_add_unit(&unit, c->unit ? c->unit : "", c->metric ? NULL : buf_str(&base));
	f.unit = arena_strdup(&x->arena, buf_str(&unit));
	for (unsigned attempt = 1; f.unit; attempt++) {
		buf_reset(&base);
		buf_reset(&name);
		add_base(&base, c, attempt);
		openmetrics_add_family(&name, buf_str(&base), f.unit);
		at = find_family(x, buf_str(&name));
		if (is_reserved(buf_str(&name)))
			continue;
		if (at == x->nr_families || is_alike(&x->families[at], &f))
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

static bool has_twin(const struct table *t, size_t i)
{
	for (size_t k = 0; k < t->nr_events; k++)
		if (k != i && strcmp(t->columns[k].label, t->columns[i].label) == 0)
			return true;
	return false;
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
		x->is_twin[i] = has_twin(t, i);
		rc = name_column(x, i, &t->columns[i]);
	}
	return rc;
}

/* --- lines ----------------------------------------------------------------------------------- */

static int flush(struct exposition *x, struct err *e)
{
	return output_flush(x->j->output, e);
}

/* An exact number × 10^exponent. */
static void put_shifted(struct buf *b, unsigned __int128 v, int exponent)
{
	uint64_t ten = 1;
	char digits[32];

	for (int i = 0; i < -exponent; i++)
		ten *= 10;
	screen_wide(b, v / ten, false);
	if (ten == 1)
		return;
	buf_addc(b, '.');
	for (uint64_t rest = (uint64_t)(v % ten), i = ten / 10; i; i /= 10) {
		digits[0] = (char)('0' + rest / i % 10);
		buf_add(b, digits, 1);
	}
}

static void put_real(struct buf *b, double v, int exponent)
{
	for (int i = 0; i < -exponent; i++)
		v /= 10;
	screen_metric(b, v);
}

static void put_number(struct buf *b, const struct table_column *c, const struct sums_sum *s,
		       int exponent)
{
	bool is_last = c->kind == EVENT_VALUE;

	if (c->kind == EVENT_SHARE)
		screen_metric(b, s->base ? (double)s->raw / (double)s->base : 0);
	else if (s->last.is_real)
		put_real(b, is_last ? s->last.value : s->real, exponent);
	else
		put_shifted(b, is_last ? s->last.count : s->count, exponent);
}

/* The labels of an event. */
static void put_labels(struct exposition *x, const struct table *t, size_t column,
		       const char *thing)
{
	openmetrics_begin(&x->m);
	openmetrics_label(&x->m, "event", t->columns[column].label);
	if (x->is_twin[column])
		openmetrics_label_u64(&x->m, "column", column);
	if (thing)
		openmetrics_label(&x->m, "thing", thing);
}

static void put_number_of_cpu(struct exposition *x, size_t cpu)
{
	if (x->sums.cpus[cpu].number != COUNTS_NO_CPU)
		openmetrics_label_u64(&x->m, "cpu", x->sums.cpus[cpu].number);
}

static void put_cpu(struct exposition *x, const struct table *t, size_t column, size_t cpu)
{
	if (table_is_of_cpu(&t->columns[column]))
		put_number_of_cpu(x, cpu);
}

static void put_sum(struct exposition *x, const struct table *t, size_t column, size_t cpu)
{
	const struct sums_sum *s = sums_at(&x->sums, column, cpu);

	if (!s->has_value)
		return;
	put_labels(x, t, column, NULL);
	put_cpu(x, t, column, cpu);
	openmetrics_value(&x->m);
	put_number(x->m.out, &t->columns[column], s, x->families[x->family_of[column]].exponent);
	openmetrics_end(&x->m, s->realtime_ns);
}

static void put_metric(struct exposition *x, const struct table *t, size_t column)
{
	const struct spread *s = &x->sums.summary->column[column].spread;

	if (!s->nr)
		return;
	put_labels(x, t, column, NULL);
	openmetrics_value(&x->m);
	put_real(x->m.out, s->mean, x->families[x->family_of[column]].exponent);
	openmetrics_end(&x->m, x->sums.end_realtime_ns);
}

/* Replaces the event's number, their sum: with both, a sum over lines would count twice. */
static int put_things(struct exposition *x, const struct table *t, size_t column, struct err *e)
{
	int rc = 0;

	for (uint32_t k = 0; k < x->sums.things.nr && rc == 0; k++) {
		const struct sums_thing *thing = dict_at(&x->sums.things, k);

		if (thing->column != column || !thing->sum.has_value)
			continue;
		put_labels(x, t, column, thing->name);
		openmetrics_value(&x->m);
		put_number(x->m.out, &t->columns[column], &thing->sum,
			   x->families[x->family_of[column]].exponent);
		openmetrics_end(&x->m, thing->sum.realtime_ns);
		rc = flush(x, e);
	}
	return rc;
}

static int put_column(struct exposition *x, const struct table *t, size_t column, struct err *e)
{
	if (column >= t->nr_events)
		put_metric(x, t, column);
	else if (t->columns[column].scope == EVENT_SCOPE_THINGS)
		return put_things(x, t, column, e);
	else
		for (size_t cpu = 0; cpu < x->sums.nr_cpus; cpu++)
			put_sum(x, t, column, cpu);
	return flush(x, e);
}

static int put_families(struct exposition *x, const struct table *t, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < x->nr_families && rc == 0; i++) {
		const struct family *f = &x->families[i];

		openmetrics_family(&x->m, f->type, f->name, f->unit, f->help);
		for (size_t column = 0; column < t->nr_columns && rc == 0; column++)
			if (x->family_of[column] == i)
				rc = put_column(x, t, column, e);
	}
	return rc;
}

/* --- of all events --------------------------------------------------------------------------- */

/* A family with a line for each event and CPU for which holds is true. */
struct common {
	const char *name, *unit, *help;
	enum openmetrics_type type;
	bool (*holds)(const struct sums_sum *s);
	void (*number)(struct buf *b, const struct sums_sum *s);
};

static bool is_multiplexable(const struct sums_sum *s)
{
	return s->is_perf && s->enabled_ns;
}

static bool is_sampled(const struct sums_sum *s)
{
	return s->is_sampled;
}

static bool is_lost_told(const struct sums_sum *s)
{
	return s->is_sampled && s->sampled.lost != SAMPLED_UNKNOWN;
}

static void running(struct buf *b, const struct sums_sum *s)
{
	screen_metric(b, running_share(s->enabled_ns, s->running_ns));
}

static void samples(struct buf *b, const struct sums_sum *s)
{
	buf_u64(b, s->sampled.samples);
}

static void idle(struct buf *b, const struct sums_sum *s)
{
	buf_u64(b, s->sampled.idle);
}

static void weight(struct buf *b, const struct sums_sum *s)
{
	buf_u64(b, s->sampled.weight);
}

static void lost(struct buf *b, const struct sums_sum *s)
{
	buf_u64(b, s->sampled.lost);
}

static void throttled(struct buf *b, const struct sums_sum *s)
{
	buf_u64(b, s->sampled.throttled);
}

static const struct common commons[] = {
    {"cpuperf_event_running_ratio", "ratio",
     "Share of its enabled time in which the event was counted; below 1 the "
     "number is an estimate.",
     OPENMETRICS_GAUGE, is_multiplexable, running},
    {"cpuperf_samples", "", "Samples taken.", OPENMETRICS_COUNTER, is_sampled, samples},
    {"cpuperf_samples_idle", "", "Samples of the idle task, included in samples.",
     OPENMETRICS_COUNTER, is_sampled, idle},
    {"cpuperf_samples_weight", "", "The sum of the periods of the samples.", OPENMETRICS_COUNTER,
     is_sampled, weight},
    {"cpuperf_samples_lost", "", "Samples lost, where the kernel counts them per event.",
     OPENMETRICS_COUNTER, is_lost_told, lost},
    {"cpuperf_samples_throttled", "", "Number of times the kernel paused the event.",
     OPENMETRICS_COUNTER, is_sampled, throttled},
};

static int put_common(struct exposition *x, const struct table *t, const struct common *c,
		      struct err *e)
{
	int rc = 0;

	openmetrics_family(&x->m, c->type, c->name, c->unit, c->help);
	for (size_t i = 0; i < t->nr_events && rc == 0; i++) {
		for (size_t cpu = 0; cpu < x->sums.nr_cpus; cpu++) {
			const struct sums_sum *s = sums_at(&x->sums, i, cpu);

			if (!c->holds(s))
				continue;
			put_labels(x, t, i, NULL);
			put_cpu(x, t, i, cpu);
			openmetrics_value(&x->m);
			c->number(x->m.out, s);
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
	put_labels(x, t, column, NULL);
	put_cpu(x, t, column, cpu);
	openmetrics_label(&x->m, "state", state);
	openmetrics_value(&x->m);
	buf_u64(x->m.out, nr);
	openmetrics_end(&x->m, x->sums.end_realtime_ns);
}

/* A thing of the event, or its sum, has no number. */
static bool lacks_things(const struct sums_sum *s)
{
	for (size_t state = CELL_OK + 1; state < CELL_NR_STATES; state++)
		if (s->nr_things[state])
			return true;
	return false;
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

		if (!lacks_things(s))
			continue;
		for (size_t state = CELL_OK; state < CELL_NR_STATES; state++)
			put_state(x, t, i, 0, cell_state_name((enum cell_state)state),
				  s->nr_things[state]);
		rc = flush(x, e);
	}
	return rc;
}

static bool has_partial(const struct exposition *x, const struct table *t)
{
	for (size_t i = 0; i < t->nr_events; i++)
		for (size_t cpu = 0; cpu < x->sums.nr_cpus; cpu++)
			if (sums_at(&x->sums, i, cpu)->nr_partial)
				return true;
	return false;
}

static int put_states(struct exposition *x, const struct table *t, struct err *e)
{
	int rc = 0;

	openmetrics_family(
	    &x->m, OPENMETRICS_GAUGE, "cpuperf_event_iterations", "",
	    has_partial(x, t)
		? "Iterations by the event's state in them; only \"ok\", \"partial\" and "
		  "\"offline\" enter sums."
		: "Iterations by the event's state in them; only \"ok\" and \"offline\" "
		  "enter sums.");
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
	const struct trace_event *ev = &x->opened->facts->events[i];

	put_labels(x, t, i, NULL);
	openmetrics_label(&x->m, "group", ev->group);
	openmetrics_label(&x->m, "name", ev->name);
	openmetrics_label(&x->m, "unit", ev->unit);
	openmetrics_label(&x->m, "metric_family", x->families[x->family_of[i]].name);
	openmetrics_label(&x->m, "source", ev->source);
	openmetrics_label(&x->m, "state", reading_state_name(ev->state));
	openmetrics_label(&x->m, "reason", ev->reason);
	openmetrics_value(&x->m);
	buf_adds(x->m.out, "1");
	openmetrics_end(&x->m, 0);
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
	for (size_t i = 0; i < sizeof(commons) / sizeof(commons[0]) && rc == 0; i++)
		if (x->sums.is_sampling || commons[i].type == OPENMETRICS_GAUGE)
			rc = put_common(x, t, &commons[i], e);
	if (rc == 0)
		rc = put_states(x, t, e);
	return rc ?: put_things_states(x, t, e);
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

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		openmetrics_family(&x->m, OPENMETRICS_COUNTER, rows[i].name, "", rows[i].help);
		for (size_t cpu = 0; cpu < x->sums.nr_cpus; cpu++) {
			openmetrics_begin(&x->m);
			put_number_of_cpu(x, cpu);
			openmetrics_value(&x->m);
			buf_u64(x->m.out,
				*(const uint64_t *)(const void *)((const char *)&x->sums.cpus[cpu] +
								  rows[i].offset));
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
	const struct profile_facts *f = x->opened->facts;
	const struct trace_info *info = f->info;
	char session[33], boot[33];

	str_hex16(f->head.session_id, session);
	str_hex16(f->head.boot_id, boot);
	openmetrics_family(&x->m, OPENMETRICS_INFO, "cpuperf_session", "",
			   "The machine and program that measured this.");
	openmetrics_begin(&x->m);
	openmetrics_label(&x->m, "session_id", session);
	openmetrics_label(&x->m, "boot_id", boot);
	openmetrics_label(&x->m, "host", f->head.host);
	openmetrics_label(&x->m, "machine", f->head.machine);
	openmetrics_label(&x->m, "config_name", x->opened->config_name);
	if (info) {
		openmetrics_label(&x->m, "kernel", info->kernel);
		openmetrics_label(&x->m, "cpu_model", info->cpu_model);
		openmetrics_label(&x->m, "tool", info->tool);
	}
	openmetrics_value(&x->m);
	buf_adds(x->m.out, "1");
	openmetrics_end(&x->m, 0);
	put_gauge(x, "cpuperf_session_iterations", "", "Iterations read.",
		  x->sums.summary->nr_iterations, 0);
	put_gauge(x, "cpuperf_session_unread_parts", "",
		  "Damaged or missing parts of the session's files; their content is in "
		  "no number here.",
		  x->j->output->problems.nr_losses, 0);
	put_gauge(x, "cpuperf_session_measured_seconds", "seconds",
		  "Total length of the iterations.", x->sums.measured_ns, -9);
	if (x->sums.start_realtime_ns)
		put_gauge(x, "cpuperf_session_start_time_seconds", "seconds",
			  "Start of the first iteration, since 1970.", x->sums.start_realtime_ns,
			  -9);
}

static int put_all(struct exposition *x, const struct table *t, struct err *e)
{
	int rc;

	put_session(x);
	rc = put_families(x, t, e) ?: put_events(x, t, e);
	if (rc == 0 && x->sums.is_sampling)
		put_rings(x);
	openmetrics_eof(&x->m);
	return rc ?: flush(x, e);
}

static void log_warning_of(void *arg, const struct err *warning)
{
	(void)arg;
	log_err(LOG_WARNING, warning);
}

static int read_all(struct exposition *x, struct tables *tables, struct err *e)
{
	int rc = sums_init(&x->sums, tables->t->nr_columns) ?: name_columns(x, tables->t);
	int got = 1;

	while (rc == 0 && (got = tables_next(tables, e)) == 1)
		rc = sums_add(&x->sums, tables->t);
	if (rc == -EFBIG)
		return err_set(e, rc, "too many events, CPUs and things for this format");
	if (rc)
		return err_set(e, rc, "cannot be exported: %s", strerror(-rc));
	return got < 0 ? got : 0;
}

static void fini(struct exposition *x)
{
	mem_free(x->families);
	mem_free(x->family_of);
	mem_free(x->is_twin);
	sums_fini(&x->sums);
	arena_fini(&x->arena);
}

int export_openmetrics(struct job *j, struct err *e)
{
	struct exposition x = {.j = j, .opened = job_input(j), .m = {.out = &j->output->text}};
	struct tables tables;
	int rc;

	arena_init(&x.arena, MAX_NAMES_BYTES);
	rc = tables_open(&tables, j, x.opened, e) ?:
	     read_all(&x, &tables, e) ?:
	     put_all(&x, tables.t, e);
	if (rc == 0)
		screen_warn_metrics(tables.t, x.sums.summary, log_warning_of, NULL);
	tables_close(&tables);
	fini(&x);
	return rc;
}
