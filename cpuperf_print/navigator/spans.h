/*
 * Calls of regions in the order of time.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_SPANS_H
#define CPUPERF_PRINT_NAVIGATOR_SPANS_H

struct registry_row;

/* A row for row_print: of --top, the threads with most time in regions. Neighbours that together
 * are hardly seen are one. */
extern const struct registry_row spans_row;

#endif
