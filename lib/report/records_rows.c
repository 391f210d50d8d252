/*
 * Records as rows, CSV and NDJSON: one table of columns, of which each record fills some. Text is
 * sanitised as in the text form; numbers are as recorded.
 */
#include "report/records_state.h"

#include "base/buf.h"
#include "base/digits.h"
#include "profile/fields.h"
#include "symbol/symbols.h"

#include <string.h>

enum column {
	TIME,
	MONOTONIC,
	ITERATION,
	CPU,
	PID,
	TID,
	COMM,
	KIND,
	EVENT,
	PERIOD,
	ADDRESS, /* in NDJSON the function and its object too */
	FUNCTION,
	OBJECT,
	STACK,
	BRANCHES,
	FIELDS,
	DATA_ADDRESS,
	PHYSICAL_ADDRESS,
	DATA_SOURCE,
	WEIGHT,
	STACK_BYTES,
	START,
	END,
	OFFSET,
	RIGHTS,
	BUILD_ID,
	NAME,
	PARENT_PID,
	PARENT_TID,
	LOST,
	BPF_ID,
	INSTANCE,
	RAW,
	BASE,
	ENABLED,
	RUNNING,
	BYTES,
	COUNTS,
	WEIGHT_2,
	WEIGHT_3,
	TRANSACTION,
	DATA_PAGE_BYTES,
	CODE_PAGE_BYTES,
	CGROUP_ID,
	AUX_BYTES,
	OTHER_PID,
	OTHER_TID,
	NAMESPACES,
	FLAGS,
	COOKIE,
	NR_COLUMNS
};

#define BIT(column) (UINT64_C(1) << (column))

struct row {
	const struct records_item *s;
	const struct trace_record *r;
	struct buf *out;
	bool is_json;
};

static void add_hex(const struct row *w, uint64_t v)
{
	buf_adds(w->out, w->is_json ? "\"0x" : "0x");
	buf_hex(w->out, v);
	buf_adds(w->out, w->is_json ? "\"" : "");
}

static void add_text(const struct row *w, const char *text)
{
	if (w->is_json)
		buf_json_string(w->out, text);
	else
		buf_csv_field(w->out, text);
}

/* Adds text that is not trusted. */
static void add_shown(const struct row *w, const void *text, size_t len)
{
	struct buf *scratch = &w->s->all->scratch;

	buf_reset(scratch);
	buf_shown(scratch, text, len);
	add_text(w, buf_str(scratch));
}

#define NUMBER(name, expression)                                                                   \
	static void name(const struct row *w)                                                      \
	{                                                                                          \
		buf_u64(w->out, expression);                                                       \
	}
#define HEX(name, expression)                                                                      \
	static void name(const struct row *w)                                                      \
	{                                                                                          \
		add_hex(w, expression);                                                            \
	}

NUMBER(period, w->r->period)
NUMBER(weight, w->r->weight)
NUMBER(stack_bytes, w->r->stack_len)
NUMBER(lost, w->r->lost)
NUMBER(bpf_id, w->r->object)
NUMBER(instance, w->s->item->reading.instance)
NUMBER(raw, w->s->item->reading.raw)
NUMBER(base, w->s->item->reading.base)
NUMBER(enabled, w->s->item->reading.enabled_ns)
NUMBER(running, w->s->item->reading.running_ns)
NUMBER(bytes, w->r->len)
NUMBER(weight_2, w->r->weight2)
NUMBER(weight_3, w->r->weight3)
NUMBER(data_page_bytes, w->r->data_page_bytes)
NUMBER(code_page_bytes, w->r->code_page_bytes)
NUMBER(aux_bytes, w->r->kind == PERF_RECORD_AUX ? w->r->length : w->r->aux_len)
NUMBER(cgroup_id, w->r->kind == PERF_RECORD_CGROUP ? w->r->object : w->r->cgroup)
HEX(transaction, w->r->transaction)
HEX(cookie, w->r->object)
HEX(data_address, w->r->addr)
HEX(physical_address, w->r->phys_addr)
HEX(data_source, w->r->data_src)
HEX(start, w->r->start)
HEX(end, w->r->start + w->r->length)
HEX(offset, w->r->offset)

/* Of a parent, or of the other task of a switch. */
static void add_task(const struct row *w, uint32_t id)
{
	if (id != TRACE_UNKNOWN)
		buf_u64(w->out, id);
	else
		buf_adds(w->out, w->is_json ? "null" : "");
}

