// C++ whose calls are counted: exceptions, recursion, virtual functions, threads, and what runs before and after main.
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#define OUT __attribute__((noinline))

OUT int leaf(int x)
{
	asm volatile("" : "+r"(x));
	return x + 1;
}

struct shape {
	virtual ~shape() = default;
	virtual int area(int x) = 0;
};
struct square : shape {
	OUT int area(int x) override { return leaf(x) * x; }
};
struct circle : shape {
	OUT int area(int x) override { return leaf(x) * 3 + leaf(1); }
};

OUT int fall(int depth)
{
	if (!depth)
		throw std::runtime_error("bottom");
	return fall(depth - 1) + leaf(depth);
}

struct guard {
	int *to;
	OUT explicit guard(int *t) : to(t) { leaf(0); }
	OUT ~guard() { *to += leaf(2); }
};

OUT int rise(int n)
{
	int sum = 0;
	guard g(&sum);

	return fall(n);
}

OUT int catches(int n)
{
	int caught = 0;

	for (int i = 0; i < n; i++) {
		try {
			rise(i % 7);
		} catch (const std::exception &) {
			caught += leaf(i) - i;
		}
	}
	return caught;
}

OUT int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

struct early {
	int value;
	OUT early() : value(leaf(41)) {}
	OUT ~early() { std::printf("late %d\n", leaf(value)); }
};
static early one;

int main()
{
	square s;
	circle c;
	shape *shapes[] = {&s, &c};
	std::vector<std::thread> threads;
	long sum = catches(50) + fib(12);

	for (int i = 0; i < 100; i++)
		sum += shapes[i % 2]->area(i);
	for (int i = 0; i < 4; i++)
		threads.emplace_back([] {
			for (int j = 0; j < 50; j++)
				leaf(j);
			catches(10);
		});
	for (auto &t : threads)
		t.join();
	std::printf("sum %ld\n", sum);
	return 5;
}
