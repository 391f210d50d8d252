/*
 * Records as text: a table has a row per kind. Text in records is not trusted and is sanitised.
 */
#include "report/records_state.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/digits.h"
#include "profile/fields.h"
#include "symbol/symbols.h"

#include <string.h>

enum {
	COMM_WIDTH = 15, /* a task's name in the kernel */
	TASK_WIDTH = 15,
	TIME_WIDTH = 6, /* seconds */
	NS = 1000000000,
};

/* Spaces up to a width, one at least. */
static char *pad(char *p, const char *start, size_t width)
{
	do
		*p++ = ' ';
	while ((size_t)(p - start) < width);
	return p;
}

/* "7f0200401234 main (make)" */
static void put_named(const struct records_item *s, uint64_t address, const struct records_name *n)
{
	char *start = buf_reserve(s->all->out, DIGITS_ROOM + 1 + n->len), *p;

	if (!start)
		return;
	p = digits_hex(start, address);
	*p++ = ' ';
	p = records_put(p, n->text, n->len);
	buf_use(s->all->out, (size_t)(p - start));
}

static void put_function(const struct records_item *s, uint64_t address, bool is_kernel)
{
	put_named(s, address, records_name(s, address, is_kernel));
}

/* Seconds since the session's start; negative for surveyed records, which precede it. */
static char *put_time(char *p, const struct records_state *l, uint64_t time_ns)
{
	bool is_before = time_ns < l->start_ns;
	uint64_t ns = is_before ? l->start_ns - time_ns : time_ns - l->start_ns;
	char digits[1 + DIGITS_ROOM] = "-", *end = digits_dec(digits + is_before, ns / NS);

	for (size_t len = (size_t)(end - digits); len < TIME_WIDTH; len++)
		*p++ = ' ';
	p = records_put(p, digits, (size_t)(end - digits));
	*p++ = '.';
	return digits_dec_fixed(p, ns % NS / 1000, 6);
}

/* A CPU, pid or tid. */
static char *put_known(char *p, uint32_t number)
{
	return number == TRACE_UNKNOWN ? records_put(p, "-", 1) : digits_dec(p, number);
}

static char *put_cpu(char *p, uint32_t cpu)
{
	char *start = p;

	return pad(put_known(records_put(p, "  CPU ", 6), cpu), start, 11);
}

/* "7/8" */
static char *put_ids(char *p, uint32_t pid, uint32_t tid)
{
	p = put_known(p, pid);
	*p++ = '/';
	return put_known(p, tid);
}

/* Adds the ids of another task. */
static void add_task(struct buf *out, const char *before, uint32_t pid, uint32_t tid)
{
	char ids[2 * DIGITS_ROOM];

	buf_adds(out, before);
	buf_add(out, ids, (size_t)(put_ids(ids, pid, tid) - ids));
}

/* Writes the start of all lines. */
static void put_start(const struct records_item *s, uint32_t pid, uint32_t tid)
{
	const char *comm = s->task.comm->name;
	size_t len = strlen(comm);
	char *start = buf_reserve(s->all->out, 6 * DIGITS_ROOM + len + COMM_WIDTH + TASK_WIDTH), *p;
	char *from;

	if (!start)
		return;
	p = put_time(start, s->all, s->item->time_ns);
	p = put_cpu(p, s->item->cpu);
	from = p;
	p = pad(records_put(p, comm, len), from, COMM_WIDTH + 1);
	from = p;
	p = pad(put_ids(p, pid, tid), from, TASK_WIDTH + 1);
	buf_use(s->all->out, (size_t)(p - start));
}

static void put_number(struct buf *out, const char *before, uint64_t v)
{
	buf_adds(out, before);
	buf_u64(out, v);
}

static void put_0x(struct buf *out, const char *before, uint64_t v)
{
	buf_adds(out, before);
	buf_adds(out, "0x");
	buf_hex(out, v);
}

static void put_event(const struct records_item *s)
{
	buf_adds(s->all->out, s->event ? s->event->label : "unknown event");
}

/* name: NULL if the record's layout is missing, and so all its fields. */
static void put_text(const struct records_item *s, const char *name)
{
	if (!name)
		return;
	buf_addc(s->all->out, ' ');
	buf_shown(s->all->out, name, strlen(name));
}

/* Writes the sampled place; in a guest only an address. */
static void put_place(const struct records_item *s)
{
	uint64_t pc;

	if (s->all->stack.nr) {
		buf_adds(s->all->out, "  ");
		put_named(s, report_stack_recorded(&s->all->stack, 0), records_frame(s, 0));
	} else if (trace_record_pc(s->r, &pc)) {
		buf_adds(s->all->out, "  ");
		buf_hex(s->all->out, pc);
		buf_adds(s->all->out, " [outside]");
	}
}

/* Writes a line for each caller. */
static void put_callers(const struct records_item *s)
{
	for (size_t i = 1; i < s->all->stack.nr; i++) {
		buf_adds(s->all->out, "                 ");
		put_named(s, report_stack_recorded(&s->all->stack, i), records_frame(s, i));
		buf_addc(s->all->out, '\n');
	}
}

