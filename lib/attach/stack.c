#include "attach/stack.h"

#include "base/mem.h"
#include "cfi/rules.h"
#include "cfi/section.h"

#include <string.h>
#include <sys/syscall.h>

enum {
	MAX_FRAMES = 512,
	MAX_STACK_BYTES = 8 << 20,
	MIN_ROOM = 64 << 10, /* for dlopen, below the stack pointer */
	MAX_OUTERMOST = 2, /* functions of the C library that call a thread's or a program's main */
};

/* Functions of the C library that wait for something outside of it, and hold none of its locks but
 * those of a stream. What they call within the library is theirs. */
enum waits {
	WAITS_SLEEP = 1,
	WAITS_POLL = 2,
	WAITS_READ = 4,
	WAITS_LOCK = 8,
	WAITS_CHILD = 16,
	WAITS_SIGNAL = 32,
	WAITS_ANY = 63
};

static const struct {
	const char *name;
	int waits;
} functions[] = {
    {"nanosleep", WAITS_SLEEP},
    {"clock_nanosleep", WAITS_SLEEP},
    {"usleep", WAITS_SLEEP},
    {"sleep", WAITS_SLEEP},
    {"poll", WAITS_POLL},
    {"__poll_chk", WAITS_POLL},
    {"ppoll", WAITS_POLL},
    {"__ppoll_chk", WAITS_POLL},
    {"select", WAITS_POLL},
    {"pselect", WAITS_POLL},
    {"epoll_wait", WAITS_POLL},
    {"epoll_pwait", WAITS_POLL},
    {"epoll_pwait2", WAITS_POLL},
    {"pause", WAITS_SIGNAL | WAITS_POLL}, /* on arm64 by ppoll */
    {"sigsuspend", WAITS_SIGNAL},
    {"sigwait", WAITS_SIGNAL},
    {"sigwaitinfo", WAITS_SIGNAL},
    {"sigtimedwait", WAITS_SIGNAL},
    {"wait", WAITS_CHILD},
    {"wait3", WAITS_CHILD},
    {"wait4", WAITS_CHILD},
    {"waitpid", WAITS_CHILD},
    {"waitid", WAITS_CHILD},
    {"read", WAITS_READ},
    {"__read_chk", WAITS_READ},
    {"recv", WAITS_READ},
    {"__recv_chk", WAITS_READ},
    {"recvfrom", WAITS_READ},
    {"__recvfrom_chk", WAITS_READ},
    {"recvmsg", WAITS_READ},
    {"accept", WAITS_READ},
    {"accept4", WAITS_READ},
    {"fgets", WAITS_READ},
    {"__fgets_chk", WAITS_READ},
    {"fgetc", WAITS_READ},
    {"getc", WAITS_READ},
    {"getchar", WAITS_READ},
    {"getline", WAITS_READ},
    {"getdelim", WAITS_READ},
    {"__getdelim", WAITS_READ},
    {"fread", WAITS_READ},
    {"__fread_chk", WAITS_READ},
    {"pthread_cond_wait", WAITS_LOCK},
    {"pthread_cond_timedwait", WAITS_LOCK},
    {"pthread_cond_clockwait", WAITS_LOCK},
    {"pthread_join", WAITS_LOCK},
    {"pthread_timedjoin_np", WAITS_LOCK},
    {"pthread_clockjoin_np", WAITS_LOCK},
    {"pthread_mutex_lock", WAITS_LOCK},
    {"pthread_mutex_timedlock", WAITS_LOCK},
    {"pthread_rwlock_rdlock", WAITS_LOCK},
    {"pthread_rwlock_wrlock", WAITS_LOCK},
    {"pthread_barrier_wait", WAITS_LOCK},
    {"sem_wait", WAITS_LOCK},
    {"sem_timedwait", WAITS_LOCK},
    {"sem_clockwait", WAITS_LOCK},
    {"syscall", WAITS_ANY},
};

static const struct {
	int call;
	int waits;
} calls[] = {
#ifdef SYS_poll
    {SYS_poll, WAITS_POLL},
    {SYS_select, WAITS_POLL},
    {SYS_epoll_wait, WAITS_POLL},
    {SYS_pause, WAITS_SIGNAL},
#endif
    {SYS_restart_syscall, WAITS_SLEEP | WAITS_POLL | WAITS_LOCK},
    {SYS_nanosleep, WAITS_SLEEP},
    {SYS_clock_nanosleep, WAITS_SLEEP},
    {SYS_ppoll, WAITS_POLL},
    {SYS_pselect6, WAITS_POLL},
    {SYS_epoll_pwait, WAITS_POLL},
    {SYS_epoll_pwait2, WAITS_POLL},
    {SYS_read, WAITS_READ},
    {SYS_recvfrom, WAITS_READ},
    {SYS_recvmsg, WAITS_READ},
    {SYS_accept, WAITS_READ},
    {SYS_accept4, WAITS_READ},
    {SYS_futex, WAITS_LOCK},
    {SYS_wait4, WAITS_CHILD},
    {SYS_waitid, WAITS_CHILD},
    {SYS_rt_sigsuspend, WAITS_SIGNAL},
    {SYS_rt_sigtimedwait, WAITS_SIGNAL},
};

