/*
 * A program with regions of NVTX, in which it "computes on the GPU": it writes the times of each to
 * the file of its first argument, from which tests/cuda/standin.c makes values, and to that of its
 * second one since when the first of them stands there. By NVTX's published ABI, as guests_nvtx.c.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NR = 5, RANGE_PUSH = 9, RANGE_POP = 11, NS_PER_MS = 1000000 };

typedef void (*function)(void);
static function core[16], core2[16];
static function *core_table[17], *core2_table[17];

static int get_module(int module, function ***table, unsigned *nr)
{
	*table = module == 1 ? core_table : core2_table;
	*nr = 16;
	return module == 1 || module == 5;
}

static const struct {
	size_t size;
	int (*get)(int module, function ***table, unsigned *nr);
} callbacks = {sizeof(callbacks), get_module};

static const void *get_export_table(uint32_t id)
{
	return id == 1 ? &callbacks : NULL;
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static void nap_ms(long ms)
{
	struct timespec t = {.tv_nsec = ms * NS_PER_MS};

	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*init)(const void *(*)(uint32_t)) = NULL;
	FILE *f = argc == 3 ? fopen(argv[1], "w") : NULL, *since = f ? fopen(argv[2], "w") : NULL;

	for (int i = 1; i < 16; i++) {
		core_table[i] = &core[i];
		core2_table[i] = &core2[i];
	}
	if (lib)
		*(void **)&init = dlsym(lib, "InitializeInjectionNvtx2");
	if (!since || !init || !init(get_export_table) || !core[RANGE_PUSH])
		return 1;
	for (int i = 0; i < NR; i++) {
		nap_ms(40);
		((int (*)(const char *))core[RANGE_PUSH])("kernel");
		fprintf(f, "%llu", now_ns());
		fflush(f);
		fprintf(since, "%llu\n", now_ns());
		nap_ms(60);
		fprintf(f, " %llu\n", now_ns());
		fflush(f);
		((int (*)(void))core[RANGE_POP])();
	}
	nap_ms(100);
	return fclose(f) || fclose(since) ? 1 : 0;
}
