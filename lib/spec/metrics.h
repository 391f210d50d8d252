/*
 * From the metrics of a spec, as they are written, to what can be evaluated.
 */
#ifndef SPEC_METRICS_H
#define SPEC_METRICS_H

#include "spec/spec.h"

/*
 * Parses the expressions, finds the event that each operand means, and sets s->metric_set; those
 * with an error are reported and left out of both lists. 0 or -ENOMEM, reported.
 * {X} is the event with the label X; else that of group:name X, without a label if one of several
 * has none; else the one whose column is headed X.
 */
int metrics_make(struct spec *s, struct err_list *errs);

#endif
