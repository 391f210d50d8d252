/*
 * What interpreters interpret, beside the samples of a session: a program in the kernel
 * (bpf/interpreted.h) writes the frames, and a thread of the recorder answers what it asks.
 *
 * The thread judges each process that has samples once (interpreters/judge.h), soon after the
 * kernel's program meets it, and again a while later if it was none: it may load an interpreter. So
 * a process that runs already, one that a command starts, and one that the machine starts are all
 * the same. Definitions of code go to the caller as they come.
 */
#ifndef INTERPRETERS_INTERPRETERS_H
#define INTERPRETERS_INTERPRETERS_H

#include <stdint.h>

struct err;
struct interpreted;
struct interpreters;
struct trace_code;

/* 0 or -errno with *e: -EPERM: not permitted; -ENOTSUP: this machine cannot do it; -ENOMEM. */
int interpreters_open(struct interpreters **out, struct err *e);
/* Ends the thread; NULL is fine. */
void interpreters_close(struct interpreters *i);

/* As interpreted_program. */
int interpreters_program(struct interpreters *i);
/* What other programs of the kernel share; borrowed. */
struct interpreted *interpreters_programs(const struct interpreters *i);
/* A process is expected that has one of these languages, 1 << BPF_INTERPRETED_PYTHON and so on: it
 * is read from its first sample on. Otherwise reading begins some 20 ms after a process was found.
 */
void interpreters_expect(struct interpreters *i, uint32_t languages);
/* Which of them a process has now, as interpreters_expect; 0: none that is known. Call it before
 * interpreters_start. */
uint32_t interpreters_has(struct interpreters *i, uint32_t process);
/* As interpreted_connect. */
int interpreters_connect(struct interpreters *i, uint32_t cpu, int fd);

/* Starts the thread, which passes definitions; once. add may wait. 0 or -errno. */
int interpreters_start(struct interpreters *i,
		       void (*add)(void *arg, const struct trace_code *code), void *arg);
/* Passes what was said up to now, and ends the thread. */
void interpreters_stop(struct interpreters *i);

#endif
