/*
 * A fork storm: a process is started for each name, though its work is a line of C.
 *
 * Symptom: a script-like program is slow, and the profile of it shows nothing but the kernel.
 * Command: cpuperf -g -- ./fork_storm
 *          cpuperf_print --report=waits
 * What to see: 151 threads, where the program has one, and measure_name waits for a child.
 * Repair: do it within the program ("fixed").
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_NAMES = 150 };

static int is_fixed;

/* Of "photo_17.jpg": 12. */
static __attribute__((noinline)) int measure_name(const char *name)
{
	char shell[] = "/bin/sh", c[] = "-c", script[] = "exit ${#1}";
	char *argv[] = {shell, c, script, shell, (char *)name, NULL};
	int status;
	pid_t pid;

	if (is_fixed)
		return (int)strlen(name);
	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ))
		exit(1);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	char name[32];
	int sum = 0;

	is_fixed = argc > 1 && strcmp(argv[1], "fixed") == 0;
	for (int i = 0; i < NR_NAMES; i++) {
		snprintf(name, sizeof(name), "photo_%d.jpg", i);
		sum += measure_name(name);
	}
	printf("%d letters in %d names\n", sum, NR_NAMES);
	return 0;
}
