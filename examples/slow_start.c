/*
 * A slow start: before its first useful step the program makes a table that this run never needs.
 *
 * Symptom: even --help takes a quarter of a second.
 * Command: cpuperf -g -- ./slow_start
 *          cpuperf_print --report=tree
 * What to see: load_modules, below main, has nearly all time, in make_table; answer has none.
 * Repair: make the table when it is first needed ("fixed").
 */
#include <stdio.h>
#include <string.h>

enum { NR = 1 << 16, NR_ROUNDS = 2500 };

static unsigned table[NR];
static int has_table;

static __attribute__((noinline)) void make_table(void)
{
	for (unsigned round = 0; round < NR_ROUNDS; round++)
		for (unsigned i = 0; i < NR; i++)
			table[i] = (table[i] ^ i) * 2654435761u + (table[(i * 7) % NR] >> 3);
	has_table = 1;
}

static __attribute__((noinline)) void load_modules(int is_lazy)
{
	if (!is_lazy)
		make_table();
	printf("modules are loaded\n");
}

static __attribute__((noinline)) void answer(const char *question)
{
	if (strcmp(question, "table") == 0 && !has_table)
		make_table();
	printf("usage: slow_start [table]\n");
}

int main(int argc, char **argv)
{
	load_modules(argc > 1 && strcmp(argv[1], "fixed") == 0);
	answer(argc > 2 ? argv[2] : "--help");
	return (int)(table[1] & 0);
}
