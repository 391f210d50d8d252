/*
 * The time that was sampled in functions whose calls were counted and not timed.
 */
#ifndef REPORTS_FUNCTION_SAMPLES_H
#define REPORTS_FUNCTION_SAMPLES_H

#include "base/dict.h"
#include "report/engine.h"

struct err;
struct job;

/* Zero-initialise. */
struct reports_function_samples {
	struct dict wanted; /* private, like what follows */
	struct report_stats stats;
	uint32_t event;
	bool is_read;
};
void reports_function_samples_fini(struct reports_function_samples *s);

/* Of this function, by its name in the table of symbols and the path of its file. 0 or -ENOMEM. */
int reports_function_samples_want(struct reports_function_samples *s, const char *name,
				  const char *object, uint64_t address);
/* Reads the samples of the job, after all functions are wanted; nothing if it has none of time, or
 * if options select a part of them: calls are those of all. 0 or -errno with *e. */
int reports_function_samples_read(struct reports_function_samples *s, struct job *j, struct err *e);
/* Its samples. NULL: none were read, or the file has two functions of the name. */
const struct report_weight *reports_function_samples_find(const struct reports_function_samples *s,
							  const char *name, const char *object);
/* Its time: a share of what is returned, in ns. */
double reports_function_samples_share(const struct reports_function_samples *s, const struct job *j,
				      const struct report_weight *w, struct interval *share);

#endif
