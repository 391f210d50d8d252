/*
 * A line of /proc/PID/maps.
 *
 *   562685c01000-562685c06000 r-xp 00002000 fe:00 247134                     /usr/bin/cat
 *   7feecb184000-7feecb186000 r-xp 00000000 00:00 0                          [vdso]
 *
 * start-end, permissions, offset, device: hexadecimal; inode: decimal; then spaces and the name.
 */
#include "proc/maps.h"

#include "base/str.h"

#include <errno.h>

static int scan_char(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return -EINVAL;
	++*p;
	return 0;
}

/* "r-xp" */
static int scan_permissions(const char **p, const char *end, struct proc_mapping *m)
{
	static const char letters[] = "rwx"; /* in the order of the bits */

	if (end - *p < 4)
		return -EINVAL;
	for (unsigned i = 0; i < 3; i++, ++*p) {
		if (**p == letters[i])
			m->prot |= 1u << i;
		else if (**p != '-')
			return -EINVAL;
	}
	m->is_shared = **p == 's';
	return m->is_shared ? scan_char(p, end, 's') : scan_char(p, end, 'p');
}

static int scan_device(const char **p, const char *end, struct proc_mapping *m)
{
	uint64_t major, minor;

	if (str_scan_hex(p, end, &major) || scan_char(p, end, ':') ||
	    str_scan_hex(p, end, &minor) || major > UINT32_MAX || minor > UINT32_MAX)
		return -EINVAL;
	m->major = (uint32_t)major;
	m->minor = (uint32_t)minor;
	return 0;
}

int proc_maps_parse(const char *line, size_t len, struct proc_mapping *out)
{
	const char *p = line, *end = line + len;
	struct proc_mapping m = {0};

	if (str_scan_hex(&p, end, &m.start) || scan_char(&p, end, '-') ||
	    str_scan_hex(&p, end, &m.end) || scan_char(&p, end, ' ') ||
	    scan_permissions(&p, end, &m) || scan_char(&p, end, ' ') ||
	    str_scan_hex(&p, end, &m.offset) || scan_char(&p, end, ' ') ||
	    scan_device(&p, end, &m) || scan_char(&p, end, ' ') ||
	    str_scan_u64(&p, end, &m.inode) || m.end <= m.start)
		return -EINVAL;
	if (p != end && *p != ' ')
		return -EINVAL;
	while (p != end && *p == ' ')
		p++;
	m.name = p;
	m.name_len = (size_t)(end - p);
	*out = m;
	return 0;
}

bool proc_maps_next(const char **text, const char *end, struct proc_mapping *out)
{
	const char *line, *stop;

	while ((line = str_next_line(text, end, &stop)))
		if (proc_maps_parse(line, (size_t)(stop - line), out) == 0)
			return true;
	return false;
}
