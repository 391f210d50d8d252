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
 * measured one (`cpuperf --regions -- ./prog`, or `cpuperf --regions --pid=PID`) writes 16 or 32
 * bytes into memory that it shares with the recorder: no system call, no lock, no allocation. If
 * the recorder also wants counts of each region, their beginnings and ends read counters. A region
 * belongs to a thread, and nests: CPUPERF_END ends the innermost one, also one that another object
 * (a library) began. But if the object's own region is around those of others, and no later end is
 * theirs, it ends its own, and they are closed there. What is open when the thread ends is closed,
 * too.
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
 *     (one resume ends all pauses; a pause of the process lasts over exec and in a child by fork)
 *
 * Names have at most CPUPERF_MARK_MAX_NAME bytes; longer ones are cut. Everything may be called
 * from any thread and from signal handlers; a mark in a handler that interrupts a mark of the same
 * thread is dropped and counted. errno is preserved. After fork the child connects by itself. A
 * library that dlclose unloads keeps its connection and its part of the address space until the
 * process ends.
 *
 * Define CPUPERF_NO_MARKS before the header to compile all of this to nothing. C (gnu99, c11)
 * and C++11, gcc and clang, Linux; elsewhere it is nothing. Of 32 bits programs of x86 and others
 * are measured that cpuperf starts, not those that run already; those of x32 do not compile.
 *
 * Below are the parts that cpuperf itself reads: the layout of the shared memory, version 2
 * (schemas/marks.md). SPDX-License-Identifier: MIT
 */
#ifndef CPUPERF_MARK_H
#define CPUPERF_MARK_H

#if defined(__x86_64__) && defined(__ILP32__) && !defined(CPUPERF_NO_MARKS)
#error "cpuperf/mark.h cannot mark programs of x32: define CPUPERF_NO_MARKS"
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The shared memory: header, index of names, text of names, slots. Made by the recorder, sealed
 * against shrinking. */
enum {
	CPUPERF_MARK_VERSION = 2,
	CPUPERF_MARK_MAGIC = 0x4b524d43, /* "CMRK" */
	CPUPERF_MARK_MAX_NAME = 255,
	CPUPERF_MARK_NR_NAMES = 4096, /* a power of 2 */
	CPUPERF_MARK_TEXT_BYTES = 256 << 10,
	CPUPERF_MARK_SLOT_HEAD_BYTES = 4096,
	CPUPERF_MARK_SLOT_BYTES = 4096 + (512 << 10), /* with its head */
	CPUPERF_MARK_UNIT_BYTES = 16,
	CPUPERF_MARK_NR_UNITS = 32768, /* of a slot; a power of 2 */
	CPUPERF_MARK_MAX_SLOTS = 256,
	CPUPERF_MARK_MAX_COUNTS = 8,
	CPUPERF_MARK_MAX_COUNTED_DEPTH = 64, /* regions deeper than that have no counts */
	CPUPERF_MARK_NOTE = 1,               /* the type of the ELF note of an object */
	/* Of a thread that has begun as much as it ended; the low 16 bits are 0. It may end more.
	 */
	CPUPERF_MARK_DEPTH_0 = 1 << 30,
};

/* The name of the recorder's socket, in the abstract namespace and in the variable CPUPERF_MARKS:
 * this, and its number in 8 hexadecimal digits. */
#define CPUPERF_MARK_SOCKET "cpuperf-marks-"

/* What a program says first on a connection. */
enum cpuperf_mark_ask {
	CPUPERF_MARK_ASK_NOTHING = 0, /* it looks whether the recorder exists */
	CPUPERF_MARK_ASK_MEMORY = 1,  /* of an object: the answer has its descriptor */
	CPUPERF_MARK_ASK_THREAD = 2, /* a thread took a slot: the answer may have descriptors, those
				      * of its counters: of a group, the leader first */
	CPUPERF_MARK_ASK_ROOM = 3,   /* slots of threads that have ended; then it answers */
	CPUPERF_MARK_ASK_REGRET = 4, /* says that it has no addresses for the memory */
	CPUPERF_MARK_ASK_HEAP = 5,   /* of cpuperf's agent, for the heap of the process */
	CPUPERF_MARK_ASK_DUMP = 6,   /* the same, for a reading of it now, without a descriptor */
	CPUPERF_MARK_ASK_REACH = 7,  /* the same, for a search for pointers to its blocks */
	CPUPERF_MARK_ASK_PAGES = 8,  /* the same, for a look at the pages of its blocks: it ends */
	CPUPERF_MARK_ASK_FUNCTIONS = 9,   /* of cpuperf's agent, for the calls of the process */
	CPUPERF_MARK_ASK_EXPERIMENT = 10, /* the same, for the memory of an experiment */
};

/* The CPU's counter that a program can read. */
enum cpuperf_mark_counter {
	CPUPERF_MARK_NO_COUNTER = 0, /* it reads CLOCK_MONOTONIC alone */
	CPUPERF_MARK_TSC = 1,        /* rdtsc; x86 */
	CPUPERF_MARK_CNTVCT = 2,     /* cntvct_el0; arm64 */
};

struct cpuperf_mark_hello {
	uint32_t magic, version;
	uint32_t ask;
	/* Of a thread: the number in its memory. Of an object: enum cpuperf_mark_counter; the
	 * recorder may run on another machine than the program believes (an emulated one). Of a
	 * heap, or of functions: the version of the agent's memory. */
	uint32_t object;
	uint32_t slot, tid; /* of a thread */
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
	/* Of a beginning or an end: units with the counts follow, two in each. */
	CPUPERF_MARK_COUNTED = 0x8000,
};

enum cpuperf_mark_clock {
	CPUPERF_MARK_MONOTONIC = 0, /* CLOCK_MONOTONIC, ns */
	CPUPERF_MARK_CYCLES = 1,    /* the counter that the object said it can read */
};

struct cpuperf_mark_unit {
	uint64_t time; /* of the clock in the header */
	uint32_t name; /* 1 + its place in the index; 0: none */
	uint16_t kind; /* enum cpuperf_mark_kind, and CPUPERF_MARK_COUNTED */
	/* Of a beginning and an end: the open regions around it, of this thread and object: the
	 * beginnings less the ends, also those whose marks were lost; the low 16 bits. */
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
	char name[16]; /* of the thread when it took the slot, as prctl(PR_GET_NAME); or empty */
	uint8_t unused[92];
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
	uint32_t object;    /* its number, for the hello of a thread */
	uint32_t has_hello; /* threads that take a slot say hello */
	uint32_t nr_counts; /* values that a counted mark has */
	uint32_t chance;    /* of a region to be counted, of 2^32; 0: each one is */
	uint8_t unused[72];
	/* written by the program */
	uint32_t
	    text_used; /* bytes of text taken so far; beyond CPUPERF_MARK_TEXT_BYTES: refused */
	uint32_t names_lost; /* names that found no room */
	uint64_t missed;     /* marks of threads that had no slot */
	uint32_t is_tried;   /* a thread has measured what marks themselves count */
	uint32_t uncounted;  /* threads that could not read their counters any more */
	uint32_t nr_mapped;  /* slots for which the program has addresses; 0: all */
};

