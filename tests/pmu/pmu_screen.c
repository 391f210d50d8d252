/*
 * pmu_screen WIDTH HEIGHT KEYS COMMAND...: runs the command on a terminal of that size, which takes
 * all that it writes, and presses a key each second once it has written something. Says how many
 * bytes there were; ends as the command did.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECOND_MS = 1000 };

/* 0: the other end is closed. */
static size_t take(int terminal)
{
	char text[65536];
	ssize_t n = read(terminal, text, sizeof(text));

	return n > 0 ? (size_t)n : 0;
}

static size_t press_keys(int terminal, const char *keys)
{
	struct pollfd p = {.fd = terminal, .events = POLLIN};
	size_t nr_bytes = 0, n;
	int waited_ms = 0;

	for (;;) {
		int nr = poll(&p, 1, SECOND_MS / 10);

		n = nr > 0 ? take(terminal) : 0;
		if (nr > 0 && !n)
			return nr_bytes;
		nr_bytes += n;
		waited_ms += nr_bytes && nr == 0 ? SECOND_MS / 10 : 0;
		if (waited_ms < SECOND_MS || !*keys)
			continue;
		if (write(terminal, keys++, 1) != 1)
			return nr_bytes;
		waited_ms = 0;
	}
}

int main(int argc, char **argv)
{
	struct winsize size = {0};
	int terminal, status;
	size_t nr_bytes;
	pid_t pid;

	if (argc < 5)
		return 2;
	size.ws_col = (unsigned short)atoi(argv[1]);
	size.ws_row = (unsigned short)atoi(argv[2]);
	pid = forkpty(&terminal, NULL, NULL, &size);
	if (pid < 0) {
		perror("a terminal");
		return 1;
	}
	if (pid == 0) {
		execvp(argv[4], &argv[4]);
		_exit(127);
	}
	nr_bytes = press_keys(terminal, argv[3]);
	printf("%zu bytes\n", nr_bytes);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
