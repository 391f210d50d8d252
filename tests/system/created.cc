/* What test_resource.py measures: a program whose threads and exceptions are known. */
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <threads.h>
#include <unistd.h>
#include <vector>

#define FUNCTION __attribute__((noinline)) static void
#define END      __asm__ volatile("")

static int c11(void *arg)
{
	return *(int *)arg + 1;
}

static void *leaving(void *arg)
{
	pthread_exit(arg);
}

static void *waiting(void *)
{
	for (;;)
		pause();
}

FUNCTION many(int n)
{
	for (int i = 0; i < n; i++)
		std::thread([] { errno = 3; }).join();
	END;
}

FUNCTION kinds(void)
{
	pthread_t t;
	thrd_t c;
	void *left;
	int is = 41, got = 0;

	pthread_create(&t, nullptr, leaving, &is);
	pthread_join(t, &left);
	pthread_create(&t, nullptr, waiting, nullptr);
	pthread_cancel(t);
	pthread_join(t, nullptr);
	thrd_create(&c, c11, &is);
	thrd_join(c, &got);
	printf("%d %d\n", left == &is, got);
	END;
}

FUNCTION refused(void)
{
	pthread_attr_t a;
	pthread_t t;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, (size_t)1 << 46);
	printf("%d\n", pthread_create(&t, &a, waiting, nullptr));
	END;
}

FUNCTION staying(int n)
{
	pthread_t t;

	while (n--)
		pthread_create(&t, nullptr, waiting, nullptr);
	usleep(20000);
	END;
}

__attribute__((noinline)) static int thrower(int i)
{
	if (i % 2)
		throw i;
	throw std::runtime_error("even");
}

FUNCTION throws(int n)
{
	int nr = 0;

	for (int i = 0; i < n; i++)
		try {
			try {
				thrower(i);
			} catch (const std::exception &) {
				throw; /* caught again: not thrown again */
			}
		} catch (int) {
			nr++;
		} catch (const std::exception &e) {
			nr += (int)strlen(e.what());
		}
	printf("%d\n", nr);
	try {
		(void)std::vector<int>().at(7); /* thrown in the library */
	} catch (const std::out_of_range &) {
	}
	END;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pid_t pid;

	if (strcmp(what, "threads") == 0) {
		many(50);
		kinds();
		staying(3);
	} else if (strcmp(what, "refused") == 0) {
		refused();
	} else if (strcmp(what, "forks") == 0) {
		many(2);
		staying(1);
		pid = fork();
		if (!pid) {
			many(4);
			_exit(0);
		}
		waitpid(pid, nullptr, 0);
	} else if (strcmp(what, "throws") == 0) {
		throws(20);
	}
	return 0;
}
