/*
 * Numbers as text: what is written is read back, and small ones are short.
 */
#include "kit.h"

#include "base/buf.h"
#include "export/digits.h"

static const struct {
	uint64_t v;
	const char *text;
} cases[] = {
    {0, "A"},
    {1, "B"},
    {25, "Z"},
    {26, "a"},
    {31, "f"},
    {32, "gB"},
    {33, "hB"},
    {1023, "_f"},
    {1024, "ggB"},
    {52, "0B"},
    {63, "_B"},
    {UINT32_MAX, "______D"},
    {62, "-B"},
    {1u << 30, "ggggggB"},
    {UINT64_MAX, "____________P"},
};

TEST(texts)
{
	struct buf b;

	buf_init(&b, 1 << 10);
	for (size_t i = 0; i < NR(cases); i++) {
		buf_reset(&b);
		export_digits_add(&b, cases[i].v);
		assert_string_equal(buf_str(&b), cases[i].text);
	}
	buf_fini(&b);
}

/* As the page does. */
static uint64_t read_one(const char **text)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 5) {
		uint64_t digit = (uint64_t)(strchr(digits, *(*text)++) - digits);

		v |= (digit & 31) << shift;
		if (!(digit & 32))
			return v;
	}
}

TEST(back)
{
	struct buf b;
	const char *at;

	buf_init(&b, 1 << 20);
	for (unsigned i = 0; i < 64; i++)
		for (int k = -1; k <= 1; k++)
			export_digits_add(&b, ((uint64_t)1 << i) + (uint64_t)k);
	assert_int_equal(buf_error(&b), 0);
	at = buf_str(&b);
	for (unsigned i = 0; i < 64; i++)
		for (int k = -1; k <= 1; k++)
			assert_int_equal(read_one(&at), ((uint64_t)1 << i) + (uint64_t)k);
	assert_int_equal(*at, '\0');
	buf_fini(&b);
}
