/*
 * Single samples in order of time, group by group (an event and thread, or a thread), for the
 * formats that write them one by one.
 */
#ifndef CPUPERF_PRINT_EXPORTS_SORTED_H
#define CPUPERF_PRINT_EXPORTS_SORTED_H

#include "base/dict.h"
#include "export/spool.h"
#include "report/stacks.h"
#include "samples.h"

/* Samples with the same key: they differ in time, weight and stack only. */
struct export_tag {
	struct report_key key;
	size_t nr;
	uint64_t weight;
};

struct export_group {
	struct report_key key; /* the most frequent; its CPU is one of several */
	size_t nr, most;
	uint64_t weight;
};

struct export_sorted {
	struct job *j;
	bool is_by_event; /* a group is an event, session, task and name; else a task */
	struct report_stats stats;
	struct report_stacks *stacks;
	struct export_spool *spool;
	struct dict tags;            /* struct export_tag */
	struct export_group *groups; /* by event, session, pid, tid, name */
	size_t nr_groups;
	struct export_place *places; /* by tag */
	struct err *e;
};

/* Reads and sorts the samples of the job's inputs. Frames are functions, with their lines if
 * requested. 0 or -errno with *e; end with export_sorted_fini in any case. */
int export_sorted_read(struct export_sorted *s, struct job *j, bool is_by_event, struct err *e);
void export_sorted_fini(struct export_sorted *s);
static inline const struct report_key *export_sorted_key(const struct export_sorted *s,
							 uint32_t tag)
{
	const struct export_tag *t = dict_at(&s->tags, tag);

	return &t->key;
}
const struct export_record *export_sorted_records(const struct export_sorted *s, size_t group,
						  size_t *nr);

#endif
