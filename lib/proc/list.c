#include "proc/list.h"

#include "base/buf.h"
#include "base/root.h"
#include "base/str.h"
#include "proc/proc.h"

#include <limits.h>

enum { MAX_LIST_BYTES = 16 << 20 };

bool proc_parse_id(const char *name, uint32_t *out)
{
	uint64_t v;

	if (*name < '0' || *name > '9' || (*name == '0' && name[1]) || str_parse_u64(name, &v) ||
	    v > INT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

struct listing {
	proc_id_fn *fn;
	void *arg;
};

static int pass(const char *name, void *arg)
{
	const struct listing *l = arg;
	uint32_t id;

	return proc_parse_id(name, &id) && id ? l->fn(id, l->arg) : 0;
}

int proc_each(const struct root *root, proc_id_fn *fn, void *arg)
{
	struct listing l = {fn, arg};

	return root_each(root, "/proc", pass, &l);
}

int proc_each_thread(const struct proc *p, proc_id_fn *fn, void *arg)
{
	struct listing l = {fn, arg};
	struct proc process = *p;

	process.tid = 0;
	return proc_each_name(&process, "task", pass, &l);
}

int proc_each_number(const char *text, size_t len, proc_id_fn *fn, void *arg)
{
	const char *p = text, *end = text + len;
	uint64_t id;
	int rc = 0;

	for (; p < end && rc == 0; p++)
		if (str_scan_u64(&p, end, &id) == 0 && id && id <= INT32_MAX)
			rc = fn((uint32_t)id, arg);
	return rc;
}

int proc_each_child(const struct proc *p, proc_id_fn *fn, void *arg)
{
	BUF_AUTO(text, MAX_LIST_BYTES);
	int rc = proc_load(p, "children", &text);

	return rc ? rc : proc_each_number(buf_str(&text), text.len, fn, arg);
}
