/*
 * A leak: the error path of read_record returns without freeing what it has allocated.
 *
 * Symptom: memory grows as long as the program runs.
 * Command: cpuperf --spec-file=heap -- ./leak
 *          cpuperf_print --report=tree --event=heap:leaked
 * What to see: leaked is not 0, and read_record has allocated all of it.
 * Repair: free the record on that path, too ("fixed").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NR_RECORDS = 100000, RECORD_BYTES = 1000, EACH_BAD = 5 };

static int is_fixed;

/* Every fifth record is damaged. */
static __attribute__((noinline)) char *read_record(int i)
{
	char *record = malloc(RECORD_BYTES);

	if (!record)
		return NULL;
	memset(record, i, RECORD_BYTES);
	if (i % EACH_BAD == 0) {
		if (is_fixed)
			free(record);
		return NULL; /* the leak */
	}
	return record;
}

int main(int argc, char **argv)
{
	int nr = 0;

	is_fixed = argc > 1 && strcmp(argv[1], "fixed") == 0;
	for (int i = 0; i < NR_RECORDS; i++) {
		char *record = read_record(i);

		nr += record != NULL;
		free(record);
	}
	printf("%d records of %d\n", nr, NR_RECORDS);
	return 0;
}
