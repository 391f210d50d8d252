/*
 * How long replicates lasted and which were cut short, from one more pass over the traces.
 */
#include "base/mem.h"
#include "profile/iterator.h"
#include "reports/diff.h"

#include <errno.h>

/* The duration of an iteration is that of its slowest CPU. */
static int load_session(const struct input *o, struct diff_replicate *iterations)
{
	struct profile_iterator *it = profile_iterator_new(o->session);
	struct profile_trace t;
	int rc;

	while ((rc = profile_iterator_next(it, &t)) > 0) {
		uint64_t ns = t.end_ns > t.start_ns ? t.end_ns - t.start_ns : 0;
		struct diff_replicate *r;

		if (t.head.iteration >= o->facts->nr_iterations)
			continue;
		r = &iterations[t.head.iteration];
		r->duration_ns = ns > r->duration_ns ? ns : r->duration_ns;
		if (t.start_ns && (!r->times.start_ns || t.start_ns < r->times.start_ns))
			r->times.start_ns = t.start_ns;
		r->times.end_ns = t.end_ns > r->times.end_ns ? t.end_ns : r->times.end_ns;
		r->is_cut |= t.is_cut;
		r->cause = t.cause;
		/* later ones are gaps in which rates were changed */
		if (t.window && t.window->window == TRACE_NO_WINDOW && !t.head.iteration)
			r->delay_ns = t.window->gap_ns - t.window->start_late_ns;
		r->disabled_ns = t.target ? t.target->disabled_ns : r->disabled_ns;
	}
	profile_iterator_free(it);
	/* traces have the sum of the iterations so far */
	for (size_t i = o->facts->nr_iterations; i-- > 1;) {
		uint64_t before_ns = iterations[i - 1].disabled_ns;

		if (iterations[i].disabled_ns >= before_ns)
			iterations[i].disabled_ns -= before_ns;
	}
	return rc;
}

static int add_session(const struct input *o, struct diff_replicate *to)
{
	size_t nr = o->facts->nr_iterations;
	MEM_AUTO struct diff_replicate *iterations = mem_calloc(nr + 1, sizeof(*iterations));
	int rc = iterations ? load_session(o, iterations) : -ENOMEM;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		to->duration_ns += iterations[i].duration_ns;
		to->delay_ns += iterations[i].delay_ns;
		to->disabled_ns += iterations[i].disabled_ns;
		to->is_cut |= iterations[i].is_cut;
	}
	return rc;
}

int diff_replicates_load(struct job *j, size_t first, size_t nr, bool by_iteration,
			 struct diff_replicate **out)
{
	size_t nr_all = by_iteration ? j->inputs->item[first].facts->nr_iterations : nr;
	size_t nr_removed = j->inputs->item[first].facts->nr_removed;
	struct diff_replicate *list = mem_calloc(nr_all + 1, sizeof(*list));
	int rc = list ? 0 : -ENOMEM;

	if (rc == 0 && by_iteration)
		rc = load_session(&j->inputs->item[first], list);
	for (size_t i = 0; i < nr_removed && i < nr_all && by_iteration && rc == 0; i++)
		list[i] = (struct diff_replicate){.is_cut = true, .cause = list[nr_removed].cause};
	for (size_t i = 0; i < nr_all && by_iteration && rc == 0; i++) /* of one cause only */
		list[i].is_cut |= list[i].cause != list[0].cause;
	for (size_t i = 0; i < nr && !by_iteration && rc == 0; i++)
		rc = add_session(&j->inputs->item[first + i], &list[i]);
	if (rc)
		mem_free(list);
	else
		*out = list;
	return rc;
}
