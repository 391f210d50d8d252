/*
 * Probes as events: "provider:name" of the files that a target maps, or "/file:provider:name". All
 * places with that name are one event. They are measured by a program in the kernel, which sends
 * its samples to an event bpf_output (lib/bpf/probes.h).
 */
#include "event/usdt.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "event/catalogue.h"
#include "event/usdt_files.h"
#include "host/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_PLACES = 1 << 16, MAX_DETAIL_BYTES = 8192 };

/* A place as it is found; strings in the catalogue's arena. */
struct place {
	const char *provider, *name, *arguments;
	struct event_probe probe;
};

struct places {
	struct place *item; /* owned */
	size_t nr, room;
	struct arena *arena;
	const char *path;            /* of the file that is read */
	const char *provider, *name; /* wanted; NULL: all */
	size_t name_len;
};

static void fini(struct places *p)
{
	mem_free(p->item);
}

static int add_place(const struct elf_probe *probe, void *arg)
{
	struct places *p = arg;
	struct place *place;

	if (p->name &&
	    (strcmp(probe->provider, p->provider) != 0 || strcmp(probe->name, p->name) != 0))
		return 0;
	if (p->nr == MAX_PLACES)
		return 0;
	place = MEM_ADD(p->item, p->nr, p->room);
	if (!place)
		return -ENOMEM;
	*place = (struct place){.provider = arena_strdup(p->arena, probe->provider),
				.name = arena_strdup(p->arena, probe->name),
				.arguments = arena_strdup(p->arena, probe->arguments),
				.probe = {.path = arena_strdup(p->arena, p->path),
					  .offset = probe->offset,
					  .semaphore = probe->semaphore,
					  .code = probe->code}};
	return place->provider && place->name && place->arguments && place->probe.path ? 0
										       : -ENOMEM;
}

static int add_file(const struct elf_file *f, const char *path, void *arg)
{
	struct places *p = arg;

	p->path = path;
	return elf_probes_each(f, add_place, p);
}

/* --- what a hit costs, and may break */

static const struct {
	const char *instruction, *cost;
} codes[] = {
    [ELF_PROBE_NOP] = {"nop", "about 0.7 us"},
    [ELF_PROBE_NOP5] = {"nop of 5 bytes", "about 0.4 us where the kernel replaces it (6.18), else "
					  "as any other"},
    [ELF_PROBE_LONG_NOP] = {"nop of several bytes", "10 to 26 us if it is single-stepped"},
    [ELF_PROBE_OTHER] = {"no nop", "10 to 26 us: it is single-stepped"},
};

const char *event_probe_cost(enum elf_probe_code code)
{
	return codes[code].cost;
}

/* Linux 6.18 replaces a probed NOP of 5 bytes by a call, which writes its return address below the
 * stack pointer: where a function without a frame stores its variables. Its system call for that
 * fails with ENXIO elsewhere; kernels that leave the red zone alone return EPROTO. */
static bool kernel_replaces_nops(void)
{
#if defined(__x86_64__)
	enum { UPROBE_SYSCALL = 336 };

	return syscall(UPROBE_SYSCALL) < 0 && errno != ENOSYS && errno != EPROTO;
#else
	return false;
#endif
}

static const char *find_danger(const struct event_probe *probes, size_t nr)
{
	if (ARRAY_ANY(p, probes, nr, p->code == ELF_PROBE_OTHER))
		return "the instruction there is no NOP, so the note may be of another file";
	if (ARRAY_ANY(p, probes, nr, p->code == ELF_PROBE_NOP5) && kernel_replaces_nops())
		return "it is a NOP of 5 bytes, which this kernel replaces by a call: in a "
		       "function "
		       "that uses the red zone below the stack pointer, the program's results "
		       "would be wrong";
	return NULL;
}

/* --- rows */

static char *make_detail(const struct catalogue *c, const struct place *places, size_t nr)
{
	BUF_AUTO(text, MAX_DETAIL_BYTES);

	for (size_t i = 0; i < nr; i++) {
		const struct place *p = &places[i];

		buf_printf(&text, "%s%s+0x%" PRIx64 ": %s, %s a hit%s%s%s", i ? "\n" : "",
			   p->probe.path, p->probe.offset, codes[p->probe.code].instruction,
			   codes[p->probe.code].cost, p->probe.semaphore ? ", semaphore" : "",
			   *p->arguments ? "\n  arguments " : "", p->arguments);
	}
	return text.len ? arena_strndup(c->arena, text.data, text.len) : NULL;
}

/* The row of all places with the same name. */
static struct event_row *new_row(const struct catalogue *c, const char *name,
				 const struct place *places, size_t nr)
{
	struct event_row *row = arena_alloc(c->arena, sizeof(*row));
	struct event_part *part = arena_alloc(c->arena, sizeof(*part));
	struct event_probe *probes = arena_calloc(c->arena, nr, sizeof(*probes));

	if (!row || !part || !probes)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		probes[i] = places[i].probe;
	*part = (struct event_part){.pmu = "",
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_BPF_OUTPUT,
				    .config1 = PERF_ABI_PROBE};
	*row = (struct event_row){
	    .name = name,
	    .kind = EVENT_COUNT,
	    .scope = EVENT_SCOPE_CPU,
	    .unit = "hits",
	    .source = "BPF: uprobe",
	    .description = arena_printf(c->arena, "A probe (USDT) of %s%s.", places[0].probe.path,
					nr > 1 ? ", at several places" : ""),
	    .detail = make_detail(c, places, nr),
	    .nr_parts = 1,
	    .parts = part,
	    .probes = probes,
	    .nr_probes = (uint32_t)nr,
	    .danger = find_danger(probes, nr),
	};
	return row->description ? row : NULL;
}

