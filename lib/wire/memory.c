/*
 * Everything in the shared memory may change at any time: each word is read once, into a copy that
 * is checked.
 */
#include "wire/memory.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "proc/maps.h"
#include "proc/proc.h"

#define CPUPERF_NO_MARKS /* the layout alone */
#include "cpuperf/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NR_SLOTS = WIRE_MAX_THREADS,
	NAMES_OFFSET = 4096,
	TEXT_OFFSET = NAMES_OFFSET + CPUPERF_MARK_NR_NAMES * 4,
	SLOTS_OFFSET = TEXT_OFFSET + CPUPERF_MARK_TEXT_BYTES,
	BATCH = 4096,
	GROWTH = 16, /* of slots taken, until threads that have ended are looked for */
	MAX_NAMES = 1 << 20,
	MAX_NAMES_BYTES = 64 << 20,
	MAX_MAPS_BYTES = 64 << 20,
	MIN_SPAN_NS = 1000000, /* between the readings of clocks by which times are converted */
};

_Static_assert((int)WIRE_THREAD_END > (int)CPUPERF_MARK_NR_KINDS, "kinds");
_Static_assert((int)NR_SLOTS == (int)CPUPERF_MARK_MAX_SLOTS, "slots");
_Static_assert(sizeof(struct cpuperf_mark_header) <= NAMES_OFFSET, "header");
_Static_assert(sizeof(struct cpuperf_mark_slot) <= CPUPERF_MARK_SLOT_HEAD_BYTES, "slot");
_Static_assert(sizeof(struct cpuperf_mark_unit) == CPUPERF_MARK_UNIT_BYTES &&
		   sizeof(struct cpuperf_mark_value) == CPUPERF_MARK_UNIT_BYTES,
	       "units");
_Static_assert(CPUPERF_MARK_SLOT_HEAD_BYTES + CPUPERF_MARK_NR_UNITS * CPUPERF_MARK_UNIT_BYTES <=
		   CPUPERF_MARK_SLOT_BYTES,
	       "ring");
_Static_assert(SLOTS_OFFSET % 4096 == 0 && CPUPERF_MARK_SLOT_BYTES % 4096 == 0, "pages");

struct wire_slot {
	uint64_t tail;
	uint64_t last_ns; /* of its last mark */
	uint64_t lost;
	uint32_t tid;   /* of a thread that said hello; 0: as it wrote itself */
	uint32_t named; /* the thread whose name was passed on */
	void *counters; /* owned; NULL: none */
	bool is_open;   /* its last mark left a region of the object open */
};

int wire_reader_init(struct wire_reader *r, const struct wire_config *config)
{
	*r = (struct wire_reader){.config = config};
	dict_init_texts(&r->texts, sizeof(const char *), MAX_NAMES, MAX_NAMES_BYTES);
	r->marks = mem_calloc(BATCH, sizeof(*r->marks));
	r->counts = mem_calloc(BATCH * (size_t)config->nr_counts + 1, sizeof(*r->counts));
	wire_clocks_now(&r->before);
	r->now = r->at = r->before;
	return r->marks && r->counts ? 0 : -ENOMEM;
}

void wire_reader_fini(struct wire_reader *r)
{
	dict_fini(&r->texts);
	mem_free(r->marks);
	mem_free(r->counts);
}

void wire_reader_name_counts(struct wire_reader *r)
{
	for (uint32_t i = 0; i < r->config->nr_counts; i++)
		if (dict_add(&r->texts, r->config->count_names[i]) == i)
			r->config->name(r->config->arg, i + 1, r->config->count_names[i]);
}

static uint64_t read_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

/* The kernel has checked what it uses as its clock: constant, and the same on all CPUs. */
uint32_t wire_counter(const struct root *root)
{
	static const struct {
		const char *name;
		enum cpuperf_mark_counter counter;
	} sources[] = {{"tsc", CPUPERF_MARK_TSC}, {"arch_sys_counter", CPUPERF_MARK_CNTVCT}};
	static const char path[] =
	    "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char line[64];
	const typeof(sources[0]) *found = NULL;

	if (root_load_line(root, path, line, sizeof(line)) == 0)
		found =
		    ARRAY_FIND(source, sources, ARRAY_NR(sources), strcmp(source->name, line) == 0);
	return found ? found->counter : CPUPERF_MARK_NO_COUNTER;
}

uint32_t wire_clock(uint32_t own, uint32_t of_object)
{
	return own && own == of_object ? CPUPERF_MARK_CYCLES : CPUPERF_MARK_MONOTONIC;
}

