/*
 * Stacks in the order of time: which frames each thread was in, from when to when.
 */
#ifndef CPUPERF_PRINT_NAVIGATOR_TIMELINE_H
#define CPUPERF_PRINT_NAVIGATOR_TIMELINE_H

struct registry_row;

/* A row for row_print: of --top, the threads with most time; without what is shorter than
 * --min-percent of the time shown. */
extern const struct registry_row timeline_row;
/* The same where no event samples time. */
extern const struct registry_row timeline_stateless_row;

#endif
