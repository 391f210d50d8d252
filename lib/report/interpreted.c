/*
 * Joins interpreted frames (Python's, for example) with the native frames of a sampled stack. The
 * native function that interprets has a frame for each time that native code called it; from there
 * on Python's functions call each other without one. So a native frame is worth as many frames of
 * Python as there are up to the one that was entered.
 *
 * What else the interpreter's own file does for a function that it interprets, as to add or to
 * allocate, is that function's: those frames are left out, unless they are asked for. Frames of
 * other libraries, and of the kernel, stay.
 */
#include "report/stack.h"

#include "profile/codes.h"
#include "profile/processes.h"
#include "profile/samples.h"

#include <string.h>

/* The parts of a merged stack, from the innermost on. */
struct merge {
	const struct profile_processes *processes;
	const struct trace_interpreted *of;
	const struct profile_mapping *own; /* of the interpreter; NULL: its frames stay, too */
	struct report_stack *to;
	const uint64_t *address; /* of the native stack */
	uint8_t moved[REPORT_MAX_DEPTH];
	size_t nr, next;   /* of the interpreted frames */
	size_t nr_further; /* native frames that are worth none: of the frame before next */
};

static bool is_loop(const struct merge *m, size_t i)
{
	const uint64_t at = m->address[i];

	return at >= m->of->loop_begin && at < m->of->loop_end;
}

static size_t count_loops(const struct merge *m)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr; i++)
		nr += is_loop(m, i);
	return nr;
}

static size_t count_entries(const struct trace_interpreted *of)
{
	size_t nr = 0;

	for (size_t i = 0; i < of->nr; i++)
		nr += of->frame[i].nr_entries;
	return nr;
}

static void add_interpreted(struct merge *m)
{
	const struct trace_interpreted_frame *f = &m->of->frame[m->next++];

	report_stack_add(
	    m->to, profile_code_address(m->processes, m->of->language, f->code, f->instruction), 0);
}

/* Up to the frame that native code entered. It may have done so again while that frame did what has
 * none of its own, as a block that compares. */
static void add_entered(struct merge *m)
{
	if (m->nr_further) {
		m->nr_further--;
		return;
	}
	while (m->next < m->of->nr) {
		const size_t nr_entries = m->of->frame[m->next].nr_entries;

		add_interpreted(m);
		if (nr_entries) {
			m->nr_further = nr_entries - 1;
			return;
		}
	}
}

/* What the interpreter does for the function whose frame comes next, or has not ended yet. */
static bool is_part(const struct merge *m, size_t i)
{
	const uint64_t at = m->address[i];

	return m->own && at >= m->own->start && at < m->own->end &&
	       (m->next < m->of->nr || m->nr_further);
}

static void add_native(struct merge *m, size_t i)
{
	if (!is_part(m, i))
		report_stack_add(m->to, m->address[i], m->moved[i]);
}

/* Each native frame has its part. A function may just have been called, and not have its frame. */
static void merge_all(struct merge *m, size_t nr_new)
{
	for (size_t i = 0; i < m->nr; i++) {
		if (!is_loop(m, i))
			add_native(m, i);
		else if (nr_new)
			nr_new--;
		else
			add_entered(m);
	}
}

/* A stack by frame pointers ends early, or has addresses that mean nothing behind the first one. */
static void merge_part(struct merge *m, size_t nr_loops)
{
	size_t nr = nr_loops ? m->nr : m->nr != 0;

	for (size_t i = 0; i < nr && !is_loop(m, i); i++)
		add_native(m, i);
	while (m->next < m->of->nr)
		add_interpreted(m);
	if (m->to->end != REPORT_END_DEPTH && !m->of->is_partial)
		m->to->end = REPORT_END_WHOLE;
}

void report_stack_merge(const struct profile_processes *processes,
			const struct trace_interpreted *interpreted,
			const struct profile_mapping *own, bool with_callers,
			struct report_stack *s)
{
	struct merge m = {.processes = processes, .of = interpreted, .own = own, .to = s};
	const size_t nr_entries = count_entries(interpreted);
	size_t nr_loops;

	if (!with_callers && s->nr_kernel)
		return;
	m.nr = s->nr - s->nr_kernel;
	memcpy(s->unwound, s->address + s->nr_kernel, m.nr * sizeof(*m.address));
	m.address = s->unwound;
	memcpy(m.moved, s->moved + s->nr_kernel, m.nr * sizeof(*m.moved));
	s->nr = s->nr_kernel;
	nr_loops = count_loops(&m);
	if (!interpreted->is_partial && (nr_loops == nr_entries || nr_loops == nr_entries + 1))
		merge_all(&m, nr_loops - nr_entries);
	else
		merge_part(&m, nr_loops);
	if (!with_callers && s->nr > 1)
		s->nr = 1;
}
