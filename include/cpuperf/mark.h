/*
 * Marks: a program says what it is doing, and cpuperf measures the parts.
 *
 *     #include <cpuperf/mark.h>
 *
 *     CPUPERF_BEGIN("parse");
 *     parse(file);
 *     CPUPERF_END;
 *
 * One header, no library. In a program that is not measured a mark is a load and a branch. A
 * measured one (`cpuperf --regions -- ./prog`) writes 16 or 32 bytes into memory that it shares
 * with the recorder: no system call, no lock, no allocation. A region belongs to a thread, and
 * nests: CPUPERF_END ends the innermost one. What is open when the thread ends is closed there.
 *
 *     CPUPERF_BEGIN("name");               begins a region; the name is a literal
 *     CPUPERF_BEGIN_NUMBER("request", n);  the same, with a number: "request 17"
 *     CPUPERF_END;                         ends the innermost region of this thread
 *     CPUPERF_REGION("name");              a region until the end of the block (C and C++)
 *     CPUPERF_INSTANT("name");             something happened
 *     CPUPERF_INT("name", n);              a value, at this time
 *     cpuperf_begin(text), cpuperf_begin_number(text, n), cpuperf_instant(text),
 *     cpuperf_int(text, n)                 with a name made at run time: looked up in a table
 *     cpuperf_thread_name(text)            names this thread
 *     cpuperf_pause(), cpuperf_resume()    samples of the process between them are left out
 *     cpuperf_pause_thread(), cpuperf_resume_thread()  the same for this thread
 *
 * Names have at most CPUPERF_MARK_MAX_NAME bytes; longer ones are cut. Everything may be called
 * from any thread and from signal handlers; a mark in a handler that interrupts a mark of the same
 * thread is dropped and counted. errno is preserved. After fork the child connects by itself.
 *
 * Define CPUPERF_NO_MARKS before the header to compile all of this to nothing. C (gnu99, c11)
 * and C++11, gcc and clang, Linux; elsewhere it is nothing.
 *
 * Below are the parts that cpuperf itself reads: the layout of the shared memory, version 1
 * (schemas/marks.md). SPDX-License-Identifier: MIT
 */
#ifndef CPUPERF_MARK_H
#define CPUPERF_MARK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The shared memory: header, index of names, text of names, slots. Made by the recorder, sealed
 * against shrinking. */
enum {
	CPUPERF_MARK_VERSION = 1,
	CPUPERF_MARK_MAGIC = 0x4b524d43, /* "CMRK" */
	CPUPERF_MARK_MAX_NAME = 255,
	CPUPERF_MARK_NR_NAMES = 4096, /* a power of 2 */
	CPUPERF_MARK_TEXT_BYTES = 256 << 10,
	CPUPERF_MARK_SLOT_HEAD_BYTES = 4096,
	CPUPERF_MARK_SLOT_BYTES = 4096 + (512 << 10), /* with its head */
	CPUPERF_MARK_UNIT_BYTES = 16,
	CPUPERF_MARK_NR_UNITS = 32768, /* of a slot; a power of 2 */
};

enum cpuperf_mark_kind {
	CPUPERF_MARK_BEGIN = 1,
	CPUPERF_MARK_BEGIN_NUMBER = 2, /* two units, as all below with a value */
	CPUPERF_MARK_END_REGION = 3,
	CPUPERF_MARK_INSTANT = 4,
	CPUPERF_MARK_INT = 5, /* two units */
	CPUPERF_MARK_THREAD_NAME = 6,
	CPUPERF_MARK_PAUSE = 7,
	CPUPERF_MARK_RESUME = 8,
	CPUPERF_MARK_PAUSE_THREAD = 9,
	CPUPERF_MARK_RESUME_THREAD = 10,
	CPUPERF_MARK_NR_KINDS,
};

enum cpuperf_mark_clock {
	CPUPERF_MARK_MONOTONIC = 0, /* CLOCK_MONOTONIC, ns */
	CPUPERF_MARK_CYCLES = 1,    /* the counter that rdtsc (x86) or cntvct_el0 (arm64) reads */
};

struct cpuperf_mark_unit {
	uint64_t time; /* of the clock in the header */
	uint32_t name; /* 1 + its place in the index; 0: none */
	uint16_t kind; /* enum cpuperf_mark_kind */
	/* Of a beginning and an end: the open regions around it, of this thread and object. Also
	 * right after marks were lost. */
	uint16_t depth;
};