#define COUNT(items) (sizeof(items) / sizeof(*(items)))

static int waits_of(int64_t call)
{
	for (size_t i = 0; i < COUNT(calls); i++)
		if (calls[i].call == call)
			return calls[i].waits;
	return 0;
}

bool attach_is_wait(int64_t call)
{
	return waits_of(call) != 0;
}

void attach_prepare(struct attach_space *s)
{
	for (size_t i = 0; i < s->nr_objects; i++) {
		struct attach_object *o = &s->object[i];

		if (o->kind == ATTACH_OTHER && attach_symbol(s, o, "malloc", NULL))
			o->kind = ATTACH_ALLOCATOR;
		if (o->kind == ATTACH_LIBC)
			(void)attach_tables(s, o);
	}
}

/* --- frames */

struct stack {
	struct attach_object *object[MAX_FRAMES]; /* the innermost first */
	uint64_t pc[MAX_FRAMES];                  /* within the instruction */
	uint64_t start[MAX_FRAMES];               /* of the function, by its table */
	size_t nr;
};

static enum cfi_end step(const struct attach_object *o, struct cfi_frame *f, bool *is_signal,
			 uint64_t *start)
{
	const struct cfi_section section = {
	    .data = o->tables, .len = o->tables_bytes, .address = o->tables_at, .is_eh = true};
	const uint64_t place = cfi_frame_lookup(f);
	struct cfi_base base;
	struct cfi_header header;
	struct cfi_rules rules;
	struct cfi_row row;
	struct cfi_fde fde;
	uint64_t at;

	base = cfi_section_base(&section);
	if (!cfi_header_init(&header, o->tables + (o->header_at - o->tables_at),
			     o->tables_bytes - (o->header_at - o->tables_at), o->header_at,
			     false) ||
	    !cfi_header_find(&header, place, &at) || at < o->tables_at ||
	    !cfi_section_fde(&section, at - o->tables_at, place, &fde) ||
	    !cfi_program_run(f->machine, &fde, &base, place, &rules))
		return CFI_NO_TABLE;
	*start = fde.start;
	cfi_rules_row(&rules, f->machine, &row);
	*is_signal = rules.is_signal;
	return row.kind == CFI_ROW_OUTERMOST ? CFI_WHOLE : cfi_rules_apply(&rules, f);
}

/* NULL, or why not all functions are known. */
static const char *unwind(struct attach_space *s, const struct attach_place *p, uint64_t bytes,
			  struct stack *out)
{
	uint64_t sp = p->reg[p->machine->sp];
	struct cfi_frame f = {.machine = p->machine, .pc = p->pc, .is_exact = true};
	enum cfi_end end = CFI_GOES_ON;
	uint8_t *copy = mem_alloc(bytes);
	const char *why = NULL;

	if (!copy || !attach_space_read(s, sp, copy, bytes))
		why = "has a stack that cannot be read";
	f.stack = (struct cfi_stack){.bytes = copy, .start = sp, .len = bytes};
	for (unsigned i = 0; i < p->machine->nr_regs; i++)
		cfi_frame_set(&f, i, p->reg[i]);
	for (out->nr = 0; !why && end == CFI_GOES_ON; out->nr++) {
		struct attach_object *o = attach_space_object(s, cfi_frame_lookup(&f));
		bool is_signal = false;

		if (out->nr == MAX_FRAMES)
			why = "has a stack that is too deep";
		else if (!o || !attach_tables(s, o))
			why = "runs code of no file, or without unwind tables";
		if (why)
			break;
		out->object[out->nr] = o;
		out->pc[out->nr] = cfi_frame_lookup(&f);
		out->start[out->nr] = 0;
		end = step(o, &f, &is_signal, &out->start[out->nr]);
		if (is_signal)
			why = "handles a signal";
	}
	mem_free(copy);
	if (!why && end != CFI_WHOLE)
		why = "has a stack that cannot be followed to its end";
	return why;
}

static bool is_within(struct attach_space *s, const struct stack *k, size_t i, const char *name)
{
	uint64_t bytes = 0, at = attach_symbol(s, k->object[i], name, &bytes);

	return at && k->pc[i] >= at && k->pc[i] - at < bytes;
}

/* Where the function ends by a jump: to one that it calls last, which has no name. 0: it does not.
 */
static uint64_t last_jump(const struct attach_space *s, uint64_t end)
{
#if defined(__x86_64__)
	uint8_t code[5];
	int32_t by;

	if (!attach_space_read(s, end - sizeof(code), code, sizeof(code)) || code[0] != 0xe9)
		return 0;
	memcpy(&by, code + 1, sizeof(by));
	return end + (uint64_t)(int64_t)by;
#else
	uint32_t code;

	if (!attach_space_read(s, end - sizeof(code), &code, sizeof(code)) || code >> 26 != 5)
		return 0;
	return end - sizeof(code) + (uint64_t)((int64_t)(int32_t)(code << 6) >> 4);
#endif
}

