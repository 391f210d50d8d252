/*
 * Call paths. A thread remembers the callers of its last capture: where it meets one of them again
 * (same place, same registers), the rest of the path is the same if each of them still has the same
 * return address and saved frame pointer on the stack, as those are all that stepping reads. So
 * what is new since then is unwound, and the rest compared.
 */
#include "agent/heap/agent.h"

#include "cfi/machine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#define ADDRESS_BITS UINT64_MAX
#else
#define ADDRESS_BITS cfi_machine_aarch64.address_bits
#endif

enum {
	PAGE = 4096,
	WORD = sizeof(uintptr_t),
	MAX_GAP = 8 << 20,   /* of a frame */
	MAX_DROP = 1 << 20,  /* of the stack pointer since the capture before */
	MIN_ROOM = 32 << 10, /* on a handler's stack */
	WINDOW = 16 << 10,   /* of which a hard row may need any word */
	FAR = 64 << 10,      /* of a handler's frame, where its stack is looked for */
	MAX_STACK = 8 << 20, /* of the first thread, where it may not ask */
};

#define DISARMED (1u << 31) /* SS_AUTODISARM */

/* A caller, and how it was left. */
struct known {
	struct agent_frame frame;
	/* Where its caller's were read; ra_at 0: by rules; fp_at 0: unchanged. Of those that a
	 * thread remembers both can be read: by_rules, which is no caller's, and the frame's own.
	 */
	uint64_t ra_at, fp_at;
	uint32_t node;
	bool is_exact;
};

struct agent_thread {
	struct agent_thread *next; /* that is not in use */
	struct agent_thread *all;  /* the one before, of all */
	uint32_t is_inside;
	uint32_t epoch;
	uint32_t nr;     /* of known, the outermost first */
	uint64_t lo, hi; /* of the stack: readable */
	uint64_t link;   /* of the innermost frame; 0: not known */
	/* Down to there nothing but the stack can be, where that cannot be asked; 0: not known */
	uint64_t lowest;
	struct known known[HEAP_MAX_FRAMES];
	struct known fresh[HEAP_MAX_FRAMES]; /* the innermost first */
};

static struct agent_thread *unused, *threads;
static uint32_t lock, epoch_lock;
static uint32_t epoch, root; /* of addresses; and its node */
/* Not 0: since then it is over, and the next capture begins another; BEGINS: it does so now. */
static uint64_t old_ns;
#define BEGINS UINT64_MAX
static const uint64_t by_rules;

bool agent_stack_init(void)
{
	lock = epoch_lock = 0;
	old_ns = agent_now();
	return agent_rows_init();
}

struct agent_thread *agent_thread_new(void)
{
	struct agent_thread *t;

