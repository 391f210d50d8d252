/*
 * /proc/PID/stat.
 *
 *   9817 (cat) R 9803 9803 4225 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 1 0 1158526 3133440 382 …
 *
 * The name, in brackets, may itself contain brackets and spaces; no other field does.
 */
#include "collect/proc_task.h"

#include "collect/proc_pid_text.h"

#include <errno.h>
#include <string.h>

int proc_task_parse(const char *text, size_t len, struct proc_task *out)
{
	const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len);
	struct proc_task t;
	const struct proc_pid_number numbers[] = {
	    {4, &t.parent}, {20, &t.nr_threads}, {23, &t.memory_bytes}};

	if (!open || !close || close < open)
		return -EINVAL;
	t.name = open + 1;
	t.name_len = (size_t)(close - t.name);
	if (proc_pid_stat_scan(text, len, numbers, sizeof(numbers) / sizeof(numbers[0])))
		return -EINVAL;
	*out = t;
	return 0;
}
