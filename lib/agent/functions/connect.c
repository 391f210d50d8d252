/*
 * The connection to the recorder, once for each process image and each child by fork that calls a
 * measured function; the slots of threads, the numbers of functions, and what is mapped.
 *
 * No function runs at the end of a thread: its slot is taken by another one, when there is none
 * left that nobody had, once the kernel does not know the thread any more.
 */
#include "agent/functions/agent.h"

#define CPUPERF_MARK_LATE /* for the functions by which an object with marks connects */
#include "base/order.h"
#include "cpuperf/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* --- what is mapped */

enum { MAPS_BYTES = 4096 };

/* A number in hexadecimal at *at, which moves behind it and the character after it. */
static uint64_t read_hex(const char **at, const char *end)
{
	uint64_t n = 0;

	for (; *at < end; ++*at) {
		unsigned digit = (unsigned char)**at;

		digit = digit >= '0' && digit <= '9'   ? digit - '0'
			: digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
						       : 16;
		if (digit == 16)
			break;
		n = n << 4 | digit;
	}
	*at += *at < end;
	return n;
}

/* START-END PERM OFFSET MAJOR:MINOR INODE    PATH. False: it is not code of a file. */
static bool parse_mapping(const char *at, const char *end, struct functions_object *out)
{
	const char *path;
	size_t len;

	*out = (struct functions_object){.start = read_hex(&at, end)};
	out->end = read_hex(&at, end);
	if (end - at < 5 || at[2] != 'x')
		return false;
	at += 5;
	out->offset = read_hex(&at, end);
	out->major = (uint32_t)read_hex(&at, end);
	out->minor = (uint32_t)read_hex(&at, end);
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		out->inode = out->inode * 10 + (uint64_t)(*at - '0');
	path = memchr(at, '/', (size_t)(end - at));
	if (!out->inode || !path)
		return false;
	len = (size_t)(end - path);
	if (len < sizeof(out->path))
		memcpy(out->path, path, len);
	return true;
}

/* Its end is written last: until then it is none. */
static void add_object(const struct functions_object *o)
{
	struct functions_header *h = agent.shared;
	struct functions_object *to = (void *)((char *)h + h->objects);
	uint32_t i = __atomic_fetch_add(&h->nr_objects, 1, __ATOMIC_RELAXED);

	if (i >= FUNCTIONS_MEMORY_OBJECTS)
		return;
	to[i] = *o;
	to[i].end = 0;
	__atomic_store_n(&to[i].end, o->end, __ATOMIC_RELEASE);
}

/* function 0: any. */
static void add_mapped(uintptr_t function)
{
	char text[MAPS_BYTES];
	struct functions_object o;
	/* not by functions in which a thread may be cancelled */
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t got;

	if (fd < 0)
		return;
	while ((got = syscall(SYS_read, fd, text + len, sizeof(text) - len)) > 0) {
		char *line = text, *end;

		len += (size_t)got;
		for (; (end = memchr(line, '\n', len)); line = end + 1) {
			len -= (size_t)(end + 1 - line);
			if (parse_mapping(line, end, &o) &&
			    (!function || (o.start <= function && function < o.end)))
				add_object(&o);
		}
		if (len == sizeof(text)) /* no line is as long */
			break;
		memmove(text, line, len);
	}
	(void)syscall(SYS_close, fd);
}

const struct functions_object *agent_find_object(uintptr_t function)
{
	const struct functions_header *h = agent.shared;
	const struct functions_object *o = (const void *)((const char *)h + h->objects);
	uint32_t nr = __atomic_load_n(&h->nr_objects, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < nr && i < FUNCTIONS_MEMORY_OBJECTS; i++)
		if (o[i].start <= function && function < o[i].end)
			return &o[i];
	return NULL;
}

/* A program that has limited its calls may not have allowed these: what it loaded since it
 * connected is not measured then. */
static const struct functions_object *see_object(uintptr_t function)
{
	const struct functions_object *o = agent_find_object(function);

	if (o || agent.shared->nr_objects >= FUNCTIONS_MEMORY_OBJECTS || prctl(PR_GET_SECCOMP) != 0)
		return o;
	add_mapped(function);
	return agent_find_object(function);
}