/* "/file:provider:name", whose file may contain colons, or "provider:name". */
static int split(const struct catalogue *c, const char *name, const char **file, struct places *p,
		 struct err *e)
{
	char *copy = arena_strdup(c->arena, name);
	char *last = copy ? strrchr(copy, ':') : NULL, *before = NULL;

	if (!copy)
		return -ENOMEM;
	if (last) {
		*last = '\0';
		before = *copy == '/' ? strrchr(copy, ':') : NULL;
	}
	if (before)
		*before = '\0';
	*file = before ? copy : NULL;
	p->provider = before ? before + 1 : copy;
	p->name = last ? last + 1 : "";
	if (last && *p->name && *p->provider && (before || *copy != '/') &&
	    !strchr(p->provider, ':'))
		return 0;
	err_set(e, -ENOENT, "not of the form provider:name or /file:provider:name");
	err_hint(e, "for example usdt:libstdcxx:throw");
	return -ENOENT;
}

static int refuse_file(const char *file, struct err *e)
{
	err_set(e, -ENOENT, "the file has no such probe (.note.stapsdt), or cannot be read");
	err_hint(e, "readelf -n %.300s lists its probes", file);
	return -ENOENT;
}

/* A target's events are those of its own files: what it may load later is named. */
static int refuse(const struct catalogue *c, struct places *p, struct err *e)
{
	int rc = usdt_has_target(c->objects) ? usdt_files_each(c->host, NULL, add_file, p) : 0;

	if (rc)
		return rc;
	if (p->nr) {
		err_set(e, -ENOENT,
			"what the target maps at its start has no such probe; %.200s has",
			p->item[0].probe.path);
		err_hint(e, "to measure it where it is loaded later: usdt:%.200s:%s:%s",
			 p->item[0].probe.path, p->provider, p->name);
		return -ENOENT;
	}
	err_set(e, -ENOENT, "%s no such probe (.note.stapsdt)",
		usdt_has_target(c->objects) ? "what the target maps at its start has"
					    : "the libraries of the loader's cache have");
	err_hint(e, "name the file, if it is another: usdt:/FILE:PROVIDER:NAME");
	return -ENOENT;
}

static int find(const struct catalogue *c, const char *name, const struct event_row **out,
		struct err *e)
{
	struct places p = {.arena = c->arena};
	struct event_row *row = NULL;
	const char *file, *copy;
	int rc;

	if (!strchr(name, ':') || *c->host->root.dir)
		return -ENOENT;
	rc = split(c, name, &file, &p, e);
	if (rc)
		return rc;
	rc = file ? usdt_files_read(file, add_file, &p)
		  : usdt_files_each(c->host, c->objects, add_file, &p);
	copy = arena_strdup(c->arena, name);
	if (rc == 0 && p.nr)
		row = copy ? new_row(c, copy, p.item, p.nr) : NULL;
	if (rc == 0 && !p.nr)
		rc = file ? refuse_file(file, e) : refuse(c, &p, e);
	else if (rc == 0 && !row)
		rc = -ENOMEM;
	fini(&p);
	if (rc == 0)
		*out = row;
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return strcmp(x->provider, y->provider) ?: strcmp(x->name, y->name);
}

static int each(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		void *arg)
{
	struct places p = {.arena = c->arena};
	int rc = 0;

	if (*c->host->root.dir)
		return 0;
	rc = usdt_files_each(c->host, c->objects, add_file, &p);
	if (p.nr)
		qsort(p.item, p.nr, sizeof(*p.item), compare);
	for (size_t i = 0, nr; i < p.nr && rc == 0; i += nr) {
		const char *name =
		    arena_printf(c->arena, "%s:%s", p.item[i].provider, p.item[i].name);
		struct event_row *row;

		for (nr = 1; i + nr < p.nr && compare(&p.item[i], &p.item[i + nr]) == 0;)
			nr++;
		row = name ? new_row(c, name, &p.item[i], nr) : NULL;
		rc = row ? fn(row, arg) : -ENOMEM;
	}
	fini(&p);
	return rc;
}

static const struct event_maker probe_maker = {.find = find, .each = each};
static const struct event_maker *const makers[] = {&probe_maker};

const struct event_group event_usdt_group = {
    .name = "usdt",
    .description = "Probes that programs and libraries have built in (USDT), provider:name or "
		   "/file:provider:name.",
    .id = EVENT_GROUP_USDT,
    .is_perf = true,
    .makers = makers,
    .nr_makers = ARRAY_NR(makers),
};

bool event_is_probe(const struct event *ev)
{
	return ev->group->id == EVENT_GROUP_USDT;
}
