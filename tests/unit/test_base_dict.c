/*
 * Records by key: against a plain list, with keys that collide, with texts, at ceilings, and
 * without memory.
 */
#include "kit.h"

#include "base/dict.h"
#include "base/hash.h"
#include "base/mem.h"

enum { NR_RECORDS = 100000 };

struct record {
	uint64_t key;
	uint32_t value;
};

static uint64_t key_of(uint32_t i)
{
	return (uint64_t)i * i * 1000003 + 11;
}

TEST(finds_all)
{
	struct dict d;
	uint64_t none = 7;

	dict_init(&d, sizeof(struct record), sizeof(uint64_t), DICT_MAX);
	assert_int_equal(dict_find(&d, &none), DICT_NONE);
	for (uint32_t i = 0; i < NR_RECORDS; i++) {
		uint64_t key = key_of(i);
		struct record *r = dict_get(&d, &key);

		assert_non_null(r);
		assert_int_equal(r->key, key);
		assert_int_equal(r->value, 0);
		assert_int_equal(dict_add(&d, &key), i);
		r->value = i;
	}
	assert_int_equal(d.nr, NR_RECORDS);
	assert_true(d.nr_slots >= 2 * d.nr);
	for (uint32_t i = 0; i < NR_RECORDS; i++) {
		uint64_t key = key_of(i);

		assert_int_equal(dict_find(&d, &key), i);
		assert_int_equal(dict_add(&d, &key), i);
		assert_int_equal(((struct record *)dict_at(&d, i))->value, i);
	}
	assert_int_equal(dict_find(&d, &none), DICT_NONE);
	assert_null(dict_at(&d, DICT_NONE));
	dict_fini(&d);
	assert_int_equal(d.nr, 0);
	assert_int_equal(dict_find(&d, &none), DICT_NONE);
	assert_int_equal(dict_add(&d, &none), 0);
	dict_fini(&d);
}

TEST(pointers)
{
	struct dict d;
	struct record **all;

	dict_init(&d, sizeof(struct record), sizeof(uint64_t), DICT_MAX);
	all = dict_pointers(&d);
	assert_non_null(all); /* of none, too */
	mem_free(all);
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t key = key_of(i);

		assert_int_equal(dict_add(&d, &key), i);
	}
	all = dict_pointers(&d);
	assert_non_null(all);
	for (uint32_t i = 0; i < 100; i++)
		assert_ptr_equal(all[i], dict_at(&d, i));
	mem_free(all);
	dict_fini(&d);
}

TEST(texts)
{
	struct named {
		const char *name;
		unsigned value;
	};
	struct dict d;
	char name[16];

	dict_init_texts(&d, sizeof(struct named), 3000, 1 << 20);
	for (unsigned i = 0; i < 2000; i++) {
		struct named *n;

		snprintf(name, sizeof(name), "%u", i / 2);
		n = dict_get(&d, name);
		assert_non_null(n);
		assert_ptr_not_equal(n->name, name);
		assert_string_equal(n->name, name);
		n->value++;
	}
	assert_int_equal(d.nr, 1000);
	assert_int_equal(dict_find(&d, ""), DICT_NONE);
	assert_int_equal(dict_find(&d, "999"), 999);
	assert_string_equal(dict_text(&d, 999), "999");
	assert_int_equal(dict_add_text(&d, "9999", 3), 999);
	assert_int_equal(dict_add_text(&d, "99", 3), 99);
	assert_int_equal(dict_add_text(&d, "999\0x", 5), 999);
	assert_int_equal(dict_add_text(&d, "9999", 4), 1000);
	assert_string_equal(dict_text(&d, 1000), "9999");
	assert_int_equal(((struct named *)dict_at(&d, 999))->value, 2);
	dict_fini(&d);
}

TEST(ceilings)
{
	struct dict d;

	dict_init(&d, 4, 4, 3);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(dict_add(&d, &i), i < 3 ? i : DICT_NONE);
	assert_int_equal(d.nr, 3);
	dict_fini(&d);
	dict_init_texts(&d, sizeof(char *), 100, 32);
	assert_int_equal(dict_add(&d, "a"), 0);
	assert_int_equal(dict_add(&d, "b"), 1);
	assert_int_equal(dict_add(&d, "c"), DICT_NONE);
	assert_int_equal(dict_add(&d, "b"), 1);
	dict_fini(&d);
}

/* 100 keys of one slot: 64 of them are found again, and the others cost no more than that. */
TEST(crowded)
{
	enum { NR = 100, NR_FOUND = 64 };
	uint32_t keys[NR];
	struct dict d;
	size_t nr = 0;

	for (uint32_t key = 0; nr < NR; key++)
		if ((hash_bytes(0, &key, sizeof(key)) & 255) == 250)
			keys[nr++] = key;
	dict_init(&d, 4, 4, DICT_MAX);
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(dict_add(&d, &keys[i]), i);
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(dict_find(&d, &keys[i]), i < NR_FOUND ? i : DICT_NONE);
	assert_int_equal(dict_add(&d, &keys[0]), 0);
	assert_int_equal(dict_add(&d, &keys[NR_FOUND]), NR);
	dict_fini(&d);
}

TEST(hashes)
{
	assert_int_equal(hash_bytes(0, "abc", 3), hash_bytes(0, "abcd", 3));
	assert_int_not_equal(hash_bytes(0, "abc", 3), hash_bytes(0, "abd", 3));
	assert_int_not_equal(hash_bytes(0, "abc", 3), hash_bytes(1, "abc", 3));
	assert_int_not_equal(hash_bytes(0, "abc", 3), hash_bytes(0, "abc", 2));
}

/* What was there before an addition fails is there after it, and the next addition works. */
TEST(fails)
{
	for (unsigned n = 1; n <= 8; n++) {
		struct dict d;
		uint32_t i = 0;
		char name[16];

		inject_mem(n);
		dict_init_texts(&d, sizeof(char *), DICT_MAX, 1 << 20);
		for (; i < 2000; i++) {
			snprintf(name, sizeof(name), "%u", i);
			if (dict_add(&d, name) == DICT_NONE)
				break;
		}
		assert_int_equal(inject.fired, i < 2000);
		assert_int_equal(d.nr, i);
		for (uint32_t k = 0; k < i; k++) {
			snprintf(name, sizeof(name), "%u", k);
			assert_int_equal(dict_find(&d, name), k);
		}
		assert_int_equal(dict_add(&d, "another"), i);
		dict_fini(&d);
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
	}
}
