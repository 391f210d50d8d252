/*
 * The comparison as JUnit XML: a test case for each total and row that was tested.
 */
#include "base/buf.h"
#include "base/str.h"
#include "numbers.h"
#include "output.h"
#include "reports/diff.h"

#include <math.h>
#include <string.h>

enum { MAX_BYTES = 1 << 30 };

void diff_junit_init(struct diff_junit *x)
{
	*x = (struct diff_junit){0};
	buf_init(&x->cases, MAX_BYTES);
}

void diff_junit_fini(struct diff_junit *x)
{
	buf_fini(&x->cases);
}

void diff_junit_add(struct diff_junit *x, const char *event, const char *name,
		    const struct diff_junit_result *r)
{
	struct buf *b = &x->cases;
	bool is_finite = isfinite(r->relative);

	buf_adds(b, "  <testcase classname=\"");
	buf_xml(b, event);
	buf_adds(b, "\" name=\"");
	buf_xml(b, name);
	buf_adds(b, "\"");
	x->nr++;
	x->nr_failed += r->is_over;
	if (r->is_over) {
		buf_adds(b, "><failure type=\"grew\" message=\"");
		if (is_finite)
			buf_printf(b, "+%s %%", DECIMAL(100 * r->relative, 2));
		else
			buf_adds(b, "was 0");
		buf_printf(b, ", over the limit of %s %%, p = %s\"/></testcase>\n",
			   DECIMAL(100 * r->limit, 2), DECIMAL(r->p, 6));
	} else {
		buf_adds(b, "/>\n");
	}
}

void diff_junit_write(const struct diff_junit *x, struct buf *out)
{
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<testsuites>\n"
		   " <testsuite name=\"cpuperf diff\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
		   "skipped=\"0\">\n",
		   x->nr, x->nr_failed);
	buf_add(out, buf_str(&x->cases), x->cases.len);
	buf_adds(out, " </testsuite>\n</testsuites>\n");
}