/* What an object (a program or shared library) knows about being measured. A note of the object
 * (owner "cpuperf", type CPUPERF_MARK_NOTE: u32 version, u32 0, i64 distance from this field to the
 * state) says where it is. A recorder that may write this memory changes `on` from 0 to its number,
 * and back. */
struct cpuperf_mark_state {
	uint32_t magic, version;
	uint32_t on;        /* 0: off; else the number of the recorder */
	uint32_t connected; /* the number of the recorder that shared is of */
	uint32_t holder;    /* the process that connects, or 0 */
	uint32_t generation;
	uint32_t has_begun, unused;
	uint64_t missed; /* marks of threads without a slot, not yet counted in shared */
	struct cpuperf_mark_header *shared;
	struct cpuperf_mark_own *own; /* what is in memory of this process alone */
};

/* Two pages. The first one reads as 0 after fork. */
struct cpuperf_mark_own {
	uint32_t alive; /* the generation of a connection */
	uint32_t unused[255];
	uint32_t owners[CPUPERF_MARK_MAX_SLOTS]; /* of pages: threads */
	/* The kernel's pages of each slot's counters, which a child does not have. NULL: none */
	char *pages[CPUPERF_MARK_MAX_SLOTS];
#ifndef __LP64__
	uint32_t unused_too[CPUPERF_MARK_MAX_SLOTS];
#endif
	struct {
		int32_t fd;  /* + 1; 0: none */
		uint32_t id; /* of the counter: the descriptor is closed only if it is still this */
	} counters[CPUPERF_MARK_MAX_SLOTS];
	/* Where connections were that have ended, of which the earlier one is used next. */
	struct {
		char *at; /* NULL: none */
		size_t bytes;
	} left[2];
};

/* What a thread knows, per object. */
struct cpuperf_mark_thread {
	uint64_t head, tail; /* tail: as last seen */
	struct cpuperf_mark_slot *slot;
	struct cpuperf_mark_unit *units;
	struct cpuperf_mark_header *shared;
	uint32_t *alive;
	uint32_t number; /* of the recorder */
	uint32_t generation;
	uint32_t clock;
	uint32_t is_busy;
	uint32_t pause; /* marks to skip before a slot is looked for again */
	uint32_t depth; /* CPUPERF_MARK_DEPTH_0 and the beginnings less the ends */
	uint32_t low;   /* the least that it was */
	int32_t counters;
	uint32_t nr_counts, chance, random;
	uint64_t counted;  /* bit i: the open region of depth low + i */
	const char *pages; /* of the counters, one after the other; NULL: read(2) reads them */
	size_t page_bytes;
};

/* The beginning of the page that the kernel keeps of a counter (perf_event_open(2)). */
struct cpuperf_mark_page {
	uint32_t version, compat_version;
	uint32_t lock;  /* changes when the rest does */
	uint32_t index; /* 1 + the number of the register; 0: it does not count on this CPU now */
	int64_t offset; /* of the count to the register */
	uint64_t enabled_ns, running_ns; /* until lock changed */
	uint64_t capabilities;
	uint16_t width; /* of the register, in bits */
	uint16_t time_shift;
	uint32_t time_mult;
	uint64_t time_offset;
};

enum { CPUPERF_MARK_MAY_READ = 1 << 2 }; /* of capabilities: user mode may read the register */

#if defined(__linux__) && defined(__GNUC__)

/* Reads the register of a counter. Tests define it. */
#ifndef CPUPERF_MARK_REGISTER
#define CPUPERF_MARK_REGISTER cpuperf_mark_register
#if defined(__x86_64__)
#define CPUPERF_MARK_HAS_REGISTERS 1
__attribute__((unused)) static inline uint64_t cpuperf_mark_register(uint32_t number)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
	return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
#define CPUPERF_MARK_HAS_REGISTERS 1
#define CPUPERF_MARK_REGISTER_OF(n)                                                                \
	case n:                                                                                    \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value));                      \
		break;
/* A register is named by the instruction; one selected by another register could be changed by an
 * interrupt between the two. */
__attribute__((unused)) static uint64_t cpuperf_mark_register(uint32_t number)
{
	uint64_t value = 0;

	switch (number) {
		CPUPERF_MARK_REGISTER_OF(0)
		CPUPERF_MARK_REGISTER_OF(1)
		CPUPERF_MARK_REGISTER_OF(2)
		CPUPERF_MARK_REGISTER_OF(3)
		CPUPERF_MARK_REGISTER_OF(4)
		CPUPERF_MARK_REGISTER_OF(5)
		CPUPERF_MARK_REGISTER_OF(6)
		CPUPERF_MARK_REGISTER_OF(7)
		CPUPERF_MARK_REGISTER_OF(8)
		CPUPERF_MARK_REGISTER_OF(9)
		CPUPERF_MARK_REGISTER_OF(10)
		CPUPERF_MARK_REGISTER_OF(11)
		CPUPERF_MARK_REGISTER_OF(12)
		CPUPERF_MARK_REGISTER_OF(13)
		CPUPERF_MARK_REGISTER_OF(14)
		CPUPERF_MARK_REGISTER_OF(15)
		CPUPERF_MARK_REGISTER_OF(16)
		CPUPERF_MARK_REGISTER_OF(17)
		CPUPERF_MARK_REGISTER_OF(18)
		CPUPERF_MARK_REGISTER_OF(19)
		CPUPERF_MARK_REGISTER_OF(20)
		CPUPERF_MARK_REGISTER_OF(21)
		CPUPERF_MARK_REGISTER_OF(22)
		CPUPERF_MARK_REGISTER_OF(23)
		CPUPERF_MARK_REGISTER_OF(24)
		CPUPERF_MARK_REGISTER_OF(25)
		CPUPERF_MARK_REGISTER_OF(26)
		CPUPERF_MARK_REGISTER_OF(27)
		CPUPERF_MARK_REGISTER_OF(28)
		CPUPERF_MARK_REGISTER_OF(29)
		CPUPERF_MARK_REGISTER_OF(30)
	case 31:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value));
		break;
	default:
		break;
	}
	return value;
}
#undef CPUPERF_MARK_REGISTER_OF
#else
#define CPUPERF_MARK_HAS_REGISTERS 0
__attribute__((unused)) static inline uint64_t cpuperf_mark_register(uint32_t number)
{
	(void)number;
	return 0;
}
#endif
#else
#define CPUPERF_MARK_HAS_REGISTERS 1
#endif

