/* Counts the page faults and instructions of a function, of this thread alone: see
 * doc/manual/from-a-program.md. */
#include <cpuperf/cpuperf.h>
#include <stdio.h>
#include <stdlib.h>

static void touch(volatile char *memory, size_t nr_pages)
{
	while (nr_pages--)
		memory[nr_pages * 4096] = 1;
}

int main(void)
{
	struct cpuperf_error e = CPUPERF_ERROR_INIT;
	struct cpuperf_counts *c;
	struct cpuperf_value v[2];
	char *memory = aligned_alloc(4096, 100 * 4096);

	if (cpuperf_counts_open(&c, "page_faults,instructions_retired", CPUPERF_THREAD, 0, &e))
		return fprintf(stderr, "%s\n", e.text), 1;
	cpuperf_counts_start(c, &e);
	touch(memory, 100);
	cpuperf_counts_stop(c, &e);
	cpuperf_counts_read(c, v, 2, &e);
	for (size_t i = 0; i < 2; i++)
		printf("%s: %.0f (%s)\n", cpuperf_counts_event(c, i)->label, v[i].value,
		       v[i].state);
	cpuperf_counts_close(c);
	free(memory);
}
