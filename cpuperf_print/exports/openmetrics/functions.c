/*
 * Calls and times of functions, a line for each. Sums over all calls: a mean is the one divided by
 * the other, over any time. Histograms are in the exports with tables; there may be 100,000
 * functions. An event function:NAME has a family cpuperf_function_NAME: these are called otherwise.
 */
#include "exports/openmetrics/functions.h"

#include "base/array.h"
#include "base/buf.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

enum { NS_PER_S = 1000000000 };

static const struct family {
	const char *name, *unit, *help;
	size_t offset; /* in struct counts_function */
	bool needs_times, needs_cpu;
} families[] = {
    {"cpuperf_functions_calls", "", "Calls of a function: the events of the group function.",
     offsetof(struct counts_function, calls), false, false},
    {"cpuperf_functions_timed_calls", "", "Of these, with a time: they have ended.",
     offsetof(struct counts_function, timed), true, false},
    {"cpuperf_functions_seconds", "seconds", "Time of these from entry to return.",
     offsetof(struct counts_function, wall_ns), true, false},
    {"cpuperf_functions_self_seconds", "seconds",
     "The same without the measured functions that they call.",
     offsetof(struct counts_function, self_ns), true, false},
    {"cpuperf_functions_cpu_seconds", "seconds", "Time of these on a CPU.",
     offsetof(struct counts_function, cpu_ns), false, true},
    {"cpuperf_functions_cost_seconds", "seconds",
     "What measuring has added to the time of these, an estimate.",
     offsetof(struct counts_function, cost_ns), true, false},
};

static void put_line(struct openmetrics *m, const struct family *family, const struct input *o,
		     const struct counts_functions *l, const struct counts_function *f,
		     uint64_t time_ns)
{
	const uint64_t n = *(const uint64_t *)((const char *)f + family->offset);
	char name[ELF_MAX_NAME_BYTES], address[24];

	elf_demangle(counts_function_name(l, f), name);
	snprintf(address, sizeof(address), "0x%" PRIx64, f->address);
	openmetrics_begin(m);
	openmetrics_label(m, "event", o->facts->events[f->event].label);
	openmetrics_label(m, "function", name);
	openmetrics_label(m, "object", counts_function_object(l, f));
	openmetrics_label(m, "address", address); /* a file may have two of one name */
	openmetrics_label(m, "way", counts_function_way(f));
	openmetrics_value(m);
	if (*family->unit)
		buf_printf(m->out, "%" PRIu64 ".%09" PRIu64, n / NS_PER_S, n % NS_PER_S);
	else
		buf_u64(m->out, n);
	openmetrics_end(m, time_ns);
}

int openmetrics_put_functions(struct openmetrics *m, struct job *j, const struct input *o,
			      const struct counts_functions *l, uint64_t time_ns, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(families) && l->rows.nr && rc == 0; i++) {
		const struct family *family = &families[i];

		openmetrics_family(m, OPENMETRICS_COUNTER, family->name, family->unit,
				   family->help);
		for (uint32_t k = 0; k < l->rows.nr && rc == 0; k++) {
			const struct counts_function *f = counts_functions_at(l, k);

			if ((family->needs_times && !f->has_times) ||
			    (family->needs_cpu && !f->has_cpu))
				continue;
			put_line(m, family, o, l, f, time_ns);
			rc = output_flush(j->output, e);
		}
	}
	return rc;
}
