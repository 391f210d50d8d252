/*
 * touch MIB: has so many MiB of memory resident, and ends.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? (size_t)(int)strtol(argv[1], NULL, 10) << 20 : 0;
	char *m =
	    bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		  : NULL;

	if (m == MAP_FAILED)
		return 1;
	if (m)
		memset(m, 1, bytes);
	return 0;
}