/* The reading that took the shortest is the least disturbed one. */
void wire_clocks_now(struct wire_clocks *out)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = read_cycles(), ns = clock_monotonic_ns(), after = read_cycles();

		if (after - before >= least)
			continue;
		least = after - before;
		*out = (struct wire_clocks){.cycles = before + (after - before) / 2, .ns = ns};
	}
}

int wire_make_file(const char *name, uint64_t bytes, int *out)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	*out = fd;
	return 0;
}

static struct wire_program find_program(uint32_t pid)
{
	struct stat file;

	if (proc_find(PROC(&root_live, pid), "exe", &file))
		return (struct wire_program){.inode = 0};
	return (struct wire_program){file.st_dev, file.st_ino};
}

int wire_memory_init(struct wire_memory *m, const struct wire_memory_config *config, int *fd)
{
	const uint64_t bytes = SLOTS_OFFSET + (uint64_t)NR_SLOTS * CPUPERF_MARK_SLOT_BYTES;
	int file = -1, rc = wire_make_file("cpuperf-marks", bytes, &file);
	struct stat st;
	void *at;

	if (rc)
		return rc;
	*m = (struct wire_memory){.pid = config->pid,
				  .object = config->object,
				  .clock = config->clock,
				  .is_nested = config->is_nested,
				  .nr_counts = config->nr_counts};
	m->connected_ns = clock_monotonic_ns();
	m->program = find_program(m->pid);
	m->inode = fstat(file, &st) == 0 ? st.st_ino : 0;
	m->slots = mem_calloc(NR_SLOTS, sizeof(*m->slots));
	m->names = mem_calloc(CPUPERF_MARK_NR_NAMES, sizeof(*m->names));
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	m->shared = at == MAP_FAILED ? NULL : at;
	if (!m->shared || !m->slots || !m->names) {
		close(file);
		wire_memory_fini(m);
		return -ENOMEM;
	}
	*m->shared =
	    (struct cpuperf_mark_header){.magic = CPUPERF_MARK_MAGIC,
					 .version = CPUPERF_MARK_VERSION,
					 .bytes = bytes,
					 .clock = config->clock,
					 .object = config->object,
					 .has_hello = config->is_nested || config->nr_counts,
					 .nr_counts = config->nr_counts,
					 .chance = config->chance,
					 .nr_slots = NR_SLOTS,
					 .names_offset = NAMES_OFFSET,
					 .text_offset = TEXT_OFFSET,
					 .slots_offset = SLOTS_OFFSET};
	*fd = file;
	return 0;
}

void wire_memory_fini(struct wire_memory *m)
{
	if (m->shared)
		munmap(m->shared, SLOTS_OFFSET + (size_t)NR_SLOTS * CPUPERF_MARK_SLOT_BYTES);
	mem_free(m->slots);
	mem_free(m->names);
	*m = (struct wire_memory){.pid = 0};
}

static char *at(const struct wire_memory *m, size_t offset)
{
	return (char *)m->shared + offset;
}

static struct cpuperf_mark_slot *slot_at(const struct wire_memory *m, size_t i)
{
	return (void *)at(m, SLOTS_OFFSET + i * CPUPERF_MARK_SLOT_BYTES);
}

/* The owner of a slot; 0: not known. */
static uint32_t thread_of(const struct wire_memory *m, size_t i)
{
	/* what a thread of another namespace wrote itself is no number of ours */
	return m->slots[i].tid ?: m->is_nested ? 0 : slot_at(m, i)->tid;
}

/* Reads the text at a place of the index, and makes it fit to print. False: it is invalid. */
static bool read_text(const struct wire_memory *m, uint32_t place,
		      char text[CPUPERF_MARK_MAX_NAME + 1])
{
	const uint32_t *index = (const void *)at(m, NAMES_OFFSET);
	uint32_t offset = __atomic_load_n(&index[place], __ATOMIC_ACQUIRE), len;

	if (!offset-- || offset > CPUPERF_MARK_TEXT_BYTES - sizeof(len))
		return false;
	memcpy(&len, at(m, TEXT_OFFSET + offset), sizeof(len));
	offset += sizeof(len);
	if (!len || len > CPUPERF_MARK_MAX_NAME || len > CPUPERF_MARK_TEXT_BYTES - offset)
		return false;
	memcpy(text, at(m, TEXT_OFFSET + offset), len);
	text[len] = '\0';
	str_disarm(text);
	return *text;
}

