/*
 * Source: frame_x86.hpp, sharedRuntime_x86_64.cpp and stubGenerator_x86_64.cpp of OpenJDK 17 to 25.
 */
#include "unwind/shape.h"

#include "base/order.h"

#include <endian.h>
#include <string.h>
#include <sys/mman.h>

enum {
	WORD = 8,
	/* DWARF's number: in the interpreter the bytecode, in its callees the sender's sp */
	R13 = 13,
	/* of a frame of the interpreter, from its frame pointer on */
	AT_SENDER_SP = -1 * WORD,
	AT_METHOD = -3 * WORD,
	AT_BYTECODE = -8 * WORD,
	NR_POINTS = 4, /* kinds, each once at a distance */
};

/* A caller, as it would be. */
struct caller {
	uint64_t pc, sp, fp;
};

/* --- proof */

static uint32_t point_at(const struct unwind_shape *s, size_t i)
{
	uint32_t v;

	memcpy(&v, s->points + i * sizeof(v), sizeof(v));
	return le32toh(v);
}

/* The first from a distance on; s->nr_points: none. */
static size_t first_point(const struct unwind_shape *s, uint64_t distance)
{
	return ORDER_FIRST(i, s->nr_points, point_at(s, i) / 4 >= distance);
}

static bool has_return(const struct unwind_shape *s, uint64_t pc)
{
	const uint64_t distance = pc - s->start;
	const size_t first = first_point(s, distance);

	for (size_t i = first;
	     i < s->nr_points && i - first < NR_POINTS && point_at(s, i) / 4 == distance; i++)
		if (point_at(s, i) % 4 == UNWIND_POINT_RETURN)
			return true;
	return false;
}

/* What the frame is at an instruction; UNWIND_POINT_RETURN: it is not known. */
static enum unwind_point frame_at(const struct unwind_shape *s, uint64_t pc)
{
	for (size_t i = first_point(s, pc - s->start + 1); i; i--)
		if (point_at(s, i - 1) % 4 != UNWIND_POINT_RETURN)
			return point_at(s, i - 1) % 4;
	return UNWIND_POINT_RETURN;
}

static bool find_shape(const struct unwind_shapes *s, uint64_t address, struct unwind_mapping *m,
		       struct unwind_shape *out)
{
	struct unwind_made made;

	if (!s->maps.find(s->maps.arg, s->process, address, s->time_ns, m) ||
	    !(m->prot & PROT_EXEC) || m->kind != UNWIND_OBJECT_MEMORY ||
	    !s->find_made(s->arg, m, address, s->time_ns, &made))
		return false;
	*out = made.shape;
	return out->kind != UNWIND_SHAPE_NONE;
}

/* That of a frame of the interpreter, with the bytecode that it saved when it called, or that is in
 * the register. */
static enum cfi_end find_method(const struct unwind_shapes *s, const struct unwind_mapping *m,
				const struct cfi_frame *f, uint64_t fp, const uint64_t *bcp,
				uint64_t *out)
{
	uint64_t method = 0, saved = 0;
	enum cfi_end end = fp % WORD ? CFI_NO_TABLE : cfi_frame_word(f, fp + AT_METHOD, &method);

	if (end == CFI_GOES_ON && !bcp)
		end = cfi_frame_word(f, fp + AT_BYTECODE, &saved);
	if (end != CFI_GOES_ON)
		return end == CFI_TRUNCATED ? end : CFI_NO_TABLE;
	return s->find_method &&
		       s->find_method(s->arg, m, method, bcp ? *bcp : saved, s->time_ns, out)
		   ? CFI_GOES_ON
		   : CFI_NO_TABLE;
}

static enum cfi_end prove(const struct unwind_shapes *s, const struct cfi_frame *f,
			  const struct caller *c)
{
	struct unwind_mapping m;
	struct unwind_shape shape;
	uint64_t ignored;

	if (c->sp % WORD || !find_shape(s, c->pc - 1, &m, &shape))
		return CFI_NO_TABLE;
	if (shape.kind == UNWIND_SHAPE_INTERPRETER)
		return find_method(s, &m, f, c->fp, NULL, &ignored);
	return has_return(&shape, c->pc) ? CFI_GOES_ON : CFI_NO_TABLE;
}

