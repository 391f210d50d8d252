/*
 * What -finstrument-functions calls: the beginning and the end of each call, also of functions that
 * were inlined. And what is called where sleds or places are: with the stack pointer that the
 * function began with.
 *
 * A thread has frames of its calls in progress. Not each call ends by its end: longjmp, a thread
 * that ends, and in C++ of clang exceptions leave frames behind. They are found by the stack
 * pointer: what is below a call that begins or ends is gone. An inlined function has that of the
 * function around it; two frames of one stack pointer are two calls only if they begin at two
 * places of the code. The compiler may end a function by a jump to the agent: then the stack
 * pointer is that of its caller. Where a program changes stacks (coroutines, signal stacks) calls
 * in progress may be taken for gone: they are counted, and have no time.
 *
 * A signal handler may come between any two instructions, and call what is measured, or leave by
 * longjmp: so no word says that a thread is in here. The handler finds frames as they are. At worst
 * the call that it interrupts has no time, or a sum lacks one of two times of the same function.
 *
 * Compiled without vector registers: what is here saves none.
 */
#include "agent/functions/agent.h"

#include <time.h>

__thread uint64_t *agent_words;
__thread struct agent_local agent_local = {.generation = UINT32_MAX};

/* Until a process connects nothing is equal to it. */
static const uint32_t never;
static struct functions_header none;
struct agent_state agent = {.alive = &never, .shared = &none, .clock = clock_gettime};

