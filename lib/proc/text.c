/*
 * The parsers of /proc/PID/statm, io and schedstat.
 */
#include "proc/text.h"

#include "base/str.h"
#include "proc/keys.h"
#include "proc/proc.h"

#include <errno.h>
#include <string.h>

enum { LINE_BYTES = 256 };

/* Scans numbers separated by single spaces; a space or the end follows the last. */
static int scan_numbers(const char *p, const char *end, uint64_t *const *out, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		int rc;

		if (i && (p == end || *p++ != ' '))
			return -EINVAL;
		rc = str_scan_u64(&p, end, out[i]);
		if (rc)
			return rc;
	}
	return p == end || *p == ' ' || *p == '\n' ? 0 : -EINVAL;
}

/* 1044 389 338 7 0 107 0: size resident shared text lib data dt */
int proc_statm_parse(const char *text, size_t len, struct proc_statm *out)
{
	struct proc_statm m;
	uint64_t *const numbers[] = {&m.size, &m.resident, &m.shared};
	int rc = scan_numbers(text, text + len, numbers, 3);

	if (rc == 0)
		*out = m;
	return rc;
}

/* 2071837 69143 15: ns on a CPU, ns waiting for one, number of runs */
int proc_schedstat_parse(const char *text, size_t len, struct proc_schedstat *out)
{
	struct proc_schedstat s;
	uint64_t *const numbers[] = {&s.cpu_ns, &s.delay_ns, &s.nr_runs};
	int rc = scan_numbers(text, text + len, numbers, 3);

	if (rc == 0)
		*out = s;
	return rc;
}

/*
 * rchar: 3405883
 * …
 * read_bytes: 4096
 * write_bytes: 0
 * cancelled_write_bytes: 0
 */
int proc_io_parse(const char *text, size_t len, struct proc_io *out)
{
	struct proc_io io;
	struct proc_key keys[] = {{"read_bytes", &io.read_bytes}, {"write_bytes", &io.write_bytes}};
	int rc = proc_keys_parse(text, len, keys, 2);

	if (rc || !keys[0].nr || !keys[1].nr)
		return rc ? rc : -EINVAL;
	*out = io;
	return 0;
}

int proc_statm_load(const struct proc *p, struct proc_statm *out)
{
	char line[LINE_BYTES];

	return proc_load_line(p, "statm", line, sizeof(line))
		   ?: proc_statm_parse(line, strlen(line), out);
}

int proc_schedstat_load(const struct proc *p, struct proc_schedstat *out)
{
	char line[LINE_BYTES];

	return proc_load_line(p, "schedstat", line, sizeof(line))
		   ?: proc_schedstat_parse(line, strlen(line), out);
}