static void put_branches(const struct records_item *s)
{
	struct trace_branch b;

	for (uint64_t i = 0; i < s->r->nr_branches; i++) {
		trace_record_branch(s->r, i, &b);
		buf_adds(s->all->out, "          branch ");
		put_function(s, b.from, b.from >> 63);
		buf_adds(s->all->out, " -> ");
		put_function(s, b.to, b.to >> 63);
		buf_adds(s->all->out, b.mispredicted ? ", mispredicted" : "");
		if (b.cycles)
			put_number(s->all->out, ", cycles ", b.cycles);
		buf_addc(s->all->out, '\n');
	}
}

static void unknown(const struct records_item *s)
{
	const char *name = trace_record_kind_name(s->r->kind);

	put_number(s->all->out, "record of kind ", s->r->kind);
	if (name) {
		buf_adds(s->all->out, " (");
		buf_adds(s->all->out, name);
		buf_adds(s->all->out, ")");
	}
	put_number(s->all->out, ", bytes ", s->r->len);
}

static const struct {
	uint32_t has;
	const char *text;
	size_t at;
} values[] = {
    {TRACE_HAS_WEIGHT, " weight ", offsetof(struct trace_record, weight)},
    {TRACE_HAS_WEIGHT_PARTS, " weight 2 ", offsetof(struct trace_record, weight2)},
    {TRACE_HAS_WEIGHT_PARTS, " weight 3 ", offsetof(struct trace_record, weight3)},
    {TRACE_HAS_TRANSACTION, " transaction ", offsetof(struct trace_record, transaction)},
    {TRACE_HAS_CGROUP, " cgroup ", offsetof(struct trace_record, cgroup)},
    {TRACE_HAS_DATA_PAGE, " data page bytes ", offsetof(struct trace_record, data_page_bytes)},
    {TRACE_HAS_CODE_PAGE, " code page bytes ", offsetof(struct trace_record, code_page_bytes)},
    {TRACE_HAS_AUX, " aux bytes ", offsetof(struct trace_record, aux_len)},
    {TRACE_HAS_USER_STACK, " stack bytes ", offsetof(struct trace_record, stack_len)},
};

static void sample(const struct records_item *s)
{
	records_make_stack(s);
	put_event(s);
	if (s->r->period)
		put_number(s->all->out, " period ", s->r->period);
	if (s->r->has & TRACE_HAS_RAW)
		records_add_fields(s, s->all->out);
	if (s->r->has & TRACE_HAS_ADDR)
		put_0x(s->all->out, " data ", s->r->addr);
	for (size_t i = 0; i < ARRAY_NR(values); i++)
		if (s->r->has & values[i].has)
			put_number(
			    s->all->out, values[i].text,
			    *(const uint64_t *)(const void *)((const char *)s->r + values[i].at));
	if (s->r->has & TRACE_HAS_READ) {
		buf_adds(s->all->out, " counts");
		records_add_counts(s, s->all->out);
	}
	records_fetch_names(s);
	put_place(s);
	buf_addc(s->all->out, '\n');
	put_callers(s);
	put_branches(s);
}

static void lost(const struct records_item *s)
{
	buf_u64(s->all->out, s->r->lost);
	buf_adds(s->all->out, s->r->kind == PERF_RECORD_LOST ? " records" : " samples");
}

static void comm(const struct records_item *s)
{
	buf_adds(s->all->out, s->r->misc & PERF_RECORD_MISC_COMM_EXEC ? "exec" : "name");
	put_text(s, s->r->name);
}

static void fork_of(const struct records_item *s)
{
	add_task(s->all->out, s->r->pid == s->r->ppid ? "thread of " : "fork of ", s->r->ppid,
		 s->r->ptid);
}

static void put_range(const struct records_item *s)
{
	put_0x(s->all->out, "", s->r->start);
	put_0x(s->all->out, "-", s->r->start + s->r->length);
}

static void mapping(const struct records_item *s)
{
	uint32_t prot = s->r->prot;
	const char rights[] = {' ', prot & 1 ? 'r' : '-', prot & 2 ? 'w' : '-',
			       prot & 4 ? 'x' : '-',
			       s->r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? 's' : 'p'};

	put_range(s);
	put_0x(s->all->out, " offset ", s->r->offset);
	if (s->r->kind == PERF_RECORD_MMAP2)
		buf_add(s->all->out, rights, sizeof(rights));
	if (s->r->build_id_len) {
		buf_adds(s->all->out, " build-id ");
		buf_hex_bytes(s->all->out, s->r->build_id, s->r->build_id_len);
	}
	put_text(s, s->r->name);
}

static void ksymbol(const struct records_item *s)
{
	buf_adds(s->all->out, s->r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? "gone " : "");
	put_range(s);
	put_text(s, s->r->name);
}

