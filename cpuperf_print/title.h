/*
 * What a session is called above a page, and in its tab: what was measured.
 */
#ifndef CPUPERF_PRINT_TITLE_H
#define CPUPERF_PRINT_TITLE_H

#include <stdint.h>

struct buf;
struct input;
struct profile_about;

/* Appends input_title; of a whole machine "machine HOST, 10.00 s, 2026-11-20 13:01:02 UTC", after
 * the name in its spec, if that has one. */
void title_put(const struct input *o, const struct profile_about *about, struct buf *out);
/* Appends "2026-11-20 13:01:02 UTC"; nothing if it is not known (0). */
void title_put_date(uint64_t realtime_ns, struct buf *out);

#endif
