/* What test_agent_exec.py runs: it executes a program by the function that is named. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *own[] = {"A=1", NULL, NULL, NULL, "Z=2", NULL};

/* With variables of its own around those that the agent needs. */
static char **environment(void)
{
	int to = 1;

	for (char **e = environ; *e; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) == 0 || strncmp(*e, "CPUPERF_HEAP=", 13) == 0)
			own[to++] = *e;
	own[to++] = "Z=2";
	own[to] = NULL;
	return own;
}

static int status_of(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) < 0)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int in_child(const char *how, const char *path, const char *name)
{
	char *const argv[] = {(char *)path, "b", NULL};
	pid_t pid;

	if (strcmp(how, "vfork") == 0) {
		pid = vfork();
		if (!pid) {
			execve(path, argv, environ);
			_exit(98);
		}
	} else if (strcmp(how, "posix_spawn") == 0) {
		errno = posix_spawn(&pid, path, NULL, NULL, argv, environment());
	} else {
		errno = posix_spawnp(&pid, name, NULL, NULL, argv, environ);
	}
	return status_of(pid);
}

int main(int argc, char **argv)
{
	const char *how = argv[1], *path = argc > 2 ? argv[2] : "", *name = strrchr(path, '/') + 1;
	char *const args[] = {argv[2], "b", NULL};
	char folder[4096];

	free(malloc(5)); /* so that it is measured */
	setvbuf(stdout, NULL, _IONBF, 0);
	snprintf(folder, sizeof(folder), "%.*s", (int)(name - path - 1), path);
	if (strcmp(how, "vfork") == 0 || strncmp(how, "posix_spawn", 11) == 0)
		return in_child(how, path, name);
	if (strcmp(how, "system") == 0)
		return WEXITSTATUS(system(path));
	if (strcmp(how, "popen") == 0) {
		FILE *f = popen(path, "r");

		for (int c; (c = fgetc(f)) != EOF;)
			putchar(c);
		return WEXITSTATUS(pclose(f));
	}
	if (strcmp(how, "many") == 0) { /* more variables than fit on the stack */
		for (int i = 0; i < 5000; i++)
			setenv((snprintf(folder, sizeof(folder), "V%d", i), folder), "x", 1);
		execv(path, args);
	} else if (strcmp(how, "execve") == 0)
		execve(path, args, environment());
	else if (strcmp(how, "execv") == 0)
		execv(path, args);
	else if (strcmp(how, "execvp") == 0)
		execvp(name, args);
	else if (strcmp(how, "execvpe") == 0)
		execvpe(name, args, environment());
	else if (strcmp(how, "execveat") == 0)
		execveat(open(folder, O_PATH | O_DIRECTORY), name, args, environ, 0);
	else if (strcmp(how, "execveat_open") == 0)
		execveat(open(path, O_PATH), "", args, environ, AT_EMPTY_PATH);
	else if (strcmp(how, "fexecve") == 0)
		fexecve(open(path, O_RDONLY), args, environ);
	else if (strcmp(how, "execl") == 0)
		execl(path, path, "b", (char *)NULL);
	else if (strcmp(how, "execlp") == 0)
		execlp(name, path, "b", (char *)NULL);
	else if (strcmp(how, "execle") == 0)
		execle(path, path, "b", (char *)NULL, environment());
	printf("errno %d\n", errno);
	return 97;
}
