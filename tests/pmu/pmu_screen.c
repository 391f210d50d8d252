/*
 * pmu_screen WIDTH HEIGHT TEXT KEYS COMMAND...: runs the command on a terminal of that size, which
 * takes all that it writes, and presses a key each second once it has written the text. Says how
 * many bytes there were; ends as the command did.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECOND_MS = 1000, MAX_BYTES = 16 << 20 };

static char text[MAX_BYTES]; /* all that was written, as far as there is room */
static size_t len;

/* 0: the other end is closed. */
static int take(int terminal)
{
	ssize_t n = read(terminal, text + len, sizeof(text) - len);

	if (n <= 0)
		return 0;
	len += (size_t)n;
	return 1;
}

static void press_keys(int terminal, const char *awaited, const char *keys)
{
	struct pollfd p = {.fd = terminal, .events = POLLIN};
	int waited_ms = 0;

	for (;;) {
		int nr = poll(&p, 1, SECOND_MS / 10);

		if (nr > 0 && !take(terminal))
			return;
		if (!memmem(text, len, awaited, strlen(awaited)))
			continue;
		waited_ms += nr == 0 ? SECOND_MS / 10 : 0;
		if (waited_ms < SECOND_MS || !*keys)
			continue;
		if (write(terminal, keys++, 1) != 1)
			return;
		waited_ms = 0;
	}
}

int main(int argc, char **argv)
{
	struct winsize size = {0};
	int terminal, status;
	pid_t pid;

	if (argc < 6)
		return 2;
	size.ws_col = (unsigned short)atoi(argv[1]);
	size.ws_row = (unsigned short)atoi(argv[2]);
	pid = forkpty(&terminal, NULL, NULL, &size);
	if (pid < 0) {
		perror("a terminal");
		return 1;
	}
	if (pid == 0) {
		execvp(argv[5], &argv[5]);
		_exit(127);
	}
	press_keys(terminal, argv[3], argv[4]);
	printf("%zu bytes\n", len);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
