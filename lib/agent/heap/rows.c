/*
 * Rows of unwind tables, by place: from the tables in memory, where the loader says that they are,
 * or from the code of PLT stubs, into a cache of all threads. An entry of it has two words, of
 * which the first is the key xor the second: one that is torn has another key.
 */
#include "agent/heap/agent.h"

#include "cfi/rules.h"
#include "cfi/section.h"
#include "cfi/stub.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#if defined(__x86_64__)
#define MACHINE cfi_machine_x86_64
#elif defined(__i386__)
#define MACHINE cfi_machine_i386
#elif defined(__aarch64__)
#define MACHINE cfi_machine_aarch64
#else
#error "the agent unwinds x86, x86-64 and arm64"
#endif

enum {
	PAGE = 4096,
	NR_ENTRIES = 1 << 14,
	UNIT = sizeof(uintptr_t),
	CFA_BITS = 24,
	PLACE_BITS = 16,
	STACK_WINDOW = 64 << 10,
};

struct entry {
	uint64_t mixed, rule;
};

static struct entry *entries;
static uint64_t era; /* changes when entries may be wrong */

bool agent_rows_init(void)
{
	if (!entries)
		entries = agent_pages(NR_ENTRIES * sizeof(*entries));
	agent_rows_forget();
	return entries;
}

void agent_rows_forget(void)
{
	__atomic_fetch_add(&era, 1, __ATOMIC_RELAXED);
}

/* --- where an address's tables are */

struct object {
	uint64_t start, end; /* mapped */
	const uint8_t *header;
	uint64_t pc;
};

/* Lock-free; of glibc 2.35 and later. */
extern int _dl_find_object(void *address, struct dl_find_object *result) __attribute__((weak));

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *o = arg;
	const ElfW(Phdr) *header = NULL;
	uint64_t start = UINT64_MAX, end = 0;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_GNU_EH_FRAME)
			header = p;
		if (p->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + p->p_vaddr < start)
			start = info->dlpi_addr + p->p_vaddr;
		if (info->dlpi_addr + p->p_vaddr + p->p_memsz > end)
			end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	if (o->pc < start || o->pc >= end)
		return 0;
	o->start = start;
	o->end = end;
	o->header = header ? (const uint8_t *)(info->dlpi_addr + header->p_vaddr) : NULL;
	return 1;
}

/* Which may not wait for the loader. */
static bool is_in_handler(void)
{
	return agent_local.is_busy == AGENT_SAMPLES;
}

static bool find_object(uint64_t pc, struct object *o)
{
	struct dl_find_object found;

	*o = (struct object){.pc = pc};
	if (!_dl_find_object)
		return !is_in_handler() && dl_iterate_phdr(look_at_object, o) == 1 && o->header;
	if (_dl_find_object((void *)(uintptr_t)pc, &found))
		return false;
	o->start = (uintptr_t)found.dlfo_map_start;
	o->end = (uintptr_t)found.dlfo_map_end;
	o->header = found.dlfo_eh_frame;
	return o->header;
}

static bool find_in_tables(const struct object *o, uint64_t place, struct cfi_rules *out)
{
	const struct cfi_section section = {.data = (const uint8_t *)(uintptr_t)o->start,
					    .len = o->end - o->start,
					    .address = o->start,
					    .is_eh = true,
					    .is_32 = sizeof(uintptr_t) == 4};
	struct cfi_base base = cfi_section_base(&section);
	struct cfi_header header;
	struct cfi_fde fde;
	uint64_t at;

	return cfi_header_init(&header, o->header, o->end - (uintptr_t)o->header,
			       (uintptr_t)o->header, section.is_32) &&
	       cfi_header_find(&header, place, &at) && at >= o->start &&
	       cfi_section_fde(&section, at - o->start, place, &fde) &&
	       cfi_program_run(&MACHINE, &fde, &base, place, out);
}

/* Not every linker writes tables for its PLT stubs; where sections are, memory does not say. Within
 * the page, which may be unreadable where the place is no code. */
static bool find_stub(uint64_t place, struct cfi_rules *out)
{
	const uint64_t page = place & ~(uint64_t)(PAGE - 1);
	const struct cfi_code code = {(const uint8_t *)(uintptr_t)page, PAGE};

	return agent_is_page(page) && cfi_stub_find(&code, &MACHINE, place - page, out);
}

/* Rules of the function around the place. */
static bool find_rules(uint64_t place, struct cfi_rules *out)
{
	struct object o;

	if (!find_object(place, &o) || (uintptr_t)o.header < o.start ||
	    (uintptr_t)o.header >= o.end)
		return false;
	return find_in_tables(&o, place, out) || find_stub(place, out);
}

/* --- rows */

