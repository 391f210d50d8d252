/*
 * Prepares the metrics of a spec for evaluation.
 */
#ifndef SPEC_METRICS_H
#define SPEC_METRICS_H

#include "spec/spec.h"

/*
 * Parses the expressions, finds the event of each operand, and sets s->metric_set; metrics with an
 * error are reported and removed from both lists. 0 or -ENOMEM, reported. {X} is the event with the
 * label X; else that of group:name X, preferring one without a label; else the one whose column is
 * headed X.
 */
int metrics_make(struct spec *s, struct err_list *errs);

#endif