	agent_lock(&lock);
	t = unused;
	if (t)
		unused = t->next;
	agent_unlock(&lock);
	if (!t) {
		t = agent_pages(sizeof(*t));
		for (struct agent_thread *first = threads; t;) {
			t->all = first;
			if (__atomic_compare_exchange_n(&threads, &first, t, false,
							__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				break;
		}
	}
	if (t)
		t->nr = 0, t->lo = t->hi = t->lowest = 0;
	return t;
}

uint32_t *agent_thread_is_inside(struct agent_thread *own)
{
	return &own->is_inside;
}

bool agent_threads_are_inside(void)
{
	const struct agent_thread *t = __atomic_load_n(&threads, __ATOMIC_ACQUIRE);

	for (; t; t = t->all)
		if (__atomic_load_n(&t->is_inside, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

void agent_thread_free(struct agent_thread *own)
{
	agent_lock(&lock);
	own->next = unused;
	unused = own;
	agent_unlock(&lock);
}

void agent_stack_epoch(uint64_t since_ns)
{
	uint64_t before = __atomic_load_n(&old_ns, __ATOMIC_RELAXED);

	while ((!before || before == BEGINS) &&
	       !__atomic_compare_exchange_n(&old_ns, &before, since_ns, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

/* The root of the epoch. Threads forget what they know when it begins; until it has begun, others
 * wait for its root. */
static uint32_t find_root(void)
{
	uint64_t since_ns, begins = BEGINS;

	if (AGENT_LIKELY(!__atomic_load_n(&old_ns, __ATOMIC_ACQUIRE)))
		return root;
	agent_lock(&epoch_lock);
	if (__atomic_load_n(&old_ns, __ATOMIC_ACQUIRE)) {
		since_ns = __atomic_exchange_n(&old_ns, BEGINS, __ATOMIC_ACQ_REL);
		agent_rows_forget();
		root = agent_tree_root(since_ns);
		__atomic_fetch_add(&epoch, 1, __ATOMIC_RELEASE);
		/* not if it is over by now */
		__atomic_compare_exchange_n(&old_ns, &begins, 0, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	}
	agent_unlock(&epoch_lock);
	return root;
}

/* --- reading the stack */

/* The kernel reads the words of a mask before it refuses what to do with it. */
bool agent_is_page(uint64_t address)
{
	address = address ? address : 8; /* to the kernel NULL is no mask */
	return agent_may(AGENT_MAY_PROBE) &&
	       !(syscall(SYS_rt_sigprocmask, -1, (uintptr_t)address, NULL, (size_t)8) < 0 &&
		 errno == EFAULT);
}

/* Asks for each page once. */
bool agent_is_readable(const void *from, size_t bytes)
{
	const uint64_t first = (uintptr_t)from & ~(uint64_t)(PAGE - 1),
		       end = (uintptr_t)from + bytes;

	for (uint64_t at = first; at < end || at == first; at += PAGE)
		if (agent_may(AGENT_MAY_PROBE) && !agent_is_page(at))
			return false;
	return end >= (uintptr_t)from;
}

bool agent_is_readable_text(const char *text)
{
	uint64_t asked = UINT64_MAX;

	for (;; text++) {
		const uint64_t page = (uintptr_t)text & ~(uint64_t)(PAGE - 1);

		if (page != asked && !agent_is_readable((const void *)(uintptr_t)page, 1))
			return false;
		asked = page;
		if (!*text)
			return true;
	}
}

/* Makes the known range contain the stack pointer, whose page is in use: readable. Between it and
 * what was known before may be other memory, or none: of a signal's own stack, a coroutine's. */
static void set_range(struct agent_thread *t, uint64_t sp)
{
	uint64_t page = sp & ~(uint64_t)(PAGE - 1);

	if (AGENT_LIKELY(sp >= t->lo && sp < t->hi))
		return;
	if (sp < t->lo && t->lowest && sp >= t->lowest) {
		t->lo = page;
		return;
	}
	if (sp < t->lo && t->lo - page <= MAX_DROP) {
		uint64_t lo = t->lo;

		while (lo > page && agent_is_page(lo - PAGE))
			lo -= PAGE;
		t->lo = lo;
		if (lo == page)
			return;
	}
	t->lo = page;
	t->hi = page + PAGE;
}

/* Below the first thread's stack the kernel maps nothing for at least 128 MiB from its top on. */
void agent_stack_settle(void)
{
	struct agent_thread *t = agent_local.own;
	const uint64_t sp = (uintptr_t)__builtin_frame_address(0), top = getauxval(AT_RANDOM);

	if (!t || sp >= top || top - sp > MAX_STACK)
		return;
	set_range(t, sp);
	while (t->hi < top && agent_is_page(t->hi))
		t->hi += PAGE;
	if (t->hi >= top)
		t->lowest = top - MAX_STACK;
}

static bool widen(struct agent_thread *t, uint64_t end)
{
	if (end < t->lo || end - t->hi > MAX_GAP)
		return false;
	while (t->hi < end && agent_is_page(t->hi))
		t->hi += PAGE;
	return t->hi >= end;
}

static bool is_readable(struct agent_thread *t, uint64_t address)
{
	if (AGENT_UNLIKELY(address % WORD || address < t->lo))
		return false;
	return AGENT_LIKELY(address + WORD <= t->hi) || widen(t, address + WORD);
}

static uint64_t word(uint64_t address)
{
	const uintptr_t *at = (const uintptr_t *)(uintptr_t)address;

	return *at; /* NOLINT(clang-analyzer-core.NullDereference) */
}

/* --- steps */

enum step { STEP_ON, STEP_END, STEP_CUT };

static enum step step_by_row(struct agent_thread *t, struct known *k, struct agent_row row,
			     struct agent_frame *out)
{
	uint64_t base = row.kind == AGENT_ROW_SP ? k->frame.sp : k->frame.fp;
	uint64_t cfa = base + (uint64_t)row.cfa * WORD;

	k->ra_at = cfa - (uint64_t)row.ra * WORD;
	k->fp_at = row.fp ? cfa - (uint64_t)row.fp * WORD : 0;
	if (cfa <= k->frame.sp || !is_readable(t, k->ra_at) ||
	    (k->fp_at && !is_readable(t, k->fp_at)))
		return STEP_CUT;
	out->pc = word(k->ra_at) & ADDRESS_BITS;
	out->fp = k->fp_at ? word(k->fp_at) : k->frame.fp;
	out->sp = cfa;
	return out->pc ? STEP_ON : STEP_END;
}

static enum step step_by_pointer(struct agent_thread *t, struct known *k, struct agent_frame *out)
{
	const struct agent_row row = {.kind = AGENT_ROW_FP, .cfa = 2, .ra = 1, .fp = 2};

	if (!k->frame.fp) /* as the kernel starts a program */
		return STEP_END;
	/* it may hold anything, also what looks like a place on a stack that is gone */
	if (k->frame.fp < k->frame.sp || k->frame.fp - k->frame.sp > MAX_DROP ||
	    !agent_is_page(k->frame.fp) || !agent_is_page(k->frame.fp + WORD))
		return STEP_CUT;
	return step_by_row(t, k, row, out);
}

static enum step step_by_rules(struct agent_thread *t, struct known *k, struct agent_frame *out,
			       bool *is_exact)
{
	bool is_end = false;

	k->ra_at = k->fp_at = 0;
	(void)widen(t, k->frame.sp + WINDOW);
	*out = k->frame;
	if (!agent_row_apply(out, t->link, is_exact, t->hi, &is_end))
		return is_end ? STEP_END : STEP_CUT;
	if (*is_exact) { /* a signal's handler may have a stack of its own */
		if (!agent_is_page(out->sp))
			return STEP_CUT;
		set_range(t, out->sp);
	}
	return STEP_ON;
}

/* From k to its caller, in *out and *is_exact, which is k's before. */
static enum step step(struct agent_thread *t, struct known *k, struct agent_frame *out,
		      bool *is_exact)
{
	struct agent_row row = agent_row_find(k->frame.pc, k->is_exact);

	*is_exact = false;
	switch (row.kind) {
	case AGENT_ROW_SP:
	case AGENT_ROW_FP:
		return step_by_row(t, k, row, out);
	case AGENT_ROW_POINTER:
		return step_by_pointer(t, k, out);
	case AGENT_ROW_END:
		return STEP_END;
	default:
		*is_exact = k->is_exact;
		return step_by_rules(t, k, out, is_exact);
	}
}

static bool is_same(const struct agent_frame *a, const struct agent_frame *b)
{
	return a->pc == b->pc && a->sp == b->sp && a->fp == b->fp;
}

/* What of known[i] differs from when known[i - 1] was its caller: 0 if nothing. */
static uint64_t change(const struct agent_thread *t, uint32_t i)
{
	const struct known *k = &t->known[i];
	const struct agent_frame *caller = &t->known[i - 1].frame;

	return ((word(k->ra_at) & ADDRESS_BITS) ^ caller->pc) | (word(k->fp_at) ^ caller->fp);
}

/* Whether the caller of known[i] still is known[i − 1]. */
static bool has_caller(struct agent_thread *t, uint32_t i)
{
	const struct known *caller = &t->known[i - 1];
	struct known k = t->known[i];
	struct agent_frame f;
	bool is_exact;

	if (k.ra_at != (uintptr_t)&by_rules)
		return !change(t, i);
	return step(t, &k, &f, &is_exact) == STEP_ON && is_same(&f, &caller->frame) &&
	       is_exact == caller->is_exact;
}

/* How many of the first nr are still callers of each other, from known[nr − 1] outwards: all, or
 * those beyond the first that is not. Mostly all are: that is found without a branch for each. */
static uint32_t check(struct agent_thread *t, uint32_t nr)
{
	uint64_t changed = 0;

	for (uint32_t i = nr - 1; i > 0; i--)
		changed |= change(t, i);
	if (AGENT_LIKELY(!changed))
		return nr;
	for (uint32_t i = nr - 1; i > 0; i--)
		if (!has_caller(t, i))
			return i;
	return nr;
}

static void remember(struct agent_thread *t, const struct known *fresh)
{
	struct known *k = &t->known[t->nr];

	if (t->nr == HEAP_MAX_FRAMES)
		return;
	*k = *fresh;
	k->fp_at = k->ra_at && k->fp_at ? k->fp_at : (uintptr_t)&k->frame.fp;
	k->ra_at = k->ra_at ? k->ra_at : (uintptr_t)&by_rules;
	t->nr++;
}

static bool is_on(const struct agent_alternate *a, uint64_t sp)
{
	return sp - a->begin < a->bytes;
}

/* --- captures */

/* Unwinds from *f until the end or a caller that is known. *joined: how many of them remain. The
 * number of fresh callers. */
static uint32_t unwind(struct agent_thread *t, struct agent_frame f, bool is_exact,
		       uint32_t *joined, bool *is_cut)
{
	uint32_t nr = 0, left = t->nr;
	enum step result = STEP_ON;

	while (result == STEP_ON) {
		struct known *k = &t->fresh[nr];

		while (left && t->known[left - 1].frame.sp < f.sp)
			left--;
		if (left && is_same(&t->known[left - 1].frame, &f) &&
		    t->known[left - 1].is_exact == is_exact) {
			uint32_t same = check(t, left);

			if (same == left)
				break;
			left = same;
		}
		if (nr == HEAP_MAX_FRAMES - 1) {
			agent_count(&agent.shared->deep);
			result = STEP_CUT;
			break;
		}
		*k = (struct known){.frame = f, .is_exact = is_exact};
		nr++;
		result = step(t, k, &f, &is_exact);
	}
	*joined = result == STEP_ON ? left : 0;
	*is_cut = result == STEP_CUT;
	return nr;
}

/* While a handler runs on one that the kernel disarms for that (SS_AUTODISARM), the thread may have
 * another; when the handler returns, the kernel restores the first. */
void agent_stack_alternate(uint64_t begin, uint64_t bytes)
{
	struct agent_alternate *own = agent_local.alternate;
	const struct agent_alternate new = {begin, bytes};
	uint64_t sp = (uintptr_t)__builtin_frame_address(0);

	if (is_on(&own[1], sp))
		return;
	if (is_on(&own[0], sp)) {
		own[1] = new;
		return;
	}
	own[0] = new;
	own[1] = (struct agent_alternate){0};
}

/* Of a stack that is disarmed the kernel says nothing, but what it will restore is on it, in the
 * handler's frame: a description of the stack on which it is. */
static void find_disarmed(void)
{
	uint64_t at = (uintptr_t)__builtin_frame_address(0) & ~(uint64_t)(WORD - 1), end = at + FAR;

	for (uint64_t hi = at; at < end; at += WORD) {
		const stack_t *s = (const stack_t *)(uintptr_t)at;
		struct agent_alternate found;

		for (; hi < at + sizeof(*s); hi = (hi & ~(uint64_t)(PAGE - 1)) + PAGE)
			if (!agent_is_page(hi & ~(uint64_t)(PAGE - 1)))
				return;
		found = (struct agent_alternate){(uintptr_t)s->ss_sp, s->ss_size};
		if (((uint32_t)s->ss_flags & ~SS_ONSTACK) == DISARMED && is_on(&found, at)) {
			agent_local.alternate[0] = found;
			return;
		}
	}
}

void agent_stack_ask_alternate(void)
{
	int error = errno;
	stack_t stack;

	if (syscall(SYS_sigaltstack, NULL, &stack) == 0 && !(stack.ss_flags & SS_DISABLE))
		agent_stack_alternate((uintptr_t)stack.ss_sp, stack.ss_size);
	else
		find_disarmed();
	errno = error;
}

/* True if a handler's stack has too little room for what finds rows (25 KiB). Nothing is asked of
 * the kernel, as the program may have forbidden itself that. */
static bool is_short(uint64_t sp)
{
	for (int i = 0; i < 2; i++) {
		const struct agent_alternate *a = &agent_local.alternate[i];

		if (is_on(a, sp) && sp - a->begin < MIN_ROOM)
			return true;
	}
	return false;
}

/* Whether the address is in this library's code: a wrapper. */
static bool is_own(uint64_t pc)
{
	return pc - agent.text < agent.text_bytes;
}

/* From there outwards; pc: what its node has. */
static uint32_t capture(struct agent_thread *t, struct known inner, uint64_t pc)
{
	const struct agent_frame *from = &inner.frame;
	uint32_t nr = 0, joined = 0, node = find_root();
	bool is_exact, is_cut = false;
	struct agent_frame f;
	enum step result;

	if (AGENT_UNLIKELY(t->epoch != epoch)) {
		t->epoch = epoch;
		t->nr = 0;
	}
	if (AGENT_UNLIKELY(!inner.is_exact && is_short(from->sp))) {
		agent_count(&agent.shared->cut);
		return node ? agent_tree_child(node, pc) : 0;
	}
	set_range(t, from->sp);
	is_exact = inner.is_exact;
	result = step(t, &inner, &f, &is_exact);
	t->link = 0;
	if (result == STEP_ON)
		nr = unwind(t, f, is_exact, &joined, &is_cut);
	if (!is_cut && joined + nr >= HEAP_MAX_FRAMES)
		agent_count(&agent.shared->deep);
	if (is_cut || result == STEP_CUT || joined + nr >= HEAP_MAX_FRAMES)
		agent_count(&agent.shared->cut);
	if (joined)
		node = t->known[joined - 1].node;
	t->nr = joined;
	while (nr-- && node) {
		struct known *k = &t->fresh[nr];

		/* what a wrapper calls has it as caller, which is ours */
		if (AGENT_LIKELY(!is_own(k->frame.pc)))
			node = agent_tree_child(node, k->frame.pc);
		k->node = node;
		if (node)
			remember(t, k);
	}
	return node ? agent_tree_child(node, pc) : 0;
}

uint32_t agent_capture(struct agent_thread *t, const struct agent_frame *from)
{
	t->link = 0;
	return capture(t, (struct known){.frame = *from}, from->pc - 1);
}

/* Where the stack pointer has just moved there may be no page. The recorder subtracts one from the
 * innermost address, which is that of a return elsewhere. */
uint32_t agent_capture_exact(struct agent_thread *t, const struct agent_frame *at, uint64_t link)
{
	uint32_t root_node;

	if (agent_is_page(at->sp & ~(uint64_t)(PAGE - 1))) {
		t->link = link;
		return capture(t, (struct known){.frame = *at, .is_exact = true}, at->pc + 1);
	}
	agent_count(&agent.shared->cut);
	root_node = find_root();
	return root_node ? agent_tree_child(root_node, at->pc + 1) : 0;
}