/* True if this thread may ever read the counter of that page by itself. */
__attribute__((unused)) static inline int cpuperf_mark_may_read(const void *page)
{
	const volatile struct cpuperf_mark_page *p =
	    (const volatile struct cpuperf_mark_page *)page;
	uint64_t capabilities = p->capabilities;

	return CPUPERF_MARK_HAS_REGISTERS && (capabilities & CPUPERF_MARK_MAY_READ) != 0;
}

/* Reads the count of a counter of the calling thread by its page, without a system call. 0: only
 * read(2) has it. The kernel changes page and registers when the thread does not run. */
__attribute__((unused)) static inline int cpuperf_mark_read_page(const void *page, uint64_t *value)
{
	const volatile struct cpuperf_mark_page *p =
	    (const volatile struct cpuperf_mark_page *)page;
	uint32_t lock, index, unused_bits;
	int64_t offset, raw;

	do {
		lock = p->lock;
		__asm__ volatile("" : : : "memory");
		index = p->index;
		offset = p->offset;
		unused_bits = 64u - p->width;
		if (!index || unused_bits > 63 || !(p->capabilities & CPUPERF_MARK_MAY_READ))
			return 0;
		raw = (int64_t)(CPUPERF_MARK_REGISTER(index - 1) << unused_bits) >> unused_bits;
		__asm__ volatile("" : : : "memory");
	} while (p->lock != lock);
	*value = (uint64_t)offset + (uint64_t)raw;
	return 1;
}

#endif

#if defined(__linux__) && defined(__GNUC__) && !defined(CPUPERF_NO_MARKS)

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

#if defined(__x86_64__) || defined(__i386__)
#define CPUPERF_MARK_COUNTER 1 /* CPUPERF_MARK_TSC */
static inline uint64_t cpuperf_mark_cycles(void)
{
	return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define CPUPERF_MARK_COUNTER 2 /* CPUPERF_MARK_CNTVCT */
static inline uint64_t cpuperf_mark_cycles(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}
#else
#define CPUPERF_MARK_COUNTER 0 /* CPUPERF_MARK_NO_COUNTER */
#endif

#define CPUPERF_MARK_SHARED __attribute__((weak, visibility("hidden")))
#define CPUPERF_MARK_RARE   __attribute__((noinline, cold, unused)) static
#define CPUPERF_MARK_OFTEN  __attribute__((noinline, unused)) static

/* One of each in every object. A name with default visibility would be one for the process, or one
 * for each object, depending on how objects are linked and loaded. */
CPUPERF_MARK_SHARED __attribute__((used)) struct cpuperf_mark_state cpuperf_mark_state_2 = {
    CPUPERF_MARK_MAGIC, CPUPERF_MARK_VERSION, 0, 0, 0, 0, 0, 0, 0, NULL, NULL};
CPUPERF_MARK_SHARED __thread struct cpuperf_mark_thread cpuperf_mark_thread_2;

/* In memory, so that it is found in stripped programs and in those whose file is gone. */
#ifdef __LP64__
__asm__(".pushsection .note.cpuperf,\"a\",%note\n"
	".balign 4\n"
	".long 8, 16, 1\n"
	".asciz \"cpuperf\"\n"
	".long 2, 0\n"
	".quad cpuperf_mark_state_2 - .\n"
	".popsection\n");
#endif

/* The address of the recorder's socket. Its length. */
CPUPERF_MARK_RARE socklen_t cpuperf_mark_address(uint32_t number, struct sockaddr_un *to)
{
	const size_t len = sizeof(CPUPERF_MARK_SOCKET) - 1;

	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	memcpy(to->sun_path + 1, CPUPERF_MARK_SOCKET, len);
	for (size_t i = 0; i < 8; i++)
		to->sun_path[1 + len + i] = "0123456789abcdef"[number >> (28 - 4 * i) & 15];
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len + 8);
}

/* The number in the name of a socket. 0: it is not such a name. */
CPUPERF_MARK_RARE uint32_t cpuperf_mark_number(const char *name)
{
	const size_t len = sizeof(CPUPERF_MARK_SOCKET) - 1;
	uint32_t number = 0;

	if (!name || strncmp(name, CPUPERF_MARK_SOCKET, len) != 0 || strlen(name) != len + 8)
		return 0;
	for (const char *c = name + len; *c; c++) {
		uint32_t digit = *c >= '0' && *c <= '9'   ? (uint32_t)(*c - '0')
				 : *c >= 'a' && *c <= 'f' ? (uint32_t)(*c - 'a' + 10)
							  : 16;

		if (digit == 16)
			return 0;
		number = number << 4 | digit;
	}
	return number;
}

/* Whoever listens there: another user's process may have taken the name of a recorder that died. */
CPUPERF_MARK_RARE int cpuperf_mark_is_trusted(int s)
{
	struct {
		int32_t pid;
		uint32_t uid, gid;
	} peer;
	socklen_t len = sizeof(peer);

	return getsockopt(s, SOL_SOCKET, 17 /* SO_PEERCRED */, &peer, &len) == 0 &&
	       (peer.uid == 0 || peer.uid == (uint32_t)geteuid());
}

/* The descriptors of an answer. How many; -1 behind the last one. */
CPUPERF_MARK_RARE int cpuperf_mark_take(struct msghdr *message,
					int fds[1 + CPUPERF_MARK_MAX_COUNTS])
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int nr = 0;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		nr = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	if (nr > CPUPERF_MARK_MAX_COUNTS)
		nr = CPUPERF_MARK_MAX_COUNTS;
	if (nr)
		memcpy(fds, CMSG_DATA(c), (size_t)nr * sizeof(int));
	fds[nr] = -1;
	return nr;
}

/* How many descriptors the answer has; -errno without an answer. */
CPUPERF_MARK_RARE int cpuperf_mark_exchange(uint32_t number, const struct cpuperf_mark_hello *hello,
					    int fds[1 + CPUPERF_MARK_MAX_COUNTS])
{
	struct sockaddr_un to;
	socklen_t len = cpuperf_mark_address(number, &to);
	/* A recorder that hangs must not hang the program; but a look at all blocks takes some
	 * seconds. */
	struct timeval limit = {1, 0}, longest = {1, 0};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(CPUPERF_MARK_MAX_COUNTS * sizeof(int))];
	} control;
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message;
	int flags = hello->ask == CPUPERF_MARK_ASK_NOTHING ? SOCK_NONBLOCK : 0, rc = 0, s;

	if (hello->ask == CPUPERF_MARK_ASK_REACH || hello->ask == CPUPERF_MARK_ASK_PAGES)
		longest.tv_sec = 10;
	fds[0] = -1;
	s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
	if (s < 0)
		return -errno;
	memset(&message, 0, sizeof(message));
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	message.msg_control = control.bytes;
	message.msg_controllen = sizeof(control.bytes);
	if (setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest)) ||
	    connect(s, (struct sockaddr *)&to, len) ||
	    send(s, hello, sizeof(*hello), MSG_NOSIGNAL) != (ssize_t)sizeof(*hello))
		rc = -errno;
	else if (!cpuperf_mark_is_trusted(s))
		rc = -EPERM;
	else if (hello->ask != CPUPERF_MARK_ASK_NOTHING) {
		if (recvmsg(s, &message, MSG_CMSG_CLOEXEC) != 1)
			rc = -ECONNREFUSED;
		else
			rc = cpuperf_mark_take(&message, fds);
	}
	close(s);
	return rc;
}

