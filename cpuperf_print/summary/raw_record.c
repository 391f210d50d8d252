/*
 * The lines of one record in the raw format: those of the original, then one for each further field
 * of the kernel's record. Text in records comes from other users: it is printed safely.
 */
#include "base/array.h"
#include "base/digits.h"
#include "base/str.h"
#include "profile/fields.h"
#include "report/records_fields.h"
#include "summary/raw.h"

#include <inttypes.h>
#include <string.h>

struct shown {
	struct summary *sum;
	const struct profile_trace *trace; /* NULL: of the common file */
	const struct profile_item *item;
	const struct trace_record *r;
	const struct trace_event *event; /* NULL: not known */
	struct records_line line;
};

static const char *word(const char *const *words, size_t nr, size_t i)
{
	return i < nr ? words[i] : NULL;
}

static void put_0x(struct buf *out, const char *before, uint64_t v)
{
	buf_adds(out, before);
	buf_adds(out, "0x");
	buf_hex(out, v);
}

/* An address space, by its process: Linux does not number them. */
static void put_aspace(const struct shown *s)
{
	records_put_line(&s->line, ", aspace %#p");
}

static void event_line(const struct shown *s, const char *kind)
{
	raw_event_line(s->sum, s->item->offset, kind, s->event);
}

static void put_guest(const struct shown *s)
{
	static const char *const modes[] = {[PERF_RECORD_MISC_HYPERVISOR] = "hypervisor",
					    [PERF_RECORD_MISC_GUEST_KERNEL] = "guest kernel",
					    [PERF_RECORD_MISC_GUEST_USER] = "guest user"};
	const char *mode = word(modes, ARRAY_NR(modes), s->r->cpumode);

	if (mode)
		buf_printf(s->sum->out, ", %s", mode);
}

static void tick(const struct shown *s)
{
	struct buf *out = s->sum->out;
	uint64_t pc;

	if (trace_record_pc(s->r, &pc)) {
		event_line(s, "PC");
		put_aspace(s);
		put_0x(out, ", pc ", pc);
		buf_adds(out, s->r->is_exact_ip ? ", exact" : "");
	} else {
		event_line(s, "Tick");
	}
	put_guest(s);
	if (s->r->has & TRACE_HAS_PERIOD)
		records_put_line(&s->line, ", period %D");
	buf_addc(out, '\n');
	raw_add(s->sum, s->item->id->event, &(struct raw_amount){s->r->period, 0});
}

static void put_branch(struct buf *out, const struct trace_branch *b)
{
	/* PERF_BR_…, PERF_BR_NEW_…, PERF_BR_SPEC_…, PERF_BR_PRIV_… */
	static const char *const types[] = {NULL,
					    "conditional",
					    "unconditional",
					    "indirect",
					    "call",
					    "indirect call",
					    "return",
					    "syscall",
					    "syscall return",
					    "conditional call",
					    "conditional return",
					    "exception return",
					    "interrupt",
					    "system error",
					    "no transaction"};
	static const char *const new_types[] = {
	    "alignment fault", "data fault", "instruction fault", "arch 1", "arch 2", "arch 3",
	    "arch 4",          "arch 5"};
	static const char *const speculations[] = {NULL, "speculated wrongly", "not speculated",
						   "speculated correctly"};
	static const char *const privileges[] = {NULL, "user", "kernel", "hypervisor"};
	enum { EXTENDED = 15 };
	const char *said[] = {
	    b->mispredicted ? "mispredicted" : NULL,
	    b->predicted ? "predicted" : NULL,
	    b->in_transaction ? "in transaction" : NULL,
	    b->aborted ? "aborted" : NULL,
	    b->type == EXTENDED ? word(new_types, ARRAY_NR(new_types), b->new_type)
				: word(types, ARRAY_NR(types), b->type),
	    word(speculations, ARRAY_NR(speculations), b->speculation),
	    word(privileges, ARRAY_NR(privileges), b->privilege),
	};

	put_0x(out, "      from ", b->from);
	put_0x(out, ", to ", b->to);
	for (size_t i = 0; i < ARRAY_NR(said); i++) {
		buf_adds(out, said[i] ? ", " : "");
		buf_adds(out, said[i] ? said[i] : "");
	}
	if (b->cycles)
		buf_printf(out, ", %u cycles", b->cycles);
	buf_addc(out, '\n');
}

