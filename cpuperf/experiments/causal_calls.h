/*
 * Which functions of a program could be progress points, by how often they are called: where it
 * passes no point that is asked for, its calls are counted for a second, as those of events of the
 * group function, with the rights for these. Functions whose counting would cost more than 5 % of a
 * CPU are no longer counted; none of them would be a point.
 */
#ifndef CPUPERF_CAUSAL_CALLS_H
#define CPUPERF_CAUSAL_CALLS_H

struct buf;
struct causal;

/* Of the program that runs, of what it has made that which ran most: adds "NAME RATE, NAME RATE",
 * that which is called most first, or nothing where it cannot be counted; to object "FILE:", if
 * that is not what was started. Takes a second, unless a signal comes. */
void causal_calls_put(const struct causal *c, struct buf *object, struct buf *out);

#endif