/* Asks the recorder, and returns as cpuperf_mark_exchange. A signal, as of a timer of the program's
 * own, would end a call with a limit of time, also with SA_RESTART. */
CPUPERF_MARK_RARE int cpuperf_mark_ask(uint32_t number, const struct cpuperf_mark_hello *hello,
				       int fds[1 + CPUPERF_MARK_MAX_COUNTS])
{
	const uint64_t all = ~(uint64_t)0;
	uint64_t before;
	int is_blocked = syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, &before,
				 sizeof(before)) == 0,
	    rc = cpuperf_mark_exchange(number, hello, fds);

	if (is_blocked)
		syscall(SYS_rt_sigprocmask, 2, &before, NULL, sizeof(before));
	return rc;
}

CPUPERF_MARK_RARE uint32_t cpuperf_mark_nr_slots(const struct cpuperf_mark_header *h)
{
	return h->nr_mapped ? h->nr_mapped : h->nr_slots;
}

/* Of what is mapped. */
CPUPERF_MARK_RARE size_t cpuperf_mark_bytes(const struct cpuperf_mark_header *h)
{
	return h->slots_offset + (size_t)cpuperf_mark_nr_slots(h) * CPUPERF_MARK_SLOT_BYTES;
}

/* At the addresses of the connection before the last, if it fits there: else each connection would
 * take addresses for good. */
CPUPERF_MARK_RARE void *cpuperf_mark_map_again(struct cpuperf_mark_own *own, size_t bytes, int fd)
{
	const int how = MAP_SHARED | (own->left[0].bytes >= bytes ? MAP_FIXED : 0);
	void *at = mmap(how & MAP_FIXED ? own->left[0].at : NULL, bytes, PROT_READ | PROT_WRITE,
			how, fd, 0);

	if (at == MAP_FAILED || !(how & MAP_FIXED))
		return at;
	own->left[0].at = NULL;
	own->left[0].bytes = 0;
	return at;
}

/* Maps the header and as many slots as fit into a quarter of the address space that the program may
 * have. Memory that can shrink would kill the program. */
CPUPERF_MARK_RARE struct cpuperf_mark_header *cpuperf_mark_map(struct cpuperf_mark_own *own, int fd)
{
	struct cpuperf_mark_header h, *mapped;
	struct rlimit limit;
	struct stat st;
	void *at = MAP_FAILED;

	if (fstat(fd, &st) || !(fcntl(fd, 1034 /* F_GET_SEALS */) & 2 /* F_SEAL_SHRINK */) ||
	    read(fd, &h, sizeof(h)) != (ssize_t)sizeof(h))
		return NULL;
	if (h.magic != CPUPERF_MARK_MAGIC || h.version != CPUPERF_MARK_VERSION ||
	    h.bytes != (uint64_t)st.st_size || h.nr_slots > CPUPERF_MARK_MAX_SLOTS || h.nr_mapped ||
	    h.bytes < cpuperf_mark_bytes(&h) || h.nr_counts > CPUPERF_MARK_MAX_COUNTS)
		return NULL;
	if (getrlimit(RLIMIT_AS, &limit))
		limit.rlim_cur = RLIM_INFINITY;
	for (uint32_t nr = h.nr_slots; at == MAP_FAILED && nr; nr /= 2) {
		h.nr_mapped = nr;
		if (limit.rlim_cur == RLIM_INFINITY || cpuperf_mark_bytes(&h) <= limit.rlim_cur / 4)
			at = cpuperf_mark_map_again(own, cpuperf_mark_bytes(&h), fd);
	}
	if (at == MAP_FAILED)
		return NULL;
	mapped = (struct cpuperf_mark_header *)at;
	if (h.nr_mapped < h.nr_slots)
		mapped->nr_mapped = h.nr_mapped;
	return mapped;
}

/* The program may have closed the descriptor, and opened something else under its number. Mapped
 * pages keep the counters, which need no registers once they are disabled. */
CPUPERF_MARK_RARE void cpuperf_mark_close_counters(struct cpuperf_mark_own *own, uint32_t slot)
{
	int fd = own->counters[slot].fd - 1;
	uint64_t id;

	if (fd >= 0 && ioctl(fd, _IOR('$', 7, uint64_t *) /* PERF_EVENT_IOC_ID */, &id) == 0 &&
	    (uint32_t)id == own->counters[slot].id) {
		if (own->pages[slot]) /* in a child there are none: the counters are its parent's */
			ioctl(fd, _IO('$', 1) /* PERF_EVENT_IOC_DISABLE */, 1 /* the group */);
		close(fd);
	}
	own->counters[slot].fd = 0;
}

CPUPERF_MARK_RARE size_t cpuperf_mark_pages_bytes(void)
{
	return CPUPERF_MARK_MAX_COUNTS * (size_t)getauxval(AT_PAGESZ);
}

/* Maps the pages of the counters, if user mode may read each of them. */
CPUPERF_MARK_RARE char *cpuperf_mark_map_pages(const int *fds, uint32_t nr)
{
	const size_t bytes = cpuperf_mark_pages_bytes(), one = bytes / CPUPERF_MARK_MAX_COUNTS;
	void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *pages = (char *)at;

	if (at == MAP_FAILED)
		return NULL;
	for (uint32_t i = 0; i < nr; i++) {
		if (fds[i] >= 0 &&
		    mmap(pages + i * one, one, PROT_READ, MAP_SHARED | MAP_FIXED, fds[i], 0) !=
			MAP_FAILED &&
		    cpuperf_mark_may_read(pages + i * one))
			continue;
		munmap(at, bytes);
		return NULL;
	}
	return pages;
}

/* Forgets the pages of a slot. The right to read a register goes with the pages: a thread that has
 * just looked at its own would die of the instruction. So nobody else unmaps them, until it ended.
 */
CPUPERF_MARK_RARE void cpuperf_mark_unmap_pages(struct cpuperf_mark_own *own, uint32_t slot)
{
	long owner = (long)own->owners[slot];

	if (own->pages[slot] &&
	    (owner == syscall(SYS_gettid) || syscall(SYS_tgkill, (long)getpid(), owner, 0L)))
		munmap(own->pages[slot], cpuperf_mark_pages_bytes());
	own->pages[slot] = NULL;
}

/* Ends a connection. A thread may still write its mark, so the addresses stay valid, with memory
 * that nobody reads. */
