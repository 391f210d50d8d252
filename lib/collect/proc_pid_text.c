/*
 * The parsers of /proc/PID/statm, io, schedstat, stat and status.
 */
#include "collect/proc_pid_text.h"

#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

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
int proc_pid_statm_parse(const char *text, size_t len, struct proc_pid_statm *out)
{
	struct proc_pid_statm m;
	uint64_t *const numbers[] = {&m.size, &m.resident, &m.shared};
	int rc = scan_numbers(text, text + len, numbers, 3);

	if (rc == 0)
		*out = m;
	return rc;
}

/* 2071837 69143 15: ns on a CPU, ns waiting for one, number of runs */
int proc_pid_schedstat_parse(const char *text, size_t len, struct proc_pid_schedstat *out)
{
	struct proc_pid_schedstat s;
	uint64_t *const numbers[] = {&s.cpu_ns, &s.delay_ns, &s.nr_runs};
	int rc = scan_numbers(text, text + len, numbers, 3);

	if (rc == 0)
		*out = s;
	return rc;
}

/* The text after "key" at the start of the line; NULL if the line has another key. */
static const char *skip_key(const char *line, const char *stop, const char *key)
{
	size_t len = strlen(key);

	if ((size_t)(stop - line) < len || memcmp(line, key, len) != 0)
		return NULL;
	return line + len;
}

/* "VmHWM:	    1234 kB" */
static int scan_kib(const char *line, const char *stop, const char *key, uint64_t *out)
{
	const char *p = skip_key(line, stop, key);

	while (p && p != stop && *p == ' ')
		p++;
	return p ? str_scan_u64(&p, stop, out) : 0;
}

/* Scans a line of "key" and one number; skips other lines. */
static int scan_keyed(const char *line, const char *stop, const char *key, uint64_t *out,
		      bool *is_found)
{
	const char *p = skip_key(line, stop, key);
	int rc;

	if (!p)
		return 0;
	*is_found = true;
	rc = str_scan_u64(&p, stop, out);
	return rc || p == stop ? rc : -EINVAL;
}

/*
 * rchar: 3405883
 * …
 * read_bytes: 4096
 * write_bytes: 0
 * cancelled_write_bytes: 0
 */
int proc_pid_io_parse(const char *text, size_t len, struct proc_pid_io *out)
{
	const char *end = text + len, *line, *stop;
	bool has_read = false, has_written = false;
	struct proc_pid_io io;
	int rc = 0;

	while (rc == 0 && (line = str_next_line(&text, end, &stop))) {
		rc = scan_keyed(line, stop, "read_bytes: ", &io.read_bytes, &has_read)
			 ?: scan_keyed(line, stop, "write_bytes: ", &io.write_bytes, &has_written);
	}
	if (rc == 0 && !(has_read && has_written))
		rc = -EINVAL;
	if (rc == 0)
		*out = io;
	return rc;
}

int proc_pid_stat_scan(const char *text, size_t len, const struct proc_pid_number *numbers,
		       size_t nr)
{
	const char *p = memrchr(text, ')', len), *end = text + len;
	int rc = 0;

	if (!p)
		return -EINVAL;
	p++;
	for (unsigned field = 3; nr && rc == 0; field++) {
		if (p == end || *p++ != ' ')
			return -EINVAL;
		if (field == numbers->field) {
			rc = str_scan_u64(&p, end, numbers->out);
			numbers++;
			nr--;
			continue;
		}
		while (p != end && *p != ' ')
			p++;
	}
	return rc;
}

int proc_pid_stat_parse(const char *text, size_t len, struct proc_pid_stat *out)
{
	struct proc_pid_stat s;
	const struct proc_pid_number numbers[] = {
	    {10, &s.minor_faults}, {12, &s.major_faults}, {22, &s.start_ticks}};
	int rc = proc_pid_stat_scan(text, len, numbers, sizeof(numbers) / sizeof(numbers[0]));

	if (rc == 0)
		*out = s;
	return rc;
}

int proc_pid_family_parse(const char *text, size_t len, struct proc_pid_family *out)
{
	const char *name_end = memrchr(text, ')', len);
	struct proc_pid_family f;
	uint64_t user, system;
	const struct proc_pid_number numbers[] = {{4, &f.parent},
						  {11, &f.minor_faults},
						  {13, &f.major_faults},
						  {16, &user},
						  {17, &system}};
	int rc = proc_pid_stat_scan(text, len, numbers, sizeof(numbers) / sizeof(numbers[0]));

	if (rc)
		return rc;
	f.is_zombie = name_end[2] == 'Z' || name_end[2] == 'X'; /* a number follows */
	f.cpu_ticks = user + system;
	*out = f;
	return 0;
}

/*
 * State:	Z (zombie)
 * …
 * Pid:	812
 * …
 * NSpid:	812	7
 */
int proc_pid_status_parse(const char *text, size_t len, struct proc_pid_status *out)
{
	const char *end = text + len, *line, *stop, *words;
	struct proc_pid_status s = {0};
	bool has_pid = false;
	int rc = 0;

	while (rc == 0 && (line = str_next_line(&text, end, &stop))) {
		rc = scan_keyed(line, stop, "Pid:\t", &s.pid, &has_pid)
			 ?: scan_kib(line, stop, "VmHWM:\t", &s.peak_rss_kib);
		words = skip_key(line, stop, "State:\t");
		s.is_zombie |= words && words != stop && (*words == 'Z' || *words == 'X');
		words = skip_key(line, stop, "NSpid:");
		if (words)
			s.nr_namespaces = 0;
		for (; words && words != stop; words++)
			s.nr_namespaces += *words == '\t';
	}
	if (rc || !has_pid)
		return rc ? rc : -EINVAL;
	*out = s;
	return 0;
}
