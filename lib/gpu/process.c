/*
 * Processes with clients of GPUs, of those that are chosen.
 */
#include "gpu/process.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "gpu/view.h"
#include "process/choice.h"
#include "process/group.h"

#include <errno.h>

#define BIT(n) (1u << (n))

enum { FIELDS = BIT(GPU_PROCESS_NR_FIELDS) - 1 };

/* A thing that was looked at. */
struct placed {
	uint32_t number;
	bool is_in_tree;
};

struct processes {
	struct gpu_view view;
	struct process_choice words;
	struct process_group group;
	struct placed *placed; /* owned; of a tree alone */
	size_t nr_placed, placed_room;
	struct gpu_process *shown; /* owned */
};

/* True if the process or one of its ancestors is a first process of the tree. */
static bool is_in_tree(struct processes *s, uint32_t pid)
{
	enum { MAX_DEPTH = 1000 }; /* numbers may be used again meanwhile */
	void *proc = gpu_clients_proc(s->view.clients);

	for (unsigned depth = 0; pid && depth < MAX_DEPTH; depth++) {
		if (process_choice_is_root(&s->words, pid))
			return true;
		if (!s->words.tree->has_children)
			return false;
		pid = process_proc_reader.parent(proc, pid);
	}
	return false;
}

/* A first process may become one later; a parent may end later. */
static bool is_of_tree(struct processes *s, const struct gpu_process *p)
{
	struct placed *placed = ARRAY_FIND(x, s->placed, s->nr_placed, x->number == p->number);

	if (placed)
		return placed->is_in_tree |= process_choice_is_root(&s->words, p->pid);
	placed = MEM_ADD(s->placed, s->nr_placed, s->placed_room);
	if (!placed) /* the next reading tries again */
		return is_in_tree(s, p->pid);
	*placed = (struct placed){p->number, is_in_tree(s, p->pid)};
	return placed->is_in_tree;
}

static bool is_chosen(struct processes *s, const struct gpu_process *p)
{
	if (s->words.group >= 0)
		return process_group_has(&s->group, p->pid);
	if (s->words.tree)
		return is_of_tree(s, p);
	return process_choice_has(&s->words, p->pid, p->command[0] ? p->command : NULL);
}

static int show(struct gpu_view *v, size_t i)
{
	struct processes *s = (struct processes *)v;
	const struct gpu_process *p = gpu_clients_process(v->clients, i);
	struct gpu_process *shown;

	if (!is_chosen(s, p))
		return 0;
	shown = MEM_ADD(s->shown, v->nr_shown, v->room);
	if (!shown)
		return -ENOMEM;
	*shown = *p;
	return 0;
}

/* Those that are there no more. */
static void drop_placed(struct processes *s)
{
	const struct gpu_clients *c = s->view.clients;
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_placed; i++) {
		bool is_there = false;

		for (size_t k = 0; k < gpu_clients_nr_processes(c) && !is_there; k++)
			is_there = gpu_clients_process(c, k)->number == s->placed[i].number;
		if (is_there)
			s->placed[nr++] = s->placed[i];
	}
	s->nr_placed = nr;
}

/* One that was removed has no processes. */
static int read_group(struct processes *s)
{
	int rc = s->words.group >= 0 ? process_group_read(&s->group, s->words.group) : 0;

	return rc == -ENOENT || rc == -ENODEV ? 0 : rc;
}

static int processes_read(void *state)
{
	struct processes *s = state;
	int of_group = read_group(s);
	int rc = gpu_view_read(&s->view, gpu_clients_nr_processes, show);

	drop_placed(s);
	if (of_group)
		s->view.nr_shown = 0;
	return rc ? rc : of_group;
}

static void processes_get(const void *state, size_t i, struct things_one *out)
{
	const struct processes *s = state;
	const struct gpu_process *p = &s->shown[i];
	uint32_t has = p->has & s->view.wanted, lacks = s->view.wanted & ~has;
	bool is_denied = p->error == -EACCES || p->error == -EPERM;

	*out = (struct things_one){
	    .number = p->number,
	    .name = p->name,
	    .time_ns = s->view.time_ns,
	    .born_ns = p->born_ns,
	    .has = has,
	    .values = p->values,
	    .denied = is_denied ? lacks : 0,
	    .failed = p->error && !is_denied ? lacks : 0,
	    .absent = p->error ? 0 : lacks,
	    .missed = BIT(GPU_PROCESS_BUSY_TIME) | BIT(GPU_PROCESS_BUSY_CYCLES),
	    .nr_missed = p->nr_missed,
	};
}

static void processes_close(void *state)
{
	struct processes *s = state;

	gpu_view_fini(&s->view);
	process_choice_fini(&s->words);
	process_group_fini(&s->group);
	mem_free(s->placed);
	mem_free(s->shown);
	mem_free(s);
}

static int processes_open(const struct root *root, const struct things_choice *choice,
			  uint32_t wanted, void **state, struct err *e)
{
	struct processes *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, -ENOMEM, "GPUs: out of memory");
	s->words.group = -1;
	rc = gpu_view_init(&s->view, root, choice, wanted & FIELDS, e);
	if (rc == 0)
		rc = process_choice_init(
		    &s->words, choice, process_proc_reader.self(gpu_clients_proc(s->view.clients)),
		    e);
	if (rc)
		processes_close(s);
	else
		*state = s;
	return rc;
}

const struct things_source gpu_process_source = {
    .name = "GPU process",
    .may_be_none = true,
    .open = processes_open,
    .close = processes_close,
    .join = gpu_view_join,
    .begin = gpu_view_begin,
    .read = processes_read,
    .nr = gpu_view_nr,
    .get = processes_get,
    .use_kernel = gpu_view_use_kernel,
    .way = gpu_view_way,
    .note = gpu_view_note,
};
