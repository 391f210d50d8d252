/*
 * How each column of a record is written, in CSV and NDJSON.
 */
#include "report/records_columns.h"

#include "base/digits.h"
#include "profile/fields.h"
#include "report/states.h"
#include "symbol/symbols.h"

#include <string.h>

static void add_quote(const struct records_row *w)
{
	if (w->is_json)
		buf_addc(w->out, '"');
}

static void add_hex(const struct records_row *w, uint64_t v)
{
	add_quote(w);
	buf_adds(w->out, "0x");
	buf_hex(w->out, v);
	add_quote(w);
}

static void add_text(const struct records_row *w, const char *text)
{
	if (w->is_json)
		buf_json_string(w->out, text);
	else
		buf_csv_field(w->out, text);
}

/* Adds text that is not trusted. */
static void add_shown(const struct records_row *w, const void *text, size_t len)
{
	struct buf *scratch = &w->s->all->scratch;

	buf_reset(scratch);
	buf_shown(scratch, text, len);
	add_text(w, buf_str(scratch));
}

/* By what the record is. */
static void put_by_kind(const struct records_row *w, uint32_t kind, const char *of_kind,
			const char *of_others)
{
	records_put_line(&w->s->line, w->r->kind == kind ? of_kind : of_others);
}

static void cgroup_id(const struct records_row *w)
{
	put_by_kind(w, PERF_RECORD_CGROUP, "%O", "%g");
}

static void aux_bytes(const struct records_row *w)
{
	put_by_kind(w, PERF_RECORD_AUX, "%l", "%X");
}

static void thread(const struct records_row *w)
{
	buf_u64(w->out, w->s->task.thread);
}

static void name(const struct records_row *w)
{
	add_shown(w, w->r->name, strlen(w->r->name));
}

static void rights(const struct records_row *w)
{
	char text[5];

	records_rights(w->r, text);
	add_text(w, text);
}

/* --- functions ------------------------------------------------------------------------------- */

/* Adds text within a quoted field. */
static void add_doubled(struct buf *b, const char *text)
{
	for (; *text; text++)
		buf_add(b, (char[]){*text, '"'}, *text == '"' ? 2 : 1);
}

/* Writes "main (make)" without its quotes; then the two as fields. */
size_t records_csv_function(struct buf *b, const void *of)
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
size_t records_json_function(struct buf *b, const void *of)
{
	const struct symbol_function *f = of;

	buf_adds(b, "\",\"function\":");
	buf_json_string(b, f->name);
	buf_adds(b, ",\"object\":");
	buf_json_string(b, f->object);
	return 0;
}

/* Writes lead, the address, its fields, and end (one byte). */
static void add_place(const struct records_row *w, const char *lead, size_t lead_len,
		      uint64_t address, const struct records_name *n, char end)
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

static void stack(const struct records_row *w)
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
static void address(const struct records_row *w)
{
	const struct report_stack *of = &w->s->all->stack;
	uint64_t pc = 0;

	if (of->nr && w->is_json) {
		add_place(w, LITERAL("\"0x"), of->address[0], records_frame(w->s, 0), '\0');
	} else if (of->nr) {
		add_hex(w, of->address[0]);
	} else if (trace_record_pc(w->r, &pc)) {
		add_hex(w, pc);
	}
}

/* CSV, with the object. */
static void function(const struct records_row *w)
{
	const struct records_name *n;

	if (records_is_rest(w->s)) {
		buf_adds(w->out, w->is_json ? "\"" REPORT_NOT_SAMPLED "\",\"object\":\"\""
					    : REPORT_NOT_SAMPLED ",");
		return;
	}
	n = records_frame(w->s, 0);
	buf_add(w->out, n->text + n->len, n->more_len);
}

static void add_end(const struct records_row *w, const char *lead, uint64_t address)
{
	const struct records_name *n = records_name(w->s, address, address >> 63);

	buf_adds(w->out, lead);
	if (w->is_json)
		add_place(w, LITERAL("{\"address\":\"0x"), address, n, '}');
	else
		add_place(w, LITERAL("0x"), address, n, '\0');
}

static void add_branch(const struct records_row *w, const struct trace_branch *b)
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