/* --- what is measured */

/* Devices of some file systems have another number in mappings than stat(2) says. */
static bool is_mapped(const struct functions_wanted_file *f, const struct functions_object *o)
{
	return f->inode == o->inode &&
	       ((f->major == o->major && f->minor == o->minor) || strcmp(f->path, o->path) == 0);
}

/* The last place that begins there or before. */
static bool has_place(const struct functions_wanted_place *place, uint64_t nr, uint64_t offset)
{
	size_t behind = ORDER_FIRST(i, nr, place[i].offset > offset);

	return behind && offset - place[behind - 1].offset < (place[behind - 1].size ?: 1);
}

const struct functions_wanted_file *agent_find_wanted(const struct functions_object *o)
{
	const struct functions_wanted *w = agent.wanted;
	const struct functions_wanted_file *file = (const void *)(w + 1);

	for (uint32_t i = 0; w && i < w->nr_files; i++)
		if (is_mapped(&file[i], o))
			return &file[i];
	return NULL;
}

bool agent_is_wanted(uintptr_t function)
{
	const struct functions_object *o = agent.wanted ? see_object(function) : NULL;
	const struct functions_wanted_file *file = o ? agent_find_wanted(o) : NULL;

	return file && has_place(agent_places_of(agent.wanted) + file->first, file->nr,
				 o->offset + (function - o->start));
}

/* --- what is replaced */

void agent_placing_end(void)
{
	__atomic_store_n(&agent.shared->is_placing, 0, __ATOMIC_SEQ_CST);
}

/* The recorder puts back what it sees when it has written that it ends. */
bool agent_placing_begin(void)
{
	__atomic_store_n(&agent.shared->is_placing, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&agent.shared->is_closed, __ATOMIC_SEQ_CST))
		return true;
	agent_placing_end();
	return false;
}

/* --- functions */

/* A number; FUNCTIONS_MEMORY_MAX: there is none left. */
static uint32_t take_number(uintptr_t function)
{
	struct functions_header *h = agent.shared;
	uint64_t *addresses = (void *)((char *)h + h->addresses);
	uint32_t number = __atomic_fetch_add(&h->nr_functions, 1, __ATOMIC_RELAXED);

	if (number >= FUNCTIONS_MEMORY_MAX) {
		__atomic_fetch_sub(&h->nr_functions, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&h->missed, 1, __ATOMIC_RELAXED);
		return FUNCTIONS_MEMORY_MAX;
	}
	__atomic_store_n(&addresses[number], function, __ATOMIC_RELEASE);
	return number;
}

/* What is not measured and has a place: at most half of all, so that they are never full. */
static uint32_t nr_out;

static bool take_place(bool is_wanted)
{
	if (is_wanted)
		return true;
	if (__atomic_load_n(&nr_out, __ATOMIC_RELAXED) >= FUNCTIONS_MEMORY_PLACES / 2)
		return false;
	__atomic_fetch_add(&nr_out, 1, __ATOMIC_RELAXED);
	return true;
}