/* As pthread_join is: a few instructions before the function that waits. */
static bool is_within_last(struct attach_space *s, const struct stack *k, size_t i,
			   const char *name)
{
	uint64_t bytes = 0, at = attach_symbol(s, k->object[i], name, &bytes);

	return at && bytes && k->start[i] && last_jump(s, at + bytes) == k->start[i];
}

static bool is_libc(const struct stack *k, size_t i)
{
	return k->object[i]->kind == ATTACH_LIBC;
}

/* The functions that call the program's or the thread's first one: how many; 0: others. */
static size_t count_outermost(struct attach_space *s, const struct stack *k)
{
	size_t nr = 0;

	if (k->nr < 2)
		return 0;
	if (is_libc(k, k->nr - 1)) /* of clone: it calls start_thread */
		return is_libc(k, k->nr - 2) ? MAX_OUTERMOST : 0;
	/* _start, which called __libc_start_main, which may call another that calls main */
	if (!is_libc(k, k->nr - 2) || !(is_within(s, k, k->nr - 2, "__libc_start_main")))
		return 0;
	nr = 2;
	return k->nr > nr && is_libc(k, k->nr - 1 - nr) ? nr + 1 : nr;
}

/* How many of the innermost functions are of the C library: it waits. -1: it does something else
 * there. */
static int count_innermost(struct attach_space *s, const struct stack *k, size_t end, int waits)
{
	size_t nr = 0;

	while (nr < end && is_libc(k, nr))
		nr++;
	if (!nr)
		return 0;
	for (size_t i = 0; waits && i < COUNT(functions); i++)
		if (functions[i].waits & waits && (is_within(s, k, nr - 1, functions[i].name) ||
						   is_within_last(s, k, nr - 1, functions[i].name)))
			return (int)nr;
	return -1;
}

/* The agent's function in front of one that waits, of a session before: it holds nothing then. What
 * the agent itself waits for has several of its functions, or is by syscall. */
static size_t is_passed_on(struct attach_space *s, const struct stack *k, size_t nr_innermost,
			   size_t end)
{
	return nr_innermost && nr_innermost + 1 < end &&
	       k->object[nr_innermost]->kind == ATTACH_AGENT &&
	       k->object[nr_innermost + 1]->kind != ATTACH_AGENT &&
	       !is_within(s, k, nr_innermost - 1, "syscall");
}

static const char *judge(struct attach_space *s, const struct stack *k, int64_t call)
{
	static const char *const reasons[] = {
	    [ATTACH_LOADER] = "is within the loader",
	    [ATTACH_LIBC] = "is within the C library",
	    [ATTACH_ALLOCATOR] = "is within an allocator",
	    [ATTACH_AGENT] = "is within cpuperf's agent",
	};
	size_t nr_outermost = count_outermost(s, k), end = k->nr - nr_outermost;
	int nr_innermost;

	if (!nr_outermost)
		return "has a stack that is not one of a thread";
	nr_innermost = count_innermost(s, k, end, waits_of(call));
	if (nr_innermost < 0)
		return reasons[ATTACH_LIBC];
	if ((size_t)nr_innermost == end)
		return "is a thread of the C library";
	for (size_t i = (size_t)nr_innermost + is_passed_on(s, k, (size_t)nr_innermost, end);
	     i < end; i++)
		if (reasons[k->object[i]->kind])
			return reasons[k->object[i]->kind];
	return NULL;
}

/* --- the stack's memory */

/* Its end, if there is room for calls. That of a thread lies between pages that cannot be used and
 * its own memory: so it is not the stack of a coroutine, or of a signal. */
static const char *find_end(const struct attach_space *s, const struct attach_place *p,
			    uint64_t *end)
{
	uint64_t sp = p->reg[p->machine->sp];
	const struct attach_mapping *m = attach_space_mapping(s, sp);
	bool is_main = m && strcmp(m->name, "[stack]") == 0;
	uint64_t low;

	if (!m || !m->is_writable)
		return "has no stack";
	low = is_main ? p->main_low : m->start;
	if (is_main ? !p->is_main
		    : m == s->mapping || m[-1].end != m->start || m[-1].is_readable ||
			  p->tls < sp || p->tls >= m->end)
		return "runs on a stack that is not its own";
	if (sp < low || sp - low < MIN_ROOM)
		return "has too little room on its stack";
	*end = is_main ? m->end : p->tls;
	return NULL;
}

const char *attach_judge(struct attach_space *s, const struct attach_place *p)
{
	struct stack *k = mem_alloc(sizeof(*k));
	uint64_t sp = p->reg[p->machine->sp], end = 0;
	const char *why = k ? find_end(s, p, &end) : "cannot be judged: out of memory";

	if (!why)
		why = unwind(s, p, end - sp < MAX_STACK_BYTES ? end - sp : MAX_STACK_BYTES, k);
	if (!why)
		why = judge(s, k, p->call);
	mem_free(k);
	return why;
}
