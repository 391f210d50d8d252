/*
 * The parser of lines "name value".
 */
#include "things/keyed.h"

#include "base/str.h"

#include <string.h>

/* "MemTotal:       24635236 kB" or "pgfault 1234": the number after name and separators. */
static int parse_line(const char *p, const char *end, const char *const *names, struct keyed *out)
{
	size_t len = 0;

	while (p + len != end && p[len] != ':' && p[len] != ' ')
		len++;
	for (unsigned i = 0; names[i]; i++) {
		/* most names differ in their first letter: vmstat has 200 lines */
		if (len == 0 || *names[i] != *p || strlen(names[i]) != len ||
		    memcmp(names[i], p, len) != 0)
			continue;
		p += len;
		while (p != end && (*p == ':' || *p == ' '))
			p++;
		out->seen |= 1u << i;
		return str_scan_u64(&p, end, &out->value[i]);
	}
	return 0;
}

int keyed_parse(const char *text, size_t len, const char *const *names, struct keyed *out)
{
	const char *end = text + len, *line, *stop;
	uint32_t all = 0;
	int rc = 0;

	for (unsigned i = 0; names[i]; i++)
		all |= 1u << i;
	while (rc == 0 && out->seen != all && (line = str_next_line(&text, end, &stop)))
		rc = parse_line(line, stop, names, out);
	return rc;
}

bool keyed_has(const struct keyed *k, uint32_t bits)
{
	return (k->seen & bits) == bits;
}
