/*
 * State:	Z (zombie)
 * …
 * Pid:	812
 * …
 * NSpid:	812	7
 */
#include "proc/keys.h"

#include "base/buf.h"
#include "base/str.h"
#include "proc/proc.h"

#include <errno.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20 }; /* status lists the groups of the user: up to 11 bytes for each */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int scan_numbers(struct proc_key *k, const char *p, const char *stop)
{
	const unsigned max = k->max ? k->max : 1;
	uint64_t number;
	int rc = 0;

	for (; p != stop && rc == 0 && !(k->kind == PROC_KIB && k->nr); k->nr++) {
		rc = k->kind == PROC_HEX ? str_scan_hex(&p, stop, &number)
					 : str_scan_u64(&p, stop, &number);
		if (rc == 0 && p != stop && !is_blank(*p))
			return -EINVAL;
		if (rc == 0 && k->nr < max)
			k->out[k->nr] = number;
		while (p != stop && is_blank(*p))
			p++;
	}
	return rc || k->nr ? rc : -EINVAL;
}

/* Of a key that was not found yet; *nr_left: how many there are. The line has its first letter. */
static int scan_line(const char *line, const char *stop, struct proc_key *k, size_t *nr_left)
{
	const size_t len = strlen(k->name);
	const char *p = line + len;
	int rc = 0;

	if ((size_t)(stop - line) <= len || *p++ != ':' || memcmp(line, k->name, len) != 0)
		return 0;
	while (p != stop && is_blank(*p))
		p++;
	if (k->kind != PROC_LETTER)
		rc = scan_numbers(k, p, stop);
	else if (p != stop)
		k->out[k->nr++] = (unsigned char)*p;
	*nr_left -= k->nr != 0;
	return rc;
}

int proc_keys_parse(const char *text, size_t len, struct proc_key *keys, size_t nr)
{
	const char *end = text + len, *line, *stop;
	size_t nr_left = nr;
	int rc = 0;

	for (size_t i = 0; i < nr; i++)
		keys[i].nr = 0;
	while (nr_left && rc == 0 && (line = str_next_line(&text, end, &stop)))
		for (size_t i = 0; i < nr && rc == 0; i++)
			if (!keys[i].nr && *line == *keys[i].name)
				rc = scan_line(line, stop, &keys[i], &nr_left);
	return rc;
}

int proc_keys_load(const struct proc *p, const char *file, struct proc_key *keys, size_t nr)
{
	BUF_AUTO(text, MAX_BYTES);

	return proc_load(p, file, &text) ?: buf_error(&text)
					     ?: proc_keys_parse(buf_str(&text), text.len, keys, nr);
}

bool proc_status_number(const struct proc *p, const char *name, uint64_t *out)
{
	uint64_t number = 0;
	struct proc_key key = {name, &number};

	if (proc_keys_load(p, "status", &key, 1) || !key.nr)
		return false;
	*out = number;
	return true;
}
