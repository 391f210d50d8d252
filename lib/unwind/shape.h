/*
 * Callers of code that HotSpot has made, which has no unwind tables: a compiled method has a frame
 * of a size that the recorder read; the interpreter has a frame pointer, below which are the method
 * and its bytecode; the stub by which C++ calls Java has a frame pointer.
 *
 * Where a method has no frame yet, or no more, is not known, and code may have changed since it was
 * read. So a return address must be proven: it lies behind a call of a method, or where the stub
 * calls, or in the interpreter with a frame of a known method. If of several places more than one
 * has such an address, or none, the caller is not known: a stale one would be a wrong caller.
 */
#ifndef UNWIND_SHAPE_H
#define UNWIND_SHAPE_H

#include "cfi/frame.h"
#include "unwind/unwind.h"

/* Of one unwinding. */
struct unwind_shapes {
	struct unwind_maps maps;
	unwind_find_made_fn *find_made;
	unwind_find_method_fn *find_method; /* NULL: no method is known */
	void *arg;
	const void *process;
	uint64_t time_ns;
};

/* Steps to the caller of a frame whose code, in the mapping, has that shape. *method: what stands
 * for the interpreted method of the frame; 0: it is of none. If it fails, *f is as before. */
enum cfi_end unwind_shape_step(const struct unwind_shapes *s, const struct unwind_mapping *m,
			       const struct unwind_shape *shape, struct cfi_frame *f,
			       uint64_t *method);

#endif
