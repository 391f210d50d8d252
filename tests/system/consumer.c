/*
 * A program of a stranger: sees the public header and the .pc file, nothing else. Compiled and
 * run by install.sh against an installed cpuperf. Reads a session, or records what a spec says,
 * and prints each iteration's totals, the CPUs' numbers added up; a metric's, which is no sum; of
 * samples also how many, and the worst CPU's coverage.
 */
#include <cpuperf/cpuperf.h>

#include <stdio.h>
#include <string.h>

static int print_iteration(const struct cpuperf_iteration *it, void *arg)
{
	int *nr = arg;

	for (size_t i = 0; i < it->nr_events; i++) {
		unsigned long long samples = 0;
		double total = 0, worst = 2;

		for (size_t row = 0; row < it->nr_cpus; row++) {
			const struct cpuperf_cell *c = cpuperf_iteration_cell(it, i, row);

			if (c->has_value)
				total += c->value;
			samples += c->samples;
			if (c->coverage >= 0 && c->coverage < worst)
				worst = c->coverage;
		}
		if (cpuperf_iteration_event(it, i)->kind == CPUPERF_METRIC)
			total = cpuperf_iteration_total(it, i)->value;
		printf("%u %s %.0f", it->number, cpuperf_iteration_event(it, i)->label, total);
		if (samples)
			printf(" in %llu samples, coverage %.4f", samples, worst);
		putchar('\n');
	}
	(*nr)++;
	return 0;
}

int main(int argc, char **argv)
{
	struct cpuperf_error e = CPUPERF_ERROR_INIT;
	int nr = 0, rc;

	if (argc != 3) {
		fputs("usage: consumer read SESSION | record SPEC\n", stderr);
		return 2;
	}
	rc = strcmp(argv[1], "read") == 0 ? cpuperf_read(argv[2], print_iteration, &nr, &e)
					  : cpuperf_record(argv[2], print_iteration, &nr, &e);
	if (rc)
		fprintf(stderr, "%s\n", e.text);
	return rc || nr == 0;
}