static void last_branch(const struct shown *s)
{
	struct trace_branch b;

	event_line(s, "LastBranch");
	put_aspace(s);
	buf_printf(s->sum->out, ", %" PRIu64 " branches", s->r->nr_branches);
	if (s->r->has & TRACE_HAS_HW_INDEX && s->r->hw_index != UINT64_MAX)
		buf_printf(s->sum->out, ", index %" PRIu64, s->r->hw_index);
	buf_addc(s->sum->out, '\n');
	for (uint64_t i = 0; i < s->r->nr_branches; i++) {
		trace_record_branch(s->r, i, &b);
		put_branch(s->sum->out, &b);
	}
}

/* In sessions member 0 is the timebase: its ticks and its residual are its count. */
static void counts(const struct shown *s)
{
	const struct profile_trace *t = s->trace;

	for (uint64_t i = !s->sum->input->import; i < s->r->nr_read; i++) {
		const struct trace_id *id = profile_counted(t->ids, t->nr_ids, s->item, i);

		if (id && id->event < s->sum->facts->nr_events && id->instance < PROFILE_MAX_PARTS)
			raw_count(s->sum, s->item->offset, id->event, id->instance,
				  &(struct raw_amount){
				      trace_word(s->r->read_values, i * s->r->read_stride), 0});
	}
}

static char *put_address(char *p, uint64_t address)
{
	*p++ = ' ';
	*p++ = '0';
	*p++ = 'x';
	return digits_hex(p, address);
}

/* Chains are most of the output: addresses are formatted directly into reserved space. */
static void callchain(const struct shown *s)
{
	enum { MOST_BYTES = DIGITS_ROOM + 3 };
	struct buf *out = s->sum->out;
	char *start, *p;

	event_line(s, "Callchain");
	p = start = buf_reserve(out, s->r->nr_callchain * MOST_BYTES + 1);
	if (!p)
		return;
	for (uint64_t i = 0; i < s->r->nr_callchain; i++) {
		uint64_t address = trace_word(s->r->callchain, i);
		const char *context = trace_context_name(address);

		p = context ? stpcpy(stpcpy(p, ", "), context) : put_address(p, address);
	}
	*p++ = '\n';
	buf_use(out, (size_t)(p - start));
}

/* enum perf_sample_regs_abi: 1 and 2 */
static void user_stack(const struct shown *s)
{
	event_line(s, "UserStack");
	records_put_line(&s->line, ", %S bytes");
	if (s->r->nr_regs)
		buf_printf(s->sum->out, ", %u registers of %u bits", s->r->nr_regs,
			   s->r->regs_abi == 1 ? 32 : 64);
	buf_addc(s->sum->out, '\n');
}

static void put_field(struct buf *out, const struct profile_field *f, const struct profile_value *v)
{
	const char *quote = v->kind == PROFILE_TEXT ? "\"" : "";

	buf_adds(out, ", ");
	buf_shown(out, f->name, f->name_len);
	buf_addc(out, ' ');
	buf_adds(out, quote);
	records_add_value(f, v, out);
	buf_adds(out, quote);
}

static void raw_bytes(const struct shown *s)
{
	const char *format = s->event->format;
	struct profile_field f;
	struct profile_value v;
	size_t nr = 0;

	event_line(s, "Raw");
	while (profile_field_next(&format, &f)) {
		if (!profile_field_value(&f, s->r->raw, s->r->raw_len, &v))
			continue;
		put_field(s->sum->out, &f, &v);
		nr++;
	}
	if (!nr) {
		buf_printf(s->sum->out, ", %" PRIu32 " bytes ", s->r->raw_len);
		buf_hex_bytes(s->sum->out, s->r->raw, s->r->raw_len);
	}
	buf_addc(s->sum->out, '\n');
}

static void put_parts(const struct shown *s, const char *kind, uint32_t mask)
{
	event_line(s, kind);
	for (size_t i = 0; i < RECORDS_NR_PARTS; i++)
		if (s->r->has & records_parts[i].has & mask)
			records_put_line(&s->line, records_parts[i].raw);
	buf_addc(s->sum->out, '\n');
}

enum {
	ORIGIN = TRACE_HAS_CGROUP | TRACE_HAS_AUX,
	DATA = TRACE_HAS_ADDR | TRACE_HAS_PHYS_ADDR | TRACE_HAS_WEIGHT | TRACE_HAS_WEIGHT_PARTS |
	       TRACE_HAS_DATA_SRC | TRACE_HAS_TRANSACTION | TRACE_HAS_DATA_PAGE |
	       TRACE_HAS_CODE_PAGE
};

