/*
 * Processes that have ended, as things: those that were read before, until what they used at last
 * is known, and those that came and went between two readings. Measured by programs in the kernel
 * (bpf/exits.h). Private to process.c.
 *
 * The kernel has added up a process at sched_process_free, some 10 ms after it was waited for;
 * then its sums are sent. One that was read before is also sent when its last thread comes to
 * sched_process_exit, without what is not added up yet: sums are cumulative, so the later ones add
 * only the rest. One that began after the last reading is not, as what finds no room would be
 * counted twice.
 *
 * They are listed, flagged ENDED, until the reading after the boundary of their iteration
 * (collect_next). A process that was read before and is gone stays listed, with its last values,
 * until its own arrive. What finds no room in the ring is added up by command in the kernel. One
 * that had ended before the first iteration may be sent in it: it is dropped, by its start and
 * since it was not listed then.
 */
#ifndef PROCESS_ENDED_H
#define PROCESS_ENDED_H

#include "bpf/exits.h"
#include "process/reader.h"

struct process_choice;

enum { PROCESS_NAME_BYTES = PROCESS_COMMAND_BYTES + 12 };

struct process_gone {
	uint32_t pid; /* of commands 0 */
	uint32_t number;
	bool is_final; /* else its values are those of its last reading */
	uint64_t found_ns, born_ns;
	struct process_values values;
	char name[PROCESS_NAME_BYTES];
};

/* What processes of a command used that have no line of their own, in two parts. */
struct process_command {
	struct process_gone gone;
	struct bpf_exits_sums by_kernel, by_us;
};

/* All zero: nothing is followed, and there is nothing. */
struct process_ended {
	struct exits *exits; /* owned; NULL: not followed */
	uint32_t wanted;     /* bits of fields */
	uint32_t *nr_numbers;
	struct process_choice *choice; /* borrowed, like nr_numbers */
	bool is_target;                /* the kernel chooses */
	struct process_gone **list;    /* owned, each */
	size_t nr, room;
	size_t nr_new;                    /* of them: came and went in this iteration */
	struct process_command *commands; /* owned */
	size_t nr_commands, commands_room;
	bool is_next;                  /* an iteration has begun since the last reading */
	bool has_begun;                /* the first iteration has */
	uint64_t begin_ns;             /* when its reading began */
	uint64_t grown_ns;             /* CPU time of all of them in this reading */
	uint64_t nr_missing, nr_noted; /* processes that are in no line */
};

/* The fields that are known of a process that ended. */
uint32_t process_ended_fields(void);
void process_ended_close(struct process_ended *d);

/* Begins a reading, before processes are listed: drops what ended before the iteration. */
void process_ended_begin(struct process_ended *d);
/* A thing that is not there any more; from its last reading. */
void process_ended_add(struct process_ended *d, const struct process_gone *gone);
/* False: none that was added has this number, or all that it used is known. */
bool process_ended_finish(struct process_ended *d, const struct bpf_exits_process *p);
/* One that was never read. born_ns: as of struct things_one. Without effect if it had ended when
 * the reading with which the first iteration begins came to it. */
void process_ended_add_new(struct process_ended *d, const struct bpf_exits_process *p,
			   uint64_t born_ns);
/* Sums of processes that the kernel found no room for. */
void process_ended_add_commands(struct process_ended *d);
/* Replaces values by what a process used in all. */
void process_ended_set(uint32_t wanted, const struct bpf_exits_sums *sums,
		       struct process_values *out);

size_t process_ended_nr(const struct process_ended *d);
const struct process_gone *process_ended_get(const struct process_ended *d, size_t i);

#endif
