/*
 * Readers append the frames that they unwind from a sample's stack bytes to those of its callchain,
 * so one of the two is omitted. Long stack bytes reach further than frame pointers: the user part
 * of the callchain is omitted. Short ones were recorded to complete the callchain, which readers
 * cannot do: they are unwound here, and omitted.
 */
#include "exports/perf_data/stacks.h"

#include "base/mem.h"
#include "elf/finder.h"
#include "profile/processes.h"
#include "profile/records.h"
#include "profile/samples.h"
#include "report/stack.h"
#include "symbol/living.h"
#include "symbol/symbols.h"
#include "unwind/unwind.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum {
	HYBRID_STACK_BYTES = 1024,        /* the same as in report/stack.c */
	MAX_CHAIN = REPORT_MAX_DEPTH + 2, /* with its marks */
	PROT_EXECUTE = 4,
	WORD_BYTES = 8,
};

static bool has_dumps(const struct profile_facts *facts)
{
	for (size_t i = 0; i < facts->nr_events; i++) {
		const struct trace_event *e = &facts->events[i];
		struct trace_layout l;

		if (e->attr_bytes && trace_layout_init(&l, e->attr, e->attr_bytes) &&
		    l.sample_type & PERF_SAMPLE_STACK_USER)
			return true;
	}
	return false;
}

static int make_unwinder(struct stacks *s, const struct input *o)
{
	const struct unwinder_config config = {
	    .finder = s->finder,
	    .maps = report_stack_maps(s->lookup),
	    .machine = o->facts->head.machine,
	    .vdso = o->vdso,
	    .find_made = report_find_made,
	    .find_method = report_find_method,
	    .keeps_interpreter = true,
	    .arg = s->symbols,
	};
	int rc = unwinder_new(&config, &s->unwinder);

	return rc == -ENOTSUP ? 0 : rc;
}

static int make_symbols(struct stacks *s, const struct input *o)
{
	const struct symbols_config config = {
	    .finder = s->finder,
	    .processes = o->processes,
	    .is_same_boot = o->is_same_boot,
	    .vdso = o->vdso,
	};

	s->living = symbol_living_new(s->finder, o->processes, o->is_same_boot);
	return symbols_new(&config, &s->symbols);
}

int stacks_init(struct stacks *s, const struct job *j, const struct input *o,
		struct profile_lookup *lookup)
{
	struct elf_finder_config config = inputs_finder_config(j->inputs);
	int rc;

	*s = (struct stacks){.lookup = lookup, .machine = o->facts->head.machine};
	s->has_dumps = has_dumps(o->facts);
	config.reader = j->inputs->finder ? elf_finder_reader(j->inputs->finder) : NULL;
	if (!s->has_dumps)
		return 0;
	s->stack = mem_alloc(sizeof(*s->stack));
	s->chain = mem_calloc(MAX_CHAIN, sizeof(*s->chain));
	rc = (s->stack && s->chain ? elf_finder_new(&config, &s->finder) : -ENOMEM)
		 ?: make_symbols(s, o)
		 ?: make_unwinder(s, o);
	if (rc)
		stacks_fini(s);
	return rc;
}

void stacks_fini(struct stacks *s)
{
	symbols_free(s->symbols);
	symbol_living_free(s->living);
	unwinder_free(s->unwinder);
	elf_finder_free(s->finder);
	mem_free(s->stack);
	mem_free(s->chain);
	*s = (struct stacks){0};
}

/* The program counter among the user's registers: PERF_REG_X86_IP, PERF_REG_ARM64_PC. */
static bool find_user_pc(const struct stacks *s, const struct profile_item *item, uint64_t *out)
{
	unsigned bit = strcmp(s->machine, "x86_64") == 0    ? 8
		       : strcmp(s->machine, "aarch64") == 0 ? 32
							    : 64;
	uint64_t regs = item->layout->user_regs;

	if (bit == 64 || !(regs >> bit & 1) || !item->record.nr_regs || !item->record.stack_len)
		return false;
	regs &= (UINT64_C(1) << bit) - 1;
	*out = trace_word(item->record.regs, (uint64_t)__builtin_popcountll(regs));
	return true;
}

/* A sample without an address gets that of its callchain or registers. */
static void set_ip(const struct stacks *s, const struct profile_item *item, struct perf_origin *o)
{
	if (trace_record_pc(&item->record, &o->ip))
		return;
	o->ip = 0;
	o->is_user_ip = find_user_pc(s, item, &o->ip);
}

static void put_part(struct stacks *s, size_t *nr, uint64_t context, size_t from, size_t to)
{
	if (from == to)
		return;
	s->chain[(*nr)++] = context;
	for (size_t i = from; i < to; i++)
		s->chain[(*nr)++] = report_stack_recorded(s->stack, i);
}

/* The arguments of start_of. */
struct place {
	struct stacks *stacks;
	const struct profile_process *process;
	uint64_t time_ns;
};

static enum report_start start_of(void *arg, uint64_t address)
{
	const struct place *p = arg;
	const struct symbol_function *f =
	    symbols_user(p->stacks->symbols,
			 profile_lookup_code(p->stacks->lookup, p->process, address, p->time_ns),
			 address, p->time_ns);

	return report_start_of(f->name, f->object, f->is_known);
}