/* The number of a text that is fit to print; 0: there is no room. */
static uint32_t number_text(struct wire_reader *r, const char *text)
{
	size_t nr = r->texts.nr;
	uint32_t number = dict_add(&r->texts, text);

	if (number != DICT_NONE && r->texts.nr > nr)
		r->config->name(r->config->arg, number + 1, text);
	return number + 1; /* DICT_NONE + 1 is 0 */
}

/* The number of a name of the program; 0: it has none. */
static uint32_t find_name(struct wire_memory *m, struct wire_reader *r, uint32_t name)
{
	char text[CPUPERF_MARK_MAX_NAME + 1];
	uint32_t *known;

	if (!name || name > CPUPERF_MARK_NR_NAMES)
		return 0;
	known = &m->names[name - 1];
	if (*known || !read_text(m, name - 1, text))
		return *known;
	*known = number_text(r, text);
	return *known;
}

void wire_reader_begin(struct wire_reader *r)
{
	if (r->at.ns - r->before.ns > MIN_SPAN_NS)
		r->before = r->at;
	wire_clocks_now(&r->at);
	r->now = r->at;
}

/* On the line through two readings of both clocks. */
static uint64_t to_ns(const struct wire_memory *m, const struct wire_reader *r, uint64_t time)
{
	const struct wire_clocks *at = r->at.cycles > r->before.cycles ? &r->at : &r->now;
	uint64_t span = at->cycles - r->before.cycles;
	double ns;

	if (m->clock == CPUPERF_MARK_CYCLES && span) {
		ns = (double)(int64_t)(time - at->cycles) *
		     ((double)(at->ns - r->before.ns) / (double)span);
		/* beyond these a cast would be undefined; the caller clamps */
		if (ns >= (double)(r->now.ns - at->ns))
			time = r->now.ns;
		else
			time = ns < -1e15 ? 0 : at->ns + (uint64_t)(int64_t)ns;
	}
	return time;
}

static bool has_value(uint32_t kind)
{
	return kind == CPUPERF_MARK_BEGIN_NUMBER || kind == CPUPERF_MARK_INT;
}

static bool has_counts(const struct wire_memory *m, uint32_t kind)
{
	return m->nr_counts && kind <= CPUPERF_MARK_END_REGION;
}

/* A mark and the units that follow it. */
struct mark_units {
	struct cpuperf_mark_unit first;
	struct cpuperf_mark_value value;
	bool has_value, has_counts;
};

/* Reads the units of a mark, and its counts to counts. False: they are invalid. */
static bool read_units(const struct wire_memory *m, const struct cpuperf_mark_unit *units,
		       uint64_t *tail, uint64_t head, struct mark_units *out, uint64_t *counts)
{
	uint32_t kind, nr;

	*out = (struct mark_units){.first = units[(*tail)++ % CPUPERF_MARK_NR_UNITS]};
	kind = out->first.kind & ~CPUPERF_MARK_COUNTED;
	out->has_value = has_value(kind);
	out->has_counts = kind != out->first.kind;
	out->first.kind = (uint16_t)kind;
	nr = out->has_counts ? (m->nr_counts + 1) / 2 : 0;
	if (!kind || kind >= CPUPERF_MARK_NR_KINDS || (out->has_counts && !has_counts(m, kind)) ||
	    head - *tail < out->has_value + nr)
		return false;
	if (out->has_value)
		memcpy(&out->value, &units[(*tail)++ % CPUPERF_MARK_NR_UNITS], sizeof(out->value));
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t pair[2];

		memcpy(pair, &units[(*tail)++ % CPUPERF_MARK_NR_UNITS], sizeof(pair));
		counts[2 * i] = pair[0];
		if (2 * i + 1 < m->nr_counts)
			counts[2 * i + 1] = pair[1];
	}
	return true;
}

/* A thread's marks are in order of time, whatever the program wrote. */
static uint64_t order_time(struct wire_slot *own, const struct wire_reader *r, uint64_t time_ns)
{
	if (time_ns > r->now.ns)
		time_ns = r->now.ns;
	if (time_ns < own->last_ns)
		time_ns = own->last_ns;
	return own->last_ns = time_ns;
}

/* Passes on the first of r->marks, which the recorder made. */
static void pass_own(const struct wire_memory *m, const struct wire_reader *r, uint32_t tid)
{
	r->config->marks(
	    r->config->arg,
	    &(struct wire_marks){
		.pid = m->pid, .tid = tid, .object = m->object, .mark = r->marks, .nr = 1});
}

