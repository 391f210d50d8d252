/*
 * Records as rows of CSV and NDJSON: how rows begin and end, and which columns each kind of record
 * has.
 */
#include "report/records_columns.h"

#include "base/digits.h"

#include <string.h>

#define BIT RECORDS_BIT

static const char commas[] = ",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,";
_Static_assert(sizeof(commas) > NR_COLUMNS, "one for each column");

static size_t text_field(struct buf *b, const void *text)
{
	buf_csv_field(b, text);
	return 0;
}

static size_t text_string(struct buf *b, const void *text)
{
	buf_json_string(b, text);
	return 0;
}

/* The columns that all rows begin with. */
struct common {
	bool has_task, has_event;
	uint32_t cpu;
	const char *kind; /* needs no quotes */
};

/* NAME is used in JSON only. */
static char *put_name(const struct records_row *w, char *p, const char *name, size_t len)
{
	return w->is_json ? records_put(p, name, len) : records_put(p, ",", 1);
}

static char *put_u64(const struct records_row *w, char *p, const char *name, size_t len, bool holds,
		     uint64_t v)
{
	p = put_name(w, p, name, len);
	if (holds)
		return digits_dec(p, v);
	return w->is_json ? records_put(p, "null", 4) : p;
}

/* A CPU, pid or tid. */
static char *put_known(const struct records_row *w, char *p, const char *name, size_t len,
		       uint32_t v)
{
	return put_u64(w, p, name, len, v != TRACE_UNKNOWN, v);
}

/* Since the session's start; negative for surveyed records, which precede it. */
static char *put_time(const struct records_row *w, char *p)
{
	uint64_t time_ns = w->s->item->time_ns, start_ns = w->s->all->start_ns;

	if (w->is_json)
		p = records_put(p, LITERAL("\"time_ns\":"));
	if (time_ns < start_ns) {
		*p++ = '-';
		return digits_dec(p, start_ns - time_ns);
	}
	return digits_dec(p, time_ns - start_ns);
}

/* The most bytes of its parts except texts. */
enum { COMMON_BYTES = 5 * DIGITS_ROOM + 200 };

static void begin_row(const struct records_row *w, const struct common *c)
{
	const struct records_item *s = w->s;
	const struct records_text none = {.text = w->is_json ? "null" : "",
					  .len = w->is_json ? 4 : 0};
	struct records_text comm = none, event = none;
	size_t (*make)(struct buf *, const void *) = w->is_json ? text_string : text_field;
	size_t kind_len = strlen(c->kind);
	const struct buf *lead = &s->all->lead;
	char *start, *p;

	if (c->has_task)
		comm = records_text(s->all, &s->all->comms, s->task.comm->number, make,
				    s->task.comm->name);
	if (c->has_event)
		event = records_text(s->all, &s->all->events,
				     s->item->kind == PROFILE_READING ? s->item->reading.event
								      : s->item->id->event,
				     make, s->event->label);
	p = start = buf_reserve(w->out, COMMON_BYTES + comm.len + event.len + kind_len + lead->len);
	if (!start)
		return;
	p = records_put(p, buf_str(lead), lead->len);
	p = put_time(w, p);
	p = put_u64(w, p, LITERAL(",\"monotonic_ns\":"), true, s->item->time_ns);
	p = put_u64(w, p, LITERAL(",\"iteration\":"), s->trace != NULL,
		    s->trace ? s->trace->head.iteration : 0);
	p = put_known(w, p, LITERAL(",\"cpu\":"), c->cpu);
	p = put_known(w, p, LITERAL(",\"pid\":"), c->has_task ? w->r->pid : TRACE_UNKNOWN);
	p = put_known(w, p, LITERAL(",\"tid\":"), c->has_task ? w->r->tid : TRACE_UNKNOWN);
	p = records_put(put_name(w, p, LITERAL(",\"comm\":")), comm.text, comm.len);
	p = records_put(put_name(w, p, LITERAL(",\"kind\":\"")), c->kind, kind_len);
	p = records_put(put_name(w, p, LITERAL("\",\"event\":")), event.text, event.len);
	buf_use(w->out, (size_t)(p - start));
}

/* Adds the other columns: bits. A function is written with its object. */
static void end_row(const struct records_row *w, const struct common *c, uint64_t holds)
{
	size_t next = EVENT + 1;

	if (c->has_task && w->s->task.thread != TRACE_UNKNOWN)
		holds |= BIT(THREAD);
	for (; holds; holds &= holds - 1) {
		enum records_column column = (enum records_column)__builtin_ctzll(holds);

		if (w->is_json) {
			buf_adds(w->out, ",\"");
			buf_adds(w->out, records_columns[column].name);
			buf_adds(w->out, "\":");
		} else {
			buf_add(w->out, commas, column + 1 - next);
		}
		records_put_column(w, column);
		next = column + 1 + (column == FUNCTION);
	}
	buf_add(w->out, commas, w->is_json ? 0 : NR_COLUMNS - next);
	buf_adds(w->out, w->is_json ? "}\n" : "\n");
}

