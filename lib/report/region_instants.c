#include "report/region_instants.h"

#include <errno.h>

enum { MAX_SUMS = 1 << 20, MAX_NAMES = 1 << 20, MAX_NAME_BYTES = 64 << 20 };

void report_region_instants_init(struct report_region_instants *s)
{
	*s = (struct report_region_instants){.is_full = false};
	dict_init_texts(&s->names, sizeof(const char *), MAX_NAMES, MAX_NAME_BYTES);
	dict_init(&s->sums, sizeof(struct report_region_instant),
		  DICT_KEY(struct report_region_instant, is_value), MAX_SUMS);
	report_buckets_init(&s->buckets);
}

void report_region_instants_fini(struct report_region_instants *s)
{
	dict_fini(&s->names);
	dict_fini(&s->sums);
	report_buckets_fini(&s->buckets);
}

int report_region_instants_add(struct report_region_instants *s, uint32_t thread,
			       const struct profile_region_event *e)
{
	const struct report_region_instant key = {.thread = thread,
						  .region = e->region,
						  .name = dict_add(&s->names, e->name),
						  .is_value = e->kind == PROFILE_REGION_VALUE};
	uint32_t number = key.name == DICT_NONE ? DICT_NONE : dict_add(&s->sums, &key);
	struct report_region_instant *i = dict_at(&s->sums, number);

	if (!i) {
		s->is_full |= s->names.nr >= MAX_NAMES || s->sums.nr >= MAX_SUMS;
		return s->is_full ? 0 : -ENOMEM;
	}
	if (!i->nr++)
		i->min = i->max = e->value;
	if (!key.is_value)
		return 0;
	i->min = e->value < i->min ? e->value : i->min;
	i->max = e->value > i->max ? e->value : i->max;
	i->mean += ((double)e->value - i->mean) / (double)i->nr;
	return report_buckets_add(&s->buckets, number, e->value);
}

void report_region_instants_sort(struct report_region_instants *s)
{
	report_buckets_sort(&s->buckets);
}

double report_region_instants_quantile(const struct report_region_instants *s, uint32_t number,
				       double q)
{
	const struct report_region_instant *i = dict_at(&s->sums, number);

	return report_buckets_quantile(&s->buckets, number, i->nr, i->min, i->max, q);
}
