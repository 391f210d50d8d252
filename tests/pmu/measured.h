/*
 * A session in this process, from a spec's text: what the tests that look at exact counts, system
 * calls and costs are made of. Knows nothing of what is expected.
 */
#ifndef PMU_MEASURED_H
#define PMU_MEASURED_H

#include "session/session.h"

struct measured {
	const char *spec;     /* its text */
	const char *duration; /* of an iteration, "100ms" */
	uint32_t nr_iterations;
	uint32_t max_cpus;         /* 0: all */
	const struct pmu_ops *pmu; /* NULL: the kernel's */
	/* after each iteration; its work falls into the next one. May be NULL. */
	int (*on_iteration)(const struct session_iteration *it, void *arg);
	/* before the first one. May be NULL. */
	void (*on_open)(const struct session *s, void *arg);
	void *arg;
};

/* Runs it, without files. Fails the test on any error. */
void measure(const struct measured *m);

#endif