static void make_chain(struct stacks *s, const struct profile_item *item, struct perf_origin *o)
{
	const struct trace_record *r = &item->record;
	const struct profile_sample sample = {.id = item->id,
					      .layout = item->layout,
					      .record = *r,
					      .time_ns = item->time_ns,
					      .weight = r->period};
	struct place place = {.stacks = s, .time_ns = item->time_ns};
	struct profile_task task;

	profile_lookup_task(s->lookup, r->pid, r->tid, item->time_ns, &task);
	place.process = task.process;
	report_stack_make(s->unwinder, task.process, &sample, true, s->stack);
	report_stack_finish(s->unwinder, task.process, &sample, start_of, &place, s->stack);
	o->nr_chain = 0;
	put_part(s, &o->nr_chain, PERF_CONTEXT_KERNEL, 0, s->stack->nr_kernel);
	put_part(s, &o->nr_chain, PERF_CONTEXT_USER, s->stack->nr_kernel, s->stack->nr);
	o->chain = s->chain;
}

/* Registers, then the stack; each begins with a word: whether there is any. */
static void find_dump(const struct trace_record *r, struct perf_origin *o)
{
	const uint8_t *from = r->regs_abi ? r->regs - WORD_BYTES : NULL, *to;

	if (!from && r->stack)
		from = r->stack - 2 * WORD_BYTES;
	if (!from)
		return;
	to = r->stack ? r->stack + trace_word(r->stack - WORD_BYTES, 0) + WORD_BYTES
		      : r->regs + (size_t)(r->nr_regs + 1) * WORD_BYTES;
	o->dump = from;
	o->dump_len = (size_t)(to - from);
}

static bool is_hybrid(const struct trace_record *r)
{
	return r->has & TRACE_HAS_CALLCHAIN && r->stack_len <= HYBRID_STACK_BYTES;
}

void stacks_set(struct stacks *s, const struct profile_item *item, struct perf_origin *o)
{
	set_ip(s, item, o);
	o->stack = item->record.stack;
	if (!item->record.stack_len)
		return;
	o->drops_user = !s->unwinder || !is_hybrid(&item->record);
	if (o->drops_user)
		return;
	make_chain(s, item, o);
	find_dump(&item->record, o);
}

/* Finds the file of mapped code, and the address at which its address 0 was mapped. */
static const struct elf_file *find_file(const struct stacks *s, const struct trace_record *r,
					uint64_t *base)
{
	struct elf_wanted w = {.path = r->name,
			       .build_id.len = (uint8_t)r->build_id_len,
			       .major = r->major,
			       .minor = r->minor,
			       .inode = r->inode};
	const struct elf_file *f;
	uint64_t address;

	memcpy(w.build_id.bytes, r->build_id, r->build_id_len);
	f = elf_finder_code(s->finder, &w);
	if (!f || !elf_file_mapping_address(f, r->offset, true, &address))
		return NULL;
	*base = r->start - address;
	return f;
}

/* struct perf_event_header, PERF_RECORD_MMAP2 */
enum {
	MISC_AT = 4,
	START_AT = 16,
	LEN_AT = 24,
	OFFSET_AT = 32,
	PROT_AT = 64,
	PROT_READING = 1,
	PAGE_BYTES = 4096, /* the least: the recorded size may be too small */
};

static void set64(struct buf *out, size_t at, uint64_t v)
{
	v = htole64(v);
	memcpy(out->data + at, &v, sizeof(v));
}

/* Changes the mapping record at offset at to describe a segment. */
static void set_segment(struct buf *out, size_t at, const struct trace_record *r,
			const struct elf_segment *seg, uint64_t base)
{
	uint16_t misc = htole16((uint16_t)(r->misc | PERF_RECORD_MISC_MMAP_DATA));
	uint32_t prot = htole32(PROT_READING);
	uint64_t slack = seg->address & (PAGE_BYTES - 1);
	uint64_t len = (slack + seg->file_bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);

	memcpy(out->data + at + MISC_AT, &misc, sizeof(misc));
	memcpy(out->data + at + PROT_AT, &prot, sizeof(prot));
	set64(out, at + START_AT, base + seg->address - slack);
	set64(out, at + LEN_AT, len);
	set64(out, at + OFFSET_AT, seg->offset - slack);
}

static void put_segments(struct buf *out, const struct elf_file *f, uint64_t base,
			 const struct trace_record *r, const struct perf_origin *o)
{
	for (size_t i = 0; i < elf_file_nr_segments(f); i++) {
		struct elf_segment seg;
		size_t at = out->len;

		elf_file_segment(f, i, &seg);
		if (seg.is_code || seg.is_writable || !seg.file_bytes ||
		    seg.offset < (seg.address & (PAGE_BYTES - 1)))
			continue;
		if (perf_record_add(out, o, r->bytes, r->len) == 0 && !buf_error(out))
			set_segment(out, at, r, &seg, base);
	}
}

void stacks_put_data(const struct stacks *s, struct buf *out, const struct profile_item *item,
		     const struct perf_origin *o)
{
	const struct trace_record *r = &item->record;
	const struct elf_file *f;
	uint64_t base;

	if (!s->has_dumps || r->kind != PERF_RECORD_MMAP2 || !(r->prot & PROT_EXECUTE) ||
	    r->name[0] != '/')
		return;
	f = find_file(s, r, &base);
	if (f)
		put_segments(out, f, base, r, o);
}