/* --- places */

/* Where a frame that ends at sp has its return address, and below it the caller's frame pointer. */
static enum cfi_end read_frame(const struct cfi_frame *f, uint64_t sp, struct caller *out)
{
	enum cfi_end end = cfi_frame_word(f, sp - WORD, &out->pc);

	out->sp = sp;
	return end == CFI_GOES_ON ? cfi_frame_word(f, sp - 2 * WORD, &out->fp) : end;
}

/* The frame does not have its pointer. */
static enum cfi_end read_return(const struct cfi_frame *f, uint64_t sp, uint64_t fp,
				struct caller *out)
{
	out->sp = sp + WORD;
	out->fp = fp;
	return cfi_frame_word(f, sp, &out->pc);
}

struct places {
	const struct unwind_shapes *shapes;
	const struct cfi_frame *f;
	struct caller proven;
	size_t nr; /* proven ones */
	bool is_truncated;
};

static void add_place(struct places *p, enum cfi_end end, const struct caller *c)
{
	end = end == CFI_GOES_ON ? prove(p->shapes, p->f, c) : end;
	p->is_truncated |= end == CFI_TRUNCATED;
	if (end != CFI_GOES_ON || (p->nr && p->proven.sp == c->sp))
		return;
	p->proven = *c;
	p->nr++;
}

static enum cfi_end go_to(struct cfi_frame *f, const struct caller *c)
{
	uint64_t sp;

	if (!cfi_frame_reg(f, f->machine->sp, &sp) || c->sp <= sp)
		return CFI_INVALID;
	f->known = 0;
	cfi_frame_set(f, f->machine->sp, c->sp);
	cfi_frame_set(f, f->machine->fp, c->fp);
	f->pc = c->pc;
	f->is_exact = false;
	return CFI_GOES_ON;
}

static enum cfi_end go_to_proven(const struct places *p, struct cfi_frame *f)
{
	if (p->nr == 1)
		return go_to(f, &p->proven);
	return p->is_truncated && !p->nr ? CFI_TRUNCATED : CFI_NO_TABLE;
}

/* --- steps */

static enum cfi_end step_from_frame(const struct unwind_shapes *s, const struct unwind_shape *shape,
				    struct cfi_frame *f, uint64_t sp)
{
	struct places p = {.shapes = s, .f = f};
	struct caller c = {0};

	if (!shape->frame_bytes)
		return CFI_NO_TABLE;
	add_place(&p, read_frame(f, sp + shape->frame_bytes, &c), &c);
	return go_to_proven(&p, f);
}

/* A frame that is just made may lack its frame pointer, which is in the register then. */
static enum cfi_end read_whole(const struct cfi_frame *f, const struct unwind_shape *shape,
			       uint64_t sp, uint64_t fp, struct caller *out)
{
	const uint64_t end = sp + shape->frame_bytes;
	const bool is_new = f->pc - shape->start < shape->frame_from && fp != end - 2 * WORD;
	enum cfi_end rc = read_frame(f, end, out);

	if (is_new)
		out->fp = fp;
	return rc;
}

/* The places of the return address that are possible: all of them, where it is not known how much
 * of the frame is there. */
static enum cfi_end step_from_instruction(const struct unwind_shapes *s,
					  const struct unwind_shape *shape, struct cfi_frame *f,
					  uint64_t sp, uint64_t fp)
{
	const enum unwind_point at = frame_at(shape, f->pc);
	const bool is_any = at == UNWIND_POINT_RETURN;
	struct places p = {.shapes = s, .f = f};
	struct caller c = {0};

	if (shape->frame_bytes && (at == UNWIND_POINT_WHOLE || is_any))
		add_place(&p, read_whole(f, shape, sp, fp, &c), &c);
	if (at == UNWIND_POINT_ADDRESS || is_any)
		add_place(&p, read_return(f, sp, fp, &c), &c);
	if (at == UNWIND_POINT_POINTER || is_any)
		add_place(&p, read_frame(f, sp + 2 * WORD, &c), &c);
	if (shape->kind == UNWIND_SHAPE_STUB && fp > sp)
		add_place(&p, read_frame(f, fp + 2 * WORD, &c), &c);
	return go_to_proven(&p, f);
}

