/* Rows of ndjson as items of an array. */
#include "kit.h"

#include "base/buf.h"
#include "screen/document.h"

#include <string.h>

TEST(rows)
{
	static const char first[] = "{\"a\":1}\n{\"a\":2}\n", last[] = "{\"a\":3}\n";
	BUF_AUTO(out, 1000);
	bool has_items = false;

	screen_document_rows(&out, "", 0, &has_items);
	assert_false(has_items);
	screen_document_rows(&out, first, strlen(first), &has_items);
	screen_document_rows(&out, last, strlen(last), &has_items);
	assert_true(has_items);
	assert_string_equal(buf_str(&out), "\n{\"a\":1},\n{\"a\":2},\n{\"a\":3}");
}

TEST(beginning)
{
	BUF_AUTO(out, 1000);

	screen_document_begin(&out, "report", "a \"program\"");
	assert_string_equal(buf_str(&out), "{\"document\":\"report\",\"version\":1,"
					   "\"program\":\"a \\\"program\\\"\"");
}
