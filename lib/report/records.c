/*
 * Records to lines. What each kind says is a row of a table. Names of addresses are kept in a small
 * table, because the same few are asked for again and again. Text in records is another's: it is
 * disarmed. Must not know where names come from.
 */
#include "report/records.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/digits.h"
#include "base/mem.h"
#include "profile/fields.h"
#include "profile/samples.h"
#include "report/stack.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <string.h>

enum {
	NR_SHELVES = 1 << 16, /* a power of two */
	LINE_BYTES = 64,
	FLUSH_BYTES = 256 << 10,
	MAX_TEXT_BYTES = 128 << 20,
	COMM_WIDTH = 15, /* of a name as the kernel has it */
	TASK_WIDTH = 15,
	TIME_WIDTH = 6, /* of its seconds */
	NS = 1000000000,
};

#define NR(table) (sizeof(table) / sizeof((table)[0]))

/* What an address is called. Of one process, by its number, or of the kernel; in one epoch. */
struct name {
	uint64_t address;
	uint32_t process, epoch;
	const char *text; /* NULL: the row is free */
	uint32_t len;
};

/* Two that share a line of the CPU's cache: the one asked for last is first. */
struct shelf {
	struct name name[2];
};

/* "main (make)" of a function, by its number; len 0: not made yet. */
struct text {
	const char *text;
	uint32_t len;
};

struct lines {
	const struct report_records_config *config;
	struct buf *out;
	uint64_t start_ns, nr_shown;
	struct shelf *shelves; /* NR_SHELVES, in memory */
	void *memory;          /* owned */
	struct text *texts;    /* owned; nr_texts */
	size_t nr_texts;
	struct arena arena; /* of texts */
	int error;          /* -ENOMEM: sticks */
	uint32_t kernel_epoch;
	struct profile_sample sample; /* at hand */
	struct report_stack stack;
};

/* The record at hand. */
struct shown {
	struct lines *l;
	const struct profile_item *item;
	const struct profile_trace *trace; /* NULL: of the common file */
	const struct trace_record *r;
	const struct trace_event *event; /* NULL: not known */
	struct profile_task task;
	uint32_t epoch; /* of a sample's process */
};

static const struct symbol_function *ask(const struct shown *s, uint64_t address, bool is_kernel)
{
	const struct report_names *names = s->l->config->names;

	if (is_kernel)
		return names->kernel(names->arg, address, s->item->time_ns);
	return names->user(names->arg, s->task.process, address, s->item->time_ns);
}

static uint32_t process_at(const struct shown *s, bool is_kernel)
{
	return is_kernel ? UINT32_MAX : s->task.process->number;
}

static struct shelf *shelf_of(const struct shown *s, uint64_t address, bool is_kernel)
{
	uint64_t key = address ^ (uint64_t)process_at(s, is_kernel) << 40;

	return &s->l->shelves[key * 0x9e3779b97f4a7c15 >> 40 & (NR_SHELVES - 1)];
}

/* Too much of it: all is asked again. */
static void forget_texts(struct lines *l)
{
	memset(l->shelves, 0, NR_SHELVES * sizeof(*l->shelves));
	memset(l->texts, 0, l->nr_texts * sizeof(*l->texts));
	arena_fini(&l->arena);
	arena_init(&l->arena, MAX_TEXT_BYTES);
}

static char *make_text(struct lines *l, const struct symbol_function *f)
{
	return f->is_known ? arena_printf(&l->arena, "%s (%s)", f->name, f->object)
			   : arena_strdup(&l->arena, f->name);
}

/* Room for the function's text. */
static bool grow_texts(struct lines *l, uint32_t number)
{
	size_t nr = 2 * (size_t)number + 64;
	struct text *texts;

	if (number < l->nr_texts)
		return true;
	texts = mem_resize(l->texts, nr * sizeof(*texts));
	if (!texts)
		return false;
	memset(texts + l->nr_texts, 0, (nr - l->nr_texts) * sizeof(*texts));
	l->texts = texts;
	l->nr_texts = nr;
	return true;
}

static struct text text_of(struct lines *l, const struct symbol_function *f)
{
	const struct text none = {"", 0};
	char *text;