static void bpf(const struct records_item *s)
{
	buf_u64(s->all->out, s->r->object);
	buf_adds(s->all->out, s->r->type == PERF_BPF_EVENT_PROG_LOAD     ? " loaded"
			      : s->r->type == PERF_BPF_EVENT_PROG_UNLOAD ? " unloaded"
									 : "");
}

static void counts(const struct records_item *s)
{
	records_add_counts(s, s->all->out);
}

static void aux(const struct records_item *s)
{
	put_0x(s->all->out, "", s->r->offset);
	put_number(s->all->out, " bytes ", s->r->length);
	records_add_aux_flags(s, s->all->out);
}

static void task_switch(const struct records_item *s)
{
	bool is_out = s->r->misc & PERF_RECORD_MISC_SWITCH_OUT;

	buf_adds(s->all->out, is_out ? "out" : "in");
	if (is_out && s->r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
		buf_adds(s->all->out, " preempted");
	if (s->r->kind != PERF_RECORD_SWITCH_CPU_WIDE)
		return;
	add_task(s->all->out, is_out ? " to " : " from ", s->r->ppid, s->r->ptid);
}

static void namespaces(const struct records_item *s)
{
	records_add_namespaces(s, s->all->out);
}

static void cgroup(const struct records_item *s)
{
	buf_u64(s->all->out, s->r->object);
	put_text(s, s->r->name);
}

static void deferred(const struct records_item *s)
{
	put_0x(s->all->out, "", s->r->object);
}

/* The line of a record after its start: a text, then what put adds. */
static const struct {
	const char *text;
	void (*put)(const struct records_item *s); /* NULL: nothing */
} kinds[] = {
    [PERF_RECORD_MMAP] = {"mmap ", mapping},
    [PERF_RECORD_LOST] = {"lost ", lost},
    [PERF_RECORD_COMM] = {"", comm},
    [PERF_RECORD_EXIT] = {"exit", NULL},
    [PERF_RECORD_THROTTLE] = {"throttle ", put_event},
    [PERF_RECORD_UNTHROTTLE] = {"unthrottle ", put_event},
    [PERF_RECORD_FORK] = {"", fork_of},
    [PERF_RECORD_LOST_SAMPLES] = {"lost ", lost},
    [PERF_RECORD_MMAP2] = {"mmap ", mapping},
    [PERF_RECORD_KSYMBOL] = {"kernel symbol ", ksymbol},
    [PERF_RECORD_BPF_EVENT] = {"BPF program ", bpf},
    [PERF_RECORD_READ] = {"counts", counts},
    [PERF_RECORD_AUX] = {"aux offset ", aux},
    [PERF_RECORD_ITRACE_START] = {"instruction trace begins", NULL},
    [PERF_RECORD_SWITCH] = {"switch ", task_switch},
    [PERF_RECORD_SWITCH_CPU_WIDE] = {"switch ", task_switch},
    [PERF_RECORD_NAMESPACES] = {"namespaces", namespaces},
    [PERF_RECORD_CGROUP] = {"cgroup ", cgroup},
    [PERF_RECORD_TEXT_POKE] = {"kernel code changed ", put_range},
    [PERF_ABI_RECORD_CALLCHAIN_DEFERRED] = {"deferred callchain, cookie ", deferred},
};

static void record(const struct records_item *s)
{
	put_start(s, s->r->pid, s->r->tid);
	if (s->r->kind == PERF_RECORD_SAMPLE && s->event) {
		sample(s);
		return;
	}
	if (s->r->kind < ARRAY_NR(kinds) && kinds[s->r->kind].text) {
		buf_adds(s->all->out, kinds[s->r->kind].text);
		if (kinds[s->r->kind].put)
			kinds[s->r->kind].put(s);
	} else {
		unknown(s);
	}
	buf_addc(s->all->out, '\n');
}

/* A reading between two boundaries; it has no task. */
static void reading(const struct records_item *s)
{
	const struct reading *r = &s->item->reading;
	bool is_of_cpu = s->trace && s->event && s->event->scope == EVENT_SCOPE_CPU;
	uint32_t cpu = is_of_cpu ? s->trace->head.cpu : TRACE_UNKNOWN;
	char start[4 * DIGITS_ROOM], *p = put_time(start, s->all, s->item->time_ns);

	p = pad(put_cpu(p, cpu), start, 24 + COMM_WIDTH + TASK_WIDTH + 2);
	buf_add(s->all->out, start, (size_t)(p - start));
	put_event(s);
	if (r->instance)
		put_number(s->all->out, " instance ", r->instance);
	put_number(s->all->out, " reads ", r->raw);
	buf_addc(s->all->out, '\n');
}

static size_t function(struct buf *b, const void *of)
{
	const struct symbol_function *f = of;

	buf_adds(b, f->name);
	if (!f->is_known)
		return 0;
	buf_adds(b, " (");
	buf_adds(b, f->object);
	buf_addc(b, ')');
	return 0;
}

const struct records_form records_form_text = {
    .record = record, .reading = reading, .function = function};
