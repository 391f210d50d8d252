/*
 * Which regions of marks (cpuperf/mark.h) a thread is in. Each object of the process with marks has
 * a ring for each thread, which the recorder empties; what was written stays there for a while. At
 * a sample the thread reads in its own rings what it wrote since the sample before, in order of
 * time: so a mark costs the program nothing more, and whatever was built with the header can be
 * measured. Where something is missing (a ring was full, or was written all round), nothing is
 * taken as open until the next beginning.
 *
 * The objects, of which there may be CAUSAL_OPEN_OBJECTS, are found by their ELF notes. An object's
 * state goes with it, in dlclose, so it is read by a system call until it has a connection, whose
 * memory is never unmapped.
 */
#include "agent/causal/agent.h"

#define CPUPERF_MARK_LATE /* for the layout alone */
#include "cpuperf/mark.h"

#include <link.h>
#include <string.h>
#include <sys/uio.h>

enum { MAX_OBJECTS = CAUSAL_OPEN_OBJECTS, NO_ROOM = 0xffff, NR_CLOCKS = 2 };

/* Of a thread and an object. */
struct ring {
	const struct cpuperf_mark_own *own;
	const struct cpuperf_mark_header *shared; /* NULL: it has no connection */
	const struct cpuperf_mark_slot *slot;     /* NULL: the thread has none so far */
	uint64_t seen, head;                      /* units that were read, and that are there */
	uint64_t lost;
	uint32_t object, generation; /* of the connection */
	uint32_t nr_finds;           /* when the connection was found, or found again */
};

struct thread {
	uint32_t tid;
	uint64_t begin[NR_CLOCKS]; /* what is older is another thread's, by clock */
	struct ring ring[MAX_OBJECTS];
	bool has_lost; /* some of the marks that are read now, it is not known where */
	struct causal_open open;
};

static struct thread *threads;                               /* by the number of their source */
static const struct cpuperf_mark_state *states[MAX_OBJECTS]; /* NULL: free */
static uint32_t nr_finds;                                    /* so often they were looked for */
static uint64_t begin[NR_CLOCKS];                            /* of the session */
/* By object and number of a name: the low half of the connection's number, and 1 + the candidate,
 * or NO_ROOM. */
static uint32_t known[MAX_OBJECTS][CPUPERF_MARK_NR_NAMES];
static bool is_any_known;

static void read_clocks(uint64_t now[NR_CLOCKS])
{
	for (uint32_t clock = 0; clock < NR_CLOCKS; clock++)
		now[clock] = cpuperf_mark_now(clock);
}

void agent_regions_init(void)
{
	if (!agent.nr_regions)
		return;
	if (!threads)
		threads = agent_pages(AGENT_SOURCES * sizeof(*threads));
	if (is_any_known) /* candidates of the session before */
		memset(known, 0, sizeof(known));
	is_any_known = false;
	read_clocks(begin);
}

static struct thread *thread_of(const struct agent_thread *a)
{
	return threads && agent.nr_regions ? &threads[agent_source_number(a->source)] : NULL;
}

void agent_regions_begin(const struct agent_thread *a, bool is_older)
{
	struct thread *t = thread_of(a);

	if (!t)
		return;
	memset(t, 0, sizeof(*t));
	t->tid = __atomic_load_n(&a->source->tid, __ATOMIC_RELAXED);
	if (is_older)
		memcpy(t->begin, begin, sizeof(begin));
	else
		read_clocks(t->begin);
}

/* --- objects */

static bool has_word(const struct dl_phdr_info *info, uintptr_t at)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uintptr_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_W && at >= from &&
		    at - from < p->p_memsz &&
		    p->p_memsz - (at - from) >= sizeof(struct cpuperf_mark_state))
			return true;
	}
	return false;
}

/* Those that are there now. */
struct found {
	const struct cpuperf_mark_state *state[MAX_OBJECTS];
	uint32_t nr;
};

static void add_state(struct found *f, const struct cpuperf_mark_state *state)
{
	if (state->magic == CPUPERF_MARK_MAGIC && state->version == CPUPERF_MARK_VERSION &&
	    state != &cpuperf_mark_state_2 && f->nr < MAX_OBJECTS)
		f->state[f->nr++] = state;
}

/* As cpuperf/mark.h writes it: behind the name a version, 0, and the distance to the state. */
struct note {
	ElfW(Nhdr) head;
	char name[8];
	uint32_t version, zero;
	int64_t distance;
} __attribute__((packed));

