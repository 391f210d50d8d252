/*
 * A callchain has marks (PERF_CONTEXT_…) between its parts: the kernel's first, then the program's.
 */
#include "report/stack.h"

#include "base/array.h"
#include "profile/compiled.h"
#include "profile/processes.h"
#include "profile/samples.h"
#include "symbol/symbols.h"

#include <string.h>

enum {
	MAX_MISSING = 64,
	AGENT_MAX_STACK = 1024,  /* HEAP_MAX_FRAMES of wire/heap_memory.h */
	DEFAULT_MAX_STACK = 127, /* PERF_MAX_STACK_DEPTH; other recorders may not store the limit */
};

static void set(struct report_stack *s, size_t i, uint64_t address, bool is_return)
{
	s->moved[i] = is_return && address;
	s->address[i] = address - s->moved[i];
}

static void add(struct report_stack *s, uint64_t address, bool is_return)
{
	if (s->nr < REPORT_MAX_DEPTH)
		set(s, s->nr++, address, is_return);
}

static void add_in(struct report_stack *s, uint64_t context, uint64_t address, bool is_return)
{
	bool is_kernel = context == PERF_CONTEXT_KERNEL && s->nr == s->nr_kernel;

	if (!is_kernel && context != PERF_CONTEXT_USER)
		return;
	add(s, address, is_return);
	if (is_kernel)
		s->nr_kernel = s->nr;
}

static bool is_of_ended(const struct profile_sample *sample)
{
	uint64_t address;

	return trace_record_ended(sample->layout, &sample->record, &address);
}

/* Before what the sample has of the program, which is the caller's. False: there is nothing to add,
 * or it was. */
static bool add_ended(struct report_stack *s, const struct profile_sample *sample)
{
	uint64_t address;

	if (s->nr != s->nr_kernel || !trace_record_ended(sample->layout, &sample->record, &address))
		return false;
	add(s, address, false);
	return true;
}

/* The sampled address; 0: in a guest or a hypervisor, whose addresses mean nothing here. */
static uint64_t context_of(const struct trace_record *r)
{
	switch (r->cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		return PERF_CONTEXT_KERNEL;
	case PERF_RECORD_MISC_USER:
	case PERF_RECORD_MISC_CPUMODE_UNKNOWN:
		return PERF_CONTEXT_USER;
	default:
		return 0;
	}
}

/* Marks behind the last address: the recorder unwound it, and their number says why it ended. */
static uint64_t nr_last_marks(const struct trace_record *r)
{
	uint64_t nr = 0;

	while (nr < r->nr_callchain &&
	       trace_word(r->callchain, r->nr_callchain - 1 - nr) == PERF_CONTEXT_USER)
		nr++;
	return nr < r->nr_callchain ? nr : 0;
}

/* Adds the kernel's part, then the user's; skips guests and hypervisors. The first address of a
 * part is a program counter, the others are return addresses. Addresses before the first mark
 * belong to the sample's mode. */
static void add_callchain(struct report_stack *s, const struct profile_sample *sample)
{
	const struct trace_record *r = &sample->record;
	uint64_t context = context_of(r), max = sample->layout->max_stack, nr = 0, i;
	static const enum report_end ends[] = {REPORT_END_POINTERS, REPORT_END_WHOLE,
					       REPORT_END_BYTES, REPORT_END_INVALID};
	const uint64_t nr_marks = nr_last_marks(r);
	bool is_first = true;

	for (i = 0; i < r->nr_callchain && s->nr < REPORT_MAX_DEPTH; i++) {
		uint64_t word = trace_word(r->callchain, i);

		if (word >= PERF_CONTEXT_MAX) {
			context = word;
			is_first = true;
			continue;
		}
		if (context == PERF_CONTEXT_USER && add_ended(s, sample))
			is_first = false;
		add_in(s, context, word, !is_first);
		is_first = false;
		nr++;
	}
	if (i < r->nr_callchain - nr_marks)
		s->end = REPORT_END_DEPTH;
	else if (nr_marks)
		s->end = nr_marks < ARRAY_NR(ends) ? ends[nr_marks] : REPORT_END_POINTERS;
	else if (sample->layout
		     ->is_heap) /* it unwinds by tables, and the kernel's limit is none of its */
		s->end = nr >= AGENT_MAX_STACK ? REPORT_END_AGENT : REPORT_END_TABLE;
	else if (max ? nr >= max : nr == DEFAULT_MAX_STACK)
		s->end = REPORT_END_LIMIT;
	else
		s->end = REPORT_END_POINTERS;
}