/* Follows the unit of a mark with a value. */
struct cpuperf_mark_value {
	int64_t value;
	uint64_t reserved;
};

struct cpuperf_mark_slot {
	/* written by the thread that owns the slot */
	uint64_t head; /* units written so far, released after the units */
	uint64_t lost; /* marks that found the slot full, or interrupted another mark */
	uint32_t tid;  /* as gettid(2) returns it */
	uint8_t unused[108];
	/* written by the recorder */
	uint64_t tail; /* units read so far */
	uint8_t unused_too[120];
	/* 0: free; 1: owned by a thread. A thread takes it, the recorder frees it. */
	uint32_t is_owned;
};

struct cpuperf_mark_header {
	/* written by the recorder before the program receives the memory */
	uint32_t magic, version;
	uint64_t bytes; /* of the whole memory */
	uint32_t clock, nr_slots;
	uint32_t names_offset, text_offset, slots_offset;
	uint32_t is_closed; /* by the recorder: it reads no more */
	uint8_t unused[80];
	/* written by the program */
	uint32_t
	    text_used; /* bytes of text taken so far; beyond CPUPERF_MARK_TEXT_BYTES: refused */
	uint32_t names_lost; /* names that found no room */
	uint64_t missed;     /* marks of threads that had no slot */
};

/* What an object (a program or shared library) knows about being measured. */
struct cpuperf_mark_state {
	uint32_t on; /* not 0: marks are written, or a recorder is looked for */
	uint32_t version;
	uint32_t holder; /* the process that connects, or 0 */
	uint32_t generation;
	uint64_t missed; /* marks of threads without a slot, not yet counted in shared */
	struct cpuperf_mark_header *shared;
	uint32_t *alive; /* in a page that reads as 0 after fork: the generation */
	char name[108];  /* of the recorder's socket; empty: in the environment */
};

/* What a thread knows, per object. */
struct cpuperf_mark_thread {
	uint64_t head, tail; /* tail: as last seen */
	struct cpuperf_mark_slot *slot;
	struct cpuperf_mark_unit *units;
	uint32_t *alive;
	uint32_t generation;
	uint32_t clock;
	uint32_t is_busy;
	uint32_t pause; /* marks to skip before a slot is looked for again */
	uint32_t depth; /* open regions */
};

#if defined(__linux__) && defined(__GNUC__) && !defined(CPUPERF_NO_MARKS)

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS /* -std=c11 declares ISO C alone */
#define MAP_ANONYMOUS 0x20
long syscall(long number, ...);
int madvise(void *at, size_t len, int advice);
#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC 1
int clock_gettime(int clock, struct timespec *out);
#endif
#endif

#define CPUPERF_MARK_SHARED __attribute__((weak, visibility("hidden")))
#define CPUPERF_MARK_RARE   __attribute__((noinline, cold, unused)) static
#define CPUPERF_MARK_OFTEN  __attribute__((noinline, unused)) static

/* One of each in every object. A name with default visibility would be one for the process, or one
 * for each object, depending on how objects are linked and loaded. */
CPUPERF_MARK_SHARED struct cpuperf_mark_state cpuperf_mark_state_1;
CPUPERF_MARK_SHARED __thread struct cpuperf_mark_thread cpuperf_mark_thread_1;