	if (!grow_texts(l, f->number)) {
		l->error = -ENOMEM;
		return none;
	}
	if (l->texts[f->number].text)
		return l->texts[f->number];
	text = make_text(l, f);
	if (!text) {
		forget_texts(l);
		text = make_text(l, f);
	}
	if (!text) {
		l->error = -ENOMEM;
		return none;
	}
	l->texts[f->number] = (struct text){text, (uint32_t)strlen(text)};
	return l->texts[f->number];
}

static bool is_name(const struct name *n, const struct name *asked)
{
	return n->text && n->address == asked->address && n->process == asked->process &&
	       n->epoch == asked->epoch;
}

static const struct name *name_of(const struct shown *s, uint64_t address, bool is_kernel)
{
	struct shelf *shelf = shelf_of(s, address, is_kernel);
	struct name asked = {.address = address,
			     .process = process_at(s, is_kernel),
			     .epoch = is_kernel ? s->l->kernel_epoch : s->epoch};
	struct text t;

	if (is_name(&shelf->name[0], &asked))
		return &shelf->name[0];
	if (is_name(&shelf->name[1], &asked)) {
		asked = shelf->name[1];
	} else {
		t = text_of(s->l, ask(s, address, is_kernel));
		asked.text = t.text;
		asked.len = t.len;
	}
	shelf->name[1] = shelf->name[0];
	shelf->name[0] = asked;
	return &shelf->name[0];
}

static char *put(char *p, const char *text, size_t len)
{
	memcpy(p, text, len);
	return p + len;
}

/* Spaces up to a width, one at least. */
static char *pad(char *p, const char *start, size_t width)
{
	do
		*p++ = ' ';
	while ((size_t)(p - start) < width);
	return p;
}

/* "7f0200401234 main (make)" */
static void put_function(const struct shown *s, uint64_t address, bool is_kernel)
{
	const struct name *n = name_of(s, address, is_kernel);
	char *start = buf_reserve(s->l->out, DIGITS_ROOM + 1 + n->len), *p;

	if (!start)
		return;
	p = digits_hex(start, address);
	*p++ = ' ';
	p = put(p, n->text, n->len);
	buf_use(s->l->out, (size_t)(p - start));
}

/* Text up to a width from the right. */
static char *put_right(char *p, const char *text, size_t len, size_t width)
{
	for (; width > len; width--)
		*p++ = ' ';
	return put(p, text, len);
}

/* Seconds since the start of the session; what was there before is of a time before it. */
static char *put_time(char *p, const struct lines *l, uint64_t time_ns)
{
	bool is_before = time_ns < l->start_ns;
	uint64_t ns = is_before ? l->start_ns - time_ns : time_ns - l->start_ns;
	char digits[1 + DIGITS_ROOM] = "-", *end = digits_dec(digits + is_before, ns / NS);

	p = put_right(p, digits, (size_t)(end - digits), TIME_WIDTH);
	*p++ = '.';
	return digits_dec_fixed(p, ns % NS / 1000, 6);
}

static char *put_cpu(char *p, uint32_t cpu)
{
	char *start = p;

	p = put(p, "  CPU ", 6);
	p = cpu == UINT32_MAX ? put(p, "-", 1) : digits_dec(p, cpu);
	return pad(p, start, 11);
}

