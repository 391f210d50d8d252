/*
 * What test_regions_running.py measures: a program with marks that runs before cpuperf does. Two
 * threads use a fifth of a CPU each, nearly all of it in the region "work". "ready" is printed when
 * they run.
 *
 * usage: regions_running [NAME [OBJECT]]; NAME: a file. When it exists, OBJECT is loaded, and its
 * region begun and ended in a loop; without OBJECT, the program execs itself without NAME. With
 * IS_SHORT in the environment it ends after a second and 60 calls.
 */
#include <cpuperf/mark.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int nr_calls;

static void *work(void *arg)
{
	for (;;) {
		CPUPERF_BEGIN("work");
		for (volatile int i = 0; i < 2000000; i++)
			;
		CPUPERF_END;
		__atomic_add_fetch(&nr_calls, 1, __ATOMIC_RELAXED);
		usleep(4000);
	}
	return arg;
}

static int use_object(const char *path)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*begin)(void), (*end)(void);

	if (!object) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&begin = dlsym(object, "object_begin");
	*(void **)&end = dlsym(object, "object_end");
	for (;;) {
		begin();
		usleep(1000);
		end();
	}
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; argc < 2 || access(argv[1], F_OK); i++) {
		if (getenv("IS_SHORT") && i >= 100 &&
		    __atomic_load_n(&nr_calls, __ATOMIC_RELAXED) > 60)
			return 0;
		usleep(10000);
	}
	if (argc == 2)
		execl("/proc/self/exe", argv[0], NULL);
	return use_object(argv[2]);
}