/* Receives the descriptor of the shared memory. name: of an abstract socket. -1: there is none. */
CPUPERF_MARK_RARE int cpuperf_mark_receive(const char *name)
{
	struct sockaddr_un to;
	struct timeval limit = {1, 0};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message;
	struct cmsghdr *c;
	int fd = -1, s;

	if (!name || !*name || strlen(name) >= sizeof(to.sun_path))
		return -1;
	s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -1;
	memset(&to, 0, sizeof(to));
	to.sun_family = AF_UNIX;
	memcpy(to.sun_path + 1, name, strlen(name));
	memset(&message, 0, sizeof(message));
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	message.msg_control = control.bytes;
	message.msg_controllen = sizeof(control.bytes);
	/* a recorder that hangs must not hang the program */
	if (setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
	    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
	    connect(s, (struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) == 0 &&
	    recvmsg(s, &message, MSG_CMSG_CLOEXEC) == 1) {
		c = CMSG_FIRSTHDR(&message);
		if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(&fd, CMSG_DATA(c), sizeof(int));
	}
	close(s);
	return fd;
}

CPUPERF_MARK_RARE struct cpuperf_mark_header *cpuperf_mark_map(int fd)
{
	struct cpuperf_mark_header *h;
	struct stat st;
	void *at;

	if (fstat(fd, &st) || (uint64_t)st.st_size < sizeof(*h))
		return NULL;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	h = (struct cpuperf_mark_header *)at;
	if (h->magic == CPUPERF_MARK_MAGIC && h->version == CPUPERF_MARK_VERSION &&
	    h->bytes == (uint64_t)st.st_size)
		return h;
	munmap(at, (size_t)st.st_size);
	return NULL;
}

/* The memory of this process image is new after fork: its page of the generation reads as 0. */
CPUPERF_MARK_RARE int cpuperf_mark_connect(struct cpuperf_mark_state *state)
{
	const char *name = state->name[0] ? state->name : getenv("CPUPERF_MARKS");
	struct cpuperf_mark_header *shared = NULL;
	uint32_t *alive = state->alive;
	int fd;

	if (!alive) {
		void *at =
		    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return -1;
		if (madvise(at, 4096, 18 /* MADV_WIPEONFORK */)) {
			munmap(at, 4096);
			return -1;
		}
		alive = (uint32_t *)at;
	}
	fd = cpuperf_mark_receive(name);
	if (fd >= 0) {
		shared = cpuperf_mark_map(fd);
		close(fd);
	}
	state->alive = alive;
	if (!shared)
		return -1;
	state->shared = shared;
	state->generation++;
	__atomic_store_n(alive, state->generation, __ATOMIC_RELEASE);
	return 0;
}

CPUPERF_MARK_RARE struct cpuperf_mark_slot *cpuperf_mark_slot_at(struct cpuperf_mark_header *h,
								 uint32_t i)
{
	return (struct cpuperf_mark_slot *)(void *)((char *)h + h->slots_offset +
						    (size_t)i * CPUPERF_MARK_SLOT_BYTES);
}

CPUPERF_MARK_RARE int cpuperf_mark_take_slot(struct cpuperf_mark_state *state,
					     struct cpuperf_mark_thread *t)
{
	struct cpuperf_mark_header *h = state->shared;

	for (uint32_t i = 0; i < h->nr_slots && !h->is_closed; i++) {
		struct cpuperf_mark_slot *slot = cpuperf_mark_slot_at(h, i);
		uint32_t is_free = 0;

		if (__atomic_load_n(&slot->is_owned, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&slot->is_owned, &is_free, 1, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&slot->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
		t->slot = slot;
		t->units = (struct cpuperf_mark_unit *)(void *)((char *)slot +
								CPUPERF_MARK_SLOT_HEAD_BYTES);
		t->head = slot->head;
		t->tail = slot->tail;
		t->clock = h->clock;
		t->alive = state->alive;
		t->generation = state->generation;
		return 0;
	}
	return -1;
}

CPUPERF_MARK_RARE int cpuperf_mark_is_connected(const struct cpuperf_mark_state *state)
{
	const uint32_t *alive = __atomic_load_n(&state->alive, __ATOMIC_ACQUIRE);
	uint32_t generation = alive ? __atomic_load_n(alive, __ATOMIC_ACQUIRE) : 0;

	return generation && generation == state->generation;
}

/* Counts a mark of a thread without a slot. */
CPUPERF_MARK_RARE void cpuperf_mark_miss(struct cpuperf_mark_state *state)
{
	__atomic_fetch_add(&state->missed, 1, __ATOMIC_RELAXED);
	if (cpuperf_mark_is_connected(state))
		__atomic_fetch_add(&state->shared->missed,
				   __atomic_exchange_n(&state->missed, 0, __ATOMIC_RELAXED),
				   __ATOMIC_RELAXED);
}

/* Connects, unless another thread does. Not 0: there is no connection now. */
CPUPERF_MARK_RARE int cpuperf_mark_connect_once(struct cpuperf_mark_state *state)
{
	uint32_t self = (uint32_t)getpid(),
		 holder = __atomic_load_n(&state->holder, __ATOMIC_RELAXED);
	int rc = 0;

	/* A holder of another process is a thread of the parent that was connecting at fork. */
	if (holder == self || !__atomic_compare_exchange_n(&state->holder, &holder, self, 0,
							   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return -1;
	if (!cpuperf_mark_is_connected(state))
		rc = cpuperf_mark_connect(state);
	if (rc == 0)
		__atomic_fetch_add(&state->shared->missed,
				   __atomic_exchange_n(&state->missed, 0, __ATOMIC_RELAXED),
				   __ATOMIC_RELAXED);
	else
		__atomic_store_n(&state->on, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&state->holder, 0, __ATOMIC_RELEASE);
	return rc;
}

/* Gives the thread a slot. Not 0: it has none now, and the mark is lost. */
CPUPERF_MARK_RARE int cpuperf_mark_attach(struct cpuperf_mark_thread *t)
{
	struct cpuperf_mark_state *state = &cpuperf_mark_state_1;
	int error = errno, rc = 0;

	t->slot = NULL;
	if (t->pause) {
		t->pause--;
		rc = -1;
	} else {
		if (!cpuperf_mark_is_connected(state))
			rc = cpuperf_mark_connect_once(state);
		if (rc == 0 && cpuperf_mark_take_slot(state, t)) {
			t->pause = 1000;
			rc = -1;
		}
	}
	if (rc)
		cpuperf_mark_miss(state);
	errno = error;
	return rc;
}

static inline uint64_t cpuperf_mark_now(uint32_t clock)
{
	struct timespec ts;

	if (clock == CPUPERF_MARK_CYCLES) {
#if defined(__x86_64__)
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
		uint64_t ticks;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
#endif
	}
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline size_t cpuperf_mark_length(const char *text)
{
	size_t len = 0;

	while (len < CPUPERF_MARK_MAX_NAME && text[len])
		len++;
	return len;
}

static inline uint32_t cpuperf_mark_hash(const char *text, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

/* The number of a name: 1 + its place in the index. 0: no room. A name is a length (uint32_t) and
 * its bytes; the index has the offset of its text + 1. */
CPUPERF_MARK_OFTEN uint32_t cpuperf_mark_name(struct cpuperf_mark_header *h, const char *text)
{
	uint32_t *index = (uint32_t *)(void *)((char *)h + h->names_offset);
	char *texts = (char *)h + h->text_offset;
	size_t len = cpuperf_mark_length(text);
	uint32_t at = cpuperf_mark_hash(text, len), own = 0;

	for (uint32_t tries = 0; tries < CPUPERF_MARK_NR_NAMES; tries++, at++) {
		uint32_t *place = &index[at % CPUPERF_MARK_NR_NAMES];
		uint32_t seen = __atomic_load_n(place, __ATOMIC_ACQUIRE), length;

		if (!seen && !own) {
			uint32_t need = (uint32_t)((sizeof(length) + len + 3) & ~(size_t)3);

			length = (uint32_t)len;
			if (__atomic_load_n(&h->text_used, __ATOMIC_RELAXED) + need >
			    CPUPERF_MARK_TEXT_BYTES)
				break;
			own = __atomic_fetch_add(&h->text_used, need, __ATOMIC_RELAXED);
			if (own + need > CPUPERF_MARK_TEXT_BYTES)
				break;
			memcpy(texts + own, &length, sizeof(length));
			memcpy(texts + own + sizeof(length), text, len);
			own++;
		}
		if (!seen && __atomic_compare_exchange_n(place, &seen, own, 0, __ATOMIC_RELEASE,
							 __ATOMIC_ACQUIRE))
			return 1 + at % CPUPERF_MARK_NR_NAMES;
		memcpy(&length, texts + seen - 1, sizeof(length));
		if (length == len && memcmp(texts + seen - 1 + sizeof(length), text, len) == 0)
			return 1 + at % CPUPERF_MARK_NR_NAMES;
	}
	__atomic_fetch_add(&h->names_lost, 1, __ATOMIC_RELAXED);
	return 0;
}

/* True if the thread has a slot with room for the units, and is not in a mark already. */
static inline int cpuperf_mark_enter(struct cpuperf_mark_thread *t, uint32_t nr)
{
	if (__builtin_expect(t->is_busy, 0)) {
		if (t->slot)
			t->slot->lost++;
		return 0;
	}
	t->is_busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(!t->alive || *t->alive != t->generation, 0) && cpuperf_mark_attach(t))
		goto refused;
	if (__builtin_expect(t->head + nr - t->tail > CPUPERF_MARK_NR_UNITS, 0)) {
		t->tail = __atomic_load_n(&t->slot->tail, __ATOMIC_ACQUIRE);
		if (t->head + nr - t->tail > CPUPERF_MARK_NR_UNITS) {
			t->slot->lost++;
			goto refused;
		}
	}
	return 1;
refused:
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->is_busy = 0;
	return 0;
}

static inline void cpuperf_mark_leave(struct cpuperf_mark_thread *t, uint32_t nr)
{
	t->head += nr;
	__atomic_store_n(&t->slot->head, t->head, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->is_busy = 0;
}

/* Counts the regions, also those whose marks are lost. The depth of the mark. */
static inline uint32_t cpuperf_mark_nest(struct cpuperf_mark_thread *t, uint32_t kind)
{
	if (kind <= CPUPERF_MARK_BEGIN_NUMBER)
		return t->depth++;
	if (kind == CPUPERF_MARK_END_REGION && t->depth)
		t->depth--;
	return t->depth;
}

static inline void cpuperf_mark_put(struct cpuperf_mark_thread *t, uint32_t kind, uint32_t depth,
				    uint32_t name)
{
	struct cpuperf_mark_unit *u = &t->units[t->head % CPUPERF_MARK_NR_UNITS];

	u->name = name;
	u->kind = (uint16_t)kind;
	u->depth = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
	u->time = cpuperf_mark_now(t->clock);
}

/* site: the name's number in the memory of a generation, as found before; NULL: look it up. */
static inline uint32_t cpuperf_mark_find(struct cpuperf_mark_thread *t, uint64_t *site,
					 const char *text)
{
	uint64_t known = site ? __atomic_load_n(site, __ATOMIC_RELAXED) : 0;
	uint32_t name;

	if (!text)
		return 0;
	if (__builtin_expect(known && known >> 32 == t->generation, 1))
		return (uint32_t)known;
	name = cpuperf_mark_name(cpuperf_mark_state_1.shared, text);
	if (site)
		__atomic_store_n(site, (uint64_t)t->generation << 32 | name, __ATOMIC_RELAXED);
	return name;
}

CPUPERF_MARK_OFTEN void cpuperf_mark_write(uint32_t kind, uint64_t *site, const char *text)
{
	struct cpuperf_mark_thread *t = &cpuperf_mark_thread_1;
	uint32_t depth = cpuperf_mark_nest(t, kind);

	if (!cpuperf_mark_enter(t, 1))
		return;
	cpuperf_mark_put(t, kind, depth, cpuperf_mark_find(t, site, text));
	cpuperf_mark_leave(t, 1);
}

CPUPERF_MARK_OFTEN void cpuperf_mark_write_value(uint32_t kind, uint64_t *site, const char *text,
						 int64_t value)
{
	struct cpuperf_mark_thread *t = &cpuperf_mark_thread_1;
	struct cpuperf_mark_value v = {value, 0};
	uint32_t depth = cpuperf_mark_nest(t, kind);

	if (!cpuperf_mark_enter(t, 2))
		return;
	memcpy(&t->units[(t->head + 1) % CPUPERF_MARK_NR_UNITS], &v, sizeof(v));
	cpuperf_mark_put(t, kind, depth, cpuperf_mark_find(t, site, text));
	cpuperf_mark_leave(t, 2);
}

/* Early, before the program may forbid itself to open sockets. */
__attribute__((constructor(101), unused)) static void cpuperf_mark_begin_image(void)
{
	struct cpuperf_mark_state *state = &cpuperf_mark_state_1;

	if (state->version || getauxval(AT_SECURE))
		return;
	state->version = CPUPERF_MARK_VERSION;
	if (getenv("CPUPERF_MARKS")) {
		__atomic_store_n(&state->on, 1, __ATOMIC_RELAXED);
		cpuperf_mark_thread_1.is_busy = 1;
		cpuperf_mark_attach(&cpuperf_mark_thread_1);
		cpuperf_mark_thread_1.is_busy = 0;
	}
}

#define CPUPERF_MARK_IS_ON                                                                         \
	__builtin_expect(__atomic_load_n(&cpuperf_mark_state_1.on, __ATOMIC_RELAXED) != 0, 0)
#define CPUPERF_MARK_SITE(kind, name)                                                              \
	do {                                                                                       \
		static uint64_t cpuperf_mark_site;                                                 \
		if (CPUPERF_MARK_IS_ON)                                                            \
			cpuperf_mark_write(kind, &cpuperf_mark_site, name);                        \
	} while (0)
#define CPUPERF_MARK_SITE_VALUE(kind, name, value)                                                 \
	do {                                                                                       \
		static uint64_t cpuperf_mark_site;                                                 \
		if (CPUPERF_MARK_IS_ON)                                                            \
			cpuperf_mark_write_value(kind, &cpuperf_mark_site, name, value);           \
	} while (0)
#define CPUPERF_MARK_CALL(kind, name)                                                              \
	(CPUPERF_MARK_IS_ON ? cpuperf_mark_write(kind, NULL, name) : (void)0)
#define CPUPERF_MARK_CALL_VALUE(kind, name, value)                                                 \
	(CPUPERF_MARK_IS_ON ? cpuperf_mark_write_value(kind, NULL, name, value) : (void)0)

#else

#define CPUPERF_MARK_SITE(kind, name)              ((void)0)
#define CPUPERF_MARK_SITE_VALUE(kind, name, value) ((void)(value))
#define CPUPERF_MARK_CALL(kind, name)              ((void)(name))
#define CPUPERF_MARK_CALL_VALUE(kind, name, value) ((void)(name), (void)(value))

#endif

#define CPUPERF_BEGIN(name) CPUPERF_MARK_SITE(CPUPERF_MARK_BEGIN, name)
#define CPUPERF_BEGIN_NUMBER(name, number)                                                         \
	CPUPERF_MARK_SITE_VALUE(CPUPERF_MARK_BEGIN_NUMBER, name, number)
#define CPUPERF_END              cpuperf_end()
#define CPUPERF_INSTANT(name)    CPUPERF_MARK_SITE(CPUPERF_MARK_INSTANT, name)
#define CPUPERF_INT(name, value) CPUPERF_MARK_SITE_VALUE(CPUPERF_MARK_INT, name, value)

#ifdef __GNUC__
#define CPUPERF_MARK_CALLED __attribute__((unused)) static inline
#else
#define CPUPERF_MARK_CALLED static inline
#endif

CPUPERF_MARK_CALLED void cpuperf_begin(const char *name)
{
	CPUPERF_MARK_CALL(CPUPERF_MARK_BEGIN, name);
}

CPUPERF_MARK_CALLED void cpuperf_begin_number(const char *name, int64_t number)
{
	CPUPERF_MARK_CALL_VALUE(CPUPERF_MARK_BEGIN_NUMBER, name, number);
}

CPUPERF_MARK_CALLED void cpuperf_end(void)
{
	CPUPERF_MARK_CALL(CPUPERF_MARK_END_REGION, NULL);
}

CPUPERF_MARK_CALLED void cpuperf_instant(const char *name)
{
	CPUPERF_MARK_CALL(CPUPERF_MARK_INSTANT, name);
}

CPUPERF_MARK_CALLED void cpuperf_int(const char *name, int64_t value)
{
	CPUPERF_MARK_CALL_VALUE(CPUPERF_MARK_INT, name, value);
}

CPUPERF_MARK_CALLED void cpuperf_thread_name(const char *name)
{
	CPUPERF_MARK_CALL(CPUPERF_MARK_THREAD_NAME, name);
}

CPUPERF_MARK_CALLED void cpuperf_pause(void)
{
	CPUPERF_MARK_CALL(CPUPERF_MARK_PAUSE, NULL);
}

CPUPERF_MARK_CALLED void cpuperf_resume(void)
{
	CPUPERF_MARK_CALL(CPUPERF_MARK_RESUME, NULL);
}

CPUPERF_MARK_CALLED void cpuperf_pause_thread(void)
{
	CPUPERF_MARK_CALL(CPUPERF_MARK_PAUSE_THREAD, NULL);
}

CPUPERF_MARK_CALLED void cpuperf_resume_thread(void)
{
	CPUPERF_MARK_CALL(CPUPERF_MARK_RESUME_THREAD, NULL);
}

CPUPERF_MARK_CALLED void cpuperf_mark_end_of_block(const char *unused)
{
	(void)unused;
	cpuperf_end();
}

#define CPUPERF_MARK_JOIN_(a, b) a##b
#define CPUPERF_MARK_JOIN(a, b)  CPUPERF_MARK_JOIN_(a, b)
/* The cleanup attribute runs when C++ exceptions leave the block, too. */
#define CPUPERF_REGION(name)                                                                       \
	__attribute__((cleanup(cpuperf_mark_end_of_block), unused))                                \
	const char CPUPERF_MARK_JOIN(cpuperf_mark_region_, __LINE__) = 0;                          \
	CPUPERF_BEGIN(name)

#ifdef __cplusplus
}
#endif

#endif
