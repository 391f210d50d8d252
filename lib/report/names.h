/*
 * The names that report_records needs: tasks from profile/, functions from symbol/.
 */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include "report/records.h"

struct symbols;

/* Both are borrowed; for one thread. */
struct report_names_of {
	struct profile_lookup *lookup;
	struct symbols *symbols;
};

/* Sets names->arg to of. */
void report_names_init(struct report_names *names, struct report_names_of *of);

#endif
