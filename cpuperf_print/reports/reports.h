/*
 * The reports, and what they share.
 */
#ifndef CPUPERF_PRINT_REPORTS_REPORTS_H
#define CPUPERF_PRINT_REPORTS_REPORTS_H

#include "samples.h"

/* Each prints a job: 0 or -errno with *e. */
int reports_records(struct job *j, struct err *e);
int reports_flat(struct job *j, struct err *e);
int reports_threads(struct job *j, struct err *e);
int reports_waits(struct job *j, struct err *e);
int reports_locks(struct job *j, struct err *e);
int reports_what_if(struct job *j, struct err *e);
int reports_causal(struct job *j, struct err *e);
int reports_regions(struct job *j, struct err *e);
int reports_changes(struct job *j, struct err *e);
int reports_latency(struct job *j, struct err *e);
int reports_functions(struct job *j, struct err *e);
int reports_values(struct job *j, struct err *e);
int reports_hosts(struct job *j, struct err *e);
int reports_imbalance(struct job *j, struct err *e);
int reports_heat(struct job *j, struct err *e);
int reports_heap(struct job *j, struct err *e);
int reports_memory(struct job *j, struct err *e);
int reports_sizes(struct job *j, struct err *e);
int reports_lifetimes(struct job *j, struct err *e);
/* In text: what the processes' memory grew by, if it was mapped; live, peak: bytes, share -1: not
 * known. */
void reports_heap_balance(struct job *j, const struct interval *live, const struct interval *peak);
/* In text: what follows the rows of the heap, as a table, or as a line where rows are few. */
int reports_heap_sizes(struct job *j, struct err *e);
int reports_heap_lives(struct job *j, struct err *e);
int reports_heap_leaks(struct job *j, struct err *e);
/* The same with --diff: what grew, by the stack that allocated it. */
int reports_heap_growth(struct job *j, struct err *e);
int reports_tree(struct job *j, struct err *e);
int reports_callers(struct job *j, struct err *e);
int reports_calls(struct job *j, struct err *e);
int reports_stacks(struct job *j, struct err *e);
int reports_branches(struct job *j, struct err *e);
int reports_annotate(struct job *j, struct err *e);
int reports_diff(struct job *j, struct err *e);
int reports_diff_cases(struct job *j, struct err *e);
int reports_series(struct job *j, struct err *e);
int reports_topdown(struct job *j, struct err *e);
/* The summary of a perf.data file. */
int reports_perf_data(struct job *j, struct err *e);

/* In text: prints a column for each session, or with --by-host for each host. rows are those of a
 * flat report whose columns include that. have_room: for so many columns; else hosts are rows. */
struct report_flat_row;
bool reports_have_room(const struct job *j, bool by_host);
int reports_side_by_side(struct job *j, unsigned columns, const struct report_stats *stats,
			 const struct report_flat_row *rows, size_t nr_rows, struct err *e);

/* A sink that passes the job's entries on to another one, with one function for each program in
 * place of its code made at run time, without names; the object of that is the program. NULL
 * without memory, or if no process has such code. */
struct reports_programs;
struct reports_programs *reports_programs_new(const struct job *j, const struct report_sink *to);
void reports_programs_free(struct reports_programs *p); /* NULL is fine */
const struct report_sink *reports_programs_sink(const struct reports_programs *p);

/* A sink that passes entries on, and counts those of the answer's target by process. NULL without
 * memory, or if the answer has no target. */
struct reports_commands;
struct reports_commands *reports_commands_new(struct job *j, const struct report_sink *to);
void reports_commands_free(struct reports_commands *c); /* NULL is fine */
const struct report_sink *reports_commands_sink(const struct reports_commands *c);
/* Where there were many processes: a table by command, and by the file that each works on if a few
 * rows have most. 0 or -errno with *e. */
int reports_commands_put(struct reports_commands *c, struct err *e);

/* In text: appends lines on functions without names, and how to have names, if there is memory for
 * it; their shares are of the time on CPUs, where rows have a state. In the answer they are above
 * the table. rows: of a flat report by function, all of one event. Code made at run time is of the
 * programs of reports_programs, or all of the runtime with most samples. */
void reports_nameless(struct job *j, const struct report_flat_row *rows, size_t nr, struct grid *g);

/* Whether the object is no file of a program, but memory to which code was written. */
bool reports_is_made_at_run_time(const char *object);
/* What a function is called in an answer: code made at run time has no name of its own. */
const char *reports_function_name(const struct report_function *f);

/* True if events of the group function were counted. */
bool reports_has_functions(const struct profile_facts *f);
/* True if events of the group heap were sampled. */
bool reports_has_heap(const struct profile_facts *f);
/* True if not only they were. */
bool reports_has_others(const struct profile_facts *f);

/* --- common.c --- */

/* A time; none if it is not finite. */
void reports_put_ns(struct grid *g, double ns);
/* Calls fn for each trace of the selected iterations of the input. Stops at the first non-zero
 * result and returns it; else 0 or -errno. */
