/*
 *   9817 (cat) R 9803 9803 4225 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 1 0 1158526 3133440 382 …
 *
 * The name, in brackets, may itself contain brackets, spaces and newlines; no other field does.
 */
#include "proc/stat.h"

#include "base/str.h"
#include "proc/proc.h"

#include <errno.h>
#include <string.h>

/* p: behind the name. */
static int scan(const char *p, const char *end, const struct proc_number *numbers, size_t nr)
{
	int rc = 0;

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

int proc_stat_parse(const char *text, size_t len, struct proc_stat *out,
		    const struct proc_number *numbers, size_t nr)
{
	const char *close = memrchr(text, ')', len), *end = text + len, *open;
	int rc;

	open = close ? memchr(text, '(', (size_t)(close - text)) : NULL;
	if (!open || end - close < 3 || close[1] != ' ')
		return -EINVAL;
	rc = scan(close + 1, end, numbers, nr);
	if (rc == 0)
		*out = (struct proc_stat){open + 1, (size_t)(close - open) - 1, close[2]};
	return rc;
}

int proc_stat_load(const struct proc *p, char text[PROC_STAT_BYTES], struct proc_stat *out,
		   const struct proc_number *numbers, size_t nr)
{
	return proc_load_text(p, "stat", text, PROC_STAT_BYTES)
		   ?: proc_stat_parse(text, strlen(text), out, numbers, nr);
}

bool proc_is_ready(const struct proc *p)
{
	char text[PROC_STAT_BYTES];
	struct proc_stat s;

	return proc_stat_load(p, text, &s, NULL, 0) == 0 && s.state == 'R';
}
