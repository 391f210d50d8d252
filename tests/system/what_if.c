/*
 * what_if: a thread that works long, one that works briefly, and main, which waits for both. The
 * work is in regions: "serial", "long", in which there is a "step", and a "step" by itself, with
 * another one in it.
 */
#include "cpuperf/mark.h"

#include <pthread.h>
#include <time.h>

static volatile unsigned long sink;

/* Milliseconds on a CPU. */
static __attribute__((noinline)) void use(long ms)
{
	struct timespec ts;
	long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	end = ts.tv_sec * 1000000000 + ts.tv_nsec + ms * 1000000;
	do {
		for (int i = 0; i < 1000; i++)
			sink += 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while (ts.tv_sec * 1000000000 + ts.tv_nsec < end);
}

__attribute__((noinline)) void serial_part(void)
{
	use(60);
	__asm__ volatile("");
}

__attribute__((noinline)) void long_part(void)
{
	use(200);
	__asm__ volatile("");
}

__attribute__((noinline)) void brief_part(void)
{
	use(20);
	__asm__ volatile("");
}

static void *work_long(void *arg)
{
	CPUPERF_BEGIN("long");
	CPUPERF_BEGIN("step");
	long_part();
	CPUPERF_END;
	CPUPERF_END;
	return arg;
}

static void *work_briefly(void *arg)
{
	CPUPERF_BEGIN("step");
	CPUPERF_BEGIN("step");
	brief_part();
	CPUPERF_END;
	CPUPERF_END;
	return arg;
}

int main(void)
{
	pthread_t a, b;

	CPUPERF_BEGIN("serial");
	serial_part();
	CPUPERF_END;
	pthread_create(&a, NULL, work_long, NULL);
	pthread_create(&b, NULL, work_briefly, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
