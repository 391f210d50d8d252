/*
 * srun --cpuperf[=SPEC]: each task of the step is run by cpuperf. Loaded by srun, which knows the
 * option, and by slurmstepd.
 *
 * In a task, which is the user's process by then, the name of its program is replaced: nothing can
 * be added to its arguments. So cpuperf-srun takes its place, and finds in the environment what was
 * meant. All else that Slurm does to a task comes after that: limits, binding, the prolog of the
 * task.
 *
 * To exec cpuperf here would skip all that.
 */
#include "srun.h"

#include <dlfcn.h>
#include <limits.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SPANK_PLUGIN(cpuperf, 1) /* NOLINT: its names are Slurm's */

static char *options;       /* NULL: not wanted */
static const char *program; /* cpuperf-srun */

static int take_option(int value, const char *text, int is_remote)
{
	(void)value;
	(void)is_remote;
	free(options);
	options = strdup(text ? text : "");
	return options ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

static char
    name[] = "cpuperf",
    arginfo[] = "SPEC",
    usage[] = "measure each task: cpuperf -- COMMAND, with --spec-file=SPEC; or with its options, "
	      "if that begins with -";

static struct spank_option option = {
    .name = name,
    .arginfo = arginfo,
    .usage = usage,
    .has_arg = 2, /* it may have one */
    .cb = take_option,
};

/* At its place beside this plugin, wherever both were installed. */
static const char *find_program(void)
{
	static char path[PATH_MAX];
	char own[PATH_MAX], *slash;
	Dl_info info;
	int len;

	if (!dladdr(&program, &info) || !info.dli_fname || !realpath(info.dli_fname, own))
		return NULL;
	slash = strrchr(own, '/');
	*slash = '\0'; /* the path is absolute */
	len = snprintf(path, sizeof(path), "%s/%s", own, CPUPERF_SRUN_FROM_PLUGIN);
	return len < (int)sizeof(path) ? path : NULL;
}

/* argv: of the line in plugstack.conf. */
int slurm_spank_init(spank_t s, int argc, char **argv)
{
	static const char key[] = "program=";

	program = find_program();
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], key, sizeof(key) - 1) != 0) {
			slurm_error("cpuperf: unknown argument %s: program=PATH is known", argv[i]);
			return ESPANK_BAD_ARG;
		}
		program = argv[i] + sizeof(key) - 1;
	}
	if (!program) {
		slurm_error(
		    "cpuperf: its own folder is not known: program=PATH names cpuperf-srun");
		return ESPANK_ERROR;
	}
	/* not for the script of a batch job, which starts steps itself */
	if (spank_context() != S_CTX_LOCAL && spank_context() != S_CTX_REMOTE)
		return ESPANK_SUCCESS;
	return spank_option_register(s, &option);
}

/* srun --multi-prog: the arguments are its file and what it says, "0 ./prog\n". */
static bool is_of_several(int argc, char **argv)
{
	size_t n = argc == 2 ? strlen(argv[1]) : 0;

	return n && argv[1][n - 1] == '\n' && strchr("0123456789*", argv[1][0]);
}

int slurm_spank_task_init(spank_t s, int argc, char **argv)
{
	int nr = 0;
	char **of_task = NULL;

	(void)argc;
	(void)argv;
	if (!options)
		return ESPANK_SUCCESS;
	if (spank_get_item(s, S_JOB_ARGV, &nr, &of_task) != ESPANK_SUCCESS || nr < 1) {
		slurm_error(
		    "cpuperf: Slurm does not say what the task runs, so it is not measured");
		return ESPANK_SUCCESS;
	}
	if (is_of_several(nr, of_task)) {
		slurm_error("cpuperf: a task of --multi-prog is not measured: write cpuperf before "
			    "the programs "
			    "of its file");
		return ESPANK_SUCCESS;
	}
	if (spank_setenv(s, SRUN_PROGRAM, of_task[0], 1) != ESPANK_SUCCESS ||
	    spank_setenv(s, SRUN_OPTIONS, options, 1) != ESPANK_SUCCESS) {
		slurm_error("cpuperf: the environment has no room, so the task is not measured");
		return ESPANK_SUCCESS;
	}
	of_task[0] = (char *)program;
	return ESPANK_SUCCESS;
}
