/*
 * Samples that did not come, in words. The arithmetic is that of metric/sampled.h.
 */
#include "missing.h"

#include "base/buf.h"
#include "report/engine.h"
#include "screen/number.h"

#include <inttypes.h>

enum { CLEARLY_SHORT_PERCENT = 98 };

/* A comma, or what begins the list. */
static void add_next(struct buf *b, size_t before, const char *begin)
{
	buf_adds(b, b->len == before ? begin : ", ");
}

void missing_add(struct buf *b, const struct report_stats *stats, uint32_t event)
{
	const struct report_event_stats *s = &stats->event[event];
	double coverage = sampled_coverage(&s->sampled);
	const size_t before = b->len;

	if (s->is_short && coverage >= 0 && 100 * coverage < CLEARLY_SHORT_PERCENT) {
		add_next(b, before, "; ");
		screen_decimal(b, 100 * coverage, 1);
		buf_adds(b, " % of what should have come");
	}
	if (stats->nr_lost) {
		add_next(b, before, "; ");
		buf_u64_commas(b, stats->nr_lost);
		buf_adds(b, stats->nr_lost == 1 ? " record was lost" : " records were lost");
	}
	if (s->sampled.n.throttled) {
		add_next(b, before, "; ");
		buf_printf(b, "paused %" PRIu64 " times by the kernel", s->sampled.n.throttled);
	}
	buf_adds(b, b->len == before ? "" : ": shares may be off");
}
