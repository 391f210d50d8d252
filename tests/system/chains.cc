/*
 * A program in C++ whose stacks are known, as chains.c: chains_cc NAME MS works for MS milliseconds
 * of a CPU's time in a loop that is inlined (step, in row) into geo::Grid<int>::fill, which is
 * called by a virtual function. Without a library of C++, which not every machine has.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

namespace geo
{
volatile uint64_t turns = 1000000;

__attribute__((always_inline)) inline uint64_t step(uint64_t x)
{
	for (uint64_t n = turns; n; n--) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

__attribute__((always_inline)) inline uint64_t row(uint64_t x)
{
	return step(x + 1) + 1;
}

struct Shape {
	virtual uint64_t draw(uint64_t x)
	{
		return x;
	}
};

template <typename T> struct Grid final : Shape {
	__attribute__((noinline)) T fill(uint64_t x)
	{
		x = row(x);
		__asm__ volatile("" : "+r"(x)::"memory");
		return static_cast<T>(x);
	}

	__attribute__((noinline)) uint64_t draw(uint64_t x) override
	{
		uint64_t y = static_cast<uint64_t>(fill(x));

		__asm__ volatile("" : "+r"(y)::"memory");
		return y;
	}
};

Shape *volatile shape;
} // namespace geo

int main(int argc, char **argv)
{
	clock_t end = strtol(argc > 2 ? argv[2] : "0", nullptr, 10) * (CLOCKS_PER_SEC / 1000);
	geo::Grid<int> grid;
	uint64_t x = 1;

	geo::shape = &grid;
	while (clock() < end) {
		x = geo::shape->draw(x);
		__asm__ volatile("" : "+r"(x)::"memory");
	}
	return 0;
}
