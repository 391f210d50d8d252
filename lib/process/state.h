/*
 * The processes of a session, as an open source of things. Private to process.c, process/members.c
 * and process/notes.c.
 */
#ifndef PROCESS_STATE_H
#define PROCESS_STATE_H

#include "base/buf.h"
#include "base/root.h"
#include "process/choice.h"
#include "process/ended.h"
#include "process/group.h"
#include "process/reader.h"
#include "process/rest.h"

enum { PROCESS_NOTE_BYTES = 65536, PROCESS_WHO_BYTES = 160 };

/* A running process, chosen or not: its name may change, and with it the choice. */
struct process {
	uint32_t pid;
	uint32_t age;                 /* readings */
	uint64_t clock_ns, looked_ns; /* its CPU time and the time when its name was last read */
	uint32_t number;
	uint64_t born_ns; /* as of struct things_one */
	bool is_in_tree;  /* of the choice, and stays there; or is in its control group */
	bool is_chosen, has_number;
	void *source;                        /* the reader's; NULL: not attached */
	uint32_t noted[PROCESS_NR_TROUBLES]; /* bits of fields already noted */
	struct process_values values;
	uint64_t
	    counted[PROCESS_NR_FIELDS]; /* at the last reading that had it: of what has a rest */
	struct process_family family;   /* of the last reading, if trees have a rest */
	bool is_waited_for;             /* the same: its parent is in the tree */
	bool is_of_before;              /* has_ended in the iteration before */
	bool has_ended;                 /* after it was read: the values are the last ones */
	char name[PROCESS_NAME_BYTES];
};

/* The next note about one kind of trouble. */
struct process_note {
	uint32_t fields;
	int error;
	size_t nr_processes, nr_named;
	char who[PROCESS_WHO_BYTES]; /* names of the first nr_named */
	unsigned nr_notes;           /* notes written before, about nr_before processes */
	size_t nr_before;
};

struct process_state {
	struct root root;
	const struct process_reader *reader;
	void *source;     /* the reader's */
	uint32_t wanted;  /* bits of fields */
	bool is_by_tasks; /* reader is that of an iterator; it may have failed since */
	struct process_choice choice;
	struct process_group group; /* of the choice */
	struct proc_ids ids;
	struct process **list;   /* by pid, ascending */
	struct process **next;   /* swapped with list by each reading */
	struct process **things; /* the chosen ones of the last reading */
	size_t at;               /* those before it in list are in next, or have ended */
	size_t nr, nr_next, nr_things, cap;
	size_t nr_reopened;
	uint32_t nr_numbers; /* assigned to things */
	struct process_ended ended;
	struct process_rest rest[PROCESS_NR_FIELDS];
	uint32_t rest_fields; /* bits of those; 0: there is none */
	bool has_rest_number, is_rest_whole;
	uint32_t rest_number;
	uint64_t rest_raw[PROCESS_NR_FIELDS];
	uint64_t grown[PROCESS_NR_FIELDS]; /* the things in this reading, since the one before */
	struct process_note notes[PROCESS_NR_TROUBLES];
	uint32_t noted[PROCESS_NR_TROUBLES];
	bool is_whole; /* the last reading succeeded */
	bool has_noted_reopened, has_noted_absent, has_noted_failed;
	struct buf absent; /* the words of the choice that match no process */
	struct buf text;   /* the last note */
};

static inline void process_state_detach(struct process_state *s, struct process *p)
{
	if (p->source)
		s->reader->detach(s->source, p->source);
	p->source = NULL;
}

#endif