static void read_notes(const struct dl_phdr_info *info, const ElfW(Phdr) * p, struct found *f)
{
	const char *const all = (const char *)(info->dlpi_addr + p->p_vaddr);
	struct note n;

	for (size_t at = 0; at + sizeof(n.head) <= p->p_memsz;) {
		const size_t left = p->p_memsz - at;

		memcpy(&n, all + at, left < sizeof(n) ? left : sizeof(n));
		if (left >= sizeof(n) && n.head.n_type == CPUPERF_MARK_NOTE &&
		    n.head.n_namesz == sizeof(n.name) && n.head.n_descsz == sizeof(n) - 20 &&
		    memcmp(n.name, "cpuperf", sizeof(n.name)) == 0) {
			const uintptr_t state = (uintptr_t)all + at +
						offsetof(struct note, distance) +
						(uintptr_t)n.distance;

			if (has_word(info, state))
				add_state(f, (const void *)state);
		}
		if (n.head.n_namesz > left || n.head.n_descsz > left)
			return;
		at += sizeof(n.head) + ((n.head.n_namesz + 3) & ~(size_t)3) +
		      ((n.head.n_descsz + 3) & ~(size_t)3);
	}
}

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			read_notes(info, &info->dlpi_phdr[i], arg);
	return 0;
}

static bool is_among(const struct cpuperf_mark_state *state, const struct found *f)
{
	for (uint32_t i = 0; i < f->nr; i++)
		if (f->state[i] == state)
			return true;
	return false;
}

static void set_state(uint32_t i, const struct cpuperf_mark_state *state)
{
	__atomic_store_n(&states[i], state, __ATOMIC_RELAXED);
}

/* One that stays keeps its place. */
void agent_regions_find_again(void)
{
	struct found f = {.nr = 0};

	if (!agent.nr_regions)
		return;
	dl_iterate_phdr(add_object, &f);
	for (uint32_t i = 0; i < MAX_OBJECTS; i++)
		if (states[i] && !is_among(states[i], &f))
			set_state(i, NULL);
	for (uint32_t i = 0; i < f.nr; i++) {
		uint32_t at = 0;

		while (at < MAX_OBJECTS && states[at] != f.state[i])
			at++;
		for (uint32_t k = 0; k < MAX_OBJECTS && at == MAX_OBJECTS; k++)
			at = states[k] ? at : k;
		if (at < MAX_OBJECTS)
			set_state(at, f.state[i]);
	}
	__atomic_fetch_add(&nr_finds, 1, __ATOMIC_RELEASE);
}

/* Where there was an object that is gone, there may be nothing, or something else. */
static bool read_state(const struct cpuperf_mark_state *from, struct cpuperf_mark_state *to)
{
	const struct iovec here = {to, sizeof(*to)}, there = {(void *)(uintptr_t)from, sizeof(*to)};

	return syscall(SYS_process_vm_readv, syscall(SYS_getpid), &here, 1, &there, 1, 0UL) ==
		   (long)sizeof(*to) &&
	       to->magic == CPUPERF_MARK_MAGIC && to->version == CPUPERF_MARK_VERSION;
}

static bool is_connected(const struct ring *r)
{
	return r->shared && __atomic_load_n(&r->own->alive, __ATOMIC_RELAXED) == r->generation &&
	       __atomic_load_n(&r->shared->object, __ATOMIC_RELAXED) == r->object;
}

static bool is_slot_of(const struct cpuperf_mark_slot *slot, uint32_t tid)
{
	return __atomic_load_n(&slot->is_owned, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&slot->tid, __ATOMIC_RELAXED) == tid;
}

/* The object's connection; none is in a child by fork before its first mark. */
static struct ring find_connection(uint32_t i, uint32_t finds)
{
	const struct cpuperf_mark_state *from = __atomic_load_n(&states[i], __ATOMIC_RELAXED);
	const struct ring none = {.nr_finds = finds};
	struct cpuperf_mark_state s;
	struct ring r;

	if (!from || !read_state(from, &s) || !s.shared || !s.own ||
	    s.shared->magic != CPUPERF_MARK_MAGIC || s.shared->clock >= NR_CLOCKS)
		return none;
	r = (struct ring){.own = s.own,
			  .shared = s.shared,
			  .object = s.shared->object,
			  .generation = s.generation,
			  .nr_finds = finds};
	return is_connected(&r) ? r : none;
}

/* Again when another object may have been loaded, which may be at the place of one that is gone. */
static bool connect_ring(struct thread *t, uint32_t i)
{
	const uint32_t finds = __atomic_load_n(&nr_finds, __ATOMIC_ACQUIRE);
	struct ring *r = &t->ring[i], now;

	if (is_connected(r) && r->nr_finds == finds && (!r->slot || is_slot_of(r->slot, t->tid)))
		return true;
	now = find_connection(i, finds);
	if (now.shared && now.shared == r->shared && now.object == r->object &&
	    (!r->slot || is_slot_of(r->slot, t->tid))) {
		r->nr_finds = finds;
		return true;
	}
	if (r->shared)
		causal_open_leave(&t->open, i);
	*r = now;
	return now.shared;
}

