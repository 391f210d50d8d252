/*
 * The floor of reading a session: each file read once, in pieces, and its bytes put into one
 * CRC-32C, as the reader does frame by frame. Prints bytes, and seconds of wall and of CPU time.
 *
 *   read_floor FILE...
 */
#include "base/crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint8_t piece[1 << 20];
static uint64_t nr_bytes;
static uint32_t crc;

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void add_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 0;

	while (n >= 0 && (n = read(fd, piece, sizeof(piece))) > 0) {
		crc = crc32c(crc, piece, (size_t)n);
		nr_bytes += (uint64_t)n;
	}
	if (n < 0) {
		fprintf(stderr, "read_floor: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	double wall = seconds(CLOCK_MONOTONIC);

	for (int i = 1; i < argc; i++)
		add_file(argv[i]);
	wall = seconds(CLOCK_MONOTONIC) - wall;
	printf("bytes %llu wall %.6f cpu %.6f crc %08x\n", (unsigned long long)nr_bytes, wall,
	       seconds(CLOCK_PROCESS_CPUTIME_ID), crc);
	return 0;
}