CPUPERF_MARK_RARE void cpuperf_mark_disconnect(struct cpuperf_mark_state *state)
{
	struct cpuperf_mark_header *h = state->shared;
	size_t bytes;

	if (!h)
		return;
	bytes = cpuperf_mark_bytes(h);
	__atomic_store_n(&state->shared, (struct cpuperf_mark_header *)NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&state->own->alive, 0, __ATOMIC_RELEASE);
	state->connected = 0;
	for (uint32_t i = 0; i < CPUPERF_MARK_MAX_SLOTS; i++)
		cpuperf_mark_close_counters(state->own, i);
	if (mmap(h, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | 0x4000 /* MAP_NORESERVE */, -1,
		 0) == MAP_FAILED)
		return;
	state->own->left[0] = state->own->left[1];
	state->own->left[1].at = (char *)h;
	state->own->left[1].bytes = bytes;
}

CPUPERF_MARK_RARE struct cpuperf_mark_own *cpuperf_mark_make_own(void)
{
	const size_t bytes = sizeof(struct cpuperf_mark_own);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	/* where pages are larger, the descriptors are forgotten after fork, too */
	if (madvise(at, 4096, 18 /* MADV_WIPEONFORK */)) {
		munmap(at, bytes);
		return NULL;
	}
	return (struct cpuperf_mark_own *)at;
}

CPUPERF_MARK_RARE int cpuperf_mark_connect(struct cpuperf_mark_state *state, uint32_t number)
{
	struct cpuperf_mark_hello hello = {CPUPERF_MARK_MAGIC,
					   CPUPERF_MARK_VERSION,
					   CPUPERF_MARK_ASK_MEMORY,
					   CPUPERF_MARK_COUNTER,
					   0,
					   0};
	struct cpuperf_mark_header *shared = NULL;
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];

	cpuperf_mark_disconnect(state);
	if (!state->own)
		state->own = cpuperf_mark_make_own();
	if (!number || !state->own || cpuperf_mark_ask(number, &hello, fds) < 0)
		return -1;
	if (fds[0] >= 0)
		shared = cpuperf_mark_map(state->own, fds[0]);
	for (int i = 0; fds[i] >= 0; i++)
		close(fds[i]);
	if (!shared) {
		hello.ask = CPUPERF_MARK_ASK_REGRET;
		cpuperf_mark_ask(number, &hello, fds);
		return -1;
	}
	state->connected = number;
	state->generation++;
	__atomic_store_n(&state->own->alive, state->generation, __ATOMIC_RELEASE);
	__atomic_store_n(&state->shared, shared, __ATOMIC_RELEASE);
	return 0;
}

CPUPERF_MARK_RARE struct cpuperf_mark_slot *cpuperf_mark_slot_at(struct cpuperf_mark_header *h,
								 uint32_t i)
{
	return (struct cpuperf_mark_slot *)(void *)((char *)h + h->slots_offset +
						    (size_t)i * CPUPERF_MARK_SLOT_BYTES);
}

/* The descriptor gets a high number: programs that close all of theirs get it for a file of their
 * own last of all. */
CPUPERF_MARK_RARE int cpuperf_mark_move_up(int fd)
{
	struct rlimit limit;
	int least = 64, moved;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		least = limit.rlim_cur > 1024 ? 768 : (int)(limit.rlim_cur / 4 * 3);
	moved = fcntl(fd, 1030 /* F_DUPFD_CLOEXEC */, least);
	close(fd);
	return moved;
}

/* The first write to a page is a page fault, which would be counted in some region. */
CPUPERF_MARK_RARE void cpuperf_mark_touch(struct cpuperf_mark_thread *t)
{
	for (uint32_t i = 0; i < CPUPERF_MARK_NR_UNITS; i += 4096 / CPUPERF_MARK_UNIT_BYTES) {
		volatile uint16_t *word = &t->units[i].kind;

		*word = *word;
	}
}

/* Says hello for the thread, and receives its counters. */
CPUPERF_MARK_RARE void cpuperf_mark_greet(struct cpuperf_mark_state *state,
					  struct cpuperf_mark_thread *t, uint32_t slot)
{
	const struct cpuperf_mark_hello hello = {CPUPERF_MARK_MAGIC,
						 CPUPERF_MARK_VERSION,
						 CPUPERF_MARK_ASK_THREAD,
						 t->shared->object,
						 slot,
						 t->slot->tid};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS], fd, nr;
	uint64_t id = 0;

	/* of the thread that had the slot before */
	cpuperf_mark_close_counters(state->own, slot);
	cpuperf_mark_unmap_pages(state->own, slot);
	nr = cpuperf_mark_ask(state->connected, &hello, fds);
	if (nr <= 0)
		return;
	if (nr == (int)t->shared->nr_counts)
		state->own->pages[slot] = cpuperf_mark_map_pages(fds, (uint32_t)nr);
	state->own->owners[slot] = t->slot->tid;
	for (int i = 1; i < nr; i++)
		close(fds[i]);
	fd = cpuperf_mark_move_up(fds[0]);
	if (fd < 0 || ioctl(fd, _IOR('$', 7, uint64_t *), &id))
		return;
	t->pages = state->own->pages[slot];
	t->page_bytes = cpuperf_mark_pages_bytes() / CPUPERF_MARK_MAX_COUNTS;
	state->own->counters[slot].id = (uint32_t)id;
	state->own->counters[slot].fd = fd + 1;
	t->counters = fd;
	t->nr_counts = t->shared->nr_counts;
	t->chance = t->shared->chance;
	t->random = t->slot->tid * 2654435761u + (uint32_t)(uintptr_t)t + (uint32_t)time(NULL);
	t->random |= !t->random; /* 0 stays 0 */
	cpuperf_mark_touch(t);
}

CPUPERF_MARK_RARE int cpuperf_mark_take_slot(struct cpuperf_mark_state *state,
					     struct cpuperf_mark_thread *t)
{
	struct cpuperf_mark_header *h = __atomic_load_n(&state->shared, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; h && i < cpuperf_mark_nr_slots(h) && !h->is_closed; i++) {
		struct cpuperf_mark_slot *slot = cpuperf_mark_slot_at(h, i);
		uint32_t is_free = 0;