/* --- kinds ----------------------------------------------------------------------------------- */

static uint64_t columns_of_sample(const struct records_row *w)
{
	uint64_t holds = w->r->period ? BIT(PERIOD) : 0, pc;

	for (size_t i = 0; i < RECORDS_NR_PARTS; i++)
		if (w->r->has & records_parts[i].has)
			holds |= records_parts[i].columns;
	if (!w->s->event->format)
		holds &= ~BIT(FIELDS);
	if (w->r->nr_branches)
		holds |= BIT(BRANCHES);
	if (w->s->all->stack.nr)
		return holds | BIT(ADDRESS) | BIT(STACK) | (w->is_json ? 0 : BIT(FUNCTION));
	if (records_is_rest(w->s))
		return holds | BIT(FUNCTION);
	return trace_record_pc(w->r, &pc) ? holds | BIT(ADDRESS) : holds;
}

static void sample(const struct records_row *w, const struct common *c)
{
	records_make_stack(w->s);
	begin_row(w, c);
	records_fetch_names(w->s);
	end_row(w, c, columns_of_sample(w));
}

static void other(const struct records_row *w, const struct common *common)
{
	struct common c = *common;
	const struct records_kind *kind = records_kind_of(w->r);
	char number[sizeof("record_") + DIGITS_ROOM] = "record_";

	*digits_dec(number + sizeof("record_") - 1, w->r->kind) = '\0';
	c.kind = (kind->name ?: trace_record_kind_name(w->r->kind)) ?: number;
	begin_row(w, &c);
	end_row(w, &c, kind->columns & ~(w->r->name ? 0 : BIT(NAME)));
}

static struct records_row row_of(const struct records_item *s)
{
	return (struct records_row){s, s->r, s->all->out, s->all->form == &records_form_ndjson};
}

static void record(const struct records_item *s)
{
	const struct records_row w = row_of(s);
	const struct common c = {
	    .has_task = true, .has_event = s->event != NULL, .cpu = s->item->cpu, .kind = "sample"};

	if (s->r->kind == PERF_RECORD_SAMPLE && s->event)
		sample(&w, &c);
	else
		other(&w, &c);
}

/* A reading between two boundaries; it has no task. */
static void reading(const struct records_item *s)
{
	const struct records_row w = row_of(s);
	const struct reading *r = &s->item->reading;
	bool is_of_cpu = s->trace && s->event && s->event->scope == EVENT_SCOPE_CPU;
	const struct common c = {.has_event = s->event != NULL,
				 .cpu = is_of_cpu ? s->trace->head.cpu : TRACE_UNKNOWN,
				 .kind = "reading"};
	uint64_t holds = BIT(RAW);

	if (r->instance)
		holds |= BIT(INSTANCE);
	if (r->base)
		holds |= BIT(BASE);
	if (r->enabled_ns || r->running_ns)
		holds |= BIT(ENABLED) | BIT(RUNNING);
	begin_row(&w, &c);
	end_row(&w, &c, holds);
}

static void csv_begin(struct records_state *all)
{
	const struct report_records_config *c = all->config;

	if (c->session_shown) {
		buf_csv_field(&all->lead, c->session_shown);
		buf_addc(&all->lead, ',');
	}
	if (c->has_header)
		return;
	buf_adds(all->out, c->session_shown ? "session," : "");
	for (size_t i = 0; i < NR_COLUMNS; i++) {
		buf_adds(all->out, i ? "," : "");
		buf_adds(all->out, records_columns[i].name);
	}
	buf_addc(all->out, '\n');
}

static void json_begin(struct records_state *all)
{
	buf_adds(&all->lead, "{\"report\":\"records\",");
	if (!all->config->session_shown)
		return;
	buf_adds(&all->lead, "\"session\":");
	buf_json_string(&all->lead, all->config->session_shown);
	buf_addc(&all->lead, ',');
}

const struct records_form records_form_csv = {.unknown = "",
					      .begin = csv_begin,
					      .record = record,
					      .reading = reading,
					      .function = records_csv_function};
const struct records_form records_form_ndjson = {.unknown = "null",
						 .begin = json_begin,
						 .record = record,
						 .reading = reading,
						 .function = records_json_function};