/* What all lines begin with. */
static void put_start(const struct shown *s, uint32_t pid, uint32_t tid)
{
	const char *comm = s->task.comm->name;
	size_t len = strlen(comm);
	char *start = buf_reserve(s->l->out, 6 * DIGITS_ROOM + len + COMM_WIDTH + TASK_WIDTH), *p;
	char *from;

	if (!start)
		return;
	p = put_time(start, s->l, s->item->time_ns);
	p = put_cpu(p, s->item->cpu);
	from = p;
	p = pad(put(p, comm, len), from, COMM_WIDTH + 1);
	from = p;
	p = digits_dec(p, pid);
	*p++ = '/';
	p = pad(digits_dec(p, tid), from, TASK_WIDTH + 1);
	buf_use(s->l->out, (size_t)(p - start));
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

static void put_event(const struct shown *s)
{
	buf_adds(s->l->out, s->event ? s->event->label : "unknown event");
}

static void put_text(const struct shown *s, const char *text)
{
	buf_addc(s->l->out, ' ');
	buf_shown(s->l->out, text, strlen(text));
}

/* Where frame i of the stack at hand is: so the CPU waits for names together, not for one after the
 * other. */
static const struct shelf *shelf_at(const struct shown *s, size_t i)
{
	return shelf_of(s, s->l->stack.address[i], i < s->l->stack.nr_kernel);
}

/* Inlined, because gcc leaves out calls of functions that do nothing but fetch. */
static inline __attribute__((always_inline)) void fetch_shelves(const struct shown *s)
{
	for (size_t i = 0; i < s->l->stack.nr; i++)
		__builtin_prefetch(shelf_at(s, i));
}

static inline __attribute__((always_inline)) void fetch_texts(const struct shown *s)
{
	for (size_t i = 0; i < s->l->stack.nr; i++)
		__builtin_prefetch(shelf_at(s, i)->name[0].text);
}

static void make_stack(const struct shown *s)
{
	struct profile_sample *sample = &s->l->sample;

	sample->id = s->item->id;
	sample->layout = s->item->layout;
	sample->record = *s->r;
	sample->time_ns = s->item->time_ns;
	report_stack_make(s->l->config->unwinder, s->task.process, sample, true, &s->l->stack);
	fetch_shelves(s);
}

static void put_frame(const struct shown *s, size_t i)
{
	put_function(s, s->l->stack.address[i], i < s->l->stack.nr_kernel);
}

/* Where the CPU was: in a guest it is an address and no more. */
static void put_place(const struct shown *s)
{
	uint64_t pc;

	if (s->l->stack.nr) {
		buf_adds(s->l->out, "  ");
		put_frame(s, 0);
	} else if (trace_record_pc(s->r, &pc)) {
		buf_adds(s->l->out, "  ");
		buf_hex(s->l->out, pc);
		buf_adds(s->l->out, " [outside]");
	}
}

/* A line for each. */
static void put_callers(const struct shown *s)
{
	for (size_t i = 1; i < s->l->stack.nr; i++) {
		buf_adds(s->l->out, "                 ");
		put_frame(s, i);
		buf_addc(s->l->out, '\n');
	}
}

static void put_value(struct buf *out, const struct profile_field *f, const struct profile_value *v)
{
	buf_addc(out, ' ');
	buf_shown(out, f->name, f->name_len);
	buf_addc(out, '=');
	if (v->kind == PROFILE_TEXT)
		buf_shown(out, v->bytes, v->len);
	else if (v->kind == PROFILE_BYTES)
		buf_hex_bytes(out, v->bytes, v->len);
	else if (f->is_signed && (int64_t)v->number < 0)
		put_number(out, "-", -v->number);
	else
		buf_u64(out, v->number);
}

/* What a tracepoint says. */
static void put_fields(const struct shown *s)
{
	const char *format = s->event->format;
	struct profile_field f;
	struct profile_value v;

	while (profile_field_next(&format, &f))
		if (profile_field_value(&f, s->r->raw, s->r->raw_len, &v))
			put_value(s->l->out, &f, &v);
}

static void put_branches(const struct shown *s)
{
	struct trace_branch b;

	for (uint64_t i = 0; i < s->r->nr_branches; i++) {
		trace_record_branch(s->r, i, &b);
		buf_adds(s->l->out, "          branch ");
		put_function(s, b.from, b.from >> 63);
		buf_adds(s->l->out, " -> ");
		put_function(s, b.to, b.to >> 63);
		buf_adds(s->l->out, b.mispredicted ? ", mispredicted" : "");
		if (b.cycles)
			put_number(s->l->out, ", cycles ", b.cycles);
		buf_addc(s->l->out, '\n');
	}
}

static void unknown(const struct shown *s)
{
	const char *name = trace_record_kind_name(s->r->kind);

	put_number(s->l->out, "record of kind ", s->r->kind);
	if (name) {
		buf_adds(s->l->out, " (");
		buf_adds(s->l->out, name);
		buf_adds(s->l->out, ")");
	}
	put_number(s->l->out, ", bytes ", s->r->len);
}

static void sample(const struct shown *s)
{
	make_stack(s);
	put_event(s);
	if (s->r->period)
		put_number(s->l->out, " period ", s->r->period);
	if (s->r->has & TRACE_HAS_RAW)
		put_fields(s);
	if (s->r->has & TRACE_HAS_ADDR)
		put_0x(s->l->out, " data ", s->r->addr);
	if (s->r->has & TRACE_HAS_WEIGHT)
		put_number(s->l->out, " weight ", s->r->weight);
	if (s->r->has & TRACE_HAS_USER_STACK)
		put_number(s->l->out, " stack bytes ", s->r->stack_len);
	fetch_texts(s);
	put_place(s);
	buf_addc(s->l->out, '\n');
	put_callers(s);
	put_branches(s);
}

static void lost(const struct shown *s)
{
	put_number(s->l->out, "lost ", s->r->lost);
	buf_adds(s->l->out, s->r->kind == TRACE_RECORD_LOST ? " records" : " samples");
}

static void throttle(const struct shown *s)
{
	buf_adds(s->l->out, s->r->kind == TRACE_RECORD_THROTTLE ? "throttle " : "unthrottle ");
	put_event(s);
}

static void comm(const struct shown *s)
{
	buf_adds(s->l->out, s->r->misc & TRACE_MISC_EXEC ? "exec" : "name");
	put_text(s, s->r->name);
}

static void task(const struct shown *s)
{
	if (s->r->kind == TRACE_RECORD_EXIT) {
		buf_adds(s->l->out, "exit");
		return;
	}
	put_number(s->l->out, s->r->pid == s->r->ppid ? "thread of " : "fork of ", s->r->ppid);
	put_number(s->l->out, "/", s->r->ptid);
}

static void put_range(const struct shown *s, const char *what)
{
	put_0x(s->l->out, what, s->r->start);
	put_0x(s->l->out, "-", s->r->start + s->r->length);
}

static void put_rights(const struct shown *s)
{
	uint32_t prot = s->r->prot;
	const char text[] = {' ', prot & 1 ? 'r' : '-', prot & 2 ? 'w' : '-', prot & 4 ? 'x' : '-',
			     s->r->flags & 1 ? 's' : 'p'};

	buf_add(s->l->out, text, sizeof(text));
}

static void mapping(const struct shown *s)
{
	put_range(s, "mmap ");
	put_0x(s->l->out, " offset ", s->r->offset);
	if (s->r->kind == TRACE_RECORD_MMAP2)
		put_rights(s);
	if (s->r->build_id_len) {
		buf_adds(s->l->out, " build-id ");
		buf_hex_bytes(s->l->out, s->r->build_id, s->r->build_id_len);
	}
	put_text(s, s->r->name);
}

/* PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER */
static void ksymbol(const struct shown *s)
{
	put_range(s, s->r->flags & 1 ? "kernel symbol gone " : "kernel symbol ");
	put_text(s, s->r->name);
}

/* enum perf_bpf_event_type */
static void bpf(const struct shown *s)
{
	put_number(s->l->out, "BPF program ", s->r->object);
	buf_adds(s->l->out, s->r->type == 1 ? " loaded" : s->r->type == 2 ? " unloaded" : "");
}

/* In the line. A sample has lines below. */
static void (*const kinds[])(const struct shown *s) = {
    [TRACE_RECORD_MMAP] = mapping,      [TRACE_RECORD_LOST] = lost,
    [TRACE_RECORD_COMM] = comm,         [TRACE_RECORD_EXIT] = task,
    [TRACE_RECORD_THROTTLE] = throttle, [TRACE_RECORD_UNTHROTTLE] = throttle,
    [TRACE_RECORD_FORK] = task,         [TRACE_RECORD_LOST_SAMPLES] = lost,
    [TRACE_RECORD_MMAP2] = mapping,     [TRACE_RECORD_KSYMBOL] = ksymbol,
    [TRACE_RECORD_BPF_EVENT] = bpf,
};

static void record(const struct shown *s)
{
	put_start(s, s->r->pid, s->r->tid);
	if (s->r->kind == TRACE_RECORD_SAMPLE && s->event) {
		sample(s);
		return;
	}
	if (s->r->kind < NR(kinds) && kinds[s->r->kind])
		kinds[s->r->kind](s);
	else
		unknown(s);
	buf_addc(s->l->out, '\n');
}

/* A number that was read between the boundaries; of no task. */
static void reading(const struct shown *s)
{
	const struct reading *r = &s->item->reading;
	bool is_of_cpu = s->trace && s->event && s->event->scope == EVENT_SCOPE_CPU;
	uint32_t cpu = is_of_cpu ? s->trace->head.cpu : UINT32_MAX;
	char start[4 * DIGITS_ROOM], *p = put_time(start, s->l, s->item->time_ns);

	p = pad(put_cpu(p, cpu), start, 24 + COMM_WIDTH + TASK_WIDTH + 2);
	buf_add(s->l->out, start, (size_t)(p - start));
	put_event(s);
	if (r->instance)
		put_number(s->l->out, " instance ", r->instance);
	put_number(s->l->out, " reads ", r->raw);
	buf_addc(s->l->out, '\n');
}

static const struct trace_event *event_of(const struct lines *l, const struct profile_item *item)
{
	const struct profile_facts *f = profile_session_facts(l->config->session);
	uint32_t event = UINT32_MAX;

	if (item->kind == PROFILE_READING)
		event = item->reading.event;
	else if (item->id)
		event = item->id->event;
	return event < f->nr_events ? &f->events[event] : NULL;
}

/* What holds for the record at hand, and from it on. */
static void note_epochs(struct shown *s)
{
	const struct report_names *names = s->l->config->names;

	if (s->r->kind == TRACE_RECORD_KSYMBOL)
		s->l->kernel_epoch++;
	else if (s->r->kind == TRACE_RECORD_SAMPLE)
		s->epoch = names->epoch(names->arg, s->task.process, s->item->time_ns);
}

static void show(struct lines *l, const struct profile_merged_item *m)
{
	const struct report_records_config *c = l->config;
	struct shown s = {.l = l, .item = m->item, .trace = m->trace, .r = &m->item->record};
	uint32_t pid = 0, tid = 0;

	if (m->item->kind == PROFILE_RECORD) {
		pid = s.r->pid;
		tid = s.r->tid;
	}
	s.event = event_of(l, m->item);
	c->names->task(c->names->arg, pid, tid, m->item->time_ns, &s.task);
	if (m->item->kind == PROFILE_RECORD)
		note_epochs(&s);
	if (c->is_shown && !c->is_shown(c->arg, m, &s.task))
		return;
	l->nr_shown++;
	if (m->item->kind == PROFILE_READING)
		reading(&s);
	else
		record(&s);
}

static int flush(const struct lines *l)
{
	const struct report_records_config *c = l->config;

	if (l->error || buf_error(c->out))
		return l->error ? l->error : buf_error(c->out);
	return c->out->len >= FLUSH_BYTES ? c->flush(c->arg) : 0;
}

static int show_all(struct lines *l, struct profile_merged *m, uint64_t *nr_records)
{
	struct profile_merged_item item;
	uint64_t nr = 0;
	int rc;

	l->start_ns = profile_merged_start_ns(m);
	while ((rc = profile_merged_next(m, &item)) == 1) {
		show(l, &item);
		nr++;
		rc = flush(l);
		if (rc)
			return rc;
		if (l->nr_shown && l->nr_shown == l->config->max_shown)
			break;
	}
	*nr_records = nr;
	return rc < 0 ? rc : 0;
}

static int make_shelves(struct lines *l)
{
	_Static_assert(sizeof(struct shelf) == LINE_BYTES, "a shelf fills a line");
	l->memory = mem_zalloc(NR_SHELVES * sizeof(*l->shelves) + LINE_BYTES);
	if (!l->memory)
		return -ENOMEM;
	l->shelves = (struct shelf *)(void *)((char *)l->memory + LINE_BYTES -
					      (uintptr_t)l->memory % LINE_BYTES);
	return 0;
}

int report_records(const struct report_records_config *config, uint64_t *nr_records)
{
	struct lines l = {.config = config, .out = config->out};
	struct profile_merged *m;
	int rc = profile_merged_open(config->session, config->problem, config->problem_arg, &m);

	if (rc)
		return rc;
	arena_init(&l.arena, MAX_TEXT_BYTES);
	rc = make_shelves(&l);
	if (rc == 0)
		rc = show_all(&l, m, nr_records);
	arena_fini(&l.arena);
	mem_free(l.texts);
	mem_free(l.memory);
	profile_merged_close(m);
	return rc;
}
