/*
 * A JIT compiler: it places two functions at one address by turns, each for its part of the time,
 * and says so in jit-PID.dump. jit FOLDER ROUNDS ALPHA_MS BETA_MS [table | bare]: with "table" and
 * "bare" the functions have a frame that no register points to; with "table" the dump says how it
 * is left.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LOAD, MOVE, LINES, CLOSE, UNWINDING, PAD = 64, BYTES = 4096 };

/* A function that counts down what it is passed: a loop behind some instructions that do nothing.
 */
#ifdef __x86_64__
#define MACHINE EM_X86_64
static const uint8_t nothing[] = {0x90};
static const uint8_t counts[] = {0x48, 0x89, 0xf9,  /* mov %rdi, %rcx */
				 0x48, 0xff, 0xc9,  /* dec %rcx */
				 0x75, 0xfb, 0xc3}; /* jne, ret */
enum { LOOP = 3, END = 8 };
static const uint8_t framed[] = {0x48, 0x83, 0xec, 0x18,        /* sub $24, %rsp */
				 0x48, 0x89, 0xf9,              /* mov %rdi, %rcx */
				 0x48, 0xff, 0xc9,              /* dec %rcx */
				 0x75, 0xfb,                    /* jne */
				 0x48, 0x83, 0xc4, 0x18, 0xc3}; /* add $24, %rsp; ret */
static const uint8_t cie[] = {1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};
/* 32 bytes from the frame's begin on, 8 from its end on */
static const uint8_t fde[] = {0, 2, PAD + 4, 0x0e, 32, 0x4c, 0x0e, 8};
#else
#define MACHINE EM_AARCH64
static const uint8_t nothing[] = {0x1f, 0x20, 0x03, 0xd5};
static const uint8_t counts[] = {0x00, 0x04, 0x00, 0xd1,  /* sub x0, x0, 1 */
				 0xe0, 0xff, 0xff, 0xb5,  /* cbnz x0 */
				 0xc0, 0x03, 0x5f, 0xd6}; /* ret */
enum { LOOP = 0, END = 8 };
static const uint8_t framed[] = {0xff, 0x83, 0x00, 0xd1,  /* sub sp, sp, 32 */
				 0x00, 0x04, 0x00, 0xd1,  /* sub x0, x0, 1 */
				 0xe0, 0xff, 0xff, 0xb5,  /* cbnz x0 */
				 0xff, 0x83, 0x00, 0x91,  /* add sp, sp, 32 */
				 0xc0, 0x03, 0x5f, 0xd6}; /* ret */
static const uint8_t cie[] = {1, 'z', 'R', 0, 4, 0x78, 0x1e, 1, 0x1b, 0x0c, 0x1f, 0, 0, 0, 0, 0};
static const uint8_t fde[] = {0, 0x40 | (PAD / 4 + 1), 0x0e, 32, 0x43, 0x0e, 0, 0};
#endif

struct header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};
struct prefix {
	uint32_t kind, size;
	uint64_t time;
};
struct load {
	struct prefix p;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};
struct line {
	uint64_t address;
	uint32_t number, discriminator;
	char file[12];
} __attribute__((packed));
struct lines {
	struct prefix p;
	uint64_t address, nr;
	struct line line[3];
} __attribute__((packed));

struct unwinding {
	struct prefix p;
	uint64_t size, header_size, mapped_size;
	uint32_t cie_len, id;
	uint8_t cie[sizeof(cie)];
	uint32_t fde_len, back;
	int32_t begin;
	uint32_t range;
	uint8_t fde[sizeof(fde)];
	uint8_t header[20];
} __attribute__((packed));

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void write_load(FILE *f, const char *name, const uint8_t *code, size_t size, size_t pad)
{
	static uint64_t index;
	const uint64_t time = now(CLOCK_MONOTONIC), at = (uintptr_t)code;
	const struct lines lines = {
	    {LINES, sizeof(lines), time},
	    at,
	    3,
	    {{at, 10, 0, "/jit/it.txt"},
	     {at + pad + LOOP, 11, 0, "/jit/it.txt"},
	     {at + pad + END, 12, 0, "/jit/it.txt"}},
	};
	const struct load load = {
	    {LOAD, (uint32_t)(sizeof(load) + strlen(name) + 1 + size), time},
	    (uint32_t)getpid(),
	    (uint32_t)getpid(),
	    at,
	    at,
	    size,
	    index++,
	};

	fwrite(&lines, sizeof(lines), 1, f);
	fwrite(&load, sizeof(load), 1, f);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(code, size, 1, f);
	fflush(f);
}

/* The table of a framed function: .eh_frame, which is behind the code at a multiple of 8, and an
 * empty .eh_frame_hdr. */
static void write_table(FILE *f)
{
	const uint32_t size = PAD + sizeof(framed);
	struct unwinding u = {
	    .p = {UNWINDING, sizeof(u), now(CLOCK_MONOTONIC)},
	    .size = offsetof(struct unwinding, header) - offsetof(struct unwinding, cie_len) +
		    sizeof(u.header),
	    .header_size = sizeof(u.header),
	    .mapped_size = size,
	    .cie_len = 4 + sizeof(cie),
	    .fde_len = 12 + sizeof(fde),
	    .back = 4 + 4 + sizeof(cie) + 4,
	    .begin = -(int32_t)((size + 7) / 8 * 8 + offsetof(struct unwinding, begin) -
				offsetof(struct unwinding, cie_len)),
	    .range = size,
	};

	memcpy(u.cie, cie, sizeof(cie));
	memcpy(u.fde, fde, sizeof(fde));
	fwrite(&u, sizeof(u), 1, f);
}

static void run_for(uint8_t *code, FILE *f, const char *name, const char *frame, unsigned long ms)
{
	void (*function)(uint64_t) = (void (*)(uint64_t))(uintptr_t)code;
	const uint64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;
	const size_t size = frame ? sizeof(framed) : sizeof(counts);

	for (size_t i = 0; i < PAD; i += sizeof(nothing))
		memcpy(code + i, nothing, sizeof(nothing));
	memcpy(code + PAD, frame ? framed : counts, size);
	__builtin___clear_cache((char *)code, (char *)code + BYTES);
	if (frame && strcmp(frame, "table") == 0)
		write_table(f);
	write_load(f, name, code, PAD + size, PAD);
	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		function(1000000);
}

int main(int argc, char **argv)
{
	const struct header header = {
	    0x4a695444, 1, sizeof(header), MACHINE, 0, (uint32_t)getpid(), now(CLOCK_MONOTONIC), 0};
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	uint8_t *code = mmap(NULL, BYTES, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[4096];
	FILE *f;

	if (argc < 5 || argc > 6 || code == MAP_FAILED)
		return 2;
	snprintf(path, sizeof(path), "%s/jit-%d.dump", argv[1], (int)getpid());
	f = fopen(path, "w+");
	if (!f || mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		return 3;
	fwrite(&header, sizeof(header), 1, f);
	for (long i = 0; i < strtol(argv[2], NULL, 10); i++) {
		run_for(code, f, "alpha", argv[5], strtoul(argv[3], NULL, 10));
		run_for(code, f, "beta", argv[5], strtoul(argv[4], NULL, 10));
	}
	return 0;
}
