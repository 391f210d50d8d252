/*
 * The comparison for CI: a test case for each total and row that was tested.
 */
#include "base/buf.h"
#include "numbers.h"
#include "reports/diff.h"

#include <math.h>

enum { MAX_FAILURE_BYTES = 256 };

void diff_cases_add(struct cases *x, const char *event, const char *name, const struct diff_case *r)
{
	BUF_AUTO(failure, MAX_FAILURE_BYTES);

	if (isfinite(r->relative))
		buf_printf(&failure, "+%s %%", DECIMAL(100 * r->relative, 2));
	else
		buf_adds(&failure, "was 0");
	buf_printf(&failure, ", over the limit of %s %%, p = %s", DECIMAL(100 * r->limit, 2),
		   DECIMAL(r->p, 6));
	cases_add(x, &(struct cases_item){.class = event,
					  .name = name,
					  .failure = r->is_over ? buf_str(&failure) : NULL});
}
