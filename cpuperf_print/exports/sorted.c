/*
 * Each sample gets a tag and goes into the spool. After the last, tags are sorted and divided into
 * groups, and the spool is sorted by them. The order never depends on numbers that vary with the
 * threads that read.
 */
#include "exports/sorted.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/functions.h"
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PARTS = REPORT_BY_STACK | REPORT_BY_SESSION | REPORT_BY_CPU | REPORT_BY_PID |
		REPORT_BY_TID | REPORT_BY_COMM | REPORT_BY_CMDLINE
};

static int add_sample(struct export_sorted *s, const struct report_sample *sample)
{
	const struct export_record r = {.time_ns = sample->time_ns,
					.weight = sample->weight,
					.tag = dict_add(&s->tags, &sample->key),
					.stack = sample->stack};
	struct export_tag *tag = dict_at(&s->tags, r.tag);

	if (!tag)
		return -ENOMEM;
	tag->nr++;
	tag->weight += r.weight;
	return export_spool_add(s->spool, &r, s->e);
}

static int add_samples(void *arg, const struct report_sample *samples, size_t nr)
{
	return ARRAY_RUN(i, nr, add_sample(arg, &samples[i]));
}

static int compare_names(const struct export_sorted *s, uint32_t a, uint32_t b)
{
	return a == b ? 0
		      : strcmp(report_functions_text(s->j->inputs->functions, a),
			       report_functions_text(s->j->inputs->functions, b));
}

static int compare_groups(const struct export_sorted *s, const struct report_key *a,
			  const struct report_key *b)
{
	int rc = s->is_by_event ? order_u64(a->event, b->event) : 0;

	if (!rc)
		rc = order_u64(a->session, b->session);
	if (!rc)
		rc = order_u64(a->pid, b->pid);
	if (!rc)
		rc = order_u64(a->tid, b->tid);
	if (!rc && s->is_by_event)
		rc = compare_names(s, a->comm, b->comm);
	return rc;
}

static int compare_tags(const void *x, const void *y, void *arg)
{
	const struct export_sorted *s = arg;
	const struct report_key *a = export_sorted_key(s, *(const uint32_t *)x);
	const struct report_key *b = export_sorted_key(s, *(const uint32_t *)y);
	int rc = compare_groups(s, a, b);

	if (!rc)
		rc = order_u64(a->event, b->event);
	if (!rc)
		rc = compare_names(s, a->comm, b->comm);
	return rc ?: order_u64(a->cpu, b->cpu) ?: compare_names(s, a->cmdline, b->cmdline);
}

/* order: the sorted tags. */
static void make_groups(struct export_sorted *s, const uint32_t *order)
{
	for (size_t i = 0; i < s->tags.nr; i++) {
		const struct export_tag *t = dict_at(&s->tags, order[i]);
		struct export_group *g;

		if (!i || compare_groups(s, export_sorted_key(s, order[i - 1]), &t->key))
			s->nr_groups++;
		g = &s->groups[s->nr_groups - 1];
		if (t->nr > g->most) {
			g->most = t->nr;
			g->key = t->key;
		}
		g->nr += t->nr;
		g->weight += t->weight;
		s->places[order[i]] =
		    (struct export_place){(uint32_t)s->nr_groups - 1, (uint32_t)i};
	}
}

static int sort(struct export_sorted *s, struct err *e)
{
	uint32_t *order = mem_calloc(s->tags.nr + 1, sizeof(*order));

	s->groups = mem_calloc(s->tags.nr + 1, sizeof(*s->groups));
	s->places = mem_calloc(s->tags.nr + 1, sizeof(*s->places));
	if (!order || !s->groups || !s->places) {
		mem_free(order);
		return err_set(e, -ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < s->tags.nr; i++)
		order[i] = i;
	qsort_r(order, s->tags.nr, sizeof(*order), compare_tags, s);
	make_groups(s, order);
	mem_free(order);
	return export_spool_sort(s->spool, s->places, s->nr_groups, e);
}

int export_sorted_read(struct export_sorted *s, struct job *j, bool is_by_event, struct err *e)
{
	struct report_sink sink = {.parts = PARTS, .samples = add_samples, .arg = s};
	struct err problem = {0};
	int rc;

	*s = (struct export_sorted){.j = j, .is_by_event = is_by_event, .e = e};
	dict_init(&s->tags, sizeof(struct export_tag), DICT_KEY(struct export_tag, key), DICT_MAX);
	if (j->selection->with_lines)
		sink.parts |= REPORT_BY_LINE;
	s->spool = export_spool_new(e);
	if (!s->spool)
		return e->code;
	s->stacks = sink.stacks = report_stacks_new();
	if (!s->stacks)
		return err_set(e, -ENOMEM, "out of memory");
	rc = samples_read(j, j->first, j->nr, &sink, &s->stats, e);
	if (rc)
		return rc;
	if (report_stacks_is_full(s->stacks)) {
		err_set(&problem, -EFBIG,
			"more than %d different stacks: the rest lack their innermost functions",
			REPORT_MAX_STACKS);
		err_hint(&problem, "select fewer samples with --comm, --pid, --from or --to");
		problems_add(&j->output->problems, true, &problem);
	}
	return sort(s, e);
}

void export_sorted_fini(struct export_sorted *s)
{
	export_spool_free(s->spool);
	report_stacks_free(s->stacks);
	report_stats_fini(&s->stats);
	dict_fini(&s->tags);
	mem_free(s->groups);
	mem_free(s->places);
}

const struct export_record *export_sorted_records(const struct export_sorted *s, size_t group,
						  size_t *nr)
{
	return export_spool_bucket(s->spool, (uint32_t)group, nr);
}
