/*
 * A session that is asked for: from the options, and the spec that they name or change, to its
 * plan.
 */
#ifndef CPUPERF_WANTED_H
#define CPUPERF_WANTED_H

#include "base/buf.h"
#include "heap.h"
#include "machine.h"
#include "options.h"
#include "plan/plan.h"
#include "reload.h"
#include "session/held.h"
#include "spec/spec.h"

#include <stdbool.h>

struct wanted {
	struct options o;
	const struct options *given; /* as they were before the spec was read; borrowed */
	struct machine m;
	struct spec spec;
	struct plan plan;
	struct buf saved; /* the text for --save-spec */
	struct held held;
	bool has_machine, has_plan;
	char refused[HEAP_REASON_BYTES]; /* why the heap is not measured */
	struct reload reload;
	struct wanted *next; /* owned: after a reload; NULL: there is none */
};

/* given: as the user gave them; they must outlive it. NULL: out of memory. */
struct wanted *wanted_new(const struct options *given);
/* Also resolves the events of an invalid spec, so that all errors are reported at once. Returns an
 * exit status, with at least one error in *errs unless it is EXIT_DONE. */
int wanted_read(struct wanted *w, struct err_list *errs);
/* And what follows it. NULL: nothing. */
void wanted_free(struct wanted *w);
/* Both measure the same. */
bool wanted_is_same(const struct wanted *a, const struct wanted *b);

/* A command, processes or control groups; else the machine. */
bool wanted_has_target(const struct options *o, const struct spec *spec);
/* What excludes a command, or has no meaning without one: 0, or -EINVAL with *e. */
int wanted_check_target(const struct options *o, struct err *e);
/* The files whose probes the names of events mean; borrowed from both. */
/* What options say of which functions are measured. 0 or -errno with *e. */
int wanted_choose_functions(const struct options *o, struct spec *spec, struct err *e);
void wanted_name_objects(const struct options *o, const struct spec *spec,
			 struct event_objects *out);

/* The spec of a command where no option chooses events. */
const char *wanted_spec(const struct options *o);

#endif
