/*
 * deep DEPTH MS: recurses DEPTH times and works there, for MS milliseconds of a CPU's time. Built
 * with frame pointers and without; ROOM: how many bytes a frame has at least.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifndef ROOM
#define ROOM 64
#endif

/* What comes back is used, so that the call is not the last thing that is done. */
#define KEEP(x) __asm__ volatile("" : "+r"(x)::"memory")

__attribute__((noinline)) uint64_t spin(uint64_t x)
{
	for (uint64_t n = 1000000; n; n--) {
		x = x * 6364136223846793005u + 1;
		KEEP(x);
	}
	return x;
}

__attribute__((noinline)) uint64_t rec(uint64_t x, int left)
{
	volatile char room[ROOM];

	room[0] = (char)x;
	x = left > 1 ? rec(x, left - 1) : spin(x);
	KEEP(x);
	return x + (uint64_t)room[0];
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 1, ms = argc > 2 ? atoi(argv[2]) : 100;
	clock_t end = clock() + (clock_t)ms * (CLOCKS_PER_SEC / 1000);
	uint64_t x = (uint64_t)argc;

	while (clock() < end) {
		x = rec(x, depth);
		KEEP(x);
	}
	return (int)(x & 1);
}
