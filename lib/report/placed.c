/*
 * Stacks of programs in JavaScript. Each of its functions has a native frame, of code that was made
 * at run time or of the interpreter's entry, and the record says at which address the thread was in
 * it. So both lists are followed from the innermost on, and where they meet the function takes the
 * place of the native frame; nothing else is moved. A name that a dump or a map has is exact, and
 * stays.
 *
 * The record also has addresses of frames that are none of JavaScript, behind those that are: they
 * say where a function belongs whose native frame is missing in the stack, as of the caller while
 * the callee's frame is being made.
 */
#include "report/stack.h"

#include "profile/codes.h"
#include "profile/samples.h"

#include <string.h>

struct place {
	const struct report_placing *c;
	const struct trace_interpreted *of;
	struct report_stack *to;
	const uint64_t *address; /* of the native stack */
	uint8_t moved[REPORT_MAX_DEPTH];
	size_t nr, at;       /* at: the first one that is not placed */
	size_t first, after; /* functions whose place is not found yet: from first on */
};

/* The address of a function that is known; 0: the native frame says more. */
static uint64_t find_code(const struct place *p, size_t i)
{
	const struct trace_interpreted_frame *f = &p->of->frame[i];
	const uint64_t address =
	    f->code ? profile_code_address(p->c->processes, p->of->language, f->code, -1) : 0;

	return address && profile_code_at(p->c->processes, address) ? address : 0;
}

static bool add_function(struct place *p, size_t i)
{
	const uint64_t address = find_code(p, i);

	if (address)
		report_stack_add(p->to, address, 0);
	return address;
}

/* What the interpreter does for the function that comes next is that function's. */
static bool is_part(const struct place *p, size_t i)
{
	return !p->c->with_native && p->address[i] >= p->of->loop_begin &&
	       p->address[i] < p->of->loop_end;
}

static void add_natives(struct place *p, size_t end)
{
	for (; p->at < end; p->at++)
		if (!is_part(p, p->at))
			report_stack_add(p->to, p->address[p->at], p->moved[p->at]);
}

static enum report_code code_of(const struct place *p, size_t native, size_t i)
{
	return p->c->code(p->c->arg, p->address[native], find_code(p, i));
}

/* What is there for the function whose address is not known: code without a name, or its own,
 * directly before the place. */
static enum report_code replaced(const struct place *p, size_t end)
{
	return p->first < p->after && !p->of->frame[p->first].at && end > p->at && end > 1
		   ? code_of(p, end - 1, p->first)
		   : REPORT_CODE_OF_FILE;
}

static void add_pending(struct place *p, size_t end)
{
	const enum report_code code = replaced(p, end);

	if (code == REPORT_CODE_WITHOUT_NAME && find_code(p, p->first)) {
		add_natives(p, end - 1);
		p->at = end;
	} else if (code == REPORT_CODE_SCRIPT) {
		add_natives(p, end);
		p->first++;
	} else {
		add_natives(p, end);
	}
	for (; p->first < p->after; p->first++)
		(void)add_function(p, p->first);
}

static size_t find_native(const struct place *p, uint64_t at)
{
	size_t i = p->at;

	while (at && i < p->nr && p->address[i] + p->moved[i] != at)
		i++;
	return at ? i : p->nr;
}

/* Frame i of the record is native frame n. */
static void meet(struct place *p, size_t i, size_t n)
{
	const enum report_code code = code_of(p, n, i);

	add_pending(p, n);
	p->first = p->after = i + 1;
	p->at = n + 1;
	if (code == REPORT_CODE_NAMED || code == REPORT_CODE_SCRIPT || !add_function(p, i))
		report_stack_add(p->to, p->address[n], p->moved[n]);
}

/* What is behind the last place. Functions without one are called by the last native frame if the
 * stack ends early there; else they do not belong to this stack. */
static void add_rest(struct place *p)
{
	const bool is_early = p->to->end != REPORT_END_WHOLE || !p->to->has_callers;

	if (!is_early)
		p->after = p->first;
	for (; p->at < p->nr; p->at++)
		if (p->first == p->after || !is_part(p, p->at))
			report_stack_add(p->to, p->address[p->at], p->moved[p->at]);
	for (; p->first < p->after; p->first++)
		(void)add_function(p, p->first);
}

void report_stack_place(const struct report_placing *c, const struct trace_interpreted *interpreted,
			bool with_callers, struct report_stack *s)
{
	struct place p = {.c = c, .of = interpreted, .to = s};

	if (!with_callers && s->nr_kernel)
		return;
	p.nr = s->nr - s->nr_kernel;
	memcpy(s->unwound, s->address + s->nr_kernel, p.nr * sizeof(*p.address));
	p.address = s->unwound;
	memcpy(p.moved, s->moved + s->nr_kernel, p.nr * sizeof(*p.moved));
	s->nr = s->nr_kernel;
	for (size_t i = 0; i < interpreted->nr; i++) {
		const size_t n = find_native(&p, interpreted->frame[i].at);

		if (n < p.nr)
			meet(&p, i, n);
		else
			p.after = i + 1;
	}
	add_rest(&p);
	if (!with_callers && s->nr > 1)
		s->nr = 1;
}
