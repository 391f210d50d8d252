/*
 * /proc/loadavg.
 *
 *   1.53 1.27 0.89 3/110 4137
 */
#include "collect/machine_loadavg.h"

#include "base/str.h"

#include <errno.h>

enum { NR_FIELDS = MACHINE_LOADAVG_15 + 1 };

struct loadavg {
	bool seen;
	uint64_t hundredths[NR_FIELDS];
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "1.53 ": always two digits behind the point. */
static int scan_average(const char **p, const char *end, uint64_t *out)
{
	int rc = str_scan_u64(p, end, out);
	const char *q = *p;
	unsigned fraction;

	if (rc)
		return rc;
	if (end - q < 4 || q[0] != '.' || !is_digit(q[1]) || !is_digit(q[2]) || q[3] != ' ')
		return -EINVAL;
	fraction = (unsigned)(q[1] - '0') * 10 + (unsigned)(q[2] - '0');
	if (__builtin_mul_overflow(*out, 100u, out) || __builtin_add_overflow(*out, fraction, out))
		return -ERANGE;
	*p += 4;
	return 0;
}

static int parse(const char *text, size_t len, void *state, uint32_t nr_cpus)
{
	struct loadavg *l = state;
	const char *end = text + len;
	int rc = 0;

	(void)nr_cpus;
	if (!len)
		return 0; /* hidden from a container: no fields, but no nonsense either */
	for (int i = 0; i < NR_FIELDS && rc == 0; i++)
		rc = scan_average(&text, end, &l->hundredths[i]);
	l->seen = rc == 0;
	return rc;
}

static bool get(const void *state, uint16_t field, uint32_t cpu, struct collect_value *out)
{
	const struct loadavg *l = state;

	(void)cpu;
	*out = (struct collect_value){.raw = l->hundredths[field]};
	return l->seen;
}

const struct collect_source machine_loadavg_source = {
    .path = "/proc/loadavg",
    .state_bytes = sizeof(struct loadavg),
    .parse = parse,
    .get = get,
};