AGENT_OFTEN uint64_t read_clock(const struct agent_local *t)
{
	struct timespec ts;

#if defined(__x86_64__)
	if (AGENT_LIKELY(t->is_cycles))
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	if (AGENT_LIKELY(t->is_cycles)) {
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
	}
#endif
	agent.clock(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Drops the frames above f. */
AGENT_OFTEN void cut(struct agent_local *t, struct functions_frame *f)
{
	t->slot->cut += (uint64_t)(t->top - f);
	t->top = f;
}

/* Of a function whose instructions were replaced: nothing is inlined in it there, so two calls do
 * not have one stack pointer. */
AGENT_OFTEN bool is_number(uintptr_t where)
{
	return where < FUNCTIONS_MEMORY_MAX;
}

/* Of a call that begins: what it shows to be gone. */
static AGENT_RARE void drop_gone(struct agent_local *t, uintptr_t stack, uintptr_t where)
{
	struct functions_frame *f = t->top;

	while (f > t->frames && f[-1].stack < stack)
		f--;
	for (struct functions_frame *same = f; same > t->frames && same[-1].stack == stack; same--)
		if (same[-1].where == where || (is_number(where) && is_number(same[-1].where)))
			f = same - 1;
	cut(t, f);
}

AGENT_OFTEN void begin(struct agent_local *t, uint32_t number, uintptr_t function, uintptr_t stack,
		       uintptr_t where)
{
	struct functions_frame *f;

	if (AGENT_UNLIKELY(t->top > t->frames && t->top[-1].stack <= stack))
		drop_gone(t, stack, where);
	f = t->top;
	if (AGENT_UNLIKELY(f == t->end)) {
		t->slot->deep++;
		return;
	}
	/* A signal handler that comes between has frames of its own from t->top on, and leaves it
	 * as it was. Until the frame is in, it writes there; after that it reads the stack pointer.
	 */
	f->stack = stack;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->top = f + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	f->children = 0;
	f->inner = 0;
	f->stack = stack;
	f->where = where;
	f->function = function;
	f->number = number;
	f->begin = read_clock(t);
}

AGENT_OFTEN void enter(uintptr_t function, uintptr_t stack, uintptr_t where)
{
	struct agent_local *t = &agent_local;
	uint32_t number;

	if (AGENT_UNLIKELY(!agent_is_ready(t)) && !agent_attach(t))
		return;
	number = agent_find(function);
	if (AGENT_UNLIKELY(number >= FUNCTIONS_MEMORY_MAX)) {
		if (number == FUNCTIONS_MEMORY_MAX)
			number = agent_add(function);
		if (number >= FUNCTIONS_MEMORY_MAX)
			return;
	}
	agent_count(t, &t->rows[number].calls);
	if (t->has_times)
		begin(t, number, function, stack, where);
}

/* The bucket's place; NULL: there is no chunk left. */
static AGENT_RARE uint64_t *add_chunk(struct agent_local *t, uint32_t *chunk, unsigned bucket)
{
	if (t->slot->nr_chunks >= FUNCTIONS_MEMORY_CHUNKS) {
		t->slot->full++;
		return NULL;
	}
	t->slot->nr_chunks++;
	if (!*chunk)
		__atomic_store_n(chunk, t->slot->nr_chunks, __ATOMIC_RELEASE);
	return &t->chunks[*chunk - 1].bucket[bucket % FUNCTIONS_MEMORY_OCTAVE];
}

AGENT_OFTEN void add(struct agent_local *t, const struct functions_frame *f, uint64_t time)
{
	struct functions_row *row = &t->rows[f->number];
	unsigned bucket = functions_memory_bucket(functions_memory_ns(time, agent.factor));
	uint32_t *chunk = &t->octaves[f->number].chunk[bucket / FUNCTIONS_MEMORY_OCTAVE];
	uint64_t *at = AGENT_LIKELY(*chunk)
			   ? &t->chunks[*chunk - 1].bucket[bucket % FUNCTIONS_MEMORY_OCTAVE]
			   : add_chunk(t, chunk, bucket);

	if (AGENT_UNLIKELY(!at))
		return;
	++*at;
	row->wall += time;
	row->self += time > f->children ? time - f->children : 0;
	row->inner += f->inner;
	if (AGENT_UNLIKELY(time > row->max))
		row->max = time;
}

/* How a call ends: the compiler's call is in the function, or is a jump behind it, and returns to
 * where that was called. */
struct end {
	uintptr_t function, stack;
	bool is_behind;
};

/* Behind a function its frame is below the stack pointer, and those of its caller are not. Of
 * several of the same function the oldest is it. */
static AGENT_RARE struct functions_frame *search_below(const struct agent_local *t,
						       const struct end *e)
{
	struct functions_frame *found = NULL;

	for (struct functions_frame *f = t->top; f > t->frames && f[-1].stack < e->stack; f--)
		if (f[-1].function == e->function)
			found = f - 1;
	return found;
}

/* In a function the stack pointer is where it was, or lower. */
static AGENT_RARE struct functions_frame *search_above(const struct agent_local *t,
						       const struct end *e)
{
	enum { MOST = 64 };
	struct functions_frame *f = t->top;

	while (f > t->frames && f[-1].stack < e->stack)
		f--;
	for (int i = 0; f > t->frames && i < MOST; i++, f--)
		if (f[-1].function == e->function)
			return f - 1;
	return NULL;
}

/* The frame of the call that ends; NULL: it has none, as it began before the session. */
static AGENT_RARE struct functions_frame *search(struct agent_local *t, const struct end *e)
{
	struct functions_frame *f = e->is_behind ? search_below(t, e) : search_above(t, e);

	if (!f)
		return NULL;
	cut(t, f + 1);
	return f;
}

AGENT_OFTEN bool is_top(const struct agent_local *t, const struct end *e)
{
	const struct functions_frame *f = t->top - 1;

	if (f->function != e->function)
		return false;
	if (!e->is_behind)
		return f->stack == e->stack;
	return f->stack < e->stack && (f == t->frames || f[-1].stack >= e->stack);
}

AGENT_OFTEN bool is_below(const struct functions_frame *f, const struct end *e)
{
	return f->stack > e->stack || (e->is_behind && f->stack == e->stack);
}

AGENT_OFTEN void end(struct agent_local *t, const struct end *e)
{
	uint64_t now = read_clock(t), time;
	struct functions_frame *f = t->top - 1;

	/* Where there was no room left, calls have no frames. */
	if (AGENT_UNLIKELY(t->top == t->end) && is_below(f, e))
		return;
	if (AGENT_UNLIKELY(!is_top(t, e))) {
		if (agent_find(e->function) == FUNCTIONS_MEMORY_OUT)
			return;
		f = search(t, e);
		if (!f)
			return;
	}
	time = now > f->begin ? now - f->begin : 0;
	add(t, f, time);
	if (f > t->frames) {
		f[-1].children += time;
		f[-1].inner += 1 + f->inner;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->top = f;
}

AGENT_OFTEN void leave(const struct end *e)
{
	struct agent_local *t = &agent_local;

	if (AGENT_LIKELY(agent_is_ready(t)) && t->top > t->frames)
		end(t, e);
}

/* site is where the function was called, for which all functions inlined in it have the same. */
void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	if (!agent.is_off)
		enter((uintptr_t)function, (uintptr_t)__builtin_frame_address(0),
		      (uintptr_t)__builtin_return_address(0));
}

void __cyg_profile_func_exit(void *function, void *site)
{
	const struct end e = {(uintptr_t)function, (uintptr_t)__builtin_frame_address(0),
			      __builtin_return_address(0) == site};

	if (!agent.is_off)
		leave(&e);
}

#if defined(__x86_64__)
/* Sleds: both calls stand where the stack pointer is that of the function's beginning. */

void agent_begin(void)
{
	struct agent_local *t = &agent_local;
	const uintptr_t where = (uintptr_t)__builtin_return_address(0);
	uint32_t number = FUNCTIONS_MEMORY_MAX;

	if (agent.is_off)
		return;
	if (AGENT_LIKELY(agent_is_ready(t)))
		number = agent_find(where);
	if (AGENT_UNLIKELY(number >= FUNCTIONS_MEMORY_MAX)) {
		if (number == FUNCTIONS_MEMORY_MAX)
			number = agent_meet_saved(where);
		if (number >= FUNCTIONS_MEMORY_MAX)
			return;
	}
	agent_count(t, &t->rows[number].calls);
	if (t->has_times)
		begin(t, number, where, (uintptr_t)__builtin_frame_address(0), where);
}

void agent_end(void)
{
	struct agent_local *t = &agent_local;
	const uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
	struct functions_frame *f;

	if (agent.is_off || !agent_is_ready(t))
		return;
	for (f = t->top; f > t->frames && f[-1].stack < stack; f--)
		;
	if (f > t->frames && f[-1].stack == stack) {
		const struct end e = {f[-1].function, stack, false};

		end(t, &e);
	}
}

/* Places: where instructions were replaced. Which function it is the code says. */

AGENT_SAVES __attribute__((used)) static void begin_place(uint32_t number, uintptr_t stack)
{
	struct agent_local *t = &agent_local;

	if (agent.is_off || t->is_meeting)
		return;
	if (AGENT_UNLIKELY(!agent_is_ready(t)) && !agent_meet_placed(t))
		return;
	agent_count(t, &t->rows[number].calls);
	if (t->has_times && !__atomic_load_n(&agent.untimed[number], __ATOMIC_RELAXED))
		begin(t, number, number, stack, number);
}

/* What began before is not in the frames. */
AGENT_SAVES __attribute__((used)) static void end_place(uint32_t number, uintptr_t stack)
{
	struct agent_local *t = &agent_local;
	const struct end e = {number, stack, false};
	const struct functions_frame *f;

	if (agent.is_off || t->is_meeting || !agent_is_ready(t) || !t->has_times)
		return;
	for (f = t->top; f > t->frames && f[-1].stack < stack; f--)
		;
	if (f == t->frames || f[-1].stack != stack || f[-1].function != number)
		return;
	end(t, &e);
}

/* The number is the third word above what is pushed here. */
#define PLACE(name, function)                                                                      \
	".hidden " name "\n"                                                                       \
	".globl " name "\n"                                                                        \
	".type " name ", @function\n" name ":\n"                                                   \
	"	push %rdi\n"                                                                             \
	"	push %rsi\n"                                                                             \
	"	mov 24(%rsp), %edi\n"                                                                    \
	"	mov %rcx, %rsi\n"                                                                        \
	"	call " function "\n"                                                               \
	"	pop %rsi\n"                                                                              \
	"	pop %rdi\n"                                                                              \
	"	ret\n"                                                                                   \
	".size " name ", . - " name "\n"

/* As patch/move.h has it. */
#define TRY(name, function)                                                                        \
	".hidden " name "\n"                                                                       \
	".globl " name "\n"                                                                        \
	".type " name ", @function\n" name ":\n"                                                   \
	"	push %rax\n"                                                                             \
	"	lahf\n"                                                                                  \
	"	seto %al\n"                                                                              \
	"	push %rcx\n"                                                                             \
	"	push %rax\n"                                                                             \
	"	push $0\n"                                                                               \
	"	lea 16(%rsp), %rcx\n"                                                                    \
	"	call " function "\n"                                                               \
	"	pop %rcx\n"                                                                              \
	"	pop %rax\n"                                                                              \
	"	pop %rcx\n"                                                                              \
	"	add $127, %al\n"                                                                         \
	"	sahf\n"                                                                                  \
	"	pop %rax\n"                                                                              \
	"	ret\n"                                                                                   \
	".size " name ", . - " name "\n"

__asm__(".pushsection .text\n" PLACE("agent_placed_begin", "begin_place")
	    PLACE("agent_placed_end", "end_place") TRY("agent_try_begin", "agent_placed_begin")
		TRY("agent_try_end", "agent_placed_end") ".popsection\n");
#endif
