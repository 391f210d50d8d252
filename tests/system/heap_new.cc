// C++ allocations of known sizes, by each form of operator new and delete; what is freed and how; before main, in a
// handler, in a thread and in a child.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

struct alignas(64) Wide {
	char c[128];
};

static void *volatile keep, *volatile early = operator new(707);

static void on_signal(int)
{
	keep = operator new(808);
}

static int run_child()
{
	int status = 0;

	if (fork() == 0) {
		keep = operator new(909);
		operator delete(early);
		_exit(0);
	}
	wait(&status);
	return status;
}

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
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	std::thread([] { keep = operator new[](1010); }).join();
	std::printf("%d\n", run_child());
	std::fflush(stdout);
	keep = malloc(606);
	free(keep);
	try {
		keep = operator new(1ul << 60);
	} catch (const std::bad_alloc &) {
		std::puts("bad_alloc");
	}
	return 3;
}
