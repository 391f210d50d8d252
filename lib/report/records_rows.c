/*
 * Records as rows of CSV and NDJSON: how rows begin and end, and which columns each kind of record
 * has.
 */
#include "report/records_columns.h"

#include "base/digits.h"

#include <string.h>

#define BIT(column) (UINT64_C(1) << (column))

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
		size_t column = (size_t)__builtin_ctzll(holds);

		if (w->is_json) {
			buf_adds(w->out, ",\"");
			buf_adds(w->out, records_columns[column].name);
			buf_adds(w->out, "\":");
		} else {
			buf_add(w->out, commas, column + 1 - next);
		}
		records_columns[column].put(w);
		next = column + 1 + (column == FUNCTION);
	}
	buf_add(w->out, commas, w->is_json ? 0 : NR_COLUMNS - next);
	buf_adds(w->out, w->is_json ? "}\n" : "\n");
}

/* --- kinds ----------------------------------------------------------------------------------- */

/* The parts that a sample may have. */
static const struct {
	uint32_t has;
	uint64_t columns;
} parts[] = {
    {TRACE_HAS_RAW, BIT(FIELDS)},
    {TRACE_HAS_ADDR, BIT(DATA_ADDRESS)},
    {TRACE_HAS_PHYS_ADDR, BIT(PHYSICAL_ADDRESS)},
    {TRACE_HAS_DATA_SRC, BIT(DATA_SOURCE)},
    {TRACE_HAS_WEIGHT, BIT(WEIGHT)},
    {TRACE_HAS_USER_STACK, BIT(STACK_BYTES)},
    {TRACE_HAS_READ, BIT(COUNTS)},
    {TRACE_HAS_WEIGHT_PARTS, BIT(WEIGHT_2) | BIT(WEIGHT_3)},
    {TRACE_HAS_TRANSACTION, BIT(TRANSACTION)},
    {TRACE_HAS_DATA_PAGE, BIT(DATA_PAGE_BYTES)},
    {TRACE_HAS_CODE_PAGE, BIT(CODE_PAGE_BYTES)},
    {TRACE_HAS_CGROUP, BIT(CGROUP_ID)},
    {TRACE_HAS_AUX, BIT(AUX_BYTES)},
};

static uint64_t columns_of_sample(const struct records_row *w)
{
	uint64_t holds = w->r->period ? BIT(PERIOD) : 0, pc;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (w->r->has & parts[i].has)
			holds |= parts[i].columns;
	if (!w->s->event->format)
		holds &= ~BIT(FIELDS);
	if (w->r->nr_branches)
		holds |= BIT(BRANCHES);
	if (w->s->all->stack.nr)
		return holds | BIT(ADDRESS) | BIT(STACK) | (w->is_json ? 0 : BIT(FUNCTION));
	return trace_record_pc(w->r, &pc) ? holds | BIT(ADDRESS) : holds;
}

static void sample(const struct records_row *w, const struct common *c)
{
	records_make_stack(w->s);
	begin_row(w, c);
	records_fetch_names(w->s);
	end_row(w, c, columns_of_sample(w));
}

static const char *name_of_comm(const struct trace_record *r)
{
	return r->misc & PERF_RECORD_MISC_COMM_EXEC ? "exec" : "comm";
}

static const char *name_of_fork(const struct trace_record *r)
{
	return r->pid == r->ppid ? "thread" : "fork";
}

static const char *name_of_ksymbol(const struct trace_record *r)
{
	return r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? "ksymbol_gone" : "ksymbol";
}

static const char *name_of_bpf(const struct trace_record *r)
{
	return r->type == PERF_BPF_EVENT_PROG_LOAD     ? "bpf_loaded"
	       : r->type == PERF_BPF_EVENT_PROG_UNLOAD ? "bpf_unloaded"
						       : "bpf";
}

static const char *name_of_switch(const struct trace_record *r)
{
	return !(r->misc & PERF_RECORD_MISC_SWITCH_OUT)        ? "switch_in"
	       : r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? "switch_out_preempted"
							       : "switch_out";
}