/* What calls the interpreter may have put arguments below its own stack pointer, which is saved. */
static enum cfi_end step_from_method(const struct unwind_shapes *s, struct cfi_frame *f,
				     uint64_t fp)
{
	struct places p = {.shapes = s, .f = f};
	struct caller c = {0};
	enum cfi_end end = read_frame(f, fp + 2 * WORD, &c);

	if (end == CFI_GOES_ON)
		end = cfi_frame_word(f, fp + AT_SENDER_SP, &c.sp);
	add_place(&p, end, &c);
	return go_to_proven(&p, f);
}

/* A frame that is being made: its pointer is set, and what is below it is not yet. */
static enum cfi_end step_from_part(const struct unwind_shapes *s, struct cfi_frame *f, uint64_t fp,
				   uint64_t sender_sp)
{
	struct places p = {.shapes = s, .f = f};
	struct caller c = {0};
	enum cfi_end end = read_frame(f, fp + 2 * WORD, &c);

	c.sp = sender_sp;
	add_place(&p, end, &c);
	return go_to_proven(&p, f);
}

/* The interpreter's own work between methods, or a frame of one that is not whole. */
static enum cfi_end step_from_entry(const struct unwind_shapes *s, const struct unwind_shape *shape,
				    struct cfi_frame *f, uint64_t sp, uint64_t fp,
				    uint64_t sender_sp)
{
	return fp >= sp && fp - sp <= -(int64_t)AT_BYTECODE
		   ? step_from_part(s, f, fp, sender_sp)
		   : step_from_instruction(s, shape, f, sp, fp);
}

static enum cfi_end step_from_interpreter(const struct unwind_shapes *s,
					  const struct unwind_mapping *m,
					  const struct unwind_shape *shape, struct cfi_frame *f,
					  uint64_t sp, uint64_t fp, uint64_t *method)
{
	uint64_t bcp = 0;
	enum cfi_end end;

	if (f->is_exact && !cfi_frame_reg(f, R13, &bcp))
		return CFI_NO_TABLE;
	end = find_method(s, m, f, fp, f->is_exact ? &bcp : NULL, method);
	if (end == CFI_GOES_ON)
		return step_from_method(s, f, fp);
	*method = 0;
	return f->is_exact ? step_from_entry(s, shape, f, sp, fp, bcp) : end;
}

/* Into C++, which has tables. */
static enum cfi_end step_from_call_stub(const struct unwind_shapes *s, struct cfi_frame *f,
					uint64_t fp)
{
	struct unwind_mapping m;
	struct caller c = {0};
	enum cfi_end end = fp % WORD ? CFI_NO_TABLE : read_frame(f, fp + 2 * WORD, &c);

	if (end != CFI_GOES_ON)
		return end;
	if (!s->maps.find(s->maps.arg, s->process, c.pc - 1, s->time_ns, &m) ||
	    !(m.prot & PROT_EXEC) || m.kind != UNWIND_OBJECT_FILE)
		return CFI_NO_TABLE;
	return go_to(f, &c);
}

enum cfi_end unwind_shape_step(const struct unwind_shapes *s, const struct unwind_mapping *m,
			       const struct unwind_shape *shape, struct cfi_frame *f,
			       uint64_t *method)
{
	uint64_t sp, fp;

	*method = 0;
	if (f->machine != &cfi_machine_x86_64 || !cfi_frame_reg(f, f->machine->sp, &sp) ||
	    !cfi_frame_reg(f, f->machine->fp, &fp) || sp % WORD)
		return CFI_NO_TABLE;
	if (shape->kind == UNWIND_SHAPE_INTERPRETER)
		return step_from_interpreter(s, m, shape, f, sp, fp, method);
	if (f->is_exact)
		return step_from_instruction(s, shape, f, sp, fp);
	if (shape->kind == UNWIND_SHAPE_STUB && has_return(shape, f->pc))
		return step_from_call_stub(s, f, fp);
	return step_from_frame(s, shape, f, sp);
}
