/*
 * Steps from frame to frame: by the unwind table of the mapped object, else by the frame pointer.
 */
#include "unwind/unwind.h"

#include "base/mem.h"
#include "base/perf_abi.h"
#include "trace/record.h"
#include "unwind/machine.h"
#include "unwind/made.h"
#include "unwind/shape.h"
#include "unwind/tables.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* PERF_MAX_STACK_DEPTH of the kernel: of a chain whose limit is not known. */
enum { DEFAULT_MAX_STACK = 127 };

struct unwinder {
	const struct unwind_machine *machine;
	struct unwind_maps maps;
	struct unwind_tables *tables; /* owned */
	unwind_find_made_fn *find_made;
	unwind_find_method_fn *find_method;
	bool keeps_interpreter;
	void *arg;
	bool refutes_chain; /* the last stack */
	uint64_t base;      /* where that one ended; 0: not known */
};

/* One unwinding of one sample. */
struct walk {
	struct unwinder *u;
	const void *process;
	uint64_t time_ns;
	const struct trace_record *sample; /* whose return addresses are replaced; or NULL */
	struct cfi_frame frame;
	/* what the last row was made of, where the code was made at run time */
	struct cfi_rules rules;
	struct cfi_row row;
	uint64_t method; /* what stands for the interpreted method of the last frame; 0: none */
	bool is_unproven;
	bool is_refuted;   /* the frame pointer is not that of the last frame */
	bool is_left;      /* the last frame has left its stack for another one */
	bool is_outermost; /* nothing of the last frame was read */
};

const char *unwind_end_name(enum unwind_end end)
{
	static const char *const names[] = {
	    [UNWIND_WHOLE] = "whole",
	    [UNWIND_NO_REGS] = "no registers",
	    [UNWIND_TRUNCATED] = "truncated",
	    [UNWIND_NO_TABLE] = "no unwind table",
	    [UNWIND_INVALID] = "invalid",
	    [UNWIND_MAX] = "too deep",
	    [UNWIND_NO_POINTER] = "frame pointer not known",
	    [UNWIND_UNPROVEN] = "caller not certain",
	};

	return end < sizeof(names) / sizeof(names[0]) ? names[end] : "unknown";
}