/* A thread that has ended has the name with which it began. */
static void name_thread(const struct wire_memory *m, struct wire_reader *r, size_t i)
{
	struct wire_slot *own = &m->slots[i];
	const uint32_t tid = thread_of(m, i);
	char name[sizeof(slot_at(m, i)->name) + 1];

	if (!r->config->names_threads || !tid || own->named == tid)
		return;
	own->named = tid;
	if (proc_load_line(PROC(&root_live, m->pid, tid), "comm", name, sizeof(name)) || !*name) {
		memcpy(name, slot_at(m, i)->name, sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
	}
	str_disarm(name);
	r->marks[0] = (struct wire_mark){.time_ns = own->last_ns,
					 .name = *name ? number_text(r, name) : 0,
					 .kind = CPUPERF_MARK_THREAD_NAME};
	if (r->marks[0].name)
		pass_own(m, r, tid);
}

/* Reads the units from tail to head, at most a batch. */
static void drain_batch(struct wire_memory *m, struct wire_reader *r, size_t i, uint64_t *tail,
			uint64_t head, uint64_t lost)
{
	struct cpuperf_mark_slot *slot = slot_at(m, i);
	const struct cpuperf_mark_unit *units =
	    (const void *)((const char *)slot + CPUPERF_MARK_SLOT_HEAD_BYTES);
	struct wire_slot *own = &m->slots[i];
	struct wire_marks batch = {.pid = m->pid,
				   .tid = thread_of(m, i),
				   .object = m->object,
				   .lost = lost,
				   .mark = r->marks};

	while (*tail < head && batch.nr < BATCH) {
		uint64_t *counts = &r->counts[batch.nr * m->nr_counts];
		struct mark_units u;

		if (!read_units(m, units, tail, head, &u, counts)) {
			r->totals.invalid++;
			continue;
		}
		if (u.first.kind <= CPUPERF_MARK_END_REGION)
			own->is_open = u.first.kind != CPUPERF_MARK_END_REGION || u.first.depth;
		r->marks[batch.nr++] =
		    (struct wire_mark){.time_ns = order_time(own, r, to_ns(m, r, u.first.time)),
				       .value = u.value.value,
				       .name = find_name(m, r, u.first.name),
				       .kind = u.first.kind,
				       .depth = u.first.depth,
				       .counts = u.has_counts ? counts : NULL};
	}
	if (!batch.tid) {
		r->totals.strangers += batch.nr + lost;
		return;
	}
	r->totals.marks += batch.nr;
	r->totals.lost += lost;
	if (batch.nr || lost)
		r->config->marks(r->config->arg, &batch);
}

static void end_thread(struct wire_memory *m, struct wire_reader *r, size_t i, uint32_t tid)
{
	m->slots[i].is_open = false;
	r->marks[0] = (struct wire_mark){.time_ns = order_time(&m->slots[i], r, r->now.ns),
					 .kind = WIRE_THREAD_END};
	pass_own(m, r, tid);
}

/* A thread that is silent within a region may have ended there. */
static void look_for_end(struct wire_memory *m, struct wire_reader *r, size_t i)
{
	uint32_t tid = m->slots[i].is_open ? thread_of(m, i) : 0;

	if (!tid || syscall(SYS_tgkill, m->pid, tid, 0) == 0 || errno != ESRCH ||
	    __atomic_load_n(&slot_at(m, i)->head, __ATOMIC_ACQUIRE) != m->slots[i].tail)
		return;
	wire_clocks_now(&r->now);
	end_thread(m, r, i, tid);
}

static void drain_slot(struct wire_memory *m, struct wire_reader *r, size_t i)
{
	struct cpuperf_mark_slot *slot = slot_at(m, i);
	struct wire_slot *own = &m->slots[i];
	uint64_t head = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE), tail = own->tail;
	uint64_t all_lost = __atomic_load_n(&slot->lost, __ATOMIC_RELAXED);
	uint64_t lost = all_lost > own->lost ? all_lost - own->lost : 0;

	if (head == tail && !lost) {
		look_for_end(m, r, i);
		return;
	}
	own->lost = all_lost;
	wire_clocks_now(&r->now); /* after all of its marks */
	if (own->last_ns < m->connected_ns)
		own->last_ns = m->connected_ns;
	if (head - tail > CPUPERF_MARK_NR_UNITS) { /* no producer of ours writes that */
		r->totals.invalid += CPUPERF_MARK_NR_UNITS;
		tail = head;
	}
	name_thread(m, r, i);
	do {
		drain_batch(m, r, i, &tail, head, lost);
		lost = 0;
	} while (tail < head);
	own->tail = head;
	__atomic_store_n(&slot->tail, head, __ATOMIC_RELEASE);
}

