/*
 * Pressure stall information: three files of one form.
 *
 *   some avg10=13.61 avg60=15.07 avg300=6.72 total=1671568976
 *   full avg10=0.00 avg60=0.00 avg300=0.00 total=0
 */
#include "collect/machine_pressure.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { NR_FIELDS = MACHINE_PRESSURE_FULL + 1 };

static const char *const names[NR_FIELDS] = {
    [MACHINE_PRESSURE_SOME] = "some ", [MACHINE_PRESSURE_FULL] = "full "};

struct pressure {
	bool seen[NR_FIELDS];
	uint64_t total[NR_FIELDS];
};

/* Skips the averages: total is the last number of the line. */
static int parse_total(const char *line, const char *end, uint64_t *out)
{
	static const char total[] = " total=";
	const char *p = memmem(line, (size_t)(end - line), total, sizeof(total) - 1);

	if (!p)
		return -EINVAL;
	p += sizeof(total) - 1;
	return str_scan_u64(&p, end, out) ?: p == end ? 0 : -EINVAL;
}

static int parse_line(const char *line, const char *end, struct pressure *out)
{
	for (int i = 0; i < NR_FIELDS; i++) {
		size_t len = strlen(names[i]);

		if ((size_t)(end - line) < len || memcmp(line, names[i], len) != 0)
			continue;
		out->seen[i] = true;
		return parse_total(line, end, &out->total[i]);
	}
	return 0;
}

static int parse(const char *text, size_t len, void *state, uint32_t nr_cpus)
{
	const char *end = text + len, *line, *stop;
	int rc = 0;

	(void)nr_cpus;
	while (rc == 0 && (line = str_next_line(&text, end, &stop)))
		rc = parse_line(line, stop, state);
	return rc;
}

static bool get(const void *state, uint16_t field, uint32_t cpu, struct collect_value *out)
{
	const struct pressure *p = state;

	(void)cpu;
	*out = (struct collect_value){.raw = p->total[field]};
	return p->seen[field];
}

#define SOURCE(what)                                                                               \
	{                                                                                          \
		.path = "/proc/pressure/" what, .state_bytes = sizeof(struct pressure),            \
		.parse = parse, .get = get                                                         \
	}

const struct collect_source machine_pressure_cpu_source = SOURCE("cpu");
const struct collect_source machine_pressure_memory_source = SOURCE("memory");
const struct collect_source machine_pressure_io_source = SOURCE("io");