struct profile_trace;
int reports_each_trace(const struct job *j, const struct input *o,
		       int (*fn)(void *arg, const struct profile_trace *t), void *arg);

/* True if the filter leaves out tasks, CPUs, regions or times. */
struct profile_filter;
bool reports_is_part(const struct profile_filter *f);

/* True if --function is not used, or its name matches. */
struct report_function;
/* The name of a function, of those that a report has. */
typedef const char *reports_name_fn(const void *arg, size_t i);
/* Says that none of nr functions matches --function ("No WHAT matches"), and which it may have
 * meant. Not for none. */
void reports_no_function(struct job *j, const char *what, reports_name_fn *name_at, const void *arg,
			 size_t nr);
/* False: of rows by function none matches --function, which is said, and text has nothing else to
 * say. */
bool reports_check_functions(struct job *j, const struct report_flat_row *rows, size_t nr);
bool reports_is_wanted(const struct job *j, const struct report_function *fn);

/* Of an event of which the largest sample counts: how its amount is called, with a space. */
const char *reports_of_largest(const struct trace_event *ev);
/* The samples of a row; where states are one event, with its waits and what records of switches
 * made. */
uint64_t reports_nr_samples(const struct job *j, const struct report_stats *stats, uint32_t event,
			    const struct report_weight *w);
/* In text: appends the line above the rows of an event. */
void reports_heading(struct job *j, const struct report_stats *stats, uint32_t event);
/* The same of an event that has no table, and why it may have no samples. For people. */
void reports_without_samples(struct job *j, const struct report_stats *stats, uint32_t event);
/* Appends a line, wrapped to the output's width. */
void reports_headline(struct job *j, const struct buf *line);
/* Wraps the lines of the text from the byte start on likewise. */
void reports_wrap(struct job *j, size_t start);
/* In text, if there are no rows: appends "No samples", and how many the filter removed. */
void reports_nothing(struct job *j, const struct report_stats *stats, const char *what);
/* Rows that are not shown: beyond --top or below --min-percent. */
struct reports_rest {
	size_t nr;
	bool is_beyond_top, is_small; /* at least one of them */
	struct report_weight weight;
};
void reports_rest_add(struct reports_rest *r, const struct report_weight *w, bool is_beyond_top,
		      bool is_small);
/* In text: a line with their number, their share (may be NULL) and the option that shows them. */
void reports_rest_put(const struct job *j, const struct reports_rest *r,
		      const struct interval *share, struct grid *g);
/* In text: lines on truncated stacks, and on what path peaks are, after the rows. */
void reports_stack_notes(struct job *j, const struct report_stats *stats, struct grid *g);
/* The share of part in the event's samples, or in all. */
struct interval reports_share(const struct report_stats *stats, uint32_t event,
			      const struct report_weight *part);
struct interval reports_share_of(const struct report_weight *part, const struct report_weight *all);
/* What samples stand for, of which nothing else is known: interval_amount. */
struct interval reports_estimate(const struct report_weight *w, double unit);
/* The same of a part of all: if these were left to chance, one without samples may have some. */
struct interval reports_estimate_among(const struct report_weight *w,
				       const struct report_weight *all, uint64_t rate);
/* True if a row without samples of its own has none for certain: those of its callees, which are of
 * its kind, were not left to chance. */
bool reports_is_exactly_none(const struct report_weight *self, const struct report_weight *total);
/* reports_share_of for self, without an interval in such a row. */
struct interval reports_self_share(const struct report_weight *self,
				   const struct report_weight *total,
				   const struct report_weight *all);
/* Count × scale in text, else the raw count. */
uint64_t reports_amount(const struct job *j, uint32_t event, uint64_t weight);
/* True if samples have call chains. */
bool reports_has_callers(const struct job *j);
/* --top and --min-percent, or the defaults: all in csv and ndjson. */
uint64_t reports_top(const struct job *j, uint64_t for_people);
double reports_min_share(const struct job *j, double for_people_percent);
/* A report with a table for each event in text, and one for all in csv and ndjson. */
struct reports_tables {
	struct grid *(*make_grid)(const void *report, uint32_t event);
	uint32_t (*event_at)(const void *report, size_t at);
	/* Appends the rows of the event at position at. Returns the position of the next event, or
	 * REPORTS_END. */
	size_t (*put_event)(void *report, struct grid *g, size_t at);
};
#define REPORTS_END SIZE_MAX
/* Prints all tables from position at on; REPORTS_END: there are no rows. 0 or -errno with *e. */
int reports_put_tables(struct job *j, const struct report_stats *stats,
		       const struct reports_tables *tables, void *report, size_t at, struct err *e);
/* Writes the grid if rc is 0, and frees it. Returns rc, or -errno with *e. */
int reports_end(struct job *j, struct grid *g, int rc, struct err *e);
/* columns are copied. In csv and ndjson all grids of a report are one table, with a column session
 * if rows are of several. */
struct grid *reports_grid(struct job *j, const struct grid_column *columns, size_t nr);

#endif
