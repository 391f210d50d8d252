#include "report/rows.h"

#include "base/hash.h"
#include "profile/samples.h"

#include <stddef.h>
#include <string.h>

/* So many distances of samples, to the nearest. */
static uint64_t nr_steps(uint64_t from_ns, uint64_t to_ns, const struct profile_sample *s)
{
	const uint64_t step_ns = s->weight ? s->weight : 1;

	return to_ns > from_ns ? (to_ns - from_ns + step_ns / 2) / step_ns : 0;
}

static struct report_row_key key_of_clock(const struct report_row_key *key)
{
	struct report_row_key k = *key;

	if (k.clock)
		k.tid = 0;
	return k;
}

void report_rows_find(struct report_rows *rows, const struct report_row_key *key, bool is_in_step,
		      uint64_t start_ns, const struct profile_sample *s,
		      struct report_place_in_row *out)
{
	const struct report_row_key k = key_of_clock(key);
	const uint32_t hash =
	    hash_bytes((uint32_t)k.clock, &k, offsetof(struct report_row_key, session));
	struct report_row *row = &rows->row[hash % REPORT_NR_ROWS];
	const bool is_first = !row->number || memcmp(&row->key, &k, sizeof(k)) != 0;
	uint64_t steps;

	if (is_first) {
		*row = (struct report_row){.key = k, .number = hash_mix(hash, s->time_ns) | 1};
		if (is_in_step)
			row->number = hash_mix(hash_mix(1, k.event), start_ns) | 1;
		row->time_ns = start_ns;
	}
	steps = is_in_step ? nr_steps(row->time_ns, s->time_ns, s) : 0;
	row->place += steps || is_first ? steps : 1;
	row->time_ns = s->time_ns;
	out->row = row->number;
	out->place = row->place;
}
