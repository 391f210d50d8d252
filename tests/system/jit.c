/*
 * A JIT compiler: it places two functions at one address by turns, each for its part of the time,
 * and says so in jit-PID.dump. jit FOLDER ROUNDS ALPHA_MS BETA_MS
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LOAD, MOVE, LINES, CLOSE, PAD = 64, BYTES = 4096 };

/* A function that counts down what it is passed: a loop behind some instructions that do nothing.
 */
#ifdef __x86_64__
#define MACHINE EM_X86_64
static const uint8_t nothing[] = {0x90};
static const uint8_t counts[] = {0x48, 0x89, 0xf9,  /* mov %rdi, %rcx */
				 0x48, 0xff, 0xc9,  /* dec %rcx */
				 0x75, 0xfb, 0xc3}; /* jne, ret */
enum { LOOP = 3, END = 8 };
#else
#define MACHINE EM_AARCH64
static const uint8_t nothing[] = {0x1f, 0x20, 0x03, 0xd5};
static const uint8_t counts[] = {0x00, 0x04, 0x00, 0xd1,  /* sub x0, x0, 1 */
				 0xe0, 0xff, 0xff, 0xb5,  /* cbnz x0 */
				 0xc0, 0x03, 0x5f, 0xd6}; /* ret */
enum { LOOP = 0, END = 8 };
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

static void run_for(uint8_t *code, FILE *f, const char *name, size_t pad, unsigned long ms)
{
	void (*function)(uint64_t) = (void (*)(uint64_t))(uintptr_t)code;
	const uint64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;

	for (size_t i = 0; i < pad; i += sizeof(nothing))
		memcpy(code + i, nothing, sizeof(nothing));
	memcpy(code + pad, counts, sizeof(counts));
	__builtin___clear_cache((char *)code, (char *)code + BYTES);
	write_load(f, name, code, pad + sizeof(counts), pad);
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

	if (argc != 5 || code == MAP_FAILED)
		return 2;
	snprintf(path, sizeof(path), "%s/jit-%d.dump", argv[1], (int)getpid());
	f = fopen(path, "w+");
	if (!f || mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		return 3;
	fwrite(&header, sizeof(header), 1, f);
	for (int i = 0; i < atoi(argv[2]); i++) {
		run_for(code, f, "alpha", PAD, strtoul(argv[3], NULL, 10));
		run_for(code, f, "beta", PAD, strtoul(argv[4], NULL, 10));
	}
	return 0;
}
