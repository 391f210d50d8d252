/*
 * Functions that nobody has prepared: their first instructions are replaced by a jump to code that
 * counts, executes what was replaced, and jumps back (patch/move.h). Which bytes of which function
 * the recorder has decided; here they are compared with what is mapped, moved and written.
 *
 * In the constructor: one thread runs, no signal comes, and nobody stands in what is written, as
 * what runs is the loader and this. What was called before is not counted, and what is loaded later
 * is not changed. Where a function has times, each of its ends is replaced, too (patch/exits.h),
 * and hooks.c sees both; if one of them cannot be, it is counted. Return addresses stay as they
 * are, so exceptions, longjmp, threads and unwinders see no difference, but for the few
 * instructions that were moved: no unwinder finds a function there, so a stack that is taken by a
 * signal just then has no callers.
 *
 * Nothing is put back here: to write needs a moment in which no thread is in the bytes, which here
 * only the start has. The recorder does so when its session ends (hooks/undo.h), and a child of it
 * if it is killed (hooks/keeper.h). Where that one may not, the code goes on counting in memory
 * that nobody reads, which is harmless.
 *
 * A thread counts in its slot (agent_words). After fork the only thread of the child has none, and
 * gets one at its first call. A child that was made without the C library (clone) counts in its
 * parent's slot.
 */
#include "agent/functions/agent.h"

#if defined(__x86_64__)

#include "patch/write.h"

#include <cpuid.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	WORDS_OF_ROW = sizeof(struct functions_row) / sizeof(uint64_t),
	NEAR_STEP = 1 << 16,
	FAR_STEP = 1 << 20,
	NR_NEAR = 256,
	NR_FAR = 1536,
	ABOVE = 1 << 30, /* what grows there, such as the heap, has this room */
	NR_ABOVE = 768,
};

_Static_assert((int)FUNCTIONS_MEMORY_MOVED == (int)PATCH_MOVED_BYTES, "bytes that are moved");

/* glibc has it since 2.32. */
extern char __libc_single_threaded __attribute__((weak));

/* What is changed, for the connections of children. */
struct placed {
	uint64_t function;
	uint32_t number;
};
static struct placed *placed;
static uint32_t nr_placed;

struct placing {
	struct patch_site *site;
	size_t room;
	/* Of the segment that is being changed: sites, functions, and of these those with ends. */
	size_t nr, nr_functions, nr_timed;
	uint8_t *code;
	uint32_t number; /* the next one */
	bool has_clock;
};