static void other_pid(const struct row *w)
{
	add_task(w, w->r->ppid);
}

static void other_tid(const struct row *w)
{
	add_task(w, w->r->ptid);
}

static void name(const struct row *w)
{
	add_shown(w, w->r->name, strlen(w->r->name));
}

static void rights(const struct row *w)
{
	uint32_t prot = w->r->prot;
	const char text[] = {prot & 1 ? 'r' : '-', prot & 2 ? 'w' : '-', prot & 4 ? 'x' : '-',
			     w->r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? 's' : 'p', '\0'};

	add_text(w, text);
}

static void build_id(const struct row *w)
{
	buf_adds(w->out, w->is_json ? "\"" : "");
	buf_hex_bytes(w->out, w->r->build_id, w->r->build_id_len);
	buf_adds(w->out, w->is_json ? "\"" : "");
}

/* --- functions ------------------------------------------------------------------------------- */

/* Adds text within a quoted field. */
static void add_doubled(struct buf *b, const char *text)
{
	for (; *text; text++)
		buf_add(b, (char[]){*text, '"'}, *text == '"' ? 2 : 1);
}

/* Writes "main (make)" without its quotes; then the two as fields. */
static size_t csv_function(struct buf *b, const void *of)
{
	const struct symbol_function *f = of;
	size_t at;

	add_doubled(b, f->name);
	if (f->is_known) {
		buf_adds(b, " (");
		add_doubled(b, f->object);
		buf_addc(b, ')');
	}
	at = b->len;
	buf_csv_field(b, f->name);
	buf_addc(b, ',');
	buf_csv_field(b, f->object);
	return b->len - at;
}

/* Writes the fields after the address. */
static size_t json_function(struct buf *b, const void *of)
{
	const struct symbol_function *f = of;

	buf_adds(b, "\",\"function\":");
	buf_json_string(b, f->name);
	buf_adds(b, ",\"object\":");
	buf_json_string(b, f->object);
	return 0;
}

/* Writes lead, the address, its fields, and end (one byte). */
static void add_place(const struct row *w, const char *lead, size_t lead_len, uint64_t address,
		      const struct records_name *n, char end)
{
	char *start = buf_reserve(w->out, lead_len + DIGITS_ROOM + n->len + 2), *p = start;

	if (!start)
		return;
	memcpy(p, lead, lead_len);
	p = digits_hex(p + lead_len, address);
	if (!w->is_json)
		*p++ = ' ';
	memcpy(p, n->text, n->len);
	p += n->len;
	if (end)
		*p++ = end;
	buf_use(w->out, (size_t)(p - start));
}

#define LITERAL(text) text, sizeof(text) - 1

static void stack(const struct row *w)
{
	const struct report_stack *of = &w->s->all->stack;

	const char *lead = w->is_json ? ",{\"address\":\"0x" : "; 0x";
	size_t len = strlen(lead);

	buf_addc(w->out, w->is_json ? '[' : '"');
	for (size_t i = 0; i < of->nr; i++) {
		size_t skip = i ? 0 : w->is_json ? 1 : 2; /* the separator */

		add_place(w, lead + skip, len - skip, report_stack_recorded(of, i),
			  records_frame(w->s, i), w->is_json ? '}' : '\0');
	}
	buf_addc(w->out, w->is_json ? ']' : '"');
}

/* Writes the sampled place; in a guest only an address. */
static void address(const struct row *w)
{
	const struct report_stack *of = &w->s->all->stack;
	uint64_t pc = 0;

	if (of->nr && w->is_json) {
		const struct records_name *n = records_frame(w->s, 0);

		add_place(w, LITERAL("\"0x"), of->address[0], n, '\0');
	} else if (of->nr) {
		add_hex(w, of->address[0]);
	} else if (trace_record_pc(w->r, &pc)) {
		add_hex(w, pc);
	}
}

/* CSV, with the object. */
static void function(const struct row *w)
{
	const struct records_name *n = records_frame(w->s, 0);

	buf_add(w->out, n->text + n->len, n->more_len);
}