static void data(const struct shown *s)
{
	put_parts(s, "Data", DATA);
}

static void origin(const struct shown *s)
{
	put_parts(s, "Origin", ORIGIN);
}

/* By the numbers of asm/perf_regs.h of the machine. */
static void put_registers(const struct shown *s, const char *kind, uint64_t mask,
			  const uint8_t *values, unsigned nr)
{
	if (!nr)
		return;
	event_line(s, kind);
	for (unsigned i = 0; i < nr; i++, mask &= mask - 1)
		buf_printf(s->sum->out, ", %d 0x%" PRIx64, __builtin_ctzll(mask),
			   trace_word(values, i));
	buf_addc(s->sum->out, '\n');
}

static void user_registers(const struct shown *s)
{
	put_registers(s, "UserRegisters", s->item->layout->user_regs, s->r->regs, s->r->nr_regs);
}

static void interrupt_registers(const struct shown *s)
{
	put_registers(s, "InterruptRegisters", s->item->layout->intr_regs, s->r->intr_regs,
		      s->r->nr_intr_regs);
}

/* The optional fields of a sample, one line each. */
static const struct {
	uint32_t has; /* one of them */
	void (*show)(const struct shown *s);
} sample_parts[] = {
    {TRACE_HAS_BRANCHES, last_branch},
    {TRACE_HAS_READ, counts},
    {TRACE_HAS_CALLCHAIN, callchain},
    {TRACE_HAS_USER_REGS | TRACE_HAS_USER_STACK, user_stack},
    {TRACE_HAS_RAW, raw_bytes},
    {DATA, data},
    {TRACE_HAS_USER_REGS, user_registers},
    {TRACE_HAS_INTR_REGS, interrupt_registers},
    {ORIGIN, origin},
};

/* All of a record that is no sample. */
static void other(const struct shown *s)
{
	raw_start(s->sum, s->item->offset);
	records_put_line(&s->line, records_kind_of(s->r)->raw);
	buf_addc(s->sum->out, '\n');
}

static void sample(const struct shown *s)
{
	tick(s);
	for (size_t i = 0; i < ARRAY_NR(sample_parts); i++)
		if (s->r->has & sample_parts[i].has)
			sample_parts[i].show(s);
}

/* Counts of a task, when it ends. */
static void read_counts(const struct shown *s)
{
	const struct profile_trace *t = s->trace;

	for (uint64_t i = 0; i < s->r->nr_read; i++) {
		const struct trace_id *id =
		    t && s->item->layout ? profile_counted(t->ids, t->nr_ids, s->item, i) : NULL;

		if (id && id->event < s->sum->facts->nr_events)
			put_0x(s->sum->out, ", Event ", s->sum->facts->events[id->event].id);
		buf_adds(s->sum->out, ", ");
		buf_u64(s->sum->out, trace_word(s->r->read_values, i * s->r->read_stride));
	}
}

/* Device and inode, by the index of the kind of namespace. */
static void namespaces(const struct shown *s)
{
	for (uint64_t i = 0; i < s->r->nr_namespaces; i++)
		buf_printf(s->sum->out, ", %" PRIu64 ":%" PRIu64,
			   trace_word(s->r->namespaces, 2 * i),
			   trace_word(s->r->namespaces, 2 * i + 1));
}

static void own(const struct records_line *l, char letter)
{
	const struct shown *s = l->arg;

	switch (letter) {
	case 'E':
		raw_event(s->sum, s->event);
		break;
	case 'V':
		if (s->event)
			buf_printf(l->out, "Event 0x%" PRIx32 ", ", s->event->id);
		break;
	case 'c':
		read_counts(s);
		break;
	case 'N':
		namespaces(s);
		break;
	default: /* no row has another */
		break;
	}
}

static const struct trace_event *event_of(const struct summary *sum,
					  const struct profile_item *item)
{
	return item->id && item->id->event < sum->facts->nr_events
		   ? &sum->facts->events[item->id->event]
		   : NULL;
}

void raw_record(struct summary *sum, const struct profile_trace *trace,
		const struct profile_item *item)
{
	struct shown s = {sum, trace, item, &item->record, event_of(sum, item), {0}};

	s.line = (struct records_line){item, sum->out, "unknown", ", ", own, &s};
	if (s.r->kind == PERF_RECORD_SAMPLE && s.event)
		sample(&s);
	else
		other(&s);
}
