#include "screen/absent.h"

#include "base/buf.h"
#include "screen/number.h"

#include <string.h>

enum { MAX_LINE_BYTES = 1 << 20 };

static bool has_number(const struct table *t, size_t i)
{
	bool has = cell_has_value(&t->totals[i]);

	for (size_t row = 0; row < t->nr_rows && !has; row++)
		has = cell_has_value(table_cell(t, row, i));
	return has;
}

bool absent_is(const struct table *t, const struct table_summary *sum, size_t i)
{
	return t->columns[i].reason && !(sum ? sum->column[i].spread.nr : has_number(t, i));
}

/* Those with the reason of column first, which is the first of them. */
static void put_reason(const struct table *t, const struct table_summary *sum, size_t first,
		       unsigned width, struct buf *out)
{
	const char *reason = t->columns[first].reason, *separator = "";
	BUF_AUTO(line, MAX_LINE_BYTES);

	buf_adds(&line, "not measured: ");
	for (size_t i = first; i < t->nr_columns; i++) {
		if (!absent_is(t, sum, i) || strcmp(t->columns[i].reason, reason) != 0)
			continue;
		buf_printf(&line, "%s%s", separator, t->columns[i].label);
		separator = ", ";
	}
	buf_printf(&line, *reason ? " (%s)" : "%s", reason);
	screen_wrap(out, buf_str(&line), line.len, width);
	buf_addc(out, '\n');
	if (buf_error(&line) && !out->error)
		out->error = buf_error(&line);
}

void absent_put(const struct table *t, const struct table_summary *sum, unsigned width,
		struct buf *out)
{
	for (size_t i = 0; i < t->nr_columns; i++) {
		bool is_first = absent_is(t, sum, i);

		for (size_t k = 0; k < i && is_first; k++)
			is_first = !absent_is(t, sum, k) ||
				   strcmp(t->columns[k].reason, t->columns[i].reason) != 0;
		if (is_first)
			put_reason(t, sum, i, width, out);
	}
}