static void add_end(const struct row *w, const char *lead, uint64_t address)
{
	const struct records_name *n = records_name(w->s, address, address >> 63);

	buf_adds(w->out, lead);
	if (w->is_json)
		add_place(w, LITERAL("{\"address\":\"0x"), address, n, '}');
	else
		add_place(w, LITERAL("0x"), address, n, '\0');
}

static void add_branch(const struct row *w, const struct trace_branch *b)
{
	add_end(w, w->is_json ? "{\"from\":" : "", b->from);
	add_end(w, w->is_json ? ",\"to\":" : " -> ", b->to);
	if (!w->is_json)
		buf_adds(w->out, b->mispredicted ? ", mispredicted" : "");
	else if (b->mispredicted || b->predicted)
		buf_adds(w->out,
			 b->mispredicted ? ",\"mispredicted\":true" : ",\"mispredicted\":false");
	if (b->cycles) {
		buf_adds(w->out, w->is_json ? ",\"cycles\":" : ", cycles ");
		buf_u64(w->out, b->cycles);
	}
	buf_adds(w->out, w->is_json ? "}" : "");
}

static void branches(const struct row *w)
{
	struct trace_branch b;

	buf_addc(w->out, w->is_json ? '[' : '"');
	for (uint64_t i = 0; i < w->r->nr_branches; i++) {
		trace_record_branch(w->r, i, &b);
		buf_adds(w->out, i == 0 ? "" : w->is_json ? "," : "; ");
		add_branch(w, &b);
	}
	buf_addc(w->out, w->is_json ? ']' : '"');
}

/* --- texts of several parts ------------------------------------------------------------------ */

/* add: writes parts, each after a space. */
static void add_parts(const struct row *w, void (*add)(const struct records_item *, struct buf *))
{
	struct buf *scratch = &w->s->all->scratch;

	buf_reset(scratch);
	add(w->s, scratch);
	add_text(w, buf_str(scratch) + (scratch->len > 0));
}

static void namespaces(const struct row *w)
{
	add_parts(w, records_add_namespaces);
}

static void flags(const struct row *w)
{
	add_parts(w, records_add_aux_flags);
}

/* Of a tracepoint. */
static void fields(const struct row *w)
{
	const char *format = w->s->event->format, *separator = "{";
	struct profile_field f;
	struct profile_value v;

	if (!w->is_json) {
		add_parts(w, records_add_fields);
		return;
	}
	while (profile_field_next(&format, &f)) {
		if (!profile_field_value(&f, w->r->raw, w->r->raw_len, &v))
			continue;
		buf_adds(w->out, separator);
		add_shown(w, f.name, f.name_len);
		buf_addc(w->out, ':');
		buf_adds(w->out, v.kind == PROFILE_BYTES ? "\"" : "");
		if (v.kind == PROFILE_TEXT)
			add_shown(w, v.bytes, v.len);
		else
			records_add_value(&f, &v, w->out);
		buf_adds(w->out, v.kind == PROFILE_BYTES ? "\"" : "");
		separator = ",";
	}
	buf_adds(w->out, *separator == '{' ? "{}" : "}");
}