static void *get_pages(uintptr_t want, size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (want ? 0x100000 : 0);
	/* MAP_FIXED_NOREPLACE */
	void *at = mmap((void *)want, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (want && (uintptr_t)at != want) {
		munmap(at, bytes);
		return NULL;
	}
	return at;
}

/* Within reach of jumps, below if possible: above a program is its heap. */
static void *get_near(uintptr_t near, size_t bytes)
{
	const uintptr_t top = (near & ~(uintptr_t)(NEAR_STEP - 1)) - bytes / PAGE * PAGE;
	void *at = NULL;

	for (uintptr_t i = 1; !at && i < NR_NEAR + NR_FAR; i++) {
		uintptr_t by =
		    i < NR_NEAR ? i * NEAR_STEP : (i - NR_NEAR + NR_NEAR / 16) * FAR_STEP;
		uintptr_t want = (top - by) & ~(uintptr_t)(PAGE - 1);

		if (top > near || by > top - NEAR_STEP) /* below the lowest that may be mapped */
			break;
		at = get_pages(want, bytes);
	}
	for (uintptr_t i = 0; !at && i < NR_ABOVE; i++)
		at = get_pages((near & ~(uintptr_t)(PAGE - 1)) + ABOVE + i * FAR_STEP, bytes);
	return at;
}

/* --- the places of a segment */

static int32_t block_offset(void)
{
	uintptr_t thread;

	__asm__("mov %%fs:0, %0" : "=r"(thread));
	return (int32_t)((uintptr_t)&agent_words - thread);
}

static void refuse(uint32_t nr, int error)
{
	agent.shared->nr_unplaced += nr;
	agent.shared->unplaced_error = (uint32_t)error;
}

/* A breakpoint is the kernel's, for another tool: at a hit it executes what was there, and goes on
 * behind it, whatever is written there by then. An address that a loader has written may have such
 * a byte, too, beside others. */
static int compare(const uint8_t *code, const uint8_t *old, size_t len)
{
	enum { INT3 = 0xcc };
	int error = 0;

	for (size_t i = 0; i < len; i++) {
		if (code[i] == old[i])
			continue;
		if (code[i] != INT3)
			return ESTALE;
		error = EEXIST;
	}
	return error;
}

/* One site, with its code behind that of the others. 0 or an error. */
static int add_site(struct placing *p, const struct patch_plan *plan)
{
	static void (*const seen[])(void) = {[PATCH_COUNTS] = agent_placed,
					     [PATCH_BEGINS] = agent_placed_begin,
					     [PATCH_ENDS] = agent_placed_end};
	const struct patch_counter counter = {
	    .number = plan->kind == PATCH_COUNTS ? p->number * WORDS_OF_ROW : p->number,
	    .block = block_offset(),
	    .meet = (uintptr_t)seen[plan->kind]};
	const size_t len = plan->moved_len > plan->len ? plan->moved_len : plan->len;
	uint8_t *code = p->code + p->nr * PATCH_TRAMPOLINE_BYTES;
	struct patch_trampoline t;
	int rc;

	if (p->number >= FUNCTIONS_MEMORY_MAX || p->nr == p->room)
		return ENOSPC;
	rc = compare((const uint8_t *)(uintptr_t)plan->address, plan->old, len);
	if (rc)
		return rc;
	rc = patch_move(plan, &counter, (uintptr_t)code, &t);
	if (rc)
		return -rc;
	memcpy(code, t.code, t.len);
	patch_site_init(&p->site[p->nr], plan, &t);
	p->nr++;
	return 0;
}

static bool is_site(const struct functions_object *o, const struct functions_wanted_site *w)
{
	const uint64_t bytes = o->end - o->start;

	return w->len && w->len <= PATCH_SITE_BYTES && w->moved_len <= FUNCTIONS_MEMORY_MOVED &&
	       w->offset >= o->offset && w->offset - o->offset < bytes &&
	       bytes - (w->offset - o->offset) >= FUNCTIONS_MEMORY_MOVED + PATCH_SITE_BYTES;
}

static bool is_in(const struct functions_object *o, const struct functions_wanted_place *w)
{
	return is_site(o, &w->begin) && w->offset >= o->offset && w->begin.offset >= w->offset;
}

static int add_wanted(struct placing *p, const struct functions_object *o,
		      const struct functions_wanted_site *w, enum patch_kind kind)
{
	struct patch_plan plan = {.address = w->offset - o->offset + o->start,
				  .len = w->len,
				  .moved_len = w->moved_len,
				  .kind = (uint8_t)kind,
				  .depth = w->depth};

	if (!is_site(o, w))
		return ERANGE;
	memcpy(plan.old, w->old, sizeof(plan.old));
	return add_site(p, &plan);
}

/* The begin and all ends. 0 or an error: none is added. */
static int add_timed(struct placing *p, const struct functions_object *o,
		     const struct functions_wanted_place *w)
{
	const struct functions_wanted_site *end = agent_exits_of(agent.wanted) + w->first_exit;
	const size_t before = p->nr;
	int rc = add_wanted(p, o, &w->begin, PATCH_BEGINS);

	for (uint64_t i = 0; i < w->nr_exits && rc == 0; i++)
		rc = add_wanted(p, o, &end[i], PATCH_ENDS);
	if (rc)
		p->nr = before;
	return rc;
}

/* --- the clock */

/* Of the vdso: that of the C library may be a place itself, whose calls are the program's. NULL: it
 * is not found. */
static void *find_symbol(const ElfW(Sym) * symbol, const char *names, size_t nr, uintptr_t base)
{
	for (size_t i = 0; i < nr; i++)
		if (symbol[i].st_value &&
		    strcmp(names + symbol[i].st_name, "__vdso_clock_gettime") == 0)
			return (void *)(base + symbol[i].st_value);
	return NULL;
}

/* Linkers write the names behind the symbols. */
static void *find_in_dynamic(const ElfW(Dyn) * d, uintptr_t base)
{
	enum { MOST = 256 };
	uintptr_t symbols = 0, names = 0;
	size_t nr;

	for (; d->d_tag != DT_NULL; d++) {
		symbols = d->d_tag == DT_SYMTAB ? base + d->d_un.d_ptr : symbols;
		names = d->d_tag == DT_STRTAB ? base + d->d_un.d_ptr : names;
	}
	nr = symbols && names > symbols ? (names - symbols) / sizeof(ElfW(Sym)) : 0;
	return nr <= MOST ? find_symbol((const ElfW(Sym) *)symbols, (const char *)names, nr, base)
			  : NULL;
}

static void *find_clock(void)
{
	const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Phdr) *p = e ? (const ElfW(Phdr) *)((uintptr_t)e + e->e_phoff) : NULL;
	const ElfW(Dyn) *d = NULL;
	uintptr_t base = 0;

	for (size_t i = 0; e && i < e->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD && !base)
			base = (uintptr_t)e + p[i].p_offset - p[i].p_vaddr;
		if (p[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)((uintptr_t)e + p[i].p_offset);
	}
	return d ? find_in_dynamic(d, base) : NULL;
}

