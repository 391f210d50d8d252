/*
 * Programs are read by their ids, and named once, when they are new: the processes that have them
 * open are then looked for, which takes a look at each descriptor of all processes.
 */
#include "collect/bpf_program.h"

#include "base/clock.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "bpf/program_runs.h"
#include "proc/keys.h"
#include "proc/list.h"
#include "proc/proc.h"
#include "things/things.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)BPF_PROGRAM_NR_FIELDS <= (int)THINGS_MAX_FIELDS, "fields of a program");

enum { MAX_LOOKS = 1 << 16 /* at descriptors, for each search */, NAME_BYTES = 96 };

static const struct things_kind kind = {.name = "BPF program"};

struct seen {
	struct program_runs runs;
	uint64_t time_ns;
};

struct programs {
	struct things things;
	int stats;         /* while it is open the kernel adds up */
	struct seen *seen; /* owned; of the last reading */
	size_t nr_seen, seen_room;
	size_t at; /* where the next program is among the things, most likely */
};

/* --- who has them open ------------------------------------------------------------------------ */

struct holder {
	uint32_t id; /* the key */
	uint32_t pid;
};

struct search {
	const struct root *root;
	struct dict holders;
	uint32_t pid;
	size_t nr_looks;
};

static int look_at(const char *fd, void *arg)
{
	static const char wanted[] = "anon_inode:bpf";
	struct search *s = arg;
	const struct proc *p = PROC(s->root, s->pid);
	char name[NAME_MAX + sizeof("fdinfo/")], target[sizeof(wanted)];
	uint64_t number = 0;
	struct proc_key key = {"prog_id", &number};
	struct holder *h;
	uint32_t id;

	if (s->nr_looks++ >= MAX_LOOKS)
		return -E2BIG;
	snprintf(name, sizeof(name), "fd/%s", fd);
	if (proc_read_link(p, name, target, sizeof(target)) < 0 ||
	    strncmp(target, wanted, strlen(wanted)) != 0)
		return 0;
	snprintf(name, sizeof(name), "fdinfo/%s", fd);
	if (proc_keys_load(p, name, &key, 1) || number > UINT32_MAX)
		return 0;
	id = (uint32_t)number; /* 0: it is of no program */
	h = id ? dict_get(&s->holders, &id) : NULL;
	if (h && (!h->pid || s->pid < h->pid))
		h->pid = s->pid;
	return 0;
}

static int look_into(uint32_t pid, void *arg)
{
	struct search *s = arg;

	s->pid = pid;
	return proc_each_name(PROC(s->root, pid), "fd", look_at, s) == -E2BIG ? -E2BIG : 0;
}

/* What it does not find has no process in its name. */
static void search(struct search *s, const struct root *root)
{
	*s = (struct search){.root = root};
	dict_init(&s->holders, sizeof(struct holder), DICT_KEY(struct holder, id), THINGS_MAX);
	(void)proc_each(root, look_into, s);
}

static void make_name(const struct search *s, const struct program_runs *p, char out[NAME_BYTES])
{
	const struct holder *h = dict_at(&s->holders, dict_find(&s->holders, &p->id));
	char comm[32];
	int len = snprintf(out, NAME_BYTES, "%" PRIu32 "%s%s", p->id, *p->name ? " " : "", p->name);

	if (!h)
		return;
	if (proc_load_line(PROC(s->root, h->pid), "comm", comm, sizeof(comm)) == 0)
		snprintf(out + len, NAME_BYTES - (size_t)len, " (%s %" PRIu32 ")", comm, h->pid);
}

/* --- readings --------------------------------------------------------------------------------- */

static int add_seen(void *arg, const struct program_runs *p)
{
	struct programs *s = arg;
	struct seen *to = MEM_ADD(s->seen, s->nr_seen, s->seen_room);

	if (!to)
		return -ENOMEM;
	*to = (struct seen){*p, clock_monotonic_ns()};
	return s->nr_seen <= THINGS_MAX ? 0 : -E2BIG; /* one more, for a note */
}

static bool is_of(const struct thing *t, uint32_t id)
{
	const char *p = t->name;
	uint64_t n;

	return str_scan_u64(&p, p + strlen(p), &n) == 0 && n == id;
}

/* Programs and things are in the order in which they were loaded. NULL: it is new. */
static struct thing *find(struct programs *s, uint32_t id)
{
	struct things *t = &s->things;

	for (size_t k = 0; k < t->nr; k++) {
		struct thing *thing = &t->list[(s->at + k) % t->nr];

		if (!is_of(thing, id))
			continue;
		s->at = (s->at + k + 1) % t->nr;
		return things_find(t, thing->name, strlen(thing->name));
	}
	return NULL;
}

static void store(struct programs *s, struct thing *thing, const struct seen *from)
{
	thing->values[BPF_RUN_TIME] = from->runs.run_ns;
	thing->values[BPF_RUN_COUNT] = from->runs.nr_runs;
	thing->has = s->things.wanted & ((1u << BPF_PROGRAM_NR_FIELDS) - 1);
	thing->time_ns = from->time_ns;
}

static int add_all(struct programs *s)
{
	struct search names = {.root = NULL};
	int rc = 0;

	for (size_t i = 0; i < s->nr_seen && rc == 0; i++) {
		const struct seen *from = &s->seen[i];
		struct thing *thing = find(s, from->runs.id);
		char name[NAME_BYTES];

		if (!thing) {
			if (!names.root)
				search(&names, &s->things.root);
			make_name(&names, &from->runs, name);
			rc = things_add(&s->things, name, strlen(name), &thing);
		}
		if (rc == 0)
			store(s, thing, from);
	}
	dict_fini(&names.holders);
	return rc == -E2BIG ? 0 : rc;
}

static int read_all(struct programs *s)
{
	int rc;

	s->nr_seen = 0;
	things_begin(&s->things);
	rc = program_runs_each(add_seen, s);
	rc = rc == -E2BIG ? 0 : rc;
	rc = rc ?: add_all(s);
	if (rc == 0)
		things_end(&s->things);
	return rc;
}

static int programs_read(void *state)
{
	struct programs *s = state;

	return things_done(&s->things, read_all(s));
}

static void programs_close(void *state)
{
	struct programs *s = state;

	io_close(&s->stats);
	things_fini(&s->things);
	mem_free(s->seen);
	mem_free(s);
}

static int find_first(struct programs *s, struct err *e)
{
	int rc = program_runs_open(&s->stats, e);

	if (rc)
		return rc;
	rc = read_all(s);
	return rc ? err_set(e, rc, "BPF programs cannot be read: %s", strerror(-rc)) : 0;
}

static int programs_open(const struct root *root, const struct things_choice *choice,
			 uint32_t wanted, void **state, struct err *e)
{
	struct programs *s = mem_zalloc(sizeof(*s));
	int rc;

	(void)choice;
	if (!s)
		return err_set(e, -ENOMEM, "BPF programs: out of memory");
	things_init(&s->things, &kind, root, wanted);
	s->stats = -1;
	rc = find_first(s, e);
	if (rc)
		programs_close(s);
	else
		*state = s;
	return rc;
}

const struct things_source collect_bpf_program_source = {
    .name = "BPF program",
    .may_be_none = true,
    .open = programs_open,
    .close = programs_close,
    .read = programs_read,
    .nr = things_nr,
    .get = things_get,
    .note = things_note,
};
