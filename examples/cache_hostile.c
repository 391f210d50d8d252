/*
 * A loop that the cache cannot help: a matrix that is stored by rows is added up by columns, so
 * that each access is in another cache line, and in another page.
 *
 * Symptom: a simple loop takes many times as long as its additions.
 * Command: cpuperf -g -- ./cache_hostile
 *          cpuperf_print --report=annotate --function=add_up
 * What to see: the time is in the loop that loads one element after the other. With a PMU,
 *          cpuperf -e instructions_retired,unhalted_core_cycles,llc_misses -- ./cache_hostile
 *          counts many cycles for each instruction, and a miss for nearly each element.
 * Repair: exchange the loops ("fixed").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NR = 2048, NR_TIMES = 3 };

static int (*matrix)[NR];
size_t nr_elements = (size_t)NR * NR;

/* Elements are `step` apart, and each of the `step` places is a beginning. */
static __attribute__((noinline)) long add_up(const int *element, size_t nr, size_t step)
{
	long sum = 0;

	for (size_t first = 0; first < step; first++)
		for (size_t i = first; i < nr; i += step)
			sum += element[i];
	return sum;
}

int main(int argc, char **argv)
{
	const size_t step = argc > 1 && strcmp(argv[1], "fixed") == 0 ? 1 : NR;
	long sum = 0;

	matrix = malloc(NR * sizeof(*matrix));
	if (!matrix)
		return 1;
	memset(matrix, 1, NR * sizeof(*matrix));
	for (int i = 0; i < NR_TIMES; i++)
		sum += add_up(&matrix[0][0], nr_elements, step);
	printf("%ld, %zu bytes from element to element\n", sum, step * sizeof(int));
	free(matrix);
	return 0;
}