/* Whether times can be taken. */
static bool set_clock(void)
{
	void *clock;

	if (!agent.wanted->nr_exits || agent.shared->wants & FUNCTIONS_MEMORY_CYCLES)
		return true;
	clock = find_clock();
	if (clock)
		memcpy(&agent.clock, &clock, sizeof(clock));
	return clock;
}

/* --- one place */

/* 0 or an error. */
static int make_place(struct placing *p, const struct functions_object *o,
		      const struct functions_wanted_place *w)
{
	const bool is_timed = w->nr_exits && p->has_clock && add_timed(p, o, w) == 0;
	int rc = is_timed ? 0 : add_wanted(p, o, &w->begin, PATCH_COUNTS);

	if (rc)
		return rc;
	placed[nr_placed + p->nr_functions] =
	    (struct placed){w->offset - o->offset + o->start, p->number};
	agent.shared->nr_half += w->nr_exits && !is_timed;
	p->nr_timed += is_timed;
	p->nr_functions++;
	p->number++;
	return 0;
}

/* There is one thread, which fetches anew what it has written itself. */
static int fetch_anew(void *arg)
{
	(void)arg;
	return 0;
}

static void write_places(struct placing *p, const struct patch_text *text)
{
	const struct patch_system system = {.protect = patch_calls.protect,
					    .fetch_anew = fetch_anew};
	struct functions_header *h = agent.shared;
	uint64_t *addresses = (void *)((char *)h + h->addresses);
	int rc = patch_write(&system, text, p->site, p->nr, false, PATCH_BY_TRAP);

	if (rc < 0) {
		p->number -= (uint32_t)p->nr_functions;
		refuse((uint32_t)p->nr_functions, -rc);
		return;
	}
	for (size_t i = 0; i < p->nr_functions; i++)
		addresses[placed[nr_placed + i].number] = placed[nr_placed + i].function;
	nr_placed += (uint32_t)p->nr_functions;
	h->nr_placed += (uint32_t)p->nr_functions;
	h->nr_timed += (uint32_t)p->nr_timed;
}

static void place_mapping(struct placing *p, const struct functions_object *o,
			  const struct functions_wanted_file *f, const struct patch_text *text)
{
	const struct functions_wanted_place *w = agent_places_of(agent.wanted) + f->first;
	size_t nr = 0, nr_sites = 0, bytes;

	for (uint64_t i = 0; i < f->nr; i++) {
		nr += is_in(o, &w[i]);
		nr_sites += is_in(o, &w[i]) ? 1 + w[i].nr_exits : 0;
	}
	bytes = (nr_sites * PATCH_TRAMPOLINE_BYTES + PAGE - 1) & ~(size_t)(PAGE - 1);
	p->code = nr ? get_near(o->start, bytes) : NULL;
	if (!p->code) {
		refuse((uint32_t)nr, nr ? ENOMEM : 0);
		return;
	}
	p->nr = p->nr_functions = p->nr_timed = 0;
	for (uint64_t i = 0; i < f->nr; i++) {
		int error = is_in(o, &w[i]) ? make_place(p, o, &w[i]) : 0;

		if (error)
			refuse(1, error);
	}
	if (mprotect(p->code, bytes, PROT_READ | PROT_EXEC)) {
		refuse((uint32_t)p->nr_functions, errno);
		p->number -= (uint32_t)p->nr_functions;
		munmap(p->code, bytes);
		return;
	}
	write_places(p, text);
}

