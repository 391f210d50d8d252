/*
 * Which processes a person asked for: the words of the key pids. Knows nothing of /proc.
 */
#ifndef COLLECT_PROCESS_CHOICE_H
#define COLLECT_PROCESS_CHOICE_H

#include "collect/many.h"

struct err;

struct process_choice {
	bool all;
	uint32_t *numbers; /* owned; each once, ascending */
	size_t nr_numbers;
	char **globs;  /* owned */
	bool *has_hit; /* owned; of each glob: it matched a process already */
	size_t nr_globs;
};

/* self: what the word "0" stands for. Without words: all. 0, -ENOMEM, -EINVAL with *e. */
int process_choice_init(struct process_choice *c, const struct collect_choice *words, uint32_t self,
			struct err *e);
void process_choice_fini(struct process_choice *c);

/* command: NULL if it is not known. */
bool process_choice_has(struct process_choice *c, uint32_t pid, const char *command);

#endif
