/*
 * Signals that end a session or its iteration, or are forwarded to its command.
 */
#ifndef CPUPERF_SIGNALS_H
#define CPUPERF_SIGNALS_H

#include <stdbool.h>

struct session;
struct target_command;

/* First in main: SIGUSR1 and SIGUSR2 do nothing until signals_catch, since there is no iteration to
 * end. A program that is executed has them as this process was started with. */
void signals_ignore_early(void);
/* command: NULL: none is measured. lasts_until_stopped: a signal does not cut the iteration short.
 * stores_hangup: SIGHUP ends the session only if the terminal is gone that the program was started
 * at; else signals_take_hangup returns it, also one that comes after signals_release. */
void signals_catch(struct session *s, struct target_command *command, bool lasts_until_stopped,
		   bool stores_hangup);
/* True: SIGHUP was stored since the last call. */
bool signals_take_hangup(void);
/* Before the session is closed: a late signal must not use it. */
void signals_release(void);

/* A signal ended the session; with a command, only SIGXCPU does. */
bool signals_have_interrupted(void);
/* With a command: a signal came, and no further run starts. */
bool signals_have_stopped_runs(void);
/* SIGXCPU was received. */
bool signals_are_out_of_time(void);
/* Forwards a signal that came before the command was started. */
void signals_forward_early(struct target_command *command);

#endif
