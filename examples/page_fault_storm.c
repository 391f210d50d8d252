/*
 * A storm of page faults: each request maps a large buffer and unmaps it, so that the kernel must
 * find and clear its pages each time.
 *
 * Symptom: much system time in a program that hardly makes system calls.
 * Command: cpuperf -g -e page_faults@100 -- ./page_fault_storm
 * What to see: tens of thousands of page faults, all in handle_request.
 * Repair: keep the buffer from request to request ("fixed").
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BUFFER_BYTES = 1 << 20, PAGE_BYTES = 4096, NR_REQUESTS = 200 };

static char *kept;

static char *get_buffer(void)
{
	char *buffer;

	if (kept)
		return kept;
	buffer =
	    mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED)
		exit(1);
	madvise(buffer, BUFFER_BYTES, MADV_NOHUGEPAGE);
	return buffer;
}

static __attribute__((noinline)) int handle_request(int i)
{
	char *buffer = get_buffer();
	int sum = 0;

	for (size_t at = 0; at < BUFFER_BYTES; at += PAGE_BYTES)
		buffer[at] = (char)i;
	for (size_t at = 0; at < BUFFER_BYTES; at += PAGE_BYTES)
		sum += buffer[at];
	if (buffer != kept)
		munmap(buffer, BUFFER_BYTES);
	return sum;
}

int main(int argc, char **argv)
{
	long sum = 0;

	if (argc > 1 && strcmp(argv[1], "fixed") == 0)
		kept = get_buffer();
	for (int i = 0; i < NR_REQUESTS; i++)
		sum += handle_request(i);
	printf("%ld in %d requests\n", sum, NR_REQUESTS);
	return 0;
}
