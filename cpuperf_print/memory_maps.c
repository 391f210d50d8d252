/*
 * A moment's sums are replaced whole, as maps have all that is mapped: what a row has of an earlier
 * map is no part of it.
 */
#include "memory_maps.h"

#include "base/mem.h"
#include "base/order.h"
#include "profile/iterator.h"

#include <errno.h>
#include <string.h>

enum { MAX_ROWS = 1 << 20, MAX_TEXT_BYTES = 256 << 20, KEY_BYTES = 4200 };

void memory_maps_init(struct memory_maps *m)
{
	*m = (struct memory_maps){.has_map = false};
	dict_init_texts(&m->rows, sizeof(struct memory_maps_row), MAX_ROWS, MAX_TEXT_BYTES);
}

void memory_maps_fini(struct memory_maps *m)
{
	dict_fini(&m->rows);
}

static struct memory_maps_row *get_row(struct memory_maps *m, const struct mapping_row *of)
{
	const uint32_t kind = of->kind < MAPPING_NR_KINDS ? of->kind : MAPPING_NR_KINDS;
	const size_t len = strnlen(of->object, KEY_BYTES - 1);
	struct memory_maps_row *row;
	char key[KEY_BYTES];

	key[0] = (char)('a' + kind);
	memcpy(key + 1, of->object, len);
	row = dict_at(&m->rows, dict_add_text(&m->rows, key, len + 1));
	if (row) {
		row->kind = kind;
		row->object = row->key + 1;
	}
	return row;
}

static int set_moment(struct memory_maps *m, enum memory_moment moment,
		      const struct mapping_map *map)
{
	m->nr_maps[moment]++;
	m->map[moment] = *map;
	m->map[moment].row = NULL;
	m->all[moment] = (struct memory_at){.nr = 0};
	for (size_t i = 0; i < map->nr; i++) {
		const struct memory_at of = {map->row[i].nr, map->row[i].sums};
		struct memory_maps_row *row = get_row(m, &map->row[i]);

		if (!row)
			return -ENOMEM;
		if (row->map[moment] != m->nr_maps[moment])
			row->at[moment] = (struct memory_at){.nr = 0};
		row->map[moment] = m->nr_maps[moment];
		memory_at_add(&row->at[moment], &of);
		memory_at_add(&m->all[moment], &of);
	}
	return 0;
}

int memory_maps_add(struct memory_maps *m, const struct profile_trace *trace)
{
	int rc = 0;

	for (size_t i = 0; i < trace->nr_memory && rc == 0; i++) {
		const struct mapping_map *map = &trace->memory[i];

		if (!m->has_map)
			rc = set_moment(m, MEMORY_BEGIN, map);
		if (rc == 0 &&
		    (!m->has_map || mapping_resident(map) > m->all[MEMORY_PEAK].sums.resident))
			rc = set_moment(m, MEMORY_PEAK, map);
		rc = rc ?: set_moment(m, MEMORY_END, map);
		m->has_map = true;
	}
	return rc;
}

void memory_maps_end(struct memory_maps *m)
{
	for (uint32_t i = 0; i < m->rows.nr; i++) {
		struct memory_maps_row *row = dict_at(&m->rows, i);

		for (int k = 0; k < MEMORY_NR_MOMENTS; k++)
			if (row->map[k] != m->nr_maps[k])
				row->at[k] = (struct memory_at){.nr = 0};
	}
}

int memory_maps_read(struct memory_maps *m, struct profile_session *s,
		     const struct profile_ranges *iterations)
{
	struct profile_iterator *it = profile_iterator_new(s);
	struct profile_trace t;
	int rc;

	while ((rc = profile_iterator_next(it, &t)) == 1) {
		if (!profile_ranges_has(iterations, t.head.iteration))
			continue;
		if (!m->start_ns || t.start_ns < m->start_ns)
			m->start_ns = t.start_ns;
		if (t.end_ns > m->end_ns)
			m->end_ns = t.end_ns;
		if (t.target)
			m->flags |= t.target->flags;
		rc = memory_maps_add(m, &t);
		if (rc)
			break;
	}
	profile_iterator_free(it);
	memory_maps_end(m);
	return rc;
}

/* The most at the peak first. */
static int compare(const void *a, const void *b)
{
	const struct memory_maps_row *const *pa = a, *const *pb = b, *x = *pa, *y = *pb;
	const struct mapping_sums *sx = &x->at[MEMORY_PEAK].sums, *sy = &y->at[MEMORY_PEAK].sums;

	return order_u64(sy->resident, sx->resident) ?: order_u64(sy->size, sx->size)
	       ?: order_u64(x->kind, y->kind) ?: strcmp(x->object, y->object);
}

const struct memory_maps_row **memory_maps_sorted(const struct memory_maps *m)
{
	const struct memory_maps_row **rows = dict_pointers(&m->rows);

	if (rows)
		order_sort(rows, m->rows.nr, sizeof(*rows), compare);
	return rows;
}
