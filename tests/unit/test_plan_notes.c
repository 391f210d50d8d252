/*
 * Warnings of a session: every one is stored for its trace, recurring ones are passed on less and
 * less.
 */
#include "kit.h"

#include "plan/notes.h"

#include <stdio.h>
#include <string.h>

struct heard {
	size_t nr, nr_essential;
	char last[NOTES_TEXT_BYTES];
};

static void hear(const char *text, bool is_essential, void *arg)
{
	struct heard *h = arg;

	h->nr++;
	h->nr_essential += is_essential;
	snprintf(h->last, sizeof(h->last), "%s", text);
}

TEST(recurring)
{
	static struct notes n;
	struct heard h = {0};
	size_t nr_stored = 0;

	n = (struct notes){.on_note = hear, .arg = &h};
	for (unsigned i = 1; i <= 100000; i++) {
		notes_add(&n, 0, "iteration %u was held up", i);
		assert_in_range(n.nr, 1, 1);
		if (i == 3)
			assert_string_equal(h.last, "iteration 3 was held up");
		if (i == 4 || i == 7)
			assert_string_equal(h.last,
					    "iteration 4 was held up (so far 4 warnings like "
					    "this)");
		nr_stored += n.nr;
		notes_drop(&n);
	}
	assert_int_equal(nr_stored, 100000);
	assert_int_equal(h.nr, 3 + 15); /* 4, 8 … 65536 */
	for (unsigned i = 0; i < 10; i++) {
		notes_add(&n, 0, "%s", "a note of its own");
		notes_add_essential(&n, 0, "files are in %u", i);
	}
	assert_int_equal(h.nr, 3 + 15 + 20);
	assert_int_equal(h.nr_essential, 10);
	notes_drop(&n);
}
