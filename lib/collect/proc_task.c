/*
 * /proc/PID/stat.
 *
 *   9817 (cat) R 9803 9803 4225 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 1 0 1158526 3133440 382 …
 *
 * The name, in brackets, may itself contain brackets and spaces; no other field does.
 */
#include "collect/proc_task.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

/* Numbered as in proc(5). */
enum { STATE = 3, PARENT = 4, NR_THREADS = 20, MEMORY_BYTES = 23 };

static uint64_t *find_field(struct proc_task *t, int field)
{
	return field == PARENT         ? &t->parent
	       : field == NR_THREADS   ? &t->nr_threads
	       : field == MEMORY_BYTES ? &t->memory_bytes
				       : NULL;
}

/* A space precedes each field. */
static int parse_fields(const char *p, const char *end, struct proc_task *t)
{
	for (int field = STATE; field <= MEMORY_BYTES; field++) {
		uint64_t *value = find_field(t, field);

		if (p == end || *p++ != ' ')
			return -EINVAL;
		if (value && str_scan_u64(&p, end, value))
			return -EINVAL;
		while (!value && p != end && *p != ' ')
			p++;
	}
	return 0;
}

int proc_task_parse(const char *text, size_t len, struct proc_task *out)
{
	const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len);
	struct proc_task t;

	if (!open || !close || close < open)
		return -EINVAL;
	t.name = open + 1;
	t.name_len = (size_t)(close - t.name);
	if (parse_fields(close + 1, text + len, &t))
		return -EINVAL;
	*out = t;
	return 0;
}
