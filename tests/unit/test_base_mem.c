/*
 * The heap's table and the arena: overflow, ceiling, alignment, failure.
 */
#include "kit.h"

#include "base/arena.h"

TEST(zeroed)
{
	static const size_t too_much[][2] = {
	    {SIZE_MAX, 2}, {2, SIZE_MAX}, {SIZE_MAX / 2 + 1, 2}, {1ull << 33, 1ull << 33}};
	unsigned char *p = mem_calloc(3, 5);

	assert_non_null(p);
	for (int i = 0; i < 15; i++)
		assert_int_equal(p[i], 0);
	mem_free(p);
	p = mem_calloc(0, 8);
	assert_non_null(p);
	mem_free(p);
	for (size_t i = 0; i < NR(too_much); i++)
		assert_null(mem_calloc(too_much[i][0], too_much[i][1]));
}

/* realloc(p, 0) frees p and returns NULL: who keeps p then frees it twice. */
TEST(resized_to_nothing)
{
	void *p = mem_resize(mem_alloc(10), 0);

	assert_non_null(p);
	mem_free(p);
}

TEST(every_door)
{
	for (int door = 0; door < 5; door++) {
		void *p = NULL;

		inject_mem(1);
		p = door == 0   ? mem_alloc(1)
		    : door == 1 ? mem_zalloc(1)
		    : door == 2 ? mem_calloc(1, 1)
		    : door == 3 ? mem_resize(NULL, 1)
				: mem_strdup("x");
		inject_stop();
		assert_null(p);
		assert_true(inject.fired);
	}
	mem_free(NULL);
}

static void use_auto(void)
{
	MEM_AUTO char *p = mem_strdup("gone at the end");

	assert_string_equal(p, "gone at the end");
}

TEST(auto)
{
	inject_mem(0);
	use_auto();
	inject_stop();
	assert_int_equal(inject.nr_live, 0);
}

TEST(arena_ceiling)
{
	struct arena a;

	arena_init(&a, 64);
	assert_non_null(arena_alloc(&a, 48));
	assert_null(arena_alloc(&a, 17)); /* 32 with its padding: 16 too many */
	assert_non_null(arena_alloc(&a, 16));
	assert_null(arena_alloc(&a, 1));
	assert_non_null(arena_alloc(&a, 0));
	arena_fini(&a);
	assert_non_null(arena_alloc(&a, 64)); /* empty again, the ceiling as before */
	assert_null(arena_alloc(&a, 1));
	arena_fini(&a);
}

TEST(arena_overflow)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 16, SIZE_MAX - 31,
				       SIZE_MAX - 47};
	struct arena a;

	inject_mem(0);
	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < NR(sizes); i++) {
		assert_null(arena_alloc(&a, sizes[i]));
		assert_null(arena_calloc(&a, sizes[i], 2));
		assert_null(arena_strndup(&a, "x", sizes[i]));
	}
	assert_int_equal(a.used_bytes, 0);
	arena_fini(&a);
	inject_stop();
}

/* Small ones share chunks, big ones have their own; all zero, aligned and apart. */
TEST(arena_layout)
{
	static const size_t sizes[] = {1, 15, 16, 17, 4000, 8192, 8193, 100000, 3};
	unsigned char *p[NR(sizes)];
	struct arena a;

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < NR(sizes); i++) {
		p[i] = arena_alloc(&a, sizes[i]);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % 16, 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[i][k], 0);
		memset(p[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < NR(sizes); i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[i][k], i + 1);
	arena_fini(&a);
	arena_fini(&a);
}

TEST(arena_text)
{
	struct arena a;

	arena_init(&a, 128);
	assert_string_equal(arena_strdup(&a, ""), "");
	assert_string_equal(arena_strndup(&a, "abc", 2), "ab");
	assert_string_equal(arena_printf(&a, "%s-%d", "x", 7), "x-7");
	assert_null(arena_printf(&a, "%200d", 1));
	arena_fini(&a);
}

TEST(arena_without_memory)
{
	struct arena a;

	arena_init(&a, 1 << 20);
	inject_mem(2);
	assert_non_null(arena_alloc(&a, 100));
	assert_null(arena_alloc(&a, 100000));
	assert_non_null(arena_alloc(&a, 100)); /* what is there stays usable */
	arena_fini(&a);
	inject_stop();
	assert_int_equal(inject.nr_live, 0);
}

TEST(grow)
{
	uint32_t *list = NULL;
	size_t room = 0;

	inject_mem(0);
	for (uint32_t i = 0; i < 1000; i++) {
		size_t before = room;
		uint32_t *grown = mem_grow(list, i, &room, sizeof(*list));

		assert_non_null(grown);
		assert_true(room > i);
		if (i < before) {
			assert_ptr_equal(grown, list);
			assert_int_equal(room, before);
		}
		list = grown;
		list[i] = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(list[i], i);
	mem_free(list);
	inject_stop();
	assert_int_equal(inject.nr_live, 0);
}

/* More than one item at a time, as the frames of a stack. */
TEST(grows_to_any_size)
{
	static const size_t sizes[] = {63, 64, 65, 1000};

	for (size_t i = 0; i < NR(sizes); i++) {
		size_t room = 0;
		char *list = mem_grow(NULL, sizes[i], &room, 1);

		assert_non_null(list);
		assert_true(room > sizes[i]);
		memset(list, 1, sizes[i]);
		list = mem_grow(list, 9 * room, &room, 1);
		assert_non_null(list);
		assert_true(room > 9 * sizes[i]);
		mem_free(list);
	}
}

TEST(add)
{
	struct {
		uint32_t a, b;
	} *list = NULL, *item;
	size_t nr = 0, room = 0;

	inject_mem(0);
	for (uint32_t i = 0; i < 1000; i++) {
		item = MEM_ADD(list, nr, room);
		assert_non_null(item);
		assert_int_equal(nr, i + 1);
		assert_ptr_equal(item, &list[i]);
		item->a = item->b = i;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(list[i].a + list[i].b, 2 * i);
	inject_stop();
	nr = room;
	item = list;
	inject_mem(1);
	assert_null(MEM_ADD(list, nr, room));
	inject_stop();
	assert_int_equal(nr, room);
	assert_ptr_equal(list, item);
	mem_free(list);
}

TEST(grow_refused)
{
	size_t room = SIZE_MAX / 2 + 1;

	assert_null(mem_grow(NULL, room, &room, 1)); /* twice the room overflows */
	assert_int_equal(room, SIZE_MAX / 2 + 1);
	room = SIZE_MAX / 4 + 2;
	assert_null(mem_grow(NULL, room, &room, 4)); /* the bytes do, to few */
	assert_int_equal(room, SIZE_MAX / 4 + 2);
	room = 4;
	inject_mem(1);
	assert_null(mem_grow(NULL, 4, &room, 1));
	inject_stop();
	assert_int_equal(room, 4);
}