/* A place below the CFA, in units; 0: not one that a row can hold. */
static uint32_t below(int64_t off)
{
	return off >= 0 || off % UNIT || off < -(int64_t)UNIT * ((1 << PLACE_BITS) - 1)
		   ? 0
		   : (uint32_t)(-off / UNIT);
}

static struct agent_row row_of(const struct cfi_row *from)
{
	struct agent_row row = {.kind = AGENT_ROW_HARD};

	if (from->kind == CFI_ROW_OUTERMOST)
		row.kind = AGENT_ROW_END;
	if (from->kind != CFI_ROW_PLAIN || from->is_signal || from->ra_reg != CFI_NO_REG ||
	    from->cfa_off < 0 || from->cfa_off % UNIT || from->cfa_off >> CFA_BITS)
		return row;
	row.ra = below(from->ra_off);
	row.cfa = (uint32_t)from->cfa_off / UNIT;
	for (unsigned i = 0; i < from->nr_saved; i++) {
		if (from->saved_reg[i] != MACHINE.fp)
			continue;
		row.fp = below(from->saved_off[i]);
		if (!row.fp)
			return row;
	}
	if (row.ra && from->cfa_reg == MACHINE.sp)
		row.kind = AGENT_ROW_SP;
	else if (row.ra && from->cfa_reg == MACHINE.fp)
		row.kind = AGENT_ROW_FP;
	return row;
}

/* What needs much stack is never within what has checked that there is little. */
static __attribute__((noinline)) struct agent_row make_row(uint64_t place)
{
	struct agent_row row = {.kind = AGENT_ROW_POINTER};
	struct cfi_rules rules;
	struct cfi_row plain;

	if (!find_rules(place, &rules))
		return row;
	cfi_rules_row(&rules, &MACHINE, &plain);
	return row_of(&plain);
}

static uint64_t pack(struct agent_row r)
{
	return r.kind | (uint64_t)r.cfa << 4 | (uint64_t)r.ra << (4 + CFA_BITS) |
	       (uint64_t)r.fp << (4 + CFA_BITS + PLACE_BITS);
}

static struct agent_row unpack(uint64_t rule)
{
	return (struct agent_row){.kind = rule & 15,
				  .cfa = rule >> 4 & ((1 << CFA_BITS) - 1),
				  .ra = rule >> (4 + CFA_BITS) & ((1 << PLACE_BITS) - 1),
				  .fp = rule >> (4 + CFA_BITS + PLACE_BITS)};
}

struct agent_row agent_row_find(uint64_t pc, bool is_exact)
{
	uint64_t place = pc - !is_exact;
	uint64_t key = place ^ __atomic_load_n(&era, __ATOMIC_RELAXED) << 48, rule;
	struct entry *e = &entries[(place ^ place >> 14) & (NR_ENTRIES - 1)];
	struct agent_row row;

	rule = __atomic_load_n(&e->rule, __ATOMIC_RELAXED);
	if ((__atomic_load_n(&e->mixed, __ATOMIC_RELAXED) ^ rule) == key && rule)
		return unpack(rule);
	row = make_row(place);
	if (AGENT_UNLIKELY(!_dl_find_object) && is_in_handler())
		return row;
	rule = pack(row);
	__atomic_store_n(&e->mixed, key ^ rule, __ATOMIC_RELAXED);
	__atomic_store_n(&e->rule, rule, __ATOMIC_RELAXED);
	return row;
}

__attribute__((noinline)) bool agent_row_apply(struct agent_frame *f, uint64_t link, bool *is_exact,
					       uint64_t hi, bool *is_end)
{
	struct cfi_rules rules;
	struct cfi_frame frame = {.machine = &MACHINE, .pc = f->pc, .is_exact = *is_exact};
	enum cfi_end end;

	if (!find_rules(f->pc - !*is_exact, &rules))
		return false;
	frame.stack = (struct cfi_stack){.bytes = (const uint8_t *)(uintptr_t)f->sp,
					 .start = f->sp,
					 .len = hi > f->sp ? hi - f->sp : 0};
	cfi_frame_set(&frame, MACHINE.sp, f->sp);
	cfi_frame_set(&frame, MACHINE.fp, f->fp);
	if (link && MACHINE.lr != CFI_NO_REG)
		cfi_frame_set(&frame, MACHINE.lr, link);
	end = cfi_rules_apply(&rules, &frame);
	*is_end = end == CFI_WHOLE;
	if (end != CFI_GOES_ON)
		return false;
	f->pc = frame.pc;
	*is_exact = frame.is_exact;
	if (!cfi_frame_reg(&frame, MACHINE.fp, &f->fp))
		f->fp = 0;
	return cfi_frame_reg(&frame, MACHINE.sp, &f->sp);
}
