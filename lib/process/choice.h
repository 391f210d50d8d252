/*
 * Which processes the words of the key pids choose.
 */
#ifndef PROCESS_CHOICE_H
#define PROCESS_CHOICE_H

#include "things/many.h"

struct err;

struct process_choice {
	bool all;
	const struct things_tree *tree; /* borrowed; NULL: none; not of a control group */
	int group;                      /* borrowed: the folder of a control group; -1: none */
	uint32_t *numbers;              /* owned; each once, ascending */
	size_t nr_numbers;
	char **globs;  /* owned */
	bool *has_hit; /* owned; by glob: it matched a process before */
	size_t nr_globs;
};

/* self: the number for the word "0". Without words: the tree, or all. 0, -ENOMEM, -EINVAL with *e.
 */
int process_choice_init(struct process_choice *c, const struct things_choice *words, uint32_t self,
			struct err *e);
void process_choice_fini(struct process_choice *c);

/* True if the process is chosen. command: NULL if unknown. */
bool process_choice_has(struct process_choice *c, uint32_t pid, const char *command);
/* True for a first process of the tree. */
bool process_choice_is_root(const struct process_choice *c, uint32_t pid);

#endif
