#include "exports/functions.h"

#include "base/mem.h"
#include "estimate/histogram.h"
#include "profile/session.h"
#include "trace/reader.h"

void export_function_quantiles(const struct counts_function *f, double ns[EXPORT_NR_QUANTILES])
{
	static const double shares[EXPORT_NR_QUANTILES] = {0.5, 0.9, 0.99, 0.999};
	MEM_AUTO struct histogram *h = f->has_times ? mem_zalloc(sizeof(*h)) : NULL;

	if (h)
		counts_function_histogram(f, h);
	for (size_t i = 0; i < EXPORT_NR_QUANTILES; i++)
		ns[i] = h ? histogram_quantile(h, shares[i]).ns : NAN;
}

int export_add_functions(struct counts_functions *l, const struct profile_trace *trace)
{
	int rc = 0;

	for (size_t i = 0; i < trace->nr_functions && rc == 0; i++)
		rc = counts_functions_add(l, &trace->functions[i].function);
	return rc;
}

int export_each_value(const struct profile_trace *trace,
		      void (*put)(void *arg, uint32_t iteration, const struct counts_values *l,
				  const struct counts_value *v),
		      void *arg)
{
	struct counts_values l = {.nr_skipped = 0};
	struct counts_value *rows = NULL;
	size_t nr = 0;
	int rc = 0;

	for (size_t i = 0; i < trace->nr_values && rc == 0; i++)
		rc = counts_values_add(&l, &trace->values[i].value);
	if (rc == 0 && trace->nr_values)
		rc = counts_values_rows(&l, &rows, &nr);
	for (size_t i = 0; i < nr && rc == 0; i++)
		put(arg, trace->head.iteration, &l, &rows[i]);
	mem_free(rows);
	counts_values_fini(&l);
	return rc;
}
