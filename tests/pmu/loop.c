/*
 * loop [TURNS]: 4 instructions in each turn; for ever without TURNS. The steady load of the tests.
 * Knows nothing of counting.
 */
#include "work.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	work_loop(argc > 1 ? strtoull(argv[1], NULL, 10) : UINT64_MAX);
	return 0;
}
