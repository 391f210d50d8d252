/*
 * cpuperf-srun: stands in the place of a task's program (spank.c) and becomes "cpuperf OPTIONS --
 * PROGRAM ARGUMENTS", by the cpuperf beside it. Its arguments are those of the program.
 */
#include "srun.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OF_SPEC "--spec-file="

enum { FAILED = 125, MAX_OPTIONS = 256 };

/* Replaces the last part of this program's own path. False: too long, or not known. */
static bool find_cpuperf(char path[PATH_MAX])
{
	static const char name[] = "cpuperf";
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *last;

	if (n <= 0)
		return false;
	path[n] = '\0';
	last = strrchr(path, '/');
	if (!last || (size_t)(last + 1 - path) + sizeof(name) > PATH_MAX)
		return false;
	memcpy(last + 1, name, sizeof(name));
	return true;
}

/* Divides options at spaces, in place; a name alone is a spec's, for which spec has room. Returns
 * their number; -1: too many. */
static int divide(char *options, const char **out, char *spec)
{
	int nr = 0;
	char *rest = NULL;

	if (options[0] && !strchr("- ", options[0])) {
		strcpy(stpcpy(spec, OF_SPEC), options); /* NOLINT: it has room */
		out[0] = spec;
		return 1;
	}
	for (char *one = strtok_r(options, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
		if (nr == MAX_OPTIONS)
			return -1;
		out[nr++] = one;
	}
	return nr;
}

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("cpuperf-srun: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(FAILED);
}

int main(int argc, char **argv)
{
	const char *program = getenv(SRUN_PROGRAM), *said = getenv(SRUN_OPTIONS);
	char path[PATH_MAX], *options, *spec;
	const char **new;
	int nr;

	if (!program || !said)
		fail("it is run by Slurm for srun --cpuperf (see cpuperf-hosts(7), \"Ranks of "
		     "Slurm and "
		     "MPI\")");
	new = calloc((size_t)argc + MAX_OPTIONS + 3, sizeof(*new));
	program = strdup(program);
	options = strdup(said);
	spec = malloc(strlen(said) + sizeof(OF_SPEC));
	if (!new || !program || !options || !spec)
		fail("out of memory");
	unsetenv(SRUN_PROGRAM);
	unsetenv(SRUN_OPTIONS);
	new[0] = "cpuperf";
	nr = divide(options, new + 1, spec);
	if (nr < 0)
		fail("srun --cpuperf has more than %d options", MAX_OPTIONS);
	nr++;
	new[nr++] = "--";
	new[nr++] = program;
	for (int i = 1; i < argc; i++)
		new[nr++] = argv[i];
	if (!find_cpuperf(path))
		fail("its own path is not known");
	execv(path, (char *const *)new);
	fail("%s, which belongs beside it (package cpuperf), cannot be run: %s", path,
	     strerror(errno));
}
