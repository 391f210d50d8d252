/*
 * What the regions of a job's sessions lack, in words, for headings and formats with a place for
 * it.
 */
#ifndef CPUPERF_PRINT_REGION_NOTES_H
#define CPUPERF_PRINT_REGION_NOTES_H

#include "job.h"

/* Calls line for each: marks that were lost or not received, regions without an end of their own,
 * ends without a beginning; nothing where the job reads no tasks. Lines begin with a small letter
 * or a number, and have no full stop. */
typedef void region_notes_fn(void *arg, const char *line);
void region_notes(const struct job *j, region_notes_fn *line, void *arg);
/* For reports and formats without a place for them: in text a line each before the rows, else
 * warnings; if the job is of regions, divides its rows by them, or selects some. */
void region_notes_put(struct job *j);

#endif