/* An address of 0 means none: other recorders write it so. */
static void add_ip(struct report_stack *s, const struct profile_sample *sample)
{
	const struct trace_record *r = &sample->record;

	(void)add_ended(s, sample);
	if (s->nr || !(r->has & TRACE_HAS_IP) || !r->ip || !context_of(r))
		return;
	add(s, r->ip, false);
	s->nr_kernel = r->cpumode == PERF_RECORD_MISC_KERNEL;
}

/* Replaces the user part of the callchain if the unwound one is longer or complete. */
static void unwind(struct report_stack *s, struct unwinder *u, const struct profile_process *p,
		   const struct profile_sample *sample, size_t max)
{
	static const enum report_end ends[] = {
	    [UNWIND_WHOLE] = REPORT_END_WHOLE,       [UNWIND_NO_REGS] = REPORT_END_REGS,
	    [UNWIND_TRUNCATED] = REPORT_END_BYTES,   [UNWIND_NO_TABLE] = REPORT_END_TABLE,
	    [UNWIND_INVALID] = REPORT_END_INVALID,   [UNWIND_MAX] = REPORT_END_DEPTH,
	    [UNWIND_NO_POINTER] = REPORT_END_UNSEEN, [UNWIND_UNPROVEN] = REPORT_END_UNPROVEN,
	};
	const bool is_piece = s->end == REPORT_END_PIECE;
	const size_t has_ended = is_of_ended(sample);
	uint64_t exact[REPORT_MAX_DEPTH / 64];
	enum report_end reason;
	enum unwind_end end;
	size_t nr = unwind_user(u, p, sample->time_ns, sample->layout, &sample->record, s->unwound,
				max, exact, &end);

	reason = is_piece && end == UNWIND_TRUNCATED ? REPORT_END_PIECE : ends[end];
	if (is_piece || !(sample->record.has & TRACE_HAS_CALLCHAIN))
		s->end = reason;
	if (end != UNWIND_WHOLE && nr + has_ended <= s->nr - s->nr_kernel &&
	    (is_piece || !unwinder_refutes_chain(u)))
		return;
	s->end = nr + has_ended > REPORT_MAX_DEPTH - s->nr_kernel ? REPORT_END_DEPTH : reason;
	s->nr = s->nr_kernel;
	(void)add_ended(s, sample);
	for (size_t i = 0; i < nr; i++)
		add(s, s->unwound[i], (i || has_ended) && !(i && exact[i / 64] >> i % 64 & 1));
}

/* A callchain by frame pointers misses the callers of functions without a frame, after the first
 * address; with recursion an address may occur twice. */
static void add_missing(struct report_stack *s, struct unwinder *u, const struct profile_process *p,
			const struct profile_sample *sample)
{
	bool is_whole;
	size_t at = s->nr_kernel + 1 + is_of_ended(sample),
	       nr = unwind_to_chain(u, p, sample->time_ns, sample->layout, &sample->record,
				    s->unwound, MAX_MISSING, &is_whole);

	if (is_whole) {
		s->nr = at;
		s->end = REPORT_END_WHOLE;
	} else if (s->end == REPORT_END_POINTERS) {
		s->end = REPORT_END_PIECE;
	}
	if (nr > REPORT_MAX_DEPTH - s->nr)
		nr = REPORT_MAX_DEPTH - s->nr;
	memmove(s->address + at + nr, s->address + at, (s->nr - at) * sizeof(*s->address));
	memmove(s->moved + at + nr, s->moved + at, (s->nr - at) * sizeof(*s->moved));
	for (size_t i = 0; i < nr; i++)
		set(s, at + i, s->unwound[i], true);
	s->nr += nr;
}