/* Slots are taken from the first on: the first one that was never used ends the search. */
static bool was_used(const struct wire_memory *m, size_t i)
{
	return m->slots[i].tail || __atomic_load_n(&slot_at(m, i)->is_owned, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&slot_at(m, i)->head, __ATOMIC_RELAXED);
}

void wire_memory_drain(struct wire_memory *m, struct wire_reader *r)
{
	m->nr_owned = 0;
	for (size_t i = 0; i < NR_SLOTS && was_used(m, i); i++) {
		drain_slot(m, r, i);
		m->nr_owned += __atomic_load_n(&slot_at(m, i)->is_owned, __ATOMIC_RELAXED) != 0;
	}
}

static void forget_thread(struct wire_slot *own, const struct wire_reader *r)
{
	if (own->counters)
		r->config->counters_close(r->config->arg, own->counters);
	own->counters = NULL;
	own->tid = own->named = 0;
}

int wire_memory_greet(struct wire_memory *m, const struct wire_reader *r, uint32_t slot,
		      uint32_t tid, void *counters)
{
	if (slot >= NR_SLOTS)
		return -EINVAL;
	forget_thread(&m->slots[slot], r);
	m->slots[slot].tid = tid;
	m->slots[slot].counters = counters;
	return 0;
}

bool wire_memory_has_grown(const struct wire_memory *m)
{
	return m->nr_owned >= m->nr_left + GROWTH;
}

void wire_memory_free_slots(struct wire_memory *m, const struct wire_reader *r)
{
	for (size_t i = 0; i < NR_SLOTS && was_used(m, i); i++) {
		struct cpuperf_mark_slot *slot = slot_at(m, i);
		uint32_t tid = thread_of(m, i);

		if (__atomic_load_n(&slot->is_owned, __ATOMIC_ACQUIRE) && tid &&
		    slot->head == m->slots[i].tail &&
		    !proc_is_there(PROC(&root_live, m->pid, tid))) {
			forget_thread(&m->slots[i], r);
			slot->tid = 0;
			m->nr_owned -= m->nr_owned != 0;
			__atomic_store_n(&slot->is_owned, 0, __ATOMIC_RELEASE);
		}
	}
	m->nr_left = m->nr_owned;
}

void wire_memory_end_threads(struct wire_memory *m, struct wire_reader *r)
{
	for (size_t i = 0; i < NR_SLOTS && was_used(m, i); i++) {
		uint32_t tid = thread_of(m, i);

		if (tid && __atomic_load_n(&slot_at(m, i)->is_owned, __ATOMIC_RELAXED))
			end_thread(m, r, i, tid);
	}
}

bool wire_memory_is_open(const struct wire_memory *m)
{
	for (size_t i = 0; i < NR_SLOTS && was_used(m, i); i++)
		if (m->slots[i].is_open)
			return true;
	return false;
}

bool wire_memory_runs_another(const struct wire_memory *m)
{
	struct wire_program now = find_program(m->pid);

	return now.inode && m->program.inode &&
	       (now.inode != m->program.inode || now.device != m->program.device);
}

bool wire_memory_is_mapped(const struct wire_memory *m)
{
	BUF_AUTO(maps, MAX_MAPS_BYTES);
	struct proc_mapping one;
	const char *at;

	if (!m->inode || proc_load(PROC(&root_live, m->pid), "maps", &maps) || buf_error(&maps) ||
	    !maps.len)
		return true;
	at = buf_str(&maps);
	while (proc_maps_next(&at, maps.data + maps.len, &one))
		if (one.inode == m->inode)
			return true;
	return false;
}

void wire_memory_close(struct wire_memory *m, struct wire_reader *r)
{
	for (size_t i = 0; i < NR_SLOTS; i++)
		forget_thread(&m->slots[i], r);
	__atomic_store_n(&m->shared->is_closed, 1, __ATOMIC_RELAXED);
	r->totals.names_lost += m->shared->names_lost;
	r->totals.missed += m->shared->missed;
	r->totals.uncounted += m->shared->uncounted;
	r->totals.narrow += m->shared->nr_mapped != 0;
}
