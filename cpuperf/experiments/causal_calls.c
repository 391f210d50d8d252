#include "experiments/causal_calls.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/root.h"
#include "bpf/hits.h"
#include "causal/called.h"
#include "causal/rounds.h"
#include "event/function.h"
#include "experiments/causal_core.h"
#include "functions/breakpoints.h"
#include "functions/pattern.h"
#include "proc/family.h"
#include "proc/proc.h"
#include "proc/stat.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FUNCTIONS = 1 << 14, MAX_NAMED = 6 };
static const uint64_t counted_ns = 1000000000, look_ns = 10000000, most_ns = 50000000;
/* Of a point that is passed less often no round could be long enough. */
#define LEAST_RATE (CAUSAL_ROUND_VISITS / CAUSAL_ROUND_MAX_S)

struct counting {
	const struct causal *c;
	char exe[PATH_MAX]; /* what the process executes that ran most; "": it is not known */
	bool is_other;      /* not what was started */
	struct event_functions found;
	const struct functions_place **place; /* owned; those that can be counted */
	struct hits_place *hit;               /* owned; the same */
	struct causal_called *called;         /* owned; the same */
	bool *is_out;                         /* owned; the same */
	size_t nr;
	struct proc_family family;
	bool makes_others; /* it has children, or had some */
	struct hits *hits; /* owned */
};

static void fini(struct counting *n)
{
	hits_close(n->hits);
	proc_family_fini(&n->family);
	mem_free(n->place);
	mem_free(n->hit);
	mem_free(n->called);
	mem_free(n->is_out);
	mem_free(n->found.place);
}

static void add_place(struct counting *n, const struct functions_place *f)
{
	struct functions_place untimed = *f;

	untimed.ret = FUNCTIONS_RETURN_NONE;
	n->place[n->nr] = f;
	n->hit[n->nr] = (struct hits_place){.path = f->path, .offset = f->offset, .events = 1};
	n->called[n->nr++] =
	    (struct causal_called){.name = f->name, .cost_ns = functions_hit_ns(&untimed)};
}

/* What cpuperf/mark.h has put into the program is no work of it. */
static bool is_meant(const struct functions_place *f)
{
	static const char mark[] = "cpuperf_mark_";

	return !f->refused && strncmp(f->name, mark, sizeof(mark) - 1) != 0;
}

static bool find_family(struct counting *n)
{
	const struct causal *c = n->c;
	int rc = proc_family_add(&n->family, (uint32_t)causal_pid(c));

	for (size_t i = 1; i < c->attached.nr_in && rc == 0; i++)
		rc = proc_family_add(&n->family, (uint32_t)c->attached.in[i]);
	return rc == 0 && proc_family_grow(&n->family, &root_live) == 0;
}

/* Of a script, or of env, it is a process that was made, or executed, by what was started: of two
 * that ran as long, the younger one. */
static void find_exe(struct counting *n)
{
	uint64_t most = 0, user = 0, system = 0, faults = 0;
	const struct proc_number ran[] = {{PROC_STAT_CHILD_MINOR_FAULTS, &faults},
					  {PROC_STAT_USER_TICKS, &user},
					  {PROC_STAT_SYSTEM_TICKS, &system}};
	uint32_t pid = n->family.pid[0];
	char text[PROC_STAT_BYTES];
	struct proc_stat ignored;

	for (size_t i = 0; i < n->family.nr; i++) {
		const struct proc *p = PROC(&root_live, n->family.pid[i]);

		if (proc_stat_load(p, text, &ignored, ran, ARRAY_NR(ran)))
			continue;
		n->makes_others = n->makes_others || i || faults;
		if (user + system < most)
			continue;
		most = user + system;
		pid = n->family.pid[i];
	}
	if (proc_read_link(PROC(&root_live, pid), "exe", n->exe, sizeof(n->exe)) < 0)
		*n->exe = '\0';
}

static bool find_of(struct counting *n, const char *text)
{
	struct err ignored = {0};

	return event_functions_find(&n->c->machine.events.catalogue, text, &n->found, &ignored) ==
	       0;
}

static bool find_in_exe(struct counting *n)
{
	char text[PATH_MAX + sizeof(":*")];

	if (strpbrk(n->exe, "*?[\\:"))
		return false;
	mem_free(n->found.place);
	n->found = (struct event_functions){0};
	n->is_other = true;
	snprintf(text, sizeof(text), "%s:*", n->exe);
	return find_of(n, text);
}