static void branches(const struct records_row *w)
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
static void add_parts(const struct records_row *w,
		      void (*add)(const struct records_item *, struct buf *))
{
	struct buf *scratch = &w->s->all->scratch;

	buf_reset(scratch);
	add(w->s, scratch);
	add_text(w, buf_str(scratch) + (scratch->len > 0));
}

static void namespaces(const struct records_row *w)
{
	add_parts(w, records_add_namespaces);
}

static void flags(const struct records_row *w)
{
	add_parts(w, records_add_aux_flags);
}

/* Of a tracepoint. */
static void fields(const struct records_row *w)
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

static void counts(const struct records_row *w)
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

/* Columns up to EVENT are written together, by begin_row. */
const struct records_column_def records_columns[NR_COLUMNS] = {
    [TIME] = {"time_ns"},
    [MONOTONIC] = {"monotonic_ns"},
    [ITERATION] = {"iteration"},
    [CPU] = {"cpu"},
    [PID] = {"pid"},
    [TID] = {"tid"},
    [COMM] = {"comm"},
    [KIND] = {"kind"},
    [EVENT] = {"event"},
    [PERIOD] = {"period", .number = "%D"},
    [ADDRESS] = {"address", .put = address},
    [FUNCTION] = {"function", .put = function},
    [OBJECT] = {"object"},
    [STACK] = {"stack", .put = stack},
    [BRANCHES] = {"branches", .put = branches},
    [FIELDS] = {"fields", .put = fields},
    [DATA_ADDRESS] = {"data_address", .quoted = "%#a"},
    [PHYSICAL_ADDRESS] = {"physical_address", .quoted = "%#A"},
    [DATA_SOURCE] = {"data_source", .quoted = "%#d"},
    [WEIGHT] = {"weight", .number = "%w"},
    [STACK_BYTES] = {"stack_bytes", .number = "%S"},
    [START] = {"start", .quoted = "%#s"},
    [END] = {"end", .quoted = "%e"},
    [OFFSET] = {"offset", .quoted = "%#o"},
    [RIGHTS] = {"rights", .put = rights},
    [BUILD_ID] = {"build_id", .quoted = "%b"},
    [NAME] = {"name", .put = name},
    [PARENT_PID] = {"parent_pid", .number = "%P"},
    [PARENT_TID] = {"parent_tid", .number = "%T"},
    [LOST] = {"lost", .number = "%L"},
    [BPF_ID] = {"bpf_id", .number = "%O"},
    [INSTANCE] = {"instance", .number = "%I"},
    [RAW] = {"raw", .number = "%r"},
    [BASE] = {"base", .number = "%R"},
    [ENABLED] = {"enabled_ns", .number = "%z"},
    [RUNNING] = {"running_ns", .number = "%Z"},
    [BYTES] = {"bytes", .number = "%B"},
    [COUNTS] = {"counts", .put = counts},
    [WEIGHT_2] = {"weight_2", .number = "%v"},
    [WEIGHT_3] = {"weight_3", .number = "%u"},
    [TRANSACTION] = {"transaction", .quoted = "%#x"},
    [DATA_PAGE_BYTES] = {"data_page_bytes", .number = "%q"},
    [CODE_PAGE_BYTES] = {"code_page_bytes", .number = "%Q"},
    [CGROUP_ID] = {"cgroup_id", .put = cgroup_id},
    [AUX_BYTES] = {"aux_bytes", .put = aux_bytes},
    [OTHER_PID] = {"other_pid", .number = "%P"},
    [OTHER_TID] = {"other_tid", .number = "%T"},
    [NAMESPACES] = {"namespaces", .put = namespaces},
    [FLAGS] = {"flags", .put = flags},
    [COOKIE] = {"cookie", .quoted = "%#O"},
    [THREAD] = {"thread", .put = thread},
};

void records_put_column(const struct records_row *w, enum records_column column)
{
	const struct records_column_def *c = &records_columns[column];

	if (c->put) {
		c->put(w);
	} else if (c->number) {
		records_put_line(&w->s->line, c->number);
	} else {
		add_quote(w);
		records_put_line(&w->s->line, c->quoted);
		add_quote(w);
	}
}