static void add_dump(struct report_stack *s, struct unwinder *u, const struct profile_process *p,
		     const struct profile_sample *sample, bool with_callers)
{
	const struct trace_record *r = &sample->record;

	if (!(r->has & TRACE_HAS_USER_STACK) || !r->stack_len)
		return;
	if ((r->has & TRACE_HAS_CALLCHAIN) && s->nr > s->nr_kernel + is_of_ended(sample) &&
	    r->stack_len <= REPORT_PIECE_BYTES)
		add_missing(s, u, p, sample);
	else
		unwind(s, u, p, sample, with_callers ? REPORT_MAX_DEPTH : 1);
}

void report_stack_make(struct unwinder *unwinder, const struct profile_process *process,
		       const struct profile_sample *sample, bool with_callers,
		       struct report_stack *out)
{
	const bool has_callers =
	    with_callers && sample->record.has & (TRACE_HAS_CALLCHAIN | TRACE_HAS_USER_STACK);

	out->nr = out->nr_kernel = 0;
	out->end = REPORT_END_REGS;
	if (sample->record.has & TRACE_HAS_CALLCHAIN)
		add_callchain(out, sample);
	add_ip(out, sample);
	if (unwinder && (with_callers || !out->nr))
		add_dump(out, unwinder, process, sample, with_callers);
	if (!with_callers && out->nr > 1)
		out->nr = 1;
	if (out->nr_kernel > out->nr)
		out->nr_kernel = out->nr;
	out->has_callers = has_callers && out->nr > out->nr_kernel;
}

void report_stack_add(struct report_stack *s, uint64_t address, uint8_t moved)
{
	if (s->nr == REPORT_MAX_DEPTH) {
		s->end = REPORT_END_DEPTH;
		return;
	}
	s->moved[s->nr] = moved;
	s->address[s->nr++] = address;
}

void report_stack_remove(struct report_stack *s, size_t nr)
{
	s->nr -= nr;
	s->nr_kernel -= nr;
	memmove(s->address, s->address + nr, s->nr * sizeof(*s->address));
	memmove(s->moved, s->moved + nr, s->nr * sizeof(*s->moved));
}

static enum report_start start_at(const struct report_stack *s, size_t i, report_start_fn *start,
				  void *arg)
{
	return i < s->nr_kernel ? REPORT_START_NO : start(arg, s->address[i]);
}

/* Whether the outermost function is a start. Ignores outermost addresses that are no code: without
 * frame pointers, a chain may lead anywhere. */
static bool ends_at_start(const struct report_stack *s, report_start_fn *start, void *arg)
{
	enum { MAX_ABOVE = 4 };
	size_t least = s->nr - s->nr_kernel > MAX_ABOVE ? s->nr - MAX_ABOVE : s->nr_kernel;
	enum report_start outermost, callee;
	size_t i = s->nr - 1;

	while ((outermost = start_at(s, i, start, arg)) == REPORT_START_ABOVE && i > least)
		i--;
	if (outermost != REPORT_START_NAMELESS || i < s->nr_kernel + 2)
		return outermost == REPORT_START_YES ||
		       (outermost == REPORT_START_LIBRARY && i > s->nr_kernel);
	callee = start_at(s, i - 1, start, arg);
	return callee == REPORT_START_YES || callee == REPORT_START_LIBRARY;
}

/* Code without frame pointers may hold the address of a thread's block in that register. The block
 * begins with its own address: the chain repeats the word behind it up to the limit. */
static void remove_loop(struct report_stack *s, report_start_fn *start, void *arg)
{
	size_t nr = s->nr;

	if (s->end != REPORT_END_LIMIT || start_at(s, nr - 1, start, arg) != REPORT_START_ABOVE)
		return;
	while (nr > s->nr_kernel + 1 && s->address[nr - 1] == s->address[s->nr - 1])
		nr--;
	if (s->nr - nr < 2)
		return;
	s->nr = nr;
	s->end = REPORT_END_POINTERS;
}

static void find_end(struct report_stack *s, report_start_fn *start, void *arg)
{
	if (s->end != REPORT_END_WHOLE && ends_at_start(s, start, arg))
		s->end = REPORT_END_WHOLE;
}

/* Frames of the vdso, or of one function that was built with frame pointers, begin a chain that
 * breaks at the next caller without them, while the piece may lead to the start. A chain that
 * reaches a start is not unwound: that would be slow, and add the functions before main to those
 * stacks alone that fit into the piece. */
