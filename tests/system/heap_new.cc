// C++ allocations of known sizes, by each form of operator new and delete; what is freed and how.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

struct alignas(64) Wide {
	char c[128];
};

static void *volatile keep;

int main()
{
	std::align_val_t wide{128};

	keep = operator new(101);
	keep = new char[202];
	keep = new (std::nothrow) char[303];
	keep = new Wide;
	delete static_cast<Wide *>(keep);
	keep = operator new(404);
	operator delete(keep);
	{
		std::vector<int> v(1000); // 4000
		keep = v.data();
	}
	operator delete[](new (wide) char[512], wide);
	keep = malloc(606);
	free(keep);
	try {
		keep = operator new(1ul << 60);
	} catch (const std::bad_alloc &) {
		std::puts("bad_alloc");
	}
	return 3;
}
