/*
 * The stack of a node is shaped and looked up in the report's stacks once; then its number is
 * cached. Must not depend on the source of samples.
 */
#include "report/singles.h"

#include "base/mem.h"
#include "report/fold.h"
#include "report/functions.h"
#include "report/stacks.h"

#include <string.h>

enum {
	NR_WAITING = 1024,
	NOT_FOUND = 0,
	NOT_WANTED = UINT32_MAX,
};

struct report_singles {
	struct report_functions *functions;
	const struct report_sink *sink;
	uint32_t number[REPORT_FOLD_NODES]; /* stack number by node, or NOT_… */
	struct report_sample waiting[NR_WAITING];
	size_t nr;
};

struct report_singles *report_singles_new(struct report_functions *functions,
					  const struct report_sink *sink)
{
	struct report_singles *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->functions = functions;
	s->sink = sink;
	return s;
}

void report_singles_free(struct report_singles *s)
{
	mem_free(s);
}

int report_singles_add(struct report_singles *s, struct report_fold *fold, uint32_t node,
		       const struct report_sample *sample)
{
	uint32_t *number = &s->number[node];

	if (*number == NOT_FOUND) {
		size_t nr;
		struct report_frame *frames = report_fold_frames(fold, node, &nr);
		int rc = report_functions_shape(s->functions, frames, &nr);

		if (rc == 0 && nr)
			rc = report_stacks_add(s->sink->stacks, frames, nr, number);
		else if (rc == 0)
			*number = NOT_WANTED;
		if (rc)
			return rc;
	}
	if (*number == NOT_WANTED)
		return 0;
	s->waiting[s->nr] = *sample;
	s->waiting[s->nr++].stack = *number;
	return 1;
}

bool report_singles_is_full(const struct report_singles *s)
{
	return s->nr == NR_WAITING;
}

void report_singles_clear(struct report_singles *s)
{
	memset(s->number, NOT_FOUND, sizeof(s->number));
}

int report_singles_flush(struct report_singles *s)
{
	size_t nr = s->nr;

	s->nr = 0;
	return nr ? s->sink->samples(s->sink->arg, s->waiting, nr) : 0;
}