static int place_object(struct dl_phdr_info *info, size_t unused, void *arg)
{
	(void)unused;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *s = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + s->p_vaddr;
		const struct functions_object *o;
		const struct functions_wanted_file *f;

		if (s->p_type != PT_LOAD || (s->p_flags & (PF_R | PF_W | PF_X)) != (PF_R | PF_X))
			continue;
		o = agent_find_object(start);
		f = o ? agent_find_wanted(o) : NULL;
		if (f)
			place_mapping(arg, o, f,
				      &(struct patch_text){o->start, o->end - o->start,
							   PROT_READ | PROT_EXEC});
	}
	return 0;
}

/* --- the whole */

/* The code saves flags by lahf, which the first processors of 64 bits have not. */
static bool has_lahf(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid(0x80000001, &a, &b, &c, &d) && c & 1;
}

static void forget_words(void)
{
	agent_words = NULL;
}

static uint32_t nr_wanted(void)
{
	const struct functions_wanted *w = agent.wanted;
	uint64_t nr = 0;

	for (uint64_t i = 0; w && i < w->nr_places; i++)
		nr += agent_places_of(w)[i].begin.len != 0;
	return nr < FUNCTIONS_MEMORY_MAX ? (uint32_t)nr : FUNCTIONS_MEMORY_MAX;
}

static void place_all(void)
{
	const uint32_t nr = nr_wanted();
	const size_t room = nr + (nr ? agent.wanted->nr_exits : 0);
	struct placing p = {.room = room, .number = agent.shared->nr_functions};
	const bool is_alone = !&__libc_single_threaded || __libc_single_threaded;

	if (!nr)
		return;
	placed = get_pages(0, nr * sizeof(*placed));
	p.site = get_pages(0, room * sizeof(*p.site));
	if (!placed || !p.site || !has_lahf() || !is_alone ||
	    pthread_atfork(NULL, NULL, forget_words)) {
		refuse(nr, is_alone ? ENOMEM : EBUSY);
		return;
	}
	agent.has_places = true;
	p.has_clock = set_clock();
	dl_iterate_phdr(place_object, &p);
	__atomic_store_n(&agent.shared->nr_functions, p.number, __ATOMIC_RELEASE);
	munmap(p.site, room * sizeof(*p.site));
}

void agent_place_all(void)
{
	enum { SET_MASK = 2 };
	const uint64_t all = ~UINT64_C(0);
	uint64_t before = 0;
	bool is_blocked;

	if (!agent_is_ready(&agent_local) && !agent_attach(&agent_local))
		return;
	is_blocked = syscall(SYS_rt_sigprocmask, SET_MASK, &all, &before, sizeof(before)) == 0;
	agent_local.is_meeting = 1; /* what is called here is not the program's */
	if (agent_placing_begin()) {
		place_all();
		agent_placing_end();
	}
	if (is_blocked)
		(void)syscall(SYS_rt_sigprocmask, SET_MASK, &before, NULL, sizeof(before));
	agent_local.is_meeting = 0;
}

void agent_place_again(void)
{
	struct functions_header *h = agent.shared;
	uint64_t *addresses = (void *)((char *)h + h->addresses);
	uint32_t nr = h->nr_functions;

	for (uint32_t i = 0; i < nr_placed; i++) {
		addresses[placed[i].number] = placed[i].function;
		if (placed[i].number >= nr)
			nr = placed[i].number + 1;
	}
	__atomic_store_n(&h->nr_functions, nr, __ATOMIC_RELEASE);
}

#endif
