/*
 * What must be known beside shares: that samples are missing of those that should have come.
 */
#ifndef CPUPERF_PRINT_MISSING_H
#define CPUPERF_PRINT_MISSING_H

#include <stdint.h>

struct buf;
struct report_stats;

/*
 * Appends "; 78.4 % of what should have come, 12 records were lost: shares may be off", of all that
 * was read of the event, whatever was filtered. Nothing if at least 98 % came (or that is not
 * known), nothing was lost and the kernel paused nothing.
 */
void missing_add(struct buf *b, const struct report_stats *stats, uint32_t event);

#endif
