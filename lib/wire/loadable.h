/*
 * Whether a program can load a library that is preloaded, which this process could: the judge of
 * the recorder for its command, and of the agent for the programs that a measured one executes.
 *
 * It reads the program's file, or that of a script's interpreter. Async-signal-safe, and safe after
 * vfork: system calls alone, no memory but some KiB of stack, no point of cancellation.
 *
 * The recorder asks it before the command runs: without the agent the command runs all the same,
 * and the events are not supported. In a measured program agent/heap/exec.c asks it: a program
 * that cannot have the agent gets an environment without it; any other gets the agent, whatever
 * environment the program wants for it.
 *
 * Programs of 32 bits of x86 have a second build of the agent (lib/agent/i386), whose file is
 * beside the first. This answer chooses it (LOADABLE_OTHER), not ld.so, which complains of each
 * library that it cannot load. It has no attach.c: it is only preloaded.
 */
#ifndef WIRE_LOADABLE_H
#define WIRE_LOADABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum loadable {
	LOADABLE_YES,
	LOADABLE_UNREADABLE, /* there is no such file, or it may not be read */
	LOADABLE_FOREIGN,    /* for another kind of machine */
	LOADABLE_STATIC,
	LOADABLE_LOADER,    /* of another C library, or another version of ours */
	LOADABLE_RIGHTS,    /* its loader ignores what is preloaded */
	LOADABLE_SANITIZER, /* linked as a library */
	/* The program can load the machine's other agent, that for programs of 32 or of 64 bits. */
	LOADABLE_OTHER,
};

struct loadable_judged {
	enum loadable answer;
	char name[64]; /* of the program's file, of a script that of its interpreter; cut */
};

/* The file that exec finds by that path. A file without a format that is known is one for /bin/sh.
 * errno is preserved. */
void loadable_judge(int dir, const char *path, struct loadable_judged *out);
/* The file that is open there, also as a path alone (O_PATH). */
void loadable_judge_open(int fd, struct loadable_judged *out);
/* As execvp, by folders (the value of PATH; NULL: there is none). */
void loadable_judge_named(const char *folders, const char *name, struct loadable_judged *out);
/* What follows the program's name in a sentence. */
const char *loadable_reason(enum loadable answer);
/* Of a library's path: whether it is that of a sanitizer, which must be the first that is loaded.
 */
bool loadable_is_sanitizer(const char *path, size_t len);

/* How many filters of system calls (seccomp) the process has, and what it executes.
 * LOADABLE_NOT_KNOWN: without /proc, or before Linux 5.9 more than none. errno is preserved. */
#define LOADABLE_NOT_KNOWN UINT32_MAX
uint32_t loadable_nr_filters(void);

#endif