int unwinder_new(const struct unwinder_config *config, struct unwinder **out)
{
	const struct unwind_machine *m = unwind_machine_find(config->machine);
	struct unwinder *u;

	if (!m)
		return -ENOTSUP;
	u = mem_zalloc(sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->machine = m;
	u->maps = config->maps;
	u->find_made = config->find_made;
	u->find_method = config->find_method;
	u->keeps_interpreter = config->keeps_interpreter;
	u->arg = config->arg;
	u->tables = unwind_tables_new(config->finder, &config->maps, config->vdso, m);
	if (!u->tables) {
		mem_free(u);
		return -ENOMEM;
	}
	*out = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	unwind_tables_free(u->tables);
	mem_free(u);
}

bool unwinder_refutes_chain(const struct unwinder *u)
{
	return u->refutes_chain;
}

bool unwinder_base(const struct unwinder *u, uint64_t *address)
{
	*address = u->base;
	return u->base;
}

static bool find_mapping(const struct walk *w, uint64_t address, struct unwind_mapping *out)
{
	return w->u->maps.find(w->u->maps.arg, w->process, address, w->time_ns, out);
}

static bool is_code(const struct walk *w, uint64_t address)
{
	struct unwind_mapping m;

	return find_mapping(w, address, &m) && m.prot & PROT_EXEC;
}

/* The return address that the kernel has replaced where this frame has it: the word below the stack
 * pointer of the caller, or, where a call stores none, at it. */
static void restore_return(struct walk *w)
{
	uint64_t sp, to;

	if (w->sample && !w->frame.is_exact &&
	    cfi_frame_reg(&w->frame, w->frame.machine->sp, &sp) &&
	    trace_returns_find(w->sample, w->frame.pc, sp, &to))
		w->frame.pc = to;
}

/* Without a table: accepts a step if it leads into executable memory. */
static enum cfi_end check_step(struct walk *w, enum cfi_end end)
{
	if (end != CFI_GOES_ON)
		return end;
	restore_return(w);
	return is_code(w, cfi_frame_lookup(&w->frame)) ? end : CFI_NO_TABLE;
}

static enum cfi_end step_by_pointer(struct walk *w)
{
	return check_step(w, cfi_frame_by_pointer(&w->frame));
}

/* glibc's clone3 has no table where it makes its system call: the return address is the first word
 * of the stack, except in the new thread, whose stack is empty. */
static enum cfi_end step_from_syscall(struct walk *w)
{
	const struct unwind_machine *machine = w->u->machine;
	struct cfi_frame *f = &w->frame;
	uint64_t pc, result, sp, ra;

	if (!f->is_exact || f->machine != machine->cfi ||
	    !cfi_frame_reg(f, machine->syscall_pc, &pc) || pc != f->pc ||
	    !cfi_frame_reg(f, machine->syscall_result, &result) || !result ||
	    !cfi_frame_reg(f, machine->cfi->sp, &sp) || cfi_frame_word(f, sp, &ra) != CFI_GOES_ON)
		return CFI_NO_TABLE;
	if (!is_code(w, ra - 1))
		return CFI_NO_TABLE;
	cfi_frame_set(f, machine->cfi->sp, sp + sizeof(ra));
	f->pc = ra;
	f->is_exact = false;
	return CFI_GOES_ON;
}

/* A return address: what its call says of code without a row, and the row of the caller. */
struct origin {
	enum unwind_leads leads;
	uint64_t call, to;         /* if it leads there: where the call is, and what it calls */
	const struct cfi_row *row; /* until the next lookup */
};

static struct origin find_origin(struct walk *w, uint64_t ra, const struct unwind_at *bare)
{
	struct origin o = {.leads = UNWIND_LEADS_ELSEWHERE};
	struct unwind_at call = {.object = UNWIND_NO_OBJECT};
	struct unwind_mapping m;

	if (!find_mapping(w, ra - 1, &m) || !(m.prot & PROT_EXEC))
		return o;
	o.row = unwind_tables_find(w->u->tables, w->frame.machine, &m, ra - 1, &call);
	o.leads = unwind_tables_leads(w->u->tables, &call, bare, &o.to);
	o.call = call.address;
	return o;
}

static bool has_row(const struct cfi_row *row)
{
	return row && row->kind != CFI_ROW_NONE && row->kind != CFI_ROW_POINTER &&
	       row->kind != CFI_ROW_UNKNOWN;
}

/* Steps to where a function returns to that has no frame, or not yet. False: there is no word. */
static bool pop_return(struct walk *w, const struct unwind_at *bare)
{
	enum { ALIGNED = 16 }; /* the stack at a call, by the psABIs */
	struct cfi_frame *f = &w->frame;
	const struct cfi_machine *m = f->machine;
	const uint64_t bytes = m->word_bytes;
	uint64_t sp, ra;

	if (!cfi_frame_reg(f, m->sp, &sp))
		return false;
	if (m->lr == CFI_NO_REG) {
		sp += bytes * unwind_tables_has_pushed(w->u->tables, bare);
		if ((sp + bytes) % ALIGNED || cfi_frame_word(f, sp, &ra) != CFI_GOES_ON)
			return false;
		sp += bytes;
	} else if (!cfi_frame_reg(f, m->lr, &ra)) {
		return false;
	}
	f->known &= m->callee_saved;
	cfi_frame_set(f, m->sp, sp);
	f->pc = ra & m->address_bits;
	f->is_exact = false;
	restore_return(w);
	return true;
}

/* Whether that is a return address of the code. A pointer or a stub may have led to it only from
 * code whose caller is known: else the word may be any that was left there. */
static bool may_return_to(const struct origin *o)
{
	return o->leads == UNWIND_LEADS || (o->leads == UNWIND_MAY_LEAD && has_row(o->row));
}

/* The same, or of other code, called from code whose caller is known, which may have jumped on. */
static bool may_return_near(const struct origin *o)
{
	return may_return_to(o) || (o->leads == UNWIND_LEADS_ASIDE && has_row(o->row));
}

/* The register may have what the last call of the code itself left. */
static bool may_be_own(const struct walk *w, const struct origin *o)
{
	return w->frame.machine->lr != CFI_NO_REG && o->leads == UNWIND_LEADS && o->call >= o->to;
}

/* Steps out of a function without a frame. */
static bool step_by_return(struct walk *w, const struct unwind_at *bare)
{
	const struct cfi_frame before = w->frame;
	struct origin o;

	if (before.is_exact && pop_return(w, bare)) {
		o = find_origin(w, w->frame.pc, bare);
		if (may_return_to(&o) && !may_be_own(w, &o))
			return true;
	}
	w->frame = before;
	return false;
}

enum { MAX_BARE_WORDS = 256 };

/* Whether one of so many words from the stack pointer on may be the return address. Where known, an
 * address that was found already, leads to the code, only a word counts that leads to it, too, by a
 * call of a function that begins nearer to it. */
static bool holds_return(struct walk *w, const struct unwind_at *bare, uint64_t nr,
			 const struct origin *known)
{
	const struct cfi_machine *m = w->frame.machine;
	struct origin o;
	uint64_t sp, word;

	if (!cfi_frame_reg(&w->frame, m->sp, &sp))
		return false;
	for (uint64_t i = 0; i < nr && cfi_frame_word(&w->frame, sp, &word) == CFI_GOES_ON;
	     i++, sp += m->word_bytes) {
		o = find_origin(w, word & m->address_bits, bare);
		if (known->leads == UNWIND_LEADS ? o.leads == UNWIND_LEADS && o.to > known->to
						 : may_return_near(&o))
			return true;
	}
	return false;
}

/* Whether the frame pointer may be a caller's: then the return address is below its frame. */
static bool may_be_callers(struct walk *w, const struct unwind_at *bare, const struct origin *known)
{
	const struct cfi_machine *m = w->frame.machine;
	uint64_t sp = 0, fp = 0, nr;

	(void)cfi_frame_reg(&w->frame, m->sp, &sp);
	(void)cfi_frame_reg(&w->frame, m->fp, &fp);
	nr = (fp - sp) / m->word_bytes;
	if (known->leads != UNWIND_LEADS && nr > MAX_BARE_WORDS)
		return true;
	return holds_return(w, bare, nr < MAX_BARE_WORDS ? nr : MAX_BARE_WORDS, known);
}

/* By the psABIs, a frame pointer of 0 marks the outermost frame. The dynamic linker starts with
 * that, and without a row in its table. Without a file (CFI_ROW_UNKNOWN), the register may hold
 * anything; and in assembler, if somebody called. */
static bool has_no_pointer(const struct walk *w)
{
	uint64_t fp;

	return cfi_frame_reg(&w->frame, w->frame.machine->fp, &fp) && !fp;
}

/* Whether code without a row is the outermost: there is no frame pointer, and nobody called. */
static bool is_first(struct walk *w, const struct unwind_at *bare)
{
	static const struct origin none;
	struct origin o;
	uint64_t ra;

	if (!has_no_pointer(w) || holds_return(w, bare, MAX_BARE_WORDS, &none))
		return false;
	if (!w->frame.is_exact || !cfi_frame_reg(&w->frame, w->frame.machine->lr, &ra))
		return true;
	o = find_origin(w, ra & w->frame.machine->address_bits, bare);
	return !may_return_to(&o);
}

/*
 * Code of a file whose tables do not speak of it: assembler, or all of a program that keeps frame
 * pointers instead. The caller is not the one that the frame pointer leads to if that one calls a
 * function that has a row: then the pointer is that function's, which called this code. Where a
 * pointer leads from code with a row, it may be that of such a function, too.
 */
static enum cfi_end step_bare(struct walk *w, const struct unwind_at *bare)
{
	const struct cfi_frame before = w->frame;
	const enum cfi_end end = step_by_pointer(w);
	const struct cfi_frame caller = w->frame;
	struct origin o;
	bool is_asked;

	if (end != CFI_GOES_ON)
		return end;
	o = find_origin(w, caller.pc, bare);
	is_asked = before.is_exact && (o.leads == UNWIND_LEADS || has_row(o.row));
	w->frame = before;
	w->is_refuted =
	    o.leads == UNWIND_LEADS_ELSEWHERE || (is_asked && may_be_callers(w, bare, &o));
	if (w->is_refuted)
		return CFI_NO_TABLE;
	w->frame = caller;
	return end;
}

/* Code of which nothing is known but where it is. */
static enum cfi_end guess_step(struct walk *w, const struct unwind_mapping *m)
{
	const struct unwind_maps *maps = &w->u->maps;

	w->is_unproven = maps->may_guess && !maps->may_guess(maps->arg, w->process, m);
	return w->is_unproven ? CFI_NO_TABLE : step_by_pointer(w);
}

static enum cfi_end step_by_row(struct walk *w, const struct unwind_mapping *m,
				const struct cfi_row *row, const struct unwind_at *at)
{
	enum cfi_end end;

	/* The row, if there is one, is of what stands before it. Not is_outermost: what is above is
	 * needed of the thread's other stacks. */
	if (!w->frame.is_exact && unwind_tables_starts_context(w->u->tables, at)) {
		w->frame.is_exact = true;
		return CFI_WHOLE;
	}
	switch (row->kind) {
	case CFI_ROW_PLAIN:
		return cfi_row_apply(row, &w->frame);
	case CFI_ROW_HARD:
		return row == &w->row ? cfi_rules_apply(&w->rules, &w->frame)
				      : unwind_tables_step(w->u->tables, at, &w->frame);
	case CFI_ROW_OUTERMOST:
		w->is_outermost = true;
		return CFI_WHOLE;
	case CFI_ROW_NONE:
		end = step_from_syscall(w);
		if (end == CFI_GOES_ON || step_by_return(w, at))
			return CFI_GOES_ON;
		w->is_outermost = is_first(w, at);
		return w->is_outermost ? CFI_WHOLE : step_bare(w, at);
	case CFI_ROW_POINTER:
		w->is_outermost = has_no_pointer(w);
		return w->is_outermost ? CFI_WHOLE : step_by_pointer(w);
	default:
		return guess_step(w, m);
	}
}

/* Finds the row in the unwind tables of the mapped file, or, for code made at run time, in its
 * dump's; *shape: its shape is known. */
static const struct cfi_row *find_row(struct walk *w, const struct unwind_mapping *m,
				      uint64_t address, struct unwind_at *at,
				      struct unwind_shape *shape)
{
	const struct unwinder *u = w->u;
	const struct cfi_row *row = unwind_tables_find(u->tables, w->frame.machine, m, address, at);
	struct unwind_made made;

	shape->kind = UNWIND_SHAPE_NONE;
	if (row->kind != CFI_ROW_UNKNOWN || !u->find_made ||
	    !u->find_made(u->arg, m, address, w->time_ns, &made))
		return row;
	*shape = made.shape;
	if (!unwind_made_rules(&made, &w->frame, &w->rules))
		return row;
	cfi_rules_row(&w->rules, w->frame.machine, &w->row);
	return &w->row;
}

static enum cfi_end step_by_shape(struct walk *w, const struct unwind_mapping *m,
				  const struct unwind_shape *shape)
{
	const struct unwinder *u = w->u;
	const struct unwind_shapes shapes = {.maps = u->maps,
					     .find_made = u->find_made,
					     .find_method = u->find_method,
					     .arg = u->arg,
					     .process = w->process,
					     .time_ns = w->time_ns};
	const enum cfi_end end = unwind_shape_step(&shapes, m, shape, &w->frame, &w->method);

	w->u->refutes_chain = true;
	w->is_unproven = end == CFI_NO_TABLE;
	return end;
}

static enum cfi_end step(struct walk *w)
{
	uint64_t address = cfi_frame_lookup(&w->frame);
	const struct cfi_row *row;
	struct unwind_shape shape;
	struct unwind_mapping m;
	struct unwind_at at = {.object = UNWIND_NO_OBJECT};

	w->method = 0;
	if (!find_mapping(w, address, &m))
		return guess_step(w, NULL);
	/* Only a handler's return address points into the vdso. */
	if (w->u->machine->has_vdso_sigreturn && !w->frame.is_exact && m.kind == UNWIND_OBJECT_VDSO)
		return cfi_frame_by_sigframe(&w->frame);
	if (w->frame.machine == &cfi_machine_i386 && m.kind == UNWIND_OBJECT_VDSO)
		return check_step(w, cfi_frame_by_vdso32(&w->frame));
	row = find_row(w, &m, address, &at, &shape);
	if (shape.kind != UNWIND_SHAPE_NONE)
		return step_by_shape(w, &m, &shape);
	w->is_left = !w->frame.is_exact && unwind_tables_leaves_stack(w->u->tables, &at);
	if (w->is_left)
		return CFI_TRUNCATED;
	if (!w->frame.is_exact && unwind_tables_calls_c(w->u->tables, &at))
		return CFI_INVALID;
	return step_by_row(w, &m, row, &at);
}

/* A return address may be a function's first instruction, which was not called: see
 * unwind_tables_resumes. */
static void find_resumed(struct walk *w)
{
	enum { ALIGNED = 16 };
	struct unwind_at at = {.object = UNWIND_NO_OBJECT};
	struct unwind_mapping m;

	if (w->frame.is_exact || w->frame.pc % ALIGNED || !find_mapping(w, w->frame.pc - 1, &m))
		return;
	(void)unwind_tables_find(w->u->tables, w->frame.machine, &m, w->frame.pc - 1, &at);
	w->frame.is_exact = unwind_tables_resumes(w->u->tables, &at);
}

static void mark(uint64_t *exact, size_t i)
{
	if (exact)
		exact[i / 64] |= 1ull << i % 64;
}

/* --- beyond the bytes */

/* The user's part of a callchain. */
struct chain {
	const uint8_t *words;
	size_t nr;
};

static bool find_chain(const struct trace_record *r, struct chain *out)
{
	size_t from = 0, to;

	while (from < r->nr_callchain && trace_word(r->callchain, from) != PERF_CONTEXT_USER)
		from++;
	if (!(r->has & TRACE_HAS_CALLCHAIN) || from == r->nr_callchain)
		return false;
	for (to = ++from; to < r->nr_callchain; to++)
		if (trace_word(r->callchain, to) >= PERF_CONTEXT_MAX)
			break;
	*out = (struct chain){r->callchain + from * sizeof(uint64_t), to - from};
	return to > from;
}

/* Whether the chain is that of the frame pointers in the bytes, from fp on, and the first one that
 * is not there is the last frame's. *at: which address of the chain that one leads to. */
static bool leads_beyond(const struct walk *w, const struct chain *c, uint64_t fp, size_t *at)
{
	const struct cfi_frame *f = &w->frame;
	uint64_t ra, next, last;

	for (size_t i = 1; i < c->nr; i++, fp = next) {
		switch (cfi_frame_word(f, fp + f->machine->word_bytes, &ra)) {
		case CFI_GOES_ON:
			if ((ra & f->machine->address_bits) != trace_word(c->words, i) ||
			    cfi_frame_word(f, fp, &next) != CFI_GOES_ON)
				return false;
			continue;
		case CFI_TRUNCATED:
			*at = i;
			return cfi_frame_reg(f, f->machine->fp, &last) && last == fp;
		default:
			return false;
		}
	}
	return false;
}

/* Whether the frame pointer of the function leads to its return address. */
static bool keeps_pointer(const struct cfi_row *row, const struct cfi_machine *m)
{
	if (row->kind != CFI_ROW_PLAIN || row->cfa_reg != m->fp || row->ra_reg != CFI_NO_REG ||
	    row->cfa_off + row->ra_off != m->word_bytes)
		return false;
	for (unsigned i = 0; i < row->nr_saved; i++)
		if (row->saved_reg[i] == m->fp)
			return row->cfa_off + row->saved_off[i] == 0;
	return false;
}

/*
 * The bytes end within the stack. The kernel has read the frame pointers behind them, too: as long
 * as tables say that a function keeps its frame pointer, the next address of the chain is that of
 * its caller. Adds those to the nr addresses in out.
 */
static size_t complete(struct walk *w, const struct trace_layout *layout,
		       const struct trace_record *sample, uint64_t *out, size_t nr, size_t max,
		       enum cfi_end *end)
{
	const struct cfi_row *row = NULL;
	struct cfi_frame first;
	struct unwind_mapping m;
	struct unwind_shape shape;
	struct unwind_at where;
	struct chain c;
	uint64_t fp, address;
	size_t at;

	if (layout->has_returns || !find_chain(sample, &c) ||
	    !unwind_machine_frame(w->u->machine, layout, sample, &first) ||
	    trace_word(c.words, 0) != first.pc || !cfi_frame_reg(&first, first.machine->fp, &fp) ||
	    !leads_beyond(w, &c, fp, &at))
		return nr;
	for (;; at++) {
		address = cfi_frame_lookup(&w->frame);
		row =
		    find_mapping(w, address, &m) ? find_row(w, &m, address, &where, &shape) : NULL;
		if (!row || !keeps_pointer(row, w->frame.machine) || at == c.nr || nr == max)
			break;
		w->frame.pc = trace_word(c.words, at);
		w->frame.is_exact = false;
		out[nr++] = w->frame.pc;
	}
	if (row && row->kind == CFI_ROW_OUTERMOST)
		*end = CFI_WHOLE;
	return nr;
}

/*
 * Go's runtime works on a stack of its own, for a goroutine that has another one. All its functions
 * have frame pointers, so the chain that the kernel has read leads back: from the same return
 * address on. Adds what follows there to the nr addresses in out.
 */
static size_t rejoin(const struct trace_layout *layout, const struct trace_record *sample,
		     uint64_t *out, size_t nr, size_t max, enum cfi_end *end)
{
	const uint64_t limit = layout->max_stack ? layout->max_stack : DEFAULT_MAX_STACK;
	const uint64_t last = out[nr - 1];
	struct chain c;
	size_t at = 1;

	if (!find_chain(sample, &c))
		return nr;
	while (at < c.nr && trace_word(c.words, at) != last)
		at++;
	if (at >= c.nr)
		return nr;
	for (at++; at < c.nr && nr < max; at++)
		out[nr++] = trace_word(c.words, at);
	if (c.nr < limit)
		*end = CFI_WHOLE;
	return nr;
}

size_t unwind_user(struct unwinder *u, const void *process, uint64_t time_ns,
		   const struct trace_layout *layout, const struct trace_record *sample,
		   uint64_t *out, size_t max, uint64_t *exact, enum unwind_end *end)
{
	static const enum unwind_end ends[] = {
	    [CFI_GOES_ON] = UNWIND_MAX,         [CFI_WHOLE] = UNWIND_WHOLE,
	    [CFI_TRUNCATED] = UNWIND_TRUNCATED, [CFI_NO_TABLE] = UNWIND_NO_TABLE,
	    [CFI_INVALID] = UNWIND_INVALID,
	};
	struct walk w = {.u = u,
			 .process = process,
			 .time_ns = time_ns,
			 .sample = layout->has_returns ? sample : NULL};
	enum cfi_end last = CFI_GOES_ON;
	uint64_t fp;
	size_t nr = 0;

	u->refutes_chain = false;
	u->base = 0;
	if (exact)
		memset(exact, 0, (max + 63) / 64 * sizeof(*exact));
	if (!unwind_machine_frame(u->machine, layout, sample, &w.frame)) {
		*end = UNWIND_NO_REGS;
		return 0;
	}
	while (last == CFI_GOES_ON && nr < max) {
		find_resumed(&w);
		out[nr] = w.frame.pc;
		if (w.frame.is_exact)
			mark(exact, nr);
		nr++;
		last = step(&w);
		if (w.method && !u->keeps_interpreter) {
			out[nr - 1] = w.method;
			mark(exact, nr - 1);
		}
		if (last == CFI_GOES_ON)
			restore_return(&w);
		if ((last == CFI_GOES_ON || last == CFI_WHOLE) && w.frame.is_exact)
			mark(
			    exact,
			    nr -
				1); /* the return address of a handler is the start of a function */
	}
	if (w.is_outermost && cfi_frame_reg(&w.frame, w.frame.machine->sp, &fp))
		u->base = fp;
	if (w.is_left)
		nr = rejoin(layout, sample, out, nr, max, &last);
	else if (last == CFI_TRUNCATED && nr < max)
		nr = complete(&w, layout, sample, out, nr, max, &last);
	u->refutes_chain |= w.is_unproven || w.is_refuted;
	*end = w.is_unproven ? UNWIND_UNPROVEN : ends[last];
	if (sample->is_seen && !cfi_frame_reg(&w.frame, w.frame.machine->fp, &fp) &&
	    (last == CFI_INVALID || last == CFI_NO_TABLE))
		*end = UNWIND_NO_POINTER;
	return nr;
}

/*
 * Whether the return address of this frame is the next in the recorded callchain. The kernel read
 * that from the word after the sampled frame pointer (at pointed), which functions without frames
 * do not change.
 */
static bool is_in_chain(const struct walk *w, const struct cfi_row *row, uint64_t pointed)
{
	uint64_t cfa;

	if (row->kind != CFI_ROW_PLAIN)
		return row->kind != CFI_ROW_HARD && row->kind != CFI_ROW_OUTERMOST;
	return row->ra_reg == CFI_NO_REG && cfi_frame_reg(&w->frame, row->cfa_reg, &cfa) &&
	       cfa + (uint64_t)(int64_t)row->cfa_off + (uint64_t)(int64_t)row->ra_off == pointed;
}

/* One step toward the callchain. Not CFI_GOES_ON if it was reached, or without a table. */
static enum cfi_end step_to_chain(struct walk *w, uint64_t pointed)
{
	uint64_t address = cfi_frame_lookup(&w->frame);
	const struct cfi_row *row;
	struct unwind_shape ignored;
	struct unwind_mapping m;
	struct unwind_at at;

	if (!find_mapping(w, address, &m))
		return CFI_NO_TABLE;
	row = find_row(w, &m, address, &at, &ignored);
	if (row->kind == CFI_ROW_NONE && step_by_return(w, &at))
		return CFI_GOES_ON;
	if (row->is_signal || is_in_chain(w, row, pointed))
		return CFI_NO_TABLE;
	return step_by_row(w, &m, row, &at);
}

size_t unwind_to_chain(struct unwinder *u, const void *process, uint64_t time_ns,
		       const struct trace_layout *layout, const struct trace_record *sample,
		       uint64_t *out, size_t max, bool *is_whole)
{
	struct walk w = {.u = u, .process = process, .time_ns = time_ns};
	enum cfi_end end = CFI_GOES_ON;
	uint64_t pointed;
	size_t nr = 0;

	*is_whole = false;
	if (!unwind_machine_frame(u->machine, layout, sample, &w.frame) ||
	    !cfi_frame_reg(&w.frame, w.frame.machine->fp, &pointed))
		return 0;
	pointed += w.frame.machine->word_bytes;
	while (nr < max && (end = step_to_chain(&w, pointed)) == CFI_GOES_ON)
		out[nr++] = w.frame.pc;
	*is_whole = end == CFI_WHOLE;
	return nr;
}
