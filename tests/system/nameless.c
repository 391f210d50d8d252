/*
 * nameless made|file|interpreted MS: spins for MS milliseconds of a CPU's time, in code made at run
 * time, in an unexported function of the file, or in one that a function calls which has the name
 * of an interpreter's.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define KEEP(x) __asm__ volatile("" : "+r"(x)::"memory")

static __attribute__((noinline)) long spin(long n)
{
	for (; n; n--)
		KEEP(n);
	return n;
}

__attribute__((noinline)) long _PyEval_EvalFrameDefault(long n)
{
	n = spin(n);
	KEEP(n);
	return n;
}

static long (*make(void))(long)
{
#if defined(__x86_64__) /* dec %rdi; jnz; mov %rdi, %rax; ret */
	static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0x48, 0x89, 0xf8, 0xc3};
#elif defined(__aarch64__) /* subs x0, x0, #1; b.ne; ret */
	static const unsigned char code[] = {0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
					     0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
#endif
	void *at =
	    mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at, code, sizeof(code));
	mprotect(at, sizeof(code), PROT_READ | PROT_EXEC);
	__builtin___clear_cache(at, (char *)at + sizeof(code));
	return (long (*)(long))at;
}

int main(int argc, char **argv)
{
	clock_t end = clock() + atoi(argv[2]) * (CLOCKS_PER_SEC / 1000);
	long (*work)(long) = argv[1][0] == 'm'   ? make()
			     : argv[1][0] == 'f' ? spin
						 : _PyEval_EvalFrameDefault;

	(void)argc;
	while (clock() < end) {
		work(1000000);
		spin(100000); /* so that the file has samples in any mode */
	}
	return 0;
}
