#include "profile/region_labels.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_SETS = 1 << 18,
	MAX_KEYS = 1 << 16,
	MAX_SHAPES = 1 << 16,
	MAX_TEXT_BYTES = 16 << 20,
	SHAPE_BYTES = 12 * REGION_LABELS_MAX,
};

struct label_key {
	const char *text; /* key */
	uint32_t nr_shapes;
};

void region_labels_init(struct region_labels *l)
{
	*l = (struct region_labels){.nr = 0};
	dict_init(&l->sets, sizeof(struct region_label_set),
		  DICT_KEY(struct region_label_set, number), MAX_SETS);
	dict_init_texts(&l->keys, sizeof(struct label_key), MAX_KEYS, MAX_TEXT_BYTES);
	dict_init_texts(&l->shapes, sizeof(const char *), MAX_SHAPES, MAX_TEXT_BYTES);
}

void region_labels_fini(struct region_labels *l)
{
	dict_fini(&l->sets);
	dict_fini(&l->keys);
	dict_fini(&l->shapes);
	mem_free(l->label);
}

struct region_label_set *region_labels_begin(struct region_labels *l, uint64_t number, int *rc)
{
	const size_t nr = l->sets.nr;
	struct region_label_set *s = dict_get(&l->sets, &number);

	*rc = s ? 0 : nr == MAX_SETS ? -EFBIG : -ENOMEM;
	if (!s || l->sets.nr == nr)
		return NULL;
	s->first = l->nr;
	return s;
}

int region_labels_add(struct region_labels *l, const char *key, uint32_t text)
{
	struct region_label_set *s = dict_at(&l->sets, (uint32_t)l->sets.nr - 1);
	const uint32_t number = dict_add(&l->keys, key);
	struct region_label *label;

	if (number == DICT_NONE)
		return l->keys.nr == MAX_KEYS || !arena_has_room(&l->keys.texts, strlen(key) + 1)
			   ? -EFBIG
			   : -ENOMEM;
	if (s->nr == REGION_LABELS_MAX)
		return -EFBIG;
	label = MEM_ADD(l->label, l->nr, l->room);
	if (!label)
		return -ENOMEM;
	*label = (struct region_label){number, text};
	s->nr++;
	return 0;
}

static struct label_key *key_of(const struct region_labels *l, const struct region_label *label)
{
	return dict_at(&l->keys, label->key);
}

/* A set with other keys than those before counts for each of them; beyond the limit none does. */
static void count(struct region_labels *l, const struct region_label_set *s)
{
	const size_t nr = l->shapes.nr;
	BUF_AUTO(shape, SHAPE_BYTES);

	for (uint64_t i = s->first; i < s->first + s->nr; i++)
		buf_printf(&shape, "%" PRIu32 " ", l->label[i].key);
	(void)dict_add(&l->shapes, buf_str(&shape));
	for (uint64_t i = s->first; l->shapes.nr > nr && i < s->first + s->nr; i++)
		key_of(l, &l->label[i])->nr_shapes++;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct label_key *x = key_of(arg, a), *y = key_of(arg, b);

	return -order_u64(x->nr_shapes, y->nr_shapes) ?: strcmp(x->text, y->text);
}

void region_labels_order(struct region_labels *l)
{
	for (uint32_t i = 0; i < l->sets.nr; i++)
		count(l, dict_at(&l->sets, i));
	for (uint32_t i = 0; i < l->sets.nr; i++) {
		const struct region_label_set *s = dict_at(&l->sets, i);

		if (s->nr)
			qsort_r(l->label + s->first, s->nr, sizeof(*l->label), compare, l);
	}
}