static const struct {
	const char *name;
	const char *(*name_of)(const struct trace_record *r); /* in place of name */
	uint64_t columns;
} kinds[] = {
    [PERF_RECORD_MMAP] = {"mmap", NULL, BIT(START) | BIT(END) | BIT(OFFSET) | BIT(NAME)},
    [PERF_RECORD_LOST] = {"lost", NULL, BIT(LOST)},
    [PERF_RECORD_COMM] = {NULL, name_of_comm, BIT(NAME)},
    [PERF_RECORD_EXIT] = {"exit", NULL, BIT(PARENT_PID) | BIT(PARENT_TID)},
    [PERF_RECORD_THROTTLE] = {"throttle", NULL, 0},
    [PERF_RECORD_UNTHROTTLE] = {"unthrottle", NULL, 0},
    [PERF_RECORD_FORK] = {NULL, name_of_fork, BIT(PARENT_PID) | BIT(PARENT_TID)},
    [PERF_RECORD_MMAP2] = {"mmap", NULL,
			   BIT(START) | BIT(END) | BIT(OFFSET) | BIT(RIGHTS) | BIT(NAME)},
    [PERF_RECORD_LOST_SAMPLES] = {"lost_samples", NULL, BIT(LOST)},
    [PERF_RECORD_KSYMBOL] = {NULL, name_of_ksymbol, BIT(START) | BIT(END) | BIT(NAME)},
    [PERF_RECORD_BPF_EVENT] = {NULL, name_of_bpf, BIT(BPF_ID)},
    [PERF_RECORD_READ] = {"read", NULL, BIT(COUNTS)},
    [PERF_RECORD_AUX] = {"aux", NULL, BIT(OFFSET) | BIT(AUX_BYTES) | BIT(FLAGS)},
    [PERF_RECORD_ITRACE_START] = {"itrace_start", NULL, 0},
    [PERF_RECORD_SWITCH] = {NULL, name_of_switch, 0},
    [PERF_RECORD_SWITCH_CPU_WIDE] = {NULL, name_of_switch, BIT(OTHER_PID) | BIT(OTHER_TID)},
    [PERF_RECORD_NAMESPACES] = {"namespaces", NULL, BIT(NAMESPACES)},
    [PERF_RECORD_CGROUP] = {"cgroup", NULL, BIT(CGROUP_ID) | BIT(NAME)},
    [PERF_RECORD_TEXT_POKE] = {"text_poke", NULL, BIT(START) | BIT(END)},
    [PERF_ABI_RECORD_CALLCHAIN_DEFERRED] = {"callchain_deferred", NULL, BIT(COOKIE)},
};

static void other(const struct records_row *w, const struct common *common)
{
	struct common c = *common;
	const struct trace_record *r = w->r;
	char number[sizeof("record_") + DIGITS_ROOM] = "record_";
	bool is_known = r->kind < sizeof(kinds) / sizeof(kinds[0]) &&
			(kinds[r->kind].name || kinds[r->kind].name_of);
	uint64_t holds = is_known ? kinds[r->kind].columns : BIT(BYTES);

	*digits_dec(number + sizeof("record_") - 1, r->kind) = '\0';
	c.kind = trace_record_kind_name(r->kind);
	if (is_known)
		c.kind = kinds[r->kind].name ? kinds[r->kind].name : kinds[r->kind].name_of(r);
	if (!c.kind)
		c.kind = number;
	if (r->build_id_len && r->kind == PERF_RECORD_MMAP2)
		holds |= BIT(BUILD_ID);
	if (!r->name)
		holds &= ~BIT(NAME);
	begin_row(w, &c);
	end_row(w, &c, holds);
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

const struct records_form records_form_csv = {
    .begin = csv_begin, .record = record, .reading = reading, .function = records_csv_function};
const struct records_form records_form_ndjson = {
    .begin = json_begin, .record = record, .reading = reading, .function = records_json_function};
