/*
 * What limits a command, in one sentence above its answer: only what was measured and is sure.
 */
#ifndef CPUPERF_PRINT_CONCLUSION_H
#define CPUPERF_PRINT_CONCLUSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct job;
struct report_flat_row;
struct report_weight;

enum { CONCLUSION_NAME_BYTES = 160 };
enum { CONCLUSION_MANY_PROCESSES = 16 }; /* so many are told apart by their commands */

struct conclusion {
	bool is_open; /* the text has an empty line for it */
	size_t at;    /* where */
	/* Sums over the threads; as counted. all_ns 0: not known. */
	double wall_ns, all_ns, used_ns, queue_ns, blocked_ns;
	double idle_ns; /* of the blocked time, in waits for work: sentences are of the rest */
	uint64_t nr_threads, nr_cpus;
	/* Of the command's processes: their number, and of those that made none; the time in which
	 * one ran besides those that had a child, and that of these. nr_tree 0: not known. */
	uint64_t nr_tree, nr_leaves;
	double alone_ns, parents_ns;
	bool is_make;       /* the command is make, without jobs at a time */
	double least_child; /* of the blocked time: in waits for a child, at least */
	double least_waits; /* of the blocked time: the part of one reason, at least */
	double waits;       /* its estimate */
	/* The same of one lock, at which threads wait most; 0: of none. Its owner nearly all the
	 * time, and of its own time the part in which it uses a CPU or waits for one, at least; or
	 * "". */
	double least_lock, lock, least_used;
	char holder[CONCLUSION_NAME_BYTES];
	char reason[64], function[CONCLUSION_NAME_BYTES]; /* that most of it is in; or "" */
	/* Of the time on CPU, at least: what the largest function of the program has, and what the
	 * kernel used for page faults, in that function. */
	double least_hot, least_faults;
	uint64_t nr_processes; /* with samples on a CPU; 1: one has half of it; 0: not counted */
	/* The program of several processes that has most of it, at least so much. */
	uint64_t nr_of_program;
	double least_program;
	char program[CONCLUSION_NAME_BYTES];
	char hot[CONCLUSION_NAME_BYTES], faults[CONCLUSION_NAME_BYTES];
};

/* Begins a line for it in the text, in answers for people. */
void conclusion_begin(struct job *j);
/* Rows of the answer's waits with state and reason. Reads the samples again if most may be waits
 * for a lock. */
void conclusion_add_waits(struct job *j, const struct report_flat_row *rows, size_t nr);
/* A row of what ran on a CPU, by function; all: the time on CPU. */
void conclusion_add_function(struct job *j, const struct report_flat_row *row,
			     const struct report_weight *all);
/* The program whose processes have most of the time on CPU: all. */
void conclusion_set_program(struct conclusion *c, const char *name, uint64_t nr_processes,
			    const struct report_weight *its, const struct report_weight *all);
/* Whether the command is make, and is not told to run several jobs at a time. */
bool conclusion_is_make(const char *command);
/* Whether most of the threads' time is blocked for one reason. */
bool conclusion_is_of_waits(const struct conclusion *c);
/* Whether that is, at no lock, for other threads or processes of which some are idle, such as those
 * that the first thread joins in the end. */
bool conclusion_may_be_for_idle(const struct conclusion *c);
/* What waits for a CPU, of the threads' time. */
double conclusion_queue_share(const struct conclusion *c);
/* Whether one lock limits the command: most wait for it, and who holds it has work. */
bool conclusion_is_lock(const struct conclusion *c);
/* What waits for one lock, of the threads' time, at least. */
double conclusion_lock_share(const struct conclusion *c);
/* Appends the sentence, without its end; nothing if none is sure. */
void conclusion_put(const struct conclusion *c, struct buf *out);
/* Replaces the line, or removes it. */
void conclusion_end(struct conclusion *c, struct buf *text);

#endif
