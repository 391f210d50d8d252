#include "causal_calls.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/root.h"
#include "bpf/hits.h"
#include "causal/called.h"
#include "causal/rounds.h"
#include "causal_core.h"
#include "event/function.h"
#include "functions/breakpoints.h"
#include "functions/pattern.h"
#include "proc/family.h"

#include <string.h>

enum { MAX_FUNCTIONS = 1 << 14, MAX_NAMED = 6 };
static const uint64_t counted_ns = 1000000000, look_ns = 10000000, most_ns = 50000000;
/* Of a point that is passed less often no round could be long enough. */
#define LEAST_RATE (CAUSAL_ROUND_VISITS / CAUSAL_ROUND_MAX_S)

struct counting {
	const struct causal *c;
	struct event_functions found;
	const struct functions_place **place; /* owned; those that can be counted */
	struct hits_place *hit;               /* owned; the same */
	struct causal_called *called;         /* owned; the same */
	bool *is_out;                         /* owned; the same */
	size_t nr;
	struct proc_family family;
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

/* The program's own. False: there are none, or too many. */
static bool find_functions(struct counting *n)
{
	struct err ignored = {0};
	size_t room;

	if (event_functions_find(&n->c->machine.events.catalogue, "*", &n->found, &ignored) ||
	    !n->found.is_of_program || n->found.nr > MAX_FUNCTIONS)
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
static bool find_processes(struct counting *n)
{
	const struct causal *c = n->c;
	struct err ignored = {0};
	int rc = proc_family_add(&n->family, (uint32_t)causal_pid(c));

	for (size_t i = 1; i < c->attached.nr_in && rc == 0; i++)
		rc = proc_family_add(&n->family, (uint32_t)c->attached.in[i]);
	if (rc || proc_family_grow(&n->family, &root_live))
		return false;
	return functions_check_patched(n->family.nr == 1 ? n->family.pid[0] : 0, n->place, n->nr,
				       &ignored) == 0;
}

/* One by one they would take too long to be removed. */
static bool start(struct counting *n)
{
	static const uint64_t rate;
	const struct hits_config config = {
	    .nr_events = 1,
	    .rates = &rate,
	    .places = n->hit,
	    .nr_places = n->nr,
	    .process = n->family.nr == 1 ? (pid_t)n->family.pid[0] : 0,
	    .cpu = (uint32_t)cpuset_next(&n->c->machine.host.online, 0),
	    .follow = {.has_target = true, .has_children = true}};
	struct err ignored = {0};

	if (hits_open(&config, &n->hits, &ignored) || hits_way(n->hits) == HITS_PERF)
		return false;
	for (size_t i = 0; i < n->family.nr; i++)
		(void)hits_add_process(n->hits, (pid_t)n->family.pid[i]); /* it may have ended */
	return hits_start(n->hits, &ignored) == 0;
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

void causal_calls_put(const struct causal *c, struct buf *out)
{
	struct counting n = {.c = c};

	if (find_functions(&n) && find_processes(&n) && start(&n)) {
		count(&n);
		put(&n, out);
	}
	fini(&n);
}
