/*
 * Threads over time: how long each was in which state, slice by slice.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_LANES_H
#define CPUPERF_PRINT_NAVIGATOR_LANES_H

struct registry_row;

/* A row for row_print: of --top, the threads with most time, all if it is not used. */
extern const struct registry_row lanes_row;

#endif
