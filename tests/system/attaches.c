/*
 * Loads the agent into a process again and again: attaches PID LIBRARY TIMES [NEW]. NEW: while it
 * is attached, this file takes the place of the library. Prints, each time,
 * the ms for which a thread was stopped and the attempts, or why the process was refused; then how
 * often it could be attached to, and what the last one allocated meanwhile.
 * NOLINTBEGIN(cert-err34-c)
 */
#include "attach/attach.h"
#include "wire/heap.h"
#include "wire/heap_memory.h"
#include "wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct wire_heap *heap;

static bool on_heap(void *arg, uint32_t pid, int pidfd, struct wire_heap *memory)
{
	(void)arg;
	(void)pid;
	close(pidfd);
	wire_heap_free(heap);
	heap = memory;
	return true;
}

static bool on_dump(void *arg, uint32_t pid)
{
	(void)arg;
	(void)pid;
	return false;
}

static bool may_connect(void *arg, uint32_t pid)
{
	(void)arg;
	(void)pid;
	return true;
}

static int fail(const char *what, const struct err *e)
{
	fprintf(stderr, "%s: %s\n", what, e->msg);
	return 1;
}

int main(int argc, char **argv)
{
	const struct wire_heap_config of_heap = {
	    .rate = 1, .wants = HEAP_WANTS_BLOCKS | HEAP_WANTS_STACKS | HEAP_WANTS_FDS};
	const struct wire_config config = {.heap = &of_heap,
					   .heap_added = on_heap,
					   .heap_dump = on_dump,
					   .may_connect = may_connect};
	pid_t pid = argc >= 4 ? atoi(argv[1]) : 0;
	struct attach_figures begin, end;
	struct wire_heap_sums sums = {0};
	struct wire *wire = NULL;
	struct err e = {0};
	int nr = 0, rc;

	if (argc < 4 || attach_check(pid, argv[2], &e))
		return fail("check", &e);
	for (int i = 0; i < atoi(argv[3]); i++) {
		const struct timespec pause = {0, (i % 8) * 1000000};

		if (wire_open(&config, &wire, &e) || wire_start(wire))
			return fail("wire", &e);
		rc = attach_begin(pid, argv[2], wire_number(wire), &begin, &e);
		if (rc && rc != -EAGAIN)
			return fail("begin", &e);
		nr += rc == 0;
		if (argc > 4 && rc == 0 && rename(argv[4], argv[2]))
			return 1;
		nanosleep(&pause, NULL);
		if (heap)
			wire_heap_sums(heap, &sums);
		if (rc)
			printf("refused: %s\n", e.msg);
		else if ((rc = attach_end(pid, argv[2], &end, &e)))
			printf("stays: %s\n", e.msg);
		if (rc && rc != -EAGAIN)
			return fail("end", &e);
		if (rc == 0)
			printf("%.3f %u %.3f %u\n", (double)begin.stopped_ns / 1e6, begin.tries,
			       (double)end.stopped_ns / 1e6, end.tries);
		err_clear(&e);
		wire_free(wire);
	}
	printf("attached %d allocations %llu\n", nr, (unsigned long long)sums.calls);
	wire_heap_free(heap);
	return 0;
}
/* NOLINTEND(cert-err34-c) */
