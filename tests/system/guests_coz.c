/*
 * Progress points as coz's own coz.h compiles them (coz_counter_t, _coz_get_counter by dlsym), or,
 * with COMPAT, as cpuperf/compat/coz.h does.
 */
#ifdef COMPAT
#include <coz.h>
#else
#include <dlfcn.h>
#include <stddef.h>

typedef struct {
	size_t count, backoff;
} counter;

static counter *find(int type, const char *name)
{
	counter *(*get)(int, const char *) = NULL;

	*(void **)&get = dlsym(RTLD_DEFAULT, "_coz_get_counter");
	return get ? get(type, name) : NULL;
}

#define INCREMENT(type, name)                                                                      \
	if (1) {                                                                                   \
		static unsigned char is_known;                                                     \
		static counter *c;                                                                 \
		if (!is_known) {                                                                   \
			c = find(type, name);                                                      \
			is_known = 1;                                                              \
		}                                                                                  \
		if (c)                                                                             \
			__atomic_add_fetch(&c->count, 1, __ATOMIC_RELAXED);                        \
	}
#define COZ_PROGRESS_NAMED(name) INCREMENT(1, name)
#define COZ_PROGRESS             INCREMENT(1, __FILE__)
#define COZ_BEGIN(name)          INCREMENT(2, name)
#define COZ_END(name)            INCREMENT(3, name)
#endif

int main(void)
{
	for (int i = 0; i < 10; i++) {
		COZ_BEGIN("work");
		COZ_PROGRESS_NAMED("step");
		if (i % 2)
			COZ_PROGRESS_NAMED("step"); /* another place of the same name */
		if (i)
			COZ_END("work");
	}
	COZ_PROGRESS;
	return 7;
}