/* False: there are none, or too many. */
static bool find_functions(struct counting *n)
{
	const bool has_own = find_of(n, "*") && n->found.is_of_program;
	size_t room;

	if (!(has_own && (!*n->exe || strcmp(n->found.place->path, n->exe) == 0)) &&
	    !(*n->exe && find_in_exe(n)))
		return false;
	if (n->found.nr > MAX_FUNCTIONS)
		return false;
	room = n->found.nr + 1;
	n->place = mem_calloc(room, sizeof(*n->place));
	n->hit = mem_calloc(room, sizeof(*n->hit));
	n->called = mem_calloc(room, sizeof(*n->called));
	n->is_out = mem_calloc(room, sizeof(*n->is_out));
	if (!n->place || !n->hit || !n->called || !n->is_out)
		return false;
	for (size_t i = 0; i < n->found.nr; i++)
		if (is_meant(&n->found.place[i]))
			add_place(n, &n->found.place[i]);
	return n->nr;
}

/* A breakpoint costs each process that has it, and would end one whose entries are patched. */
static uint32_t only_process(const struct counting *n)
{
	return n->makes_others ? 0 : n->family.pid[0];
}

static bool may_have_breakpoints(const struct counting *n)
{
	struct err ignored = {0};

	return functions_check_patched(only_process(n), n->place, n->nr, &ignored) == 0;
}

static void add_from(struct counting *n, size_t first)
{
	for (size_t i = first; i < n->family.nr; i++)
		(void)hits_add_process(n->hits, (pid_t)n->family.pid[i]); /* it may have ended */
}

/* One by one they would take too long to be removed. */
static bool start(struct counting *n)
{
	static const uint64_t rate;
	const struct hits_config config = {.nr_events = 1,
					   .rates = &rate,
					   .places = n->hit,
					   .nr_places = n->nr,
					   .process = (pid_t)only_process(n),
					   .cpu =
					       (uint32_t)cpuset_next(&n->c->machine.host.online, 0),
					   .follow = {.has_target = true, .has_children = true}};
	const size_t nr = n->family.nr;
	struct err ignored = {0};

	if (hits_open(&config, &n->hits, &ignored) || hits_way(n->hits) == HITS_PERF)
		return false;
	add_from(n, 0);
	if (hits_start(n->hits, &ignored) || proc_family_grow(&n->family, &root_live))
		return false;
	add_from(n, nr); /* what was made before others were followed */
	return true;
}

static void look(struct counting *n, uint64_t begin_ns)
{
	for (size_t i = 0; i < n->nr; i++) {
		struct causal_called *f = &n->called[i];

		f->calls = f->is_out ? f->calls : hits_calls(n->hits, i);
		f->rate = f->is_out
			      ? f->rate
			      : (double)f->calls * 1e9 / (double)(clock_monotonic_ns() - begin_ns);
	}
	if (!causal_called_leave_out(n->called, n->nr, most_ns))
		return;
	for (size_t i = 0; i < n->nr; i++)
		n->is_out[i] = n->called[i].is_out;
	(void)hits_leave_out(n->hits, n->is_out);
	hits_leave_rest(n->hits);
}

static void count(struct counting *n)
{
	const uint64_t begin_ns = clock_monotonic_ns();
	uint64_t now_ns = begin_ns;

	while (now_ns < begin_ns + counted_ns && !turns_caught() &&
	       !causal_has_ended(n->c, now_ns + look_ns)) {
		look(n, begin_ns);
		now_ns = clock_monotonic_ns();
	}
	hits_stop(n->hits);
}

/* As it is in the source, without parameters, where that means the function, too. */
static void put_name(const char *linkage_name, struct buf *out)
{
	char name[ELF_MAX_NAME_BYTES];
	struct functions_pattern p;

	(void)elf_demangle(linkage_name, name);
	name[strcspn(name, "(")] = '\0';
	buf_adds(out, functions_pattern_parse(name, &p) == 0 && !*p.object &&
			      functions_pattern_has_name(&p, linkage_name)
			  ? name
			  : linkage_name);
}

static void put(struct counting *n, struct buf *out)
{
	const size_t nr = causal_called_sort(n->called, n->nr, LEAST_RATE);

	for (size_t i = 0; i < nr && i < MAX_NAMED; i++) {
		buf_adds(out, i ? ", " : "");
		put_name(n->called[i].name, out);
		buf_printf(out, " %.0f", n->called[i].rate);
	}
}

void causal_calls_put(const struct causal *c, struct buf *object, struct buf *out)
{
	struct counting n = {.c = c};

	if (find_family(&n)) {
		find_exe(&n);
		if (find_functions(&n) && may_have_breakpoints(&n) && start(&n)) {
			count(&n);
			put(&n, out);
		}
	}
	if (n.is_other)
		buf_printf(object, "%s:", n.exe);
	fini(&n);
}
