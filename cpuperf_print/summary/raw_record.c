/*
 * The lines of one record in the raw format: those of the original, then one for each further field
 * of the kernel's record. Text in records comes from other users: it is printed safely.
 */
#include "base/array.h"
#include "base/digits.h"
#include "base/str.h"
#include "profile/fields.h"
#include "summary/raw.h"

#include <inttypes.h>
#include <string.h>

struct shown {
	struct summary *sum;
	const struct profile_trace *trace; /* NULL: of the common file */
	const struct profile_item *item;
	const struct trace_record *r;
	const struct trace_event *event; /* NULL: not known */
};

static const char *word(const char *const *words, size_t nr, size_t i)
{
	return i < nr ? words[i] : NULL;
}

static void put_name(struct buf *out, const char *name)
{
	buf_adds(out, ", ");
	buf_shown(out, name, strlen(name));
	buf_addc(out, '\n');
}

static void put_u64(struct buf *out, const char *before, uint64_t v)
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

/* A pid or tid. */
static void put_id(struct buf *out, const char *before, uint32_t id)
{
	if (id != TRACE_UNKNOWN)
		put_u64(out, before, id);
	else
		buf_printf(out, "%sunknown", before);
}

/* An address space, by its process: Linux does not number them. */
static void put_aspace(const struct shown *s)
{
	if (s->r->pid != TRACE_UNKNOWN)
		put_0x(s->sum->out, ", aspace ", s->r->pid);
	else
		buf_adds(s->sum->out, ", aspace unknown");
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
		put_u64(out, ", period ", s->r->period);
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
	put_u64(s->sum->out, ", ", s->r->nr_branches);
	buf_adds(s->sum->out, " branches");
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
	put_u64(s->sum->out, ", ", s->r->stack_len);
	buf_adds(s->sum->out, " bytes");
	if (s->r->nr_regs)
		buf_printf(s->sum->out, ", %u registers of %u bits", s->r->nr_regs,
			   s->r->regs_abi == 1 ? 32 : 64);
	buf_addc(s->sum->out, '\n');
}