/* --- names */

static struct causal_memory_region *shared_regions(void)
{
	return (void *)((char *)agent.shared + causal_memory_regions_at(agent.nr_objects,
									agent.nr_ranges,
									agent.nr_candidates));
}

/* Another thread or process writes the name that it took: who needs it looks again at its next
 * sample. */
static uint32_t find_region(const char *text, uint32_t len)
{
	struct causal_memory_region *r = shared_regions();

	for (uint32_t i = 0; i < agent.nr_regions; i++) {
		uint32_t kind = CAUSAL_MEMORY_FREE;

		if (__atomic_compare_exchange_n(&r[i].kind, &kind, CAUSAL_MEMORY_TAKEN, false,
						__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
			memcpy(r[i].name, text, len);
			__atomic_store_n(&r[i].kind, CAUSAL_MEMORY_POINT, __ATOMIC_RELEASE);
			return i;
		}
		if (kind == CAUSAL_MEMORY_TAKEN)
			return CAUSAL_MEMORY_NONE;
		if (strncmp(r[i].name, text, len) == 0 && !r[i].name[len])
			return i;
	}
	return NO_ROOM - 1;
}

static uint32_t look_up(const struct cpuperf_mark_header *h, uint32_t name)
{
	const uint32_t *index = (const void *)((const char *)h + h->names_offset);
	const uint32_t at = __atomic_load_n(&index[name - 1], __ATOMIC_ACQUIRE) - 1;
	const char *text = (const char *)h + h->text_offset + at;
	const uint32_t room = CPUPERF_MARK_TEXT_BYTES - (uint32_t)sizeof(uint32_t);
	uint32_t len;

	if (at > room)
		return CAUSAL_MEMORY_NONE;
	memcpy(&len, text, sizeof(len));
	return len < CAUSAL_MEMORY_REGION_BYTES && len <= room - at
		   ? find_region(text + sizeof(len), len)
		   : CAUSAL_MEMORY_NONE;
}

static uint32_t candidate_of(const struct ring *ring, uint32_t object, uint32_t name)
{
	const uint32_t high = ring->object << 16;
	uint32_t *at, now;

	if (!name || name > CPUPERF_MARK_NR_NAMES || !ring->shared)
		return CAUSAL_MEMORY_NONE;
	at = &known[object][name - 1];
	now = __atomic_load_n(at, __ATOMIC_RELAXED);
	if ((now & 0xffff) == 0 || now - (now & 0xffff) != high) {
		now = look_up(ring->shared, name);
		if (now == CAUSAL_MEMORY_NONE)
			return now;
		now = high | (now + 1);
		__atomic_store_n(at, now, __ATOMIC_RELAXED);
		is_any_known = true;
	}
	now = (now & 0xffff) - 1;
	return now < agent.nr_regions ? now : CAUSAL_MEMORY_NONE;
}

/* --- marks */

static const struct cpuperf_mark_unit *unit_at(const struct ring *r)
{
	const struct cpuperf_mark_unit *units =
	    (const void *)((const char *)r->slot + CPUPERF_MARK_SLOT_HEAD_BYTES);

	return &units[r->seen % CPUPERF_MARK_NR_UNITS];
}

/* Slots are taken from the first on: one that was never used ends the search. */
static const struct cpuperf_mark_slot *find_slot(const struct cpuperf_mark_header *h, uint32_t tid)
{
	for (uint32_t i = 0; i < h->nr_slots && (!h->nr_mapped || i < h->nr_mapped); i++) {
		const struct cpuperf_mark_slot *slot =
		    (const void *)((const char *)h + h->slots_offset +
				   (size_t)i * CPUPERF_MARK_SLOT_BYTES);

		if (is_slot_of(slot, tid))
			return slot;
		if (!__atomic_load_n(&slot->is_owned, __ATOMIC_RELAXED) &&
		    !__atomic_load_n(&slot->head, __ATOMIC_RELAXED))
			return NULL;
	}
	return NULL;
}

/* What a thread wrote that had the slot before is older. */
static void take_slot(struct thread *t, struct ring *r)
{
	const uint64_t from = t->begin[r->shared->clock];

	r->slot = find_slot(r->shared, t->tid);
	if (!r->slot)
		return;
	r->head = __atomic_load_n(&r->slot->head, __ATOMIC_ACQUIRE);
	r->lost = __atomic_load_n(&r->slot->lost, __ATOMIC_RELAXED);
	t->has_lost |= r->lost > 0;
	r->seen = r->head > CPUPERF_MARK_NR_UNITS ? r->head - CPUPERF_MARK_NR_UNITS : 0;
	while (r->seen < r->head && (!unit_at(r)->kind || unit_at(r)->time < from))
		r->seen++;
}

/* What is there by now. */
static void look_at_ring(struct thread *t, uint32_t i)
{
	struct ring *r = &t->ring[i];
	uint64_t lost;

	r->head = r->seen;
	if (!connect_ring(t, i))
		return;
	if (!r->slot) {
		take_slot(t, r);
		return;
	}
	r->head = __atomic_load_n(&r->slot->head, __ATOMIC_ACQUIRE);
	lost = __atomic_load_n(&r->slot->lost, __ATOMIC_RELAXED);
	if (lost == r->lost && r->head - r->seen <= CPUPERF_MARK_NR_UNITS)
		return;
	t->has_lost = true;
	r->lost = lost;
	r->seen =
	    r->head - r->seen > CPUPERF_MARK_NR_UNITS ? r->head - CPUPERF_MARK_NR_UNITS : r->seen;
}

/* Those from the first on have not ended in their thread. */
static void count_left_open(const struct thread *t, uint32_t first, uint32_t end)
{
	struct causal_memory_region *all = shared_regions();

	for (; first < end && !t->has_lost; first++) {
		const struct causal_open_region *r = &t->open.region[first];
		const uint32_t at = candidate_of(&t->ring[r->object], r->object, r->name);

		if (at != CAUSAL_MEMORY_NONE)
			__atomic_fetch_add(&all[at].left_open, 1, __ATOMIC_RELAXED);
	}
}

static void follow(struct thread *t, uint32_t i, const struct cpuperf_mark_unit *u)
{
	const uint32_t kind = u->kind & ~(uint32_t)CPUPERF_MARK_COUNTED, before = t->open.nr;
	bool is_matched;
	uint32_t keep;

	if (kind == CPUPERF_MARK_BEGIN || kind == CPUPERF_MARK_BEGIN_NUMBER) {
		keep = causal_open_begin(&t->open, i, u->depth);
		count_left_open(t, keep, before);
		causal_open_push(&t->open, i, u->name);
	} else if (kind == CPUPERF_MARK_END_REGION) {
		keep = causal_open_end(&t->open, i, u->depth, &is_matched);
		count_left_open(t, keep + is_matched, before);
	}
}

/* A unit of no kind is the value of the mark before it. */
static bool has_more(struct ring *r)
{
	while (r->seen < r->head && !unit_at(r)->kind)
		r->seen++;
	return r->seen < r->head;
}

static void read_marks(struct thread *t)
{
	uint32_t with_more[MAX_OBJECTS], nr = 0;

	t->has_lost = false;
	for (uint32_t i = 0; i < MAX_OBJECTS; i++) {
		look_at_ring(t, i);
		if (has_more(&t->ring[i]))
			with_more[nr++] = i;
	}
	if (t->has_lost)
		causal_open_forget(&t->open);
	while (nr) {
		uint32_t *next = with_more;

		for (uint32_t *one = with_more + 1; one < with_more + nr; one++)
			if (unit_at(&t->ring[*one])->time < unit_at(&t->ring[*next])->time)
				next = one;
		follow(t, *next, unit_at(&t->ring[*next]));
		t->ring[*next].seen++;
		if (!has_more(&t->ring[*next]))
			*next = with_more[--nr];
	}
	if (t->has_lost)
		causal_open_forget(&t->open);
}

uint32_t agent_regions_open(const struct agent_thread *a, uint32_t out[CAUSAL_OPEN_MAX])
{
	struct thread *t = thread_of(a);
	uint32_t nr = 0;

	if (!t)
		return 0;
	read_marks(t);
	for (uint32_t i = 0; i < t->open.nr; i++) {
		const struct causal_open_region *r = &t->open.region[i];
		const uint32_t at = candidate_of(&t->ring[r->object], r->object, r->name);
		uint32_t k = 0;

		while (k < nr && out[k] != at)
			k++;
		if (at != CAUSAL_MEMORY_NONE && k == nr)
			out[nr++] = at;
	}
	return nr;
}

void agent_regions_paid(const struct agent_thread *a, uint64_t ns)
{
	struct thread *t = thread_of(a);

	if (!t)
		return;
	read_marks(t);
	for (uint32_t i = 0; i < t->open.nr; i++) {
		const struct causal_open_region *r = &t->open.region[i];
		const uint32_t at = candidate_of(&t->ring[r->object], r->object, r->name);

		if (at != CAUSAL_MEMORY_NONE)
			__atomic_fetch_add(&shared_regions()[at].paid_ns, ns, __ATOMIC_RELAXED);
	}
}
