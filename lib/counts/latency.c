#include "counts/latency.h"

#include "profile/session.h"

#include <errno.h>

static int add(struct histogram *to, const struct trace_histogram *h)
{
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < h->nr; i++)
		histogram_add(to, h->bucket[i].number, h->bucket[i].count);
	if (h->nr)
		histogram_add_sum(to, h->sum_ns, h->max_ns, h->bucket[h->nr - 1].number);
	return 0;
}

int counts_latency_add_one(struct latencies *l, const struct trace_histogram *h)
{
	return add(latencies_get(l, h->event, h->part, h->what), h);
}

int counts_latency_add(struct latencies *l, const struct trace_histogram *h, bool by_what)
{
	int rc = add(latencies_get(l, h->event, h->part, ""), h);

	if (rc == 0 && by_what && h->what[0])
		rc = counts_latency_add_one(l, h);
	return rc;
}
