/* Regions of known shape, for the exports. */
#include "cpuperf/mark.h"

#include <pthread.h>
#include <time.h>

enum { REQUESTS = 5 };

/* Of a CPU's time: beside others a region would have no sample in so many of the wall's. */
static void burn_ms(int ms)
{
	struct timespec t;
	long long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * 1000000000LL + t.tv_nsec + ms * 1000000LL;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000000000LL + t.tv_nsec < end);
}

static void *idle(void *arg)
{
	CPUPERF_BEGIN("open");
	cpuperf_thread_name("renamed");
	return arg;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < REQUESTS; i++) {
		CPUPERF_BEGIN_NUMBER("request", i);
		CPUPERF_BEGIN("parse");
		burn_ms(10);
		CPUPERF_END;
		CPUPERF_INSTANT("parsed");
		CPUPERF_INT("queue", 3 - i);
		burn_ms(10);
		CPUPERF_END;
	}
	/* ends with a region open, and has no samples */
	pthread_create(&thread, NULL, idle, NULL);
	pthread_join(thread, NULL);
	return 0;
}