void report_stack_finish(struct unwinder *unwinder, const struct profile_process *process,
			 const struct profile_sample *sample, report_start_fn *start, void *arg,
			 struct report_stack *s)
{
	if (!s->has_callers)
		return;
	remove_loop(s, start, arg);
	find_end(s, start, arg);
	if (s->end != REPORT_END_PIECE)
		return;
	unwind(s, unwinder, process, sample, REPORT_MAX_DEPTH);
	find_end(s, start, arg);
}

static bool find_mapping(void *lookup, const void *process, uint64_t address, uint64_t time_ns,
			 struct unwind_mapping *out)
{
	static const enum unwind_object_kind kinds[] = {
	    [PROFILE_OBJECT_FILE] = UNWIND_OBJECT_FILE,
	    [PROFILE_OBJECT_ANON] = UNWIND_OBJECT_MEMORY,
	    [PROFILE_OBJECT_VDSO] = UNWIND_OBJECT_VDSO,
	    [PROFILE_OBJECT_DELETED] = UNWIND_OBJECT_FILE,
	};
	const struct profile_mapping *m = profile_lookup_mapping(lookup, process, address, time_ns);

	if (!m)
		return false;
	*out = (struct unwind_mapping){.start = m->start,
				       .offset = m->offset,
				       .prot = m->prot,
				       .object = m->object->number,
				       .kind = kinds[m->object->kind],
				       .of = m};
	return true;
}

/* Where the shapes of a machine's code are known, what has none has no known frame. */
static bool may_guess(void *lookup, const void *process, const struct unwind_mapping *m)
{
	const struct profile_mapping *of = m ? m->of : NULL;

	(void)process;
	return !of || m->kind != UNWIND_OBJECT_MEMORY ||
	       !profile_compiled_has_frames(profile_lookup_processes(lookup), of->pid);
}

static void want_file(void *lookup, const struct unwind_mapping *m, struct unwind_file *out)
{
	const struct profile_object *o = ((const struct profile_mapping *)m->of)->object;

	(void)lookup;
	*out = (struct unwind_file){.path = o->path,
				    .build_id = o->build_id,
				    .build_id_len = o->build_id_len,
				    .major = o->major,
				    .minor = o->minor,
				    .inode = o->inode};
}

struct unwind_maps report_stack_maps(struct profile_lookup *lookup)
{
	return (struct unwind_maps){
	    .find = find_mapping, .want = want_file, .may_guess = may_guess, .arg = lookup};
}

static struct unwind_shape shape_of(const struct profile_compiled *c)
{
	static const enum unwind_shape_kind kinds[] = {
	    [TRACE_COMPILED_METHOD] = UNWIND_SHAPE_METHOD,
	    [TRACE_COMPILED_INTERPRETER] = UNWIND_SHAPE_INTERPRETER,
	    [TRACE_COMPILED_STUB] = UNWIND_SHAPE_STUB,
	};

	if (!c || c->kind >= ARRAY_NR(kinds))
		return (struct unwind_shape){.kind = UNWIND_SHAPE_NONE};
	return (struct unwind_shape){.kind = kinds[c->kind],
				     .start = c->start,
				     .frame_bytes = c->frame_bytes,
				     .frame_from = c->frame_from,
				     .points = c->points,
				     .nr_points = c->nr_points};
}

bool report_find_made(void *symbols, const struct unwind_mapping *mapping, uint64_t address,
		      uint64_t time_ns, struct unwind_made *out)
{
	struct symbol_made made;

	if (!symbols_made(symbols, mapping->of, address, time_ns, &made))
		return false;
	*out = (struct unwind_made){.name = made.function->name,
				    .address = made.address,
				    .table = made.table,
				    .table_len = made.table_len,
				    .table_address = made.table_address,
				    .shape = shape_of(made.compiled)};
	return true;
}

bool report_find_method(void *symbols, const struct unwind_mapping *mapping, uint64_t method,
			uint64_t bcp, uint64_t time_ns, uint64_t *address)
{
	const struct profile_mapping *m = mapping->of;

	return symbols_method(symbols, m->pid, method, bcp, time_ns, address);
}