		if (__atomic_load_n(&slot->is_owned, __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&slot->is_owned, &is_free, 1, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&slot->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
		syscall(SYS_prctl, 16 /* PR_GET_NAME */, slot->name);
		t->slot = slot;
		t->units = (struct cpuperf_mark_unit *)(void *)((char *)slot +
								CPUPERF_MARK_SLOT_HEAD_BYTES);
		t->shared = h;
		t->head = slot->head;
		t->tail = slot->tail;
		t->clock = h->clock;
		t->depth = t->low = CPUPERF_MARK_DEPTH_0;
		t->counted = 0;
		if (h->has_hello)
			cpuperf_mark_greet(state, t, i);
		t->alive = &state->own->alive;
		t->generation = state->generation;
		t->number = state->connected;
		return 0;
	}
	return -1;
}

/* The recorder looks for threads that have ended now and then only. Not 0: there is no answer. */
CPUPERF_MARK_RARE int cpuperf_mark_make_room(const struct cpuperf_mark_state *state)
{
	const struct cpuperf_mark_hello hello = {
	    CPUPERF_MARK_MAGIC, CPUPERF_MARK_VERSION, CPUPERF_MARK_ASK_ROOM, 0, 0, 0};
	int fds[1 + CPUPERF_MARK_MAX_COUNTS];

	return cpuperf_mark_ask(state->connected, &hello, fds);
}

CPUPERF_MARK_RARE int cpuperf_mark_is_connected(const struct cpuperf_mark_state *state,
						uint32_t number)
{
	const struct cpuperf_mark_header *h = __atomic_load_n(&state->shared, __ATOMIC_ACQUIRE);

	return h && __atomic_load_n(&state->own->alive, __ATOMIC_RELAXED) == state->generation &&
	       number == state->connected && !__atomic_load_n(&h->is_closed, __ATOMIC_RELAXED);
}

/* Connects, unless another thread does. Not 0: there is no connection now. A recorder that is gone,
 * or has ended, turns the object off. */
CPUPERF_MARK_RARE int cpuperf_mark_connect_once(struct cpuperf_mark_state *state, uint32_t number)
{
	uint32_t self = (uint32_t)getpid(),
		 holder = __atomic_load_n(&state->holder, __ATOMIC_RELAXED);
	int rc = 0;

	/* A holder of another process is a thread of the parent that was connecting at fork. */
	if (holder == self || !__atomic_compare_exchange_n(&state->holder, &holder, self, 0,
							   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return -1;
	if (!cpuperf_mark_is_connected(state, number))
		rc = cpuperf_mark_connect(state, number);
	if (rc)
		__atomic_compare_exchange_n(&state->on, &number, 0, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	__atomic_store_n(&state->holder, 0, __ATOMIC_RELEASE);
	return rc;
}

CPUPERF_MARK_RARE void cpuperf_mark_add_missed(struct cpuperf_mark_state *state)
{
	struct cpuperf_mark_header *h = __atomic_load_n(&state->shared, __ATOMIC_ACQUIRE);

	if (h)
		__atomic_fetch_add(&h->missed,
				   __atomic_exchange_n(&state->missed, 0, __ATOMIC_RELAXED),
				   __ATOMIC_RELAXED);
}

/* Gives the thread a slot. Without one, its marks are lost. */
CPUPERF_MARK_RARE void cpuperf_mark_attach(struct cpuperf_mark_thread *t)
{
	struct cpuperf_mark_state *state = &cpuperf_mark_state_2;
	uint32_t number = __atomic_load_n(&state->on, __ATOMIC_RELAXED);
	int error = errno, rc = 0;

	if (t->is_busy)
		return;
	t->is_busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->slot = NULL;
	t->pages = NULL;
	t->number = t->nr_counts = 0;
	if (t->pause) {
		t->pause--;
	} else {
		if (!cpuperf_mark_is_connected(state, number))
			rc = cpuperf_mark_connect_once(state, number);
		if (rc == 0 && cpuperf_mark_take_slot(state, t) &&
		    (cpuperf_mark_make_room(state) || cpuperf_mark_take_slot(state, t)))
			t->pause = 1000;
		if (rc == 0)
			cpuperf_mark_add_missed(state);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->is_busy = 0;
	errno = error;
}

/* Counts a mark of a thread without a slot. */
CPUPERF_MARK_RARE void cpuperf_mark_miss(void)
{
	struct cpuperf_mark_state *state = &cpuperf_mark_state_2;

	if (__atomic_load_n(&state->on, __ATOMIC_RELAXED))
		__atomic_fetch_add(&state->missed, 1, __ATOMIC_RELAXED);
	cpuperf_mark_add_missed(state);
}

/* The ring is full: the recorder is slow, or it was killed, which nobody says. */
CPUPERF_MARK_RARE void cpuperf_mark_lose(struct cpuperf_mark_thread *t)
{
	const struct cpuperf_mark_hello hello = {
	    CPUPERF_MARK_MAGIC, CPUPERF_MARK_VERSION, CPUPERF_MARK_ASK_NOTHING, 0, 0, 0};
	int error = errno, fds[1 + CPUPERF_MARK_MAX_COUNTS];

	if (__atomic_fetch_add(&t->slot->lost, 1, __ATOMIC_RELAXED) % 4096 == 0 &&
	    cpuperf_mark_ask(t->number, &hello, fds) == -ECONNREFUSED)
		__atomic_store_n(&t->shared->is_closed, 1, __ATOMIC_RELAXED);
	errno = error;
}

static inline uint64_t cpuperf_mark_now(uint32_t clock)
{
	struct timespec ts;

#if CPUPERF_MARK_COUNTER
	if (clock == CPUPERF_MARK_CYCLES)
		return cpuperf_mark_cycles();
#else
	(void)clock;
#endif
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The time of a mark. A writer may define its own. */
#ifndef CPUPERF_MARK_TIME
#define CPUPERF_MARK_TIME cpuperf_mark_now
#endif

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

/* True while the thread may write into its slot. False also after fork. */
static inline int cpuperf_mark_is_ready(const struct cpuperf_mark_thread *t)
{
	return t->number == __atomic_load_n(&cpuperf_mark_state_2.on, __ATOMIC_RELAXED) &&
	       t->number && *t->alive == t->generation &&
	       !__atomic_load_n(&t->shared->is_closed, __ATOMIC_RELAXED);
}

/* True if there is room for the units, and the thread is not in a mark already. */
static inline int cpuperf_mark_enter(struct cpuperf_mark_thread *t, uint32_t nr)
{
	if (__builtin_expect(t->is_busy || !t->number, 0)) {
		if (t->is_busy && t->slot)
			__atomic_fetch_add(&t->slot->lost, 1, __ATOMIC_RELAXED);
		else
			cpuperf_mark_miss();
		return 0;
	}
	t->is_busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(t->head + nr - t->tail > CPUPERF_MARK_NR_UNITS, 0)) {
		t->tail = __atomic_load_n(&t->slot->tail, __ATOMIC_ACQUIRE);
		if (t->head + nr - t->tail > CPUPERF_MARK_NR_UNITS) {
			cpuperf_mark_lose(t);
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			t->is_busy = 0;
			return 0;
		}
	}
	return 1;
}

static inline void cpuperf_mark_leave(struct cpuperf_mark_thread *t, uint32_t nr)
{
	t->head += nr;
	__atomic_store_n(&t->slot->head, t->head, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->is_busy = 0;
}

/* Counts the regions, also those whose marks are lost. The depth of the mark: below
 * CPUPERF_MARK_DEPTH_0 where this object ended what others began. */
static inline uint32_t cpuperf_mark_nest(struct cpuperf_mark_thread *t, uint32_t kind)
{
	if (kind <= CPUPERF_MARK_BEGIN_NUMBER)
		return t->depth++;
	if (kind == CPUPERF_MARK_END_REGION && --t->depth < t->low) {
		t->low = t->depth; /* nothing is open that began here */
		t->counted = 0;
	}
	return t->depth;
}

static inline struct cpuperf_mark_unit *cpuperf_mark_unit_at(struct cpuperf_mark_thread *t,
							     uint32_t i)
{
	return &t->units[(t->head + i) % CPUPERF_MARK_NR_UNITS];
}

static inline void cpuperf_mark_put(struct cpuperf_mark_thread *t, uint32_t kind, uint32_t depth,
				    uint32_t name, uint64_t time)
{
	struct cpuperf_mark_unit *u = cpuperf_mark_unit_at(t, 0);

	u->name = name;
	u->kind = (uint16_t)kind;
	u->depth = (uint16_t)depth;
	u->time = time;
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
	name = cpuperf_mark_name(t->shared, text);
	if (site)
		__atomic_store_n(site, (uint64_t)t->generation << 32 | name, __ATOMIC_RELAXED);
	return name;
}

static inline int cpuperf_mark_has_value(uint32_t kind)
{
	return kind == CPUPERF_MARK_BEGIN_NUMBER || kind == CPUPERF_MARK_INT;
}

/* Each region by chance, so that no pattern of the program can meet one of ours; its end, if its
 * beginning was counted. */
static inline int cpuperf_mark_is_counted(struct cpuperf_mark_thread *t, uint32_t kind,
					  uint32_t depth)
{
	uint32_t at = depth - t->low;
	uint64_t bit = at < CPUPERF_MARK_MAX_COUNTED_DEPTH ? (uint64_t)1 << at : 0;

	if (kind == CPUPERF_MARK_END_REGION)
		return (t->counted & bit) != 0;
	if (kind > CPUPERF_MARK_BEGIN_NUMBER)
		return 0;
	t->random ^= t->random << 13, t->random ^= t->random >> 17, t->random ^= t->random << 5;
	if (!t->chance || t->random <= t->chance)
		t->counted |= bit;
	else
		t->counted &= ~bit;
	return (t->counted & bit) != 0;
}

static inline int cpuperf_mark_read_pages(const struct cpuperf_mark_thread *t,
					  uint64_t values[1 + CPUPERF_MARK_MAX_COUNTS])
{
	/* A signal handler that interrupted this mark may have forked: a child has no pages. */
	if (*t->alive != t->generation)
		return 0;
	for (uint32_t i = 0; i < t->nr_counts; i++)
		if (!cpuperf_mark_read_page(t->pages + i * t->page_bytes, &values[1 + i]))
			return 0;
	return 1;
}

/* The call by way of libc costs a pair of marks 25 ns: its jumps are predicted badly after a return
 * from the kernel. */
static inline long cpuperf_mark_read_group(int fd, uint64_t *values, long bytes)
{
#if defined(__x86_64__)
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "0"((long)SYS_read), "D"((long)fd), "S"(values), "d"(bytes)
			 : "rcx", "r11", "memory");
	return rc;
#else
	return syscall(SYS_read, fd, values, bytes);
#endif
}

/* By the registers, or by one system call, which is no place of cancellation (read(2) of libc is
 * one). */
static inline int cpuperf_mark_read(struct cpuperf_mark_thread *t,
				    uint64_t values[1 + CPUPERF_MARK_MAX_COUNTS])
{
	int error = errno;
	long bytes = (long)sizeof(*values) * (1 + t->nr_counts);

	if (t->pages && cpuperf_mark_read_pages(t, values))
		return 1;
	if (cpuperf_mark_read_group(t->counters, values, bytes) == bytes &&
	    values[0] == t->nr_counts)
		return 1;
	errno = error;
	/* The program closed the descriptor: it may soon be that of another file. */
	t->nr_counts = 0;
	__atomic_fetch_add(&t->shared->uncounted, 1, __ATOMIC_RELAXED);
	return 0;
}

/* A beginning or an end with counts. What reads them is outside of the region's time, and what
 * reads the time is within its counts. */
CPUPERF_MARK_OFTEN void cpuperf_mark_write_counted(struct cpuperf_mark_thread *t, uint32_t kind,
						   uint64_t *site, const char *text, int64_t value,
						   uint32_t depth)
{
	uint64_t values[2 + CPUPERF_MARK_MAX_COUNTS], time = 0;
	struct cpuperf_mark_value v = {value, 0};
	uint32_t nr = 1, nr_counts = (t->nr_counts + 1) / 2, name;
	int is_end = kind == CPUPERF_MARK_END_REGION, has_value = cpuperf_mark_has_value(kind);

	if (!cpuperf_mark_enter(t, 1 + (uint32_t)has_value + nr_counts))
		return;
	name = cpuperf_mark_find(t, site, text);
	values[1 + t->nr_counts] = 0;
	if (is_end)
		time = CPUPERF_MARK_TIME(t->clock);
	if (has_value)
		memcpy(cpuperf_mark_unit_at(t, nr++), &v, sizeof(v));
	if (cpuperf_mark_read(t, values)) {
		for (uint32_t i = 0; i < nr_counts; i++)
			memcpy(cpuperf_mark_unit_at(t, nr++), &values[1 + 2 * i],
			       2 * sizeof(*values));
		kind |= CPUPERF_MARK_COUNTED;
	}
	if (!is_end)
		time = CPUPERF_MARK_TIME(t->clock);
	cpuperf_mark_put(t, kind, depth, name, time);
	cpuperf_mark_leave(t, nr);
}

CPUPERF_MARK_RARE void cpuperf_mark_attach_and_try(struct cpuperf_mark_thread *t);

CPUPERF_MARK_OFTEN void cpuperf_mark_write(uint32_t kind, uint64_t *site, const char *text)
{
	struct cpuperf_mark_thread *t = &cpuperf_mark_thread_2;
	uint32_t depth;

	if (__builtin_expect(!cpuperf_mark_is_ready(t), 0))
		cpuperf_mark_attach_and_try(t);
	depth = cpuperf_mark_nest(t, kind);
	if (t->nr_counts && cpuperf_mark_is_counted(t, kind, depth)) {
		cpuperf_mark_write_counted(t, kind, site, text, 0, depth);
		return;
	}
	if (!cpuperf_mark_enter(t, 1))
		return;
	cpuperf_mark_put(t, kind, depth, cpuperf_mark_find(t, site, text),
			 CPUPERF_MARK_TIME(t->clock));
	cpuperf_mark_leave(t, 1);
}

CPUPERF_MARK_OFTEN void cpuperf_mark_write_value(uint32_t kind, uint64_t *site, const char *text,
						 int64_t value)
{
	struct cpuperf_mark_thread *t = &cpuperf_mark_thread_2;
	struct cpuperf_mark_value v = {value, 0};
	uint32_t depth;

	if (__builtin_expect(!cpuperf_mark_is_ready(t), 0))
		cpuperf_mark_attach_and_try(t);
	depth = cpuperf_mark_nest(t, kind);
	if (t->nr_counts && cpuperf_mark_is_counted(t, kind, depth)) {
		cpuperf_mark_write_counted(t, kind, site, text, value, depth);
		return;
	}
	if (!cpuperf_mark_enter(t, 2))
		return;
	memcpy(cpuperf_mark_unit_at(t, 1), &v, sizeof(v));
	cpuperf_mark_put(t, kind, depth, cpuperf_mark_find(t, site, text),
			 CPUPERF_MARK_TIME(t->clock));
	cpuperf_mark_leave(t, 2);
}

#define CPUPERF_MARK_IS_ON                                                                         \
	__builtin_expect(__atomic_load_n(&cpuperf_mark_state_2.on, __ATOMIC_RELAXED) != 0, 0)
#define CPUPERF_MARK_SITE(kind, name)                                                              \
	do {                                                                                       \
		static uint64_t cpuperf_mark_site;                                                 \
		if (CPUPERF_MARK_IS_ON)                                                            \
			cpuperf_mark_write(kind, &cpuperf_mark_site, name);                        \
	} while (0)
#define CPUPERF_MARK_SITE_VALUE(kind, name, value)                                                 \
	do {                                                                                       \
		static uint64_t cpuperf_mark_site;                                                 \
		const int64_t cpuperf_mark_number = (value); /* also while off */                  \
		if (CPUPERF_MARK_IS_ON)                                                            \
			cpuperf_mark_write_value(kind, &cpuperf_mark_site, name,                   \
						 cpuperf_mark_number);                             \
	} while (0)
#define CPUPERF_MARK_CALL(kind, name)                                                              \
	(CPUPERF_MARK_IS_ON ? cpuperf_mark_write(kind, NULL, name) : (void)0)
#define CPUPERF_MARK_CALL_VALUE(kind, name, value)                                                 \
	(CPUPERF_MARK_IS_ON ? cpuperf_mark_write_value(kind, NULL, name, value) : (void)0)

/* What marks themselves count: the inner region, what is in each region; the outer one less the
 * inner one, what a region adds to those around it. Compiled as the program's marks are: where a
 * mark is on, it jumps out of the function's usual path. */
CPUPERF_MARK_OFTEN void cpuperf_mark_try(struct cpuperf_mark_thread *t)
{
	uint32_t chance = t->chance;

	t->chance = 0;
	for (int i = 0; i < 16; i++) {
		CPUPERF_MARK_SITE(CPUPERF_MARK_BEGIN, "[marks]");
		CPUPERF_MARK_SITE(CPUPERF_MARK_BEGIN, "[mark]");
		CPUPERF_MARK_CALL(CPUPERF_MARK_END_REGION, NULL);
		CPUPERF_MARK_CALL(CPUPERF_MARK_END_REGION, NULL);
	}
	t->chance = chance;
}

CPUPERF_MARK_RARE void cpuperf_mark_attach_and_try(struct cpuperf_mark_thread *t)
{
	cpuperf_mark_attach(t);
	if (t->nr_counts && !__atomic_exchange_n(&t->shared->is_tried, 1, __ATOMIC_RELAXED))
		cpuperf_mark_try(t);
}

/* Early, before the program may forbid itself to open sockets. */
__attribute__((constructor(101), unused)) static void cpuperf_mark_begin_image(void)
{
	struct cpuperf_mark_state *state = &cpuperf_mark_state_2;
	uint32_t number;

	if (state->has_begun || getauxval(AT_SECURE))
		return;
	state->has_begun = 1;
	number = cpuperf_mark_number(getenv("CPUPERF_MARKS"));
	if (number) {
		__atomic_store_n(&state->on, number, __ATOMIC_RELAXED);
#ifndef CPUPERF_MARK_LATE /* of a library that may be loaded for nothing: at its first mark */
		cpuperf_mark_attach_and_try(&cpuperf_mark_thread_2);
#endif
	}
}

/* The connection and how many regions of the thread and object are open. */
static inline uint64_t cpuperf_mark_block(void)
{
	const struct cpuperf_mark_thread *t = &cpuperf_mark_thread_2;

	return (uint64_t)(t->number ? t->generation : 0) << 32 | t->depth;
}

CPUPERF_MARK_OFTEN uint64_t cpuperf_mark_begin_block(uint64_t *site, const char *name)
{
	cpuperf_mark_write(CPUPERF_MARK_BEGIN, site, name);
	return cpuperf_mark_block();
}

/* What an exception left open in the block, ends with it. Its beginning may be what another
 * recorder received, or a parent's: the end is not a mark of this one then. */
CPUPERF_MARK_OFTEN void cpuperf_mark_leave_block(uint64_t begun)
{
	struct cpuperf_mark_thread *t = &cpuperf_mark_thread_2;

	if (!(begun >> 32)) /* lost, as the beginning was */
		cpuperf_mark_miss();
	if (!(begun >> 32) || begun >> 32 != t->generation || !cpuperf_mark_is_ready(t))
		return;
	if ((uint32_t)begun > t->depth) /* it has ended */
		return;
	t->depth = (uint32_t)begun;
	cpuperf_mark_write(CPUPERF_MARK_END_REGION, NULL, NULL);
}

/* 0: it began while nobody measured. */
__attribute__((unused)) static inline void cpuperf_mark_end_of_block(const volatile uint64_t *begun)
{
	if (CPUPERF_MARK_IS_ON && *begun)
		cpuperf_mark_leave_block(*begun);
}

#define CPUPERF_MARK_JOIN_(a, b) a##b
#define CPUPERF_MARK_JOIN(a, b)  CPUPERF_MARK_JOIN_(a, b)
/* The cleanup attribute runs when C++ exceptions leave the block, too. The site is in an expression
 * of its own: its symbol in an inline function of C++ does not depend on __COUNTER__, which differs
 * among sources. */
#define CPUPERF_REGION(name) CPUPERF_MARK_REGION(name, __COUNTER__)
#define CPUPERF_MARK_REGION(name, nr)                                                              \
	__attribute__((cleanup(cpuperf_mark_end_of_block), unused)) const volatile uint64_t        \
	CPUPERF_MARK_JOIN(cpuperf_mark_region_, nr) = CPUPERF_MARK_IS_ON ? __extension__({         \
		static uint64_t cpuperf_mark_site;                                                 \
		cpuperf_mark_begin_block(&cpuperf_mark_site, name);                                \
	})                                                                                         \
									 : 0

#else

#define CPUPERF_MARK_SITE(kind, name)              ((void)0)
#define CPUPERF_REGION(name)                       ((void)0)
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

#ifdef __cplusplus
}
#endif

#endif