static void counts(const struct row *w)
{
	if (!w->is_json) {
		add_parts(w, records_add_counts);
		return;
	}
	buf_addc(w->out, '{');
	for (uint64_t i = 0; i < w->r->nr_read; i++) {
		buf_adds(w->out, i ? "," : "");
		add_text(w, records_member_name(w->s, i));
		buf_addc(w->out, ':');
		buf_u64(w->out, trace_word(w->r->read_values, i * w->r->read_stride));
	}
	buf_addc(w->out, '}');
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Columns up to EVENT are written together, by begin_row. */
static const struct {
	const char *name;
	void (*put)(const struct row *w);
} columns[NR_COLUMNS] = {
    [TIME] = {"time_ns", NULL},
    [MONOTONIC] = {"monotonic_ns", NULL},
    [ITERATION] = {"iteration", NULL},
    [CPU] = {"cpu", NULL},
    [PID] = {"pid", NULL},
    [TID] = {"tid", NULL},
    [COMM] = {"comm", NULL},
    [KIND] = {"kind", NULL},
    [EVENT] = {"event", NULL},
    [PERIOD] = {"period", period},
    [ADDRESS] = {"address", address},
    [FUNCTION] = {"function", function},
    [OBJECT] = {"object", NULL},
    [STACK] = {"stack", stack},
    [BRANCHES] = {"branches", branches},
    [FIELDS] = {"fields", fields},
    [DATA_ADDRESS] = {"data_address", data_address},
    [PHYSICAL_ADDRESS] = {"physical_address", physical_address},
    [DATA_SOURCE] = {"data_source", data_source},
    [WEIGHT] = {"weight", weight},
    [STACK_BYTES] = {"stack_bytes", stack_bytes},
    [START] = {"start", start},
    [END] = {"end", end},
    [OFFSET] = {"offset", offset},
    [RIGHTS] = {"rights", rights},
    [BUILD_ID] = {"build_id", build_id},
    [NAME] = {"name", name},
    [PARENT_PID] = {"parent_pid", other_pid},
    [PARENT_TID] = {"parent_tid", other_tid},
    [LOST] = {"lost", lost},
    [BPF_ID] = {"bpf_id", bpf_id},
    [INSTANCE] = {"instance", instance},
    [RAW] = {"raw", raw},
    [BASE] = {"base", base},
    [ENABLED] = {"enabled_ns", enabled},
    [RUNNING] = {"running_ns", running},
    [BYTES] = {"bytes", bytes},
    [COUNTS] = {"counts", counts},
    [WEIGHT_2] = {"weight_2", weight_2},
    [WEIGHT_3] = {"weight_3", weight_3},
    [TRANSACTION] = {"transaction", transaction},
    [DATA_PAGE_BYTES] = {"data_page_bytes", data_page_bytes},
    [CODE_PAGE_BYTES] = {"code_page_bytes", code_page_bytes},
    [CGROUP_ID] = {"cgroup_id", cgroup_id},
    [AUX_BYTES] = {"aux_bytes", aux_bytes},
    [OTHER_PID] = {"other_pid", other_pid},
    [OTHER_TID] = {"other_tid", other_tid},
    [NAMESPACES] = {"namespaces", namespaces},
    [FLAGS] = {"flags", flags},
    [COOKIE] = {"cookie", cookie},
};

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
	bool has_iteration, has_cpu, has_task, has_event;
	uint32_t cpu;
	const char *kind; /* needs no quotes */
};

/* NAME is used in JSON only. */
static char *put_name(const struct row *w, char *p, const char *name, size_t len)
{
	return w->is_json ? records_put(p, name, len) : records_put(p, ",", 1);
}

static char *put_u64(const struct row *w, char *p, const char *name, size_t len, bool holds,
		     uint64_t v)
{
	p = put_name(w, p, name, len);
	if (holds)
		return digits_dec(p, v);
	return w->is_json ? records_put(p, "null", 4) : p;
}

/* A CPU, pid or tid. */
static char *put_known(const struct row *w, char *p, const char *name, size_t len, uint32_t v)
{
	return put_u64(w, p, name, len, v != TRACE_UNKNOWN, v);
}

/* Since the session's start; negative for surveyed records, which precede it. */
static char *put_time(const struct row *w, char *p)
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

static void begin_row(const struct row *w, const struct common *c)
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
static void end_row(const struct row *w, uint64_t holds)
{
	size_t next = EVENT + 1;

	for (; holds; holds &= holds - 1) {
		size_t column = (size_t)__builtin_ctzll(holds);

		if (w->is_json) {
			buf_adds(w->out, ",\"");
			buf_adds(w->out, columns[column].name);
			buf_adds(w->out, "\":");
		} else {
			buf_add(w->out, commas, column + 1 - next);
		}
		columns[column].put(w);
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

static uint64_t columns_of_sample(const struct row *w)
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

static void sample(const struct row *w, const struct common *c)
{
	records_make_stack(w->s);
	begin_row(w, c);
	records_fetch_names(w->s);
	end_row(w, columns_of_sample(w));
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

static void other(const struct row *w, const struct common *common)
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
	end_row(w, holds);
}

static struct row row_of(const struct records_item *s)
{
	return (struct row){s, s->r, s->all->out, s->all->form == &records_form_ndjson};
}

static void record(const struct records_item *s)
{
	const struct row w = row_of(s);
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
	const struct row w = row_of(s);
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
	end_row(&w, holds);
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
		buf_adds(all->out, columns[i].name);
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
    .begin = csv_begin, .record = record, .reading = reading, .function = csv_function};
const struct records_form records_form_ndjson = {
    .begin = json_begin, .record = record, .reading = reading, .function = json_function};
