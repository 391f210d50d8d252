/*
 * Profiles a process for some seconds beside the session that runs: by another session of cpuperf,
 * whose files are in a private folder, and removed. cpuperf_print shows its functions.
 *
 * The folder is in memory (session/held.h). The dashboard lends cpuperf_print the terminal
 * (dashboard_ui_lend); the variable CPUPERF_INNER says there that Escape leads back.
 */
#ifndef CPUPERF_PROFILE_PROCESS_H
#define CPUPERF_PROFILE_PROCESS_H

#include "dashboard/dashboard.h"
#include "dashboard/terminal.h"
#include "session/held.h"

#include <stdbool.h>
#include <sys/types.h>

struct err;

enum { PROFILE_PROCESS_S = 5 };

/* Initialise with PROFILE_PROCESS_NONE. */
struct profile_process {
	struct held held; /* path "": none is made */
	int log_fd;       /* what the recorder says; -1: none */
	pid_t pid;        /* of the recorder, later of the printer; 0: none runs */
	bool is_shown;    /* it is the printer */
	char inner[112];  /* in the environment of both: what is profiled */
	uint64_t begun_ns;
	struct terminal_lent terminal; /* that the printer shows it on */
};
#define PROFILE_PROCESS_NONE(number)                                                               \
	((struct profile_process){.held = HELD_NONE, .log_fd = -1, .terminal = {.fd = (number)}})

/* Each for a struct dashboard_profiler; arg: a struct profile_process. */
int profile_process_start(void *arg, uint32_t pid, struct err *e);
enum dashboard_profile profile_process_step(void *arg, unsigned *left_s, struct err *e);
int profile_process_show(void *arg, struct err *e);
void profile_process_stop(void *arg);

#endif
