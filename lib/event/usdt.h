/*
 * Events of the group usdt: probes of programs and libraries, by PROVIDER:NAME or
 * FILE:PROVIDER:NAME.
 */
#ifndef EVENT_USDT_H
#define EVENT_USDT_H

#include "elf/probes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One place of a probe. A probe may have several, also in several files. */
struct event_probe {
	const char *path;
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* the same; 0: none */
	enum elf_probe_code code;
};

/* Whose files are searched: those of a command and of processes; without either, the libraries of
 * the dynamic loader's cache. Strings are borrowed. */
struct event_objects {
	const char *command;                    /* as execvp looks for it; NULL: none */
	const char *const *pids, *const *comms; /* numbers, and names, of processes */
	size_t nr_pids, nr_comms;
};

/* What a hit costs, for people: "about 0.7 us". */
const char *event_probe_cost(enum elf_probe_code code);

#endif