/* A number that another thread took for the same function at the same time has no calls. */
static uint32_t add(uintptr_t function, bool is_wanted)
{
	uint32_t number;
	uint64_t word;

	if (!function || function >> (64 - FUNCTIONS_MEMORY_NUMBER_BITS) || !take_place(is_wanted))
		return FUNCTIONS_MEMORY_MAX;
	number = is_wanted ? take_number(function) : FUNCTIONS_MEMORY_OUT;
	if (number == FUNCTIONS_MEMORY_MAX)
		return number;
	word = (uint64_t)function << FUNCTIONS_MEMORY_NUMBER_BITS | number;
	for (uint32_t at = functions_memory_place(function);;
	     at = (at + 1) % FUNCTIONS_MEMORY_PLACES) {
		uint64_t found = 0;

		if (__atomic_compare_exchange_n(&agent.places[at], &found, word, false,
						__ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
			break;
		if (found >> FUNCTIONS_MEMORY_NUMBER_BITS == function)
			return found & ((1 << FUNCTIONS_MEMORY_NUMBER_BITS) - 1);
	}
	return number;
}

AGENT_RARE uint32_t agent_add(uintptr_t function)
{
	int error = errno;
	uint32_t number = add(function, agent_is_wanted(function));

	errno = error;
	return number;
}

/* --- threads */

static struct functions_slot *slot_at(uint32_t i)
{
	return (void *)((char *)agent.shared + agent.shared->slots + i * agent.shared->slot_bytes);
}

static bool take(uint32_t i, uint32_t from, uint32_t tid)
{
	return __atomic_compare_exchange_n(&slot_at(i)->owner, &from, tid, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static bool take_ended(uint32_t i, uint32_t tid)
{
	uint32_t owner = __atomic_load_n(&slot_at(i)->owner, __ATOMIC_RELAXED);

	return syscall(SYS_tgkill, getpid(), owner, 0) && errno == ESRCH && take(i, owner, tid);
}

/* The last slot is for all that find no other. */
static uint32_t find_slot(uint32_t tid)
{
	static uint32_t next;
	const uint32_t last = agent.shared->nr_mapped - 1;

	for (uint32_t i = 0; i < last; i++)
		if (!__atomic_load_n(&slot_at(i)->owner, __ATOMIC_RELAXED) && take(i, 0, tid))
			return i;
	for (uint32_t i = 0; i < last; i++) {
		uint32_t at = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % last;

		if (take_ended(at, tid))
			return at;
	}
	__atomic_store_n(&slot_at(last)->owner, tid, __ATOMIC_RELAXED);
	return last;
}

static void take_slot(struct agent_local *t)
{
	const struct functions_header *h = agent.shared;
	uint32_t tid = (uint32_t)syscall(SYS_gettid), i = find_slot(tid);
	char *slot = (char *)slot_at(i);

	t->is_joined = i + 1 == h->nr_mapped;
	if (t->is_joined)
		__atomic_fetch_add(&agent.shared->nr_joined, 1, __ATOMIC_RELAXED);
	t->has_times = h->wants & FUNCTIONS_MEMORY_TIMES && !t->is_joined;
	t->is_cycles = !!(h->wants & FUNCTIONS_MEMORY_CYCLES);
	t->slot = (void *)slot;
	t->rows = (void *)(slot + h->rows);
	t->octaves = (void *)(slot + h->octaves);
	t->chunks = (void *)(slot + h->chunks);
	t->top = t->frames = (void *)(slot + h->frames);
	t->end = t->frames + FUNCTIONS_MEMORY_DEPTH;
}

/* --- the process */

/* Programs with a limit of addresses get fewer slots: as many as fit into a quarter of it. */
static struct functions_header *map(int fd)
{
	struct functions_header h, *mapped;
	struct rlimit limit;
	struct stat st;
	void *at = MAP_FAILED;

	if (fstat(fd, &st) || !(fcntl(fd, 1034 /* F_GET_SEALS */) & 2 /* F_SEAL_SHRINK */) ||
	    pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return NULL;
	if (h.magic != FUNCTIONS_MEMORY_MAGIC || h.version != FUNCTIONS_MEMORY_VERSION ||
	    h.bytes != (uint64_t)st.st_size || h.nr_slots != FUNCTIONS_MEMORY_SLOTS ||
	    h.bytes < h.slots + h.nr_slots * h.slot_bytes)
		return NULL;
	if (getrlimit(RLIMIT_AS, &limit))
		limit.rlim_cur = RLIM_INFINITY;
	for (uint32_t nr = h.nr_slots; at == MAP_FAILED && nr; nr /= 2) {
		h.nr_mapped = nr;
		h.bytes = h.slots + nr * h.slot_bytes;
		if (limit.rlim_cur == RLIM_INFINITY || h.bytes <= limit.rlim_cur / 4)
			at = mmap(NULL, h.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
				  fd, 0);
	}
	if (at == MAP_FAILED)
		return NULL;
	mapped = at;
	mapped->nr_mapped = h.nr_mapped;
	return mapped;
}

/* A child by fork has that of its parent. */
static const struct functions_wanted *map_wanted(int fd)
{
	const struct functions_wanted *w;
	struct stat st;
	void *at;

	if (fstat(fd, &st) || !(fcntl(fd, 1034 /* F_GET_SEALS */) & 2 /* F_SEAL_SHRINK */) ||
	    (size_t)st.st_size < sizeof(*w))
		return NULL;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	w = at;
	return w->magic == FUNCTIONS_MEMORY_MAGIC &&
		       (uint64_t)st.st_size ==
			   sizeof(*w) + w->nr_files * sizeof(struct functions_wanted_file) +
			       w->nr_places * sizeof(struct functions_wanted_place) +
			       w->nr_exits * sizeof(struct functions_wanted_site)
		   ? w
		   : NULL;
}

static struct functions_header *connect_to(uint32_t number)
{
	const struct cpuperf_mark_hello hello = {.magic = CPUPERF_MARK_MAGIC,
						 .version = CPUPERF_MARK_VERSION,
						 .ask = CPUPERF_MARK_ASK_FUNCTIONS,
						 .object = FUNCTIONS_MEMORY_VERSION};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];
	struct functions_header *h = NULL;

	if (cpuperf_mark_ask(number, &hello, fds) < 0)
		return NULL;
	if (fds[0] >= 0)
		h = map(fds[0]);
	if (h && fds[1] >= 0 && !agent.wanted)
		agent.wanted = map_wanted(fds[1]);
	for (int i = 0; fds[i] >= 0; i++)
		close(fds[i]);
	return h;
}

/* A page that reads as 0 after fork. */
static uint32_t *make_alive(void)
{
	static uint32_t *page;
	void *at;

	if (page)
		return page;
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	if (madvise(at, 4096, 18 /* MADV_WIPEONFORK */)) {
		munmap(at, 4096);
		return NULL;
	}
	page = at;
	return page;
}

/* Behind it may be a sign that there are places (hooks_socket). */
static uint32_t read_number(const char *value)
{
	char name[64];
	size_t len = value ? strlen(value) : 0;

	if (!len || len >= sizeof(name))
		return 0;
	memcpy(name, value, len + 1);
	if (name[len - 1] == '+')
		name[len - 1] = '\0';
	return cpuperf_mark_number(name);
}

/* A child by fork has its parent's number, whatever the program did to its environment. */
static bool connect_once(void)
{
	static uint32_t recorder, generation;
	struct functions_header *old = generation ? agent.shared : NULL, *new;
	uint32_t *alive;

	if (!recorder) {
		if (!environ) /* the C library is not ready */
			return false;
		recorder = read_number(getenv("CPUPERF_FUNCTIONS"));
	}
	alive = recorder ? make_alive() : NULL;
	new = alive ? connect_to(recorder) : NULL;
	if (!new) {
		agent.is_off = 1;
		return false;
	}
	agent.shared = new;
	agent.places = (void *)((char *)new + new->places);
	agent.untimed = (const uint8_t *)new + new->untimed;
	agent.factor = new->factor;
	if (old && !agent.has_places) /* another thread's code may count there */
		munmap(old, old->slots + old->nr_mapped * old->slot_bytes);
	nr_out = 0;
	add_mapped(0);
	(void)add((uintptr_t)agent_attach, true); /* as number 0: for try_own */
#if defined(__x86_64__)
	agent_place_again();
#endif
	__atomic_store_n(&agent.alive, alive, __ATOMIC_RELEASE);
	__atomic_store_n(alive, ++generation, __ATOMIC_RELEASE);
	return true;
}

static bool is_alive(void)
{
	return __atomic_load_n(agent.alive, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&agent.shared->is_closed, __ATOMIC_RELAXED);
}

/* The lock is the number of the process of whoever has it: in a child by fork, one that another
 * thread of the parent held is nobody's. */
static void take_lock(pid_t *lock)
{
	const pid_t own = getpid();
	pid_t was = 0;

	while (!__atomic_compare_exchange_n(lock, &was, own, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (was != own) /* the next try takes it from there */
			continue;
		was = 0;
		(void)syscall(SYS_sched_yield);
	}
}

/* Another thread that connects is waited for: it needs nothing of this one. */
static bool is_connected(void)
{
	static pid_t lock;
	bool is_there;

	if (is_alive())
		return true;
	take_lock(&lock);
	is_there = is_alive();
	if (!is_there && !agent.is_off && agent.shared->is_closed)
		agent.is_off = 1;
	if (!is_there && !agent.is_off)
		is_there = connect_once();
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	return is_there;
}

/* As most of what has times is measured. */
static void try_begin(void)
{
#if defined(__x86_64__)
	if (agent.wanted && agent.wanted->nr_exits) {
		agent_try_begin();
		return;
	}
#endif
	__cyg_profile_func_enter((void *)(uintptr_t)agent_attach, NULL);
}

static void try_end(void)
{
#if defined(__x86_64__)
	if (agent.wanted && agent.wanted->nr_exits) {
		agent_try_end();
		return;
	}
#endif
	__cyg_profile_func_exit((void *)(uintptr_t)agent_attach, NULL);
}

enum { TRIED_CALLS = 16 };

/* With a stack pointer below that of the call around them. */
static AGENT_RARE void try_calls(void)
{
	for (int i = 0; i < TRIED_CALLS; i++) {
		try_begin();
		try_end();
	}
}

/* What measuring costs, by calls of a function of our own within one of it. The fastest of some
 * rounds is the least disturbed one. */
static AGENT_RARE void try_own(struct agent_local *t)
{
	enum { ROUNDS = 4 };
	struct functions_header *h = agent.shared;
	const struct functions_row *row = t->rows;
	const uint8_t is_meeting = t->is_meeting;
	uint64_t least[2] = {UINT64_MAX, UINT64_MAX};

	t->is_meeting = 0;
	for (int i = 0; i < ROUNDS; i++) {
		const uint64_t before = row->wall;
		uint64_t inner, outer;

		try_begin();
		try_calls();
		inner = row->wall - before;
		try_end();
		outer = row->wall - before - inner - inner / TRIED_CALLS;
		least[0] = inner < least[0] ? inner : least[0];
		least[1] = outer < least[1] ? outer : least[1];
	}
	t->is_meeting = is_meeting;
	h->inner = least[0];
	__atomic_store_n(&h->outer, least[1], __ATOMIC_RELEASE);
}

/* The same where calls are counted alone: in ns, as no counter of the CPU is read. */
static AGENT_RARE void try_counting(void)
{
	enum { ROUNDS = 4, CALLS = 512, OF = 16 };
	void *own = (void *)(uintptr_t)agent_attach;
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		struct timespec from, to;
		uint64_t ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int j = 0; j < CALLS; j++)
			__cyg_profile_func_enter(own, NULL);
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000u + (uint64_t)to.tv_nsec -
		     (uint64_t)from.tv_nsec;
		least = ns < least ? ns : least;
	}
	least = least * OF / CALLS;
	__atomic_store_n(&agent.shared->outer, least ? least : 1, __ATOMIC_RELEASE);
}

static bool attach(struct agent_local *t)
{
	if (!is_connected())
		return false;
	take_slot(t);
	t->generation = *agent.alive;
	return true;
}

/* Signals wait, whose handlers may call measured functions. */
AGENT_RARE bool agent_attach(struct agent_local *t)
{
	enum { SET_MASK = 2 };
	const uint64_t all = ~UINT64_C(0);
	uint64_t before = 0;
	int error = errno;
	bool is_there, is_blocked;

	if (t->is_busy) {
		__atomic_fetch_add(&agent.shared->missed, 1, __ATOMIC_RELAXED);
		return false;
	}
	t->is_busy = 1;
	is_blocked = syscall(SYS_rt_sigprocmask, SET_MASK, &all, &before, sizeof(before)) == 0;
	is_there = attach(t);
	t->is_busy = 0;
	if (is_blocked)
		(void)syscall(SYS_rt_sigprocmask, SET_MASK, &before, NULL, sizeof(before));
	if (is_there && !agent.shared->outer && t->has_times)
		try_own(t);
	else if (is_there && !agent.shared->outer &&
		 !(agent.shared->wants & FUNCTIONS_MEMORY_TIMES))
		try_counting();
	errno = error;
	return is_there;
}
