/*
 * The tree of the selected samples of a job, with the name of the task as the outermost frame.
 */
#ifndef CPUPERF_PRINT_EXPORTS_TREE_H
#define CPUPERF_PRINT_EXPORTS_TREE_H

#include "report/tree.h"
#include "samples.h"

enum { EXPORT_MAX_FRAMES = 2048 + 1 /* and the task's name */ };

/* *out, finished: report_tree_free, also after failure. stats: as of samples_read. 0 or -errno with
 * *e. */
int export_tree_read(struct job *j, struct report_tree **out, struct report_stats *stats,
		     struct err *e);

#endif
