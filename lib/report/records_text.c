/*
 * Records as text. Text in records is not trusted and is sanitised.
 */
#include "report/records_state.h"

#include "base/buf.h"
#include "base/digits.h"
#include "profile/fields.h"
#include "report/states.h"
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

static void put_event(const struct records_item *s)
{
	buf_adds(s->all->out, s->event ? s->event->label : "unknown event");
}

/* Writes the sampled place; in a guest only an address. */
static void put_place(const struct records_item *s)
{
	uint64_t pc;

	if (records_is_rest(s)) {
		buf_adds(s->all->out, "  " REPORT_NOT_SAMPLED);
	} else if (s->all->stack.nr) {
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
			buf_printf(s->all->out, ", cycles %u", b.cycles);
		buf_addc(s->all->out, '\n');
	}
}

static void put_parts(const struct records_item *s)
{
	for (size_t i = 0; i < RECORDS_NR_PARTS; i++)
		if (s->r->has & records_parts[i].has && records_parts[i].text)
			records_put_line(&s->line, records_parts[i].text);
}

static void sample(const struct records_item *s)
{
	records_make_stack(s);
	put_event(s);
	if (s->r->period)
		records_put_line(&s->line, " period %D");
	put_parts(s);
	records_fetch_names(s);
	put_place(s);
	buf_addc(s->all->out, '\n');
	put_callers(s);
	put_branches(s);
}

static void own(const struct records_line *l, char letter)
{
	const struct records_item *s = l->arg;

	switch (letter) {
	case 'E':
		put_event(s);
		break;
	case 'c':
		records_add_counts(s, l->out);
		break;
	case 'F':
		records_add_aux_flags(s, l->out);
		break;
	case 'N':
		records_add_namespaces(s, l->out);
		break;
	case 'W':
		records_add_fields(s, l->out);
		break;
	default: /* no row has another */
		break;
	}
}

static void record(const struct records_item *s)
{
	put_start(s, s->r->pid, s->r->tid);
	if (s->r->kind == PERF_RECORD_SAMPLE && s->event) {
		sample(s);
		return;
	}
	records_put_line(&s->line, records_kind_of(s->r)->text);
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
		records_put_line(&s->line, " instance %I");
	records_put_line(&s->line, " reads %r");
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
    .unknown = "-", .own = own, .record = record, .reading = reading, .function = function};
