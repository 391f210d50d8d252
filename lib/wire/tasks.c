/*
 * The line NSpid of a status: the numbers of a task, from this namespace to its own.
 */
#include "wire/tasks.h"

#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"

/* The last number of NSpid, and how many there are. False: there is no such task or line. */
static bool read_numbers(const struct proc *p, uint32_t *last, uint32_t *nr)
{
	uint64_t number[PROC_MAX_NAMESPACES];
	struct proc_key key = {"NSpid", number, PROC_MAX_NAMESPACES};

	if (proc_keys_load(p, "status", &key, 1) || !key.nr || key.nr > PROC_MAX_NAMESPACES)
		return false;
	*last = (uint32_t)number[key.nr - 1];
	*nr = key.nr;
	return true;
}

bool wire_is_nested(const struct root *root, uint32_t pid)
{
	uint32_t last, nr;

	return read_numbers(PROC(root, pid), &last, &nr) && nr > 1;
}

struct search {
	const struct root *root;
	uint32_t pid, inner, found;
};

static int look_at(uint32_t tid, void *arg)
{
	struct search *s = arg;
	uint32_t last, nr;

	if (!read_numbers(PROC(s->root, s->pid, tid), &last, &nr) || last != s->inner)
		return 0;
	s->found = tid;
	return 1;
}

uint32_t wire_find_thread(const struct root *root, uint32_t pid, uint32_t inner)
{
	struct search s = {.root = root, .pid = pid, .inner = inner};

	(void)proc_each_thread(PROC(root, pid), look_at, &s);
	return s.found;
}