static void put_field(struct buf *out, const struct profile_field *f, const struct profile_value *v)
{
	buf_adds(out, ", ");
	buf_shown(out, f->name, f->name_len);
	buf_addc(out, ' ');
	if (v->kind == PROFILE_TEXT) {
		buf_addc(out, '"');
		buf_shown(out, v->bytes, v->len);
		buf_addc(out, '"');
	} else if (v->kind == PROFILE_BYTES) {
		buf_hex_bytes(out, v->bytes, v->len);
	} else if (f->is_signed) {
		buf_printf(out, "%" PRId64, (int64_t)v->number);
	} else {
		buf_u64(out, v->number);
	}
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

static void data(const struct shown *s)
{
	const struct trace_record *r = s->r;
	const struct {
		uint32_t has;
		const char *name;
		uint64_t value;
	} parts[] = {{TRACE_HAS_ADDR, "address", r->addr},
		     {TRACE_HAS_PHYS_ADDR, "physical", r->phys_addr},
		     {TRACE_HAS_WEIGHT, "weight", r->weight},
		     {TRACE_HAS_WEIGHT_PARTS, "weight 2", r->weight2},
		     {TRACE_HAS_WEIGHT_PARTS, "weight 3", r->weight3},
		     {TRACE_HAS_DATA_SRC, "source", r->data_src},
		     {TRACE_HAS_TRANSACTION, "transaction", r->transaction},
		     {TRACE_HAS_DATA_PAGE, "page", r->data_page_bytes},
		     {TRACE_HAS_CODE_PAGE, "code page", r->code_page_bytes}};

	event_line(s, "Data");
	for (size_t i = 0; i < ARRAY_NR(parts); i++)
		if (r->has & parts[i].has)
			buf_printf(s->sum->out, ", %s 0x%" PRIx64, parts[i].name, parts[i].value);
	buf_addc(s->sum->out, '\n');
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

static void origin(const struct shown *s)
{
	event_line(s, "Origin");
	if (s->r->has & TRACE_HAS_CGROUP)
		put_u64(s->sum->out, ", cgroup ", s->r->cgroup);
	if (s->r->has & TRACE_HAS_AUX)
		put_u64(s->sum->out, ", aux bytes ", s->r->aux_len);
	buf_addc(s->sum->out, '\n');
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
    {TRACE_HAS_ADDR | TRACE_HAS_PHYS_ADDR | TRACE_HAS_WEIGHT | TRACE_HAS_DATA_SRC |
	 TRACE_HAS_TRANSACTION | TRACE_HAS_DATA_PAGE | TRACE_HAS_CODE_PAGE,
     data},
    {TRACE_HAS_USER_REGS, user_registers},
    {TRACE_HAS_INTR_REGS, interrupt_registers},
    {TRACE_HAS_CGROUP | TRACE_HAS_AUX, origin},
};

static void unknown(const struct shown *s)
{
	const char *name = trace_record_kind_name(s->r->kind);

	raw_line(s->sum, s->item->offset, "Record");
	buf_printf(s->sum->out, "kind %" PRIu32, s->r->kind);
	if (name)
		buf_printf(s->sum->out, " (%s)", name);
	buf_printf(s->sum->out, ", %zu bytes\n", s->r->len);
}

static void sample(const struct shown *s)
{
	if (!s->event) {
		unknown(s);
		return;
	}
	tick(s);
	for (size_t i = 0; i < ARRAY_NR(sample_parts); i++)
		if (s->r->has & sample_parts[i].has)
			sample_parts[i].show(s);
}

static void lost(const struct shown *s)
{
	raw_line(s->sum, s->item->offset, "Lost");
	if (s->event)
		buf_printf(s->sum->out, "Event 0x%" PRIx32 ", ", s->event->id);
	buf_printf(s->sum->out, "%" PRIu64 " %s\n", s->r->lost,
		   s->r->kind == PERF_RECORD_LOST ? "records" : "samples");
}

static void throttle(const struct shown *s)
{
	event_line(s, s->r->kind == PERF_RECORD_THROTTLE ? "Throttle" : "Unthrottle");
	buf_addc(s->sum->out, '\n');
}

static void task_line(const struct shown *s, const char *kind)
{
	raw_line(s->sum, s->item->offset, kind);
	put_id(s->sum->out, "pid ", s->r->pid);
	put_id(s->sum->out, ", tid ", s->r->tid);
}

static void comm(const struct shown *s)
{
	task_line(s, "Comm");
	buf_adds(s->sum->out, s->r->misc & PERF_RECORD_MISC_COMM_EXEC ? ", exec" : "");
	put_name(s->sum->out, s->r->name);
}

static void task(const struct shown *s)
{
	task_line(s, s->r->kind == PERF_RECORD_FORK ? "Fork" : "Exit");
	put_id(s->sum->out, ", parent pid ", s->r->ppid);
	put_id(s->sum->out, ", parent tid ", s->r->ptid);
	buf_addc(s->sum->out, '\n');
}

static void put_range(const struct shown *s)
{
	buf_printf(s->sum->out, ", start 0x%" PRIx64 ", length 0x%" PRIx64 ", offset 0x%" PRIx64,
		   s->r->start, s->r->length, s->r->offset);
}

static void mapping(const struct shown *s)
{
	task_line(s, "Mmap");
	put_range(s);
	put_name(s->sum->out, s->r->name);
}

/* PROT_… and MAP_SHARED of mmap(2), as /proc/PID/maps shows them. */
static void put_rights(struct buf *out, uint32_t prot, uint32_t flags)
{
	buf_printf(out, ", %c%c%c%c", prot & 1 ? 'r' : '-', prot & 2 ? 'w' : '-',
		   prot & 4 ? 'x' : '-', flags & 1 ? 's' : 'p');
}

static void mapping2(const struct shown *s)
{
	const struct trace_record *r = s->r;
	struct buf *out = s->sum->out;

	task_line(s, "Mmap2");
	put_range(s);
	put_rights(out, r->prot, r->flags);
	if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		buf_adds(out, ", build id ");
		buf_hex_bytes(out, r->build_id, r->build_id_len);
	} else {
		buf_printf(out, ", device %" PRIu32 ":%" PRIu32 ", inode %" PRIu64, r->major,
			   r->minor, r->inode);
	}
	put_name(out, r->name);
}

static void ksymbol(const struct shown *s)
{
	raw_line(s->sum, s->item->offset, "Ksymbol");
	buf_printf(s->sum->out, "start 0x%" PRIx64 ", length 0x%" PRIx64 ", type %u%s", s->r->start,
		   s->r->length, s->r->type,
		   s->r->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER ? ", gone" : "");
	put_name(s->sum->out, s->r->name);
}

/* enum perf_bpf_event_type */
static void bpf(const struct shown *s)
{
	static const char *const types[] = {NULL, "loaded", "unloaded"};
	const char *type = word(types, ARRAY_NR(types), s->r->type);

	raw_line(s->sum, s->item->offset, "Bpf");
	buf_printf(s->sum->out, "program %" PRIu64 ", %s\n", s->r->object, type ? type : "unknown");
}

/* Counts of a task, when it ends. */
static void read_counts(const struct shown *s)
{
	const struct profile_trace *t = s->trace;

	task_line(s, "Read");
	for (uint64_t i = 0; i < s->r->nr_read; i++) {
		const struct trace_id *id =
		    t && s->item->layout ? profile_counted(t->ids, t->nr_ids, s->item, i) : NULL;

		if (id && id->event < s->sum->facts->nr_events)
			put_0x(s->sum->out, ", Event ", s->sum->facts->events[id->event].id);
		put_u64(s->sum->out, ", ", trace_word(s->r->read_values, i * s->r->read_stride));
	}
	buf_addc(s->sum->out, '\n');
}

static void aux(const struct shown *s)
{
	raw_line(s->sum, s->item->offset, "Aux");
	buf_printf(s->sum->out, "offset 0x%" PRIx64 ", %" PRIu64 " bytes, flags 0x%" PRIx32 "\n",
		   s->r->offset, s->r->length, s->r->flags);
}

static void task_switch(const struct shown *s)
{
	bool is_out = s->r->misc & PERF_RECORD_MISC_SWITCH_OUT;

	task_line(s, is_out ? "SwitchOut" : "SwitchIn");
	if (is_out && s->r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
		buf_adds(s->sum->out, ", preempted");
	if (s->r->kind == PERF_RECORD_SWITCH_CPU_WIDE) {
		put_id(s->sum->out, ", other pid ", s->r->ppid);
		put_id(s->sum->out, ", other tid ", s->r->ptid);
	}
	buf_addc(s->sum->out, '\n');
}

/* Device and inode, by the index of the kind of namespace. */
static void namespaces(const struct shown *s)
{
	task_line(s, "Namespaces");
	for (uint64_t i = 0; i < s->r->nr_namespaces; i++)
		buf_printf(s->sum->out, ", %" PRIu64 ":%" PRIu64,
			   trace_word(s->r->namespaces, 2 * i),
			   trace_word(s->r->namespaces, 2 * i + 1));
	buf_addc(s->sum->out, '\n');
}

static void cgroup(const struct shown *s)
{
	raw_line(s->sum, s->item->offset, "Cgroup");
	buf_printf(s->sum->out, "%" PRIu64, s->r->object);
	put_name(s->sum->out, s->r->name);
}

static void deferred(const struct shown *s)
{
	task_line(s, "DeferredCallchain");
	put_0x(s->sum->out, ", cookie ", s->r->object);
	put_u64(s->sum->out, ", ", s->r->nr_callchain);
	buf_adds(s->sum->out, " addresses\n");
}

/* Other kinds are printed with their number and size. */
static void (*const kinds[])(const struct shown *s) = {
    [PERF_RECORD_MMAP] = mapping,
    [PERF_RECORD_LOST] = lost,
    [PERF_RECORD_COMM] = comm,
    [PERF_RECORD_EXIT] = task,
    [PERF_RECORD_THROTTLE] = throttle,
    [PERF_RECORD_UNTHROTTLE] = throttle,
    [PERF_RECORD_FORK] = task,
    [PERF_RECORD_SAMPLE] = sample,
    [PERF_RECORD_MMAP2] = mapping2,
    [PERF_RECORD_LOST_SAMPLES] = lost,
    [PERF_RECORD_KSYMBOL] = ksymbol,
    [PERF_RECORD_BPF_EVENT] = bpf,
    [PERF_RECORD_READ] = read_counts,
    [PERF_RECORD_AUX] = aux,
    [PERF_RECORD_SWITCH] = task_switch,
    [PERF_RECORD_SWITCH_CPU_WIDE] = task_switch,
    [PERF_RECORD_NAMESPACES] = namespaces,
    [PERF_RECORD_CGROUP] = cgroup,
    [PERF_ABI_RECORD_CALLCHAIN_DEFERRED] = deferred,
};

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
	const struct shown s = {sum, trace, item, &item->record, event_of(sum, item)};

	if (s.r->kind < ARRAY_NR(kinds) && kinds[s.r->kind])
		kinds[s.r->kind](&s);
	else
		unknown(&s);
}
