#include "proc/call.h"

#include "base/str.h"
#include "proc/proc.h"

#include <errno.h>
#include <string.h>

enum { LINE_BYTES = 256 };

/* " 0x1f" */
static bool scan_word(const char **p, const char *end, uint64_t *out)
{
	static const char prefix[] = " 0x";

	if ((size_t)(end - *p) < strlen(prefix) || memcmp(*p, prefix, strlen(prefix)) != 0)
		return false;
	*p += strlen(prefix);
	return str_scan_hex(p, end, out) == 0;
}

int proc_call_parse(const char *line, struct proc_call *out)
{
	const char *p = line + (*line == '-'), *end = line + strlen(line);
	struct proc_call c = {.is_running = strcmp(line, "running") == 0};
	uint64_t number;

	if (c.is_running) {
		*out = c;
		return 0;
	}
	if (str_scan_u64(&p, end, &number) || number > INT32_MAX)
		return -EINVAL;
	c.number = *line == '-' ? -(int64_t)number : (int64_t)number;
	for (unsigned i = 0; i < PROC_CALL_ARGUMENTS && c.number >= 0; i++)
		if (!scan_word(&p, end, &c.argument[i]))
			return -EINVAL;
	if (!scan_word(&p, end, &c.sp) || !scan_word(&p, end, &c.pc) || p != end)
		return -EINVAL;
	*out = c;
	return 0;
}

int proc_call_load(const struct proc *p, struct proc_call *out)
{
	char line[LINE_BYTES];

	return proc_load_line(p, "syscall", line, sizeof(line)) ?: proc_call_parse(line, out);
}
