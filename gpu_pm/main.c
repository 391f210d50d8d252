/*
 * cpuperf-gpu-pm: started by a session that measures events of gpu:pm/, with a socket to it.
 */
#include "base/str.h"
#include "cupti/helper.h"

#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ends the process with the session, also while the vendor's code hangs. */
static void *watch(void *arg)
{
	struct pollfd p = {.fd = *(const int *)arg, .events = POLLRDHUP};

	while (poll(&p, 1, -1) <= 0)
		;
	usleep(500000); /* in which sampling may be stopped orderly */
	_exit(0);
}

int main(int argc, char **argv)
{
	static int fd;
	pthread_t thread;
	uint64_t number;
	struct stat st;

	if (argc != 2 || str_parse_u64(argv[1], &number) || number > INT32_MAX ||
	    fstat((int)number, &st) || !S_ISSOCK(st.st_mode)) {
		fprintf(stderr, "cpuperf-gpu-pm: started by cpuperf for events of gpu:pm/\n");
		return 2;
	}
	fd = (int)number;
	if (pthread_create(&thread, NULL, watch, &fd))
		return 1;
	return cupti_helper_run(fd) ? 1 : 0;
}
