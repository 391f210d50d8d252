/*
 * Functions as events. The files are walked once for the program's own functions, and for what each
 * file can do to a replaced return address; a second time for the other files, if the program has
 * no such function. Like probes they are measured by programs in the kernel (lib/bpf), or by the
 * agent, and their samples are sent to an event bpf_output.
 */
#include "event/function.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/perf_abi.h"
#include "base/str.h"
#include "elf/file.h"
#include "elf/parameters.h"
#include "event/catalogue.h"
#include "event/usdt.h"
#include "event/usdt_files.h"
#include "functions/criteria.h"
#include "functions/ends.h"
#include "functions/list.h"
#include "functions/pattern.h"
#include "functions/signature.h"
#include "host/host.h"
#include "spec/spec.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_DETAIL_BYTES = 8192,
	MAX_DETAILED = 24,  /* functions of a detail */
	MAX_FILE_NAMES = 4, /* of an error */
};

/* --- finding them */

struct search {
	const struct catalogue *c;
	struct functions_pattern pattern;
	const struct functions_signature *signature; /* NULL: none */
	const char *unsigned_why; /* why the file that is read has no signatures; NULL: it may */
	struct event_functions found;
	struct functions_ends ends;
	bool is_in_libraries; /* the program has no such function: the others are looked through */
	bool is_named;        /* the file is not of the target */
	bool counts_inlined;  /* nothing was found: asks why */
	size_t nr_inlined;
	bool is_judged;   /* what the files can do is known */
	const char *path; /* of the file that is read, in the arena */
	/* what an error says */
	size_t nr_files, nr_functions, nr_nameless;
	const char *truncated; /* a file, in the arena */
	char looked_in[256];
	const char *nearest; /* in the arena */
	size_t nearest_distance;
};

static bool is_wanted(const struct search *s, const struct usdt_file *file)
{
	if (*s->pattern.object)
		return functions_pattern_has_file(&s->pattern, file->path);
	return file->is_program != s->is_in_libraries;
}

static int add_place(const struct functions_place *p, void *arg)
{
	struct search *s = arg;
	struct functions_place *place;

	if (s->found.nr - s->found.nr_refused >= EVENT_MAX_FUNCTIONS)
		return -E2BIG;
	place = MEM_ADD(s->found.place, s->found.nr, s->found.room);
	if (!place)
		return -ENOMEM;
	*place = *p;
	place->path = s->path;
	place->signature = s->signature;
	if (s->signature && !place->refused)
		place->refused = s->unsigned_why;
	place->name = arena_strdup(s->c->arena, p->name);
	s->found.nr_refused += place->refused != NULL;
	return place->name ? 0 : -ENOMEM;
}

static void note_file(struct search *s, const char *path)
{
	size_t len = strlen(s->looked_in);

	if (s->nr_files++ < MAX_FILE_NAMES)
		snprintf(s->looked_in + len, sizeof(s->looked_in) - len, "%s%s", len ? ", " : "",
			 str_base_name(path));
	else if (s->nr_files == MAX_FILE_NAMES + 1)
		snprintf(s->looked_in + len, sizeof(s->looked_in) - len, ", …");
}

/* Names live as long as the list. */
static int note_nearest(struct search *s, const struct functions_list *l)
{
	const char *best = NULL;

	if (s->found.nr || s->nearest || functions_is_glob(s->pattern.glob))
		return 0;
	for (size_t i = 0; i < l->nr; i++)
		str_nearest_offer(s->pattern.glob, l->symbol[i].name, &best, &s->nearest_distance);
	if (!best)
		return 0;
	s->nearest = arena_strdup(s->c->arena, best);
	return s->nearest ? 0 : -ENOMEM;
}

/* Clones have arguments of their own, which debug information does not have. */
static bool is_clone(const char *name)
{
	return strstr(name, ".isra.") || strstr(name, ".constprop.") || strstr(name, ".part.");
}

/* Why nothing of the place's calls is recorded; NULL: its signature is set. -ENOMEM in *rc. */
static const char *set_signature(struct search *s, const struct elf_parameters *found,
				 struct functions_place *place, int *rc)
{
	struct functions_signature *of = arena_alloc(s->c->arena, sizeof(*of));
	const char *why;

	place->signature = NULL;
	if (!of) {
		*rc = -ENOMEM;
		return NULL;
	}
	if (is_clone(place->name))
		return "the compiler has changed its arguments: name them yourself";
	why = functions_signature_make(found, of);
	place->signature = why ? NULL : of;
	return why;
}

/* Of places by address. Of many functions those without arguments are measured, too. 0 or -ENOMEM.
 */
static int set_signatures(struct search *s, const struct elf_file *f, struct functions_place *place,
			  size_t nr)
{
	MEM_AUTO struct elf_parameters *found = mem_calloc(nr + 1, sizeof(*found));
	MEM_AUTO uint64_t *address = mem_calloc(nr + 1, sizeof(*address));
	MEM_AUTO const char **why = mem_calloc(nr + 1, sizeof(*why));
	bool is_any = false;
	int rc = found && address && why ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && rc == 0; i++)
		address[i] = place[i].address;
	if (rc == 0)
		elf_parameters_find(f, address, nr, found);
	for (size_t i = 0; i < nr && rc == 0; i++) {
		why[i] = set_signature(s, &found[i], &place[i], &rc);
		is_any |= !place[i].refused && !why[i];
	}
	for (size_t i = 0; i < nr && rc == 0 && !(is_any && nr > 1); i++) {
		if (place[i].refused || !why[i])
			continue;
		place[i].refused = why[i];
		s->found.nr_refused++;
	}
	return rc;
}

static const char *why_unsigned(const struct functions_list *l, const struct elf_file *f)
{
#if defined(__x86_64__)
	const uint16_t own = EM_X86_64;
#else
	const uint16_t own = EM_AARCH64;
#endif

	if (l->is_go)
		return "where Go passes values is not known: omit the signature";
	return elf_file_is_64(f) && elf_file_machine(f) == own
		   ? NULL
		   : "where programs of 32 bits, or of another machine, pass values is not known: "
		     "omit the signature";
}

static struct functions_patterns patterns_of(const struct spec_list *list)
{
	return (struct functions_patterns){list->item, list->nr};
}

/* Of the file's places, from that number on. 0 or -ENOMEM. */
static int apply_criteria(struct search *s, const struct functions_list *l, size_t first)
{
	const struct spec_functions *asked = s->c->functions;
	struct functions_criteria c;
	int rc;

	if (!asked || s->found.nr == first)
		return 0;
	c = (struct functions_criteria){.include = patterns_of(&asked->include),
					.exclude = patterns_of(&asked->exclude),
					.callers_of = patterns_of(&asked->callers_of),
					.min_instructions = asked->min_instructions,
					.min_bytes = asked->min_size,
					.has_loop = asked->has_loops,
					.depth = asked->depth};
	if (!functions_criteria_are_set(&c))
		return 0;
	rc = functions_criteria_apply(&c, l, s->found.place + first, s->found.nr - first);
	s->found.nr_refused = 0;
	for (size_t i = 0; i < s->found.nr; i++)
		s->found.nr_refused += s->found.place[i].refused != NULL;
	return rc;
}

static int read_file(struct search *s, const struct elf_file *f, const struct usdt_file *file)
{
	const size_t first = s->found.nr;
	struct functions_list list;
	int rc = functions_list_load(f, s->path, file->reader, &list);

	if (rc)
		return rc;
	if (s->counts_inlined) {
		s->nr_inlined += functions_list_inlined(&list, &s->pattern);
		functions_list_fini(&list);
		return 0;
	}
	s->unsigned_why = why_unsigned(&list, f);
	note_file(s, s->path);
	s->nr_functions += list.nr;
	s->nr_nameless += list.names != FUNCTIONS_ALL;
	if (list.names != FUNCTIONS_ALL && elf_file_is_truncated(f))
		s->truncated = s->path;
	rc = functions_list_each(&list, &s->pattern, add_place, s) ?: note_nearest(s, &list);
	rc = rc ?: apply_criteria(s, &list, first);
	if (rc == 0 && s->signature && s->signature->is_of_file && s->found.nr > first)
		rc =
		    set_signatures(s, list.debug ?: f, s->found.place + first, s->found.nr - first);
	functions_list_fini(&list);
	return rc;
}

static int look_at(const struct elf_file *f, const struct usdt_file *file, void *arg)
{
	struct search *s = arg;
	const bool wanted = is_wanted(s, file);

	if (s->is_judged && !wanted)
		return 0;
	s->path = arena_strdup(s->c->arena, file->path);
	if (!s->path)
		return -ENOMEM;
	if (!s->is_judged)
		functions_ends_add(&s->ends, f, s->path);
	return wanted ? read_file(s, f, file) : 0;
}

/* A file that is named, and that the target does not map now. */
static int look_at_named(const struct elf_file *f, const struct usdt_file *file, void *arg)
{
	struct search *s = arg;

	s->path = arena_strdup(s->c->arena, file->path);
	if (!s->path)
		return -ENOMEM;
	functions_ends_add(&s->ends, f, s->path);
	return read_file(s, f, file);
}

static bool has_file(const char *path, void *arg)
{
	const struct search *s = arg;

	return functions_pattern_has_file(&s->pattern, path);
}

/* Those of the target; if it maps none of the name, what it may load later. */
static int walk(struct search *s)
{
	int rc = usdt_files_walk(s->c->host, s->c->objects, look_at, s);
	char path[PATH_MAX];

	s->is_judged = true;
	if (rc || !*s->pattern.object || (s->nr_files && !s->is_named))
		return rc;
	s->is_named = true;
	if (!strchr(s->pattern.object, '/'))
		return usdt_files_walk_installed(s->c->host, has_file, look_at_named, s);
	return realpath(s->pattern.object, path) ? usdt_files_walk_one(path, look_at_named, s) : 0;
}

/* Of all files, as reasons name one that is not the function's. */
static int decide_ends(struct search *s)
{
	char reason[FUNCTIONS_ENDS_REASON_BYTES];
	const char *text;

	functions_ends_reason(&s->ends, reason);
	text = arena_strdup(s->c->arena, reason);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < s->found.nr; i++)
		functions_ends_decide(&s->ends, text, &s->found.place[i]);
	return 0;
}

/* --- what is wrong */

static void hint_nearest(const struct search *s, struct err *e)
{
	if (s->nr_inlined)
		err_hint(e,
			 "it is inlined at %zu place%s, where no call is made: compile it with "
			 "__attribute__((noinline)), or measure what calls it",
			 s->nr_inlined, s->nr_inlined == 1 ? "" : "s");
	else if (s->nearest)
		err_hint(e, "did you mean %.200s? cpuperf --list-functions lists all", s->nearest);
	else if (s->truncated)
		err_hint(e, "%.200s is truncated: copy or build it again", s->truncated);
	else if (s->nr_nameless)
		err_hint(e,
			 "%s stripped: only what is exported has a name; build without -s and "
			 "strip, or install the debug package (Debian: NAME-dbgsym)",
			 s->nr_files == 1 ? "the file is" : "files of these are");
	else
		err_hint(e, "cpuperf --list-functions lists all; a function that is inlined "
			    "everywhere has no calls");
}

static int refuse_none(struct search *s, struct err *e)
{
	int rc;

	if (!s->nr_files) {
		err_set(e, -ENOENT, "%s%.200s",
			*s->pattern.object ? "no file of the target, and no installed library, is "
					   : "",
			*s->pattern.object ? s->pattern.object
					   : "the target's program cannot be read");
		err_hint(e,
			 "name the file by its path, if the target loads it later: "
			 "function:/PATH:%.100s",
			 s->pattern.glob);
		return -ENOENT;
	}
	/* only the program's files, or those that are named: it takes seconds */
	s->is_in_libraries = false;
	s->counts_inlined = true;
	rc = walk(s);
	if (rc)
		return rc;
	err_set(e, -ENOENT, "no function matches \"%.100s\" among %zu of %.200s", s->pattern.glob,
		s->nr_functions, s->looked_in);
	hint_nearest(s, e);
	return -ENOENT;
}

static int refuse_many(const struct search *s, struct err *e)
{
	err_set(e, -E2BIG, "more than %d functions match \"%.100s\"", EVENT_MAX_FUNCTIONS,
		s->pattern.glob);
	err_hint(e, "choose by name: function:parse_*");
	return -E2BIG;
}

static int refuse_machine(const struct search *s, struct err *e)
{
	err_set(e, -EINVAL, "functions of which program?");
	err_hint(e, "measure a command or --pid, or name the file: function:OBJECT:%.100s",
		 s->pattern.glob);
	return -EINVAL;
}

/* What is before the signature is the pattern. */
static int read_text(struct search *s, const char *text, struct err *e)
{
	struct functions_signature *signature = arena_alloc(s->c->arena, sizeof(*signature));
	size_t len;
	int rc = signature ? functions_signature_parse(text, &len, signature, e) : -ENOMEM;
	const char *pattern = rc ? NULL : arena_strndup(s->c->arena, text, len);

	if (rc)
		return rc;
	if (!pattern)
		return -ENOMEM;
	s->signature = signature->nr || signature->is_of_file ? signature : NULL;
	rc = functions_pattern_parse(pattern, &s->pattern);
	if (rc) {
		err_set(e, rc, "not of the form [OBJECT:]GLOB");
		err_hint(e, "for example function:parse_* or function:libfoo.so:*");
	}
	return rc;
}

static int check_patterns(const char *key, const struct spec_list *list, struct err *e)
{
	const struct functions_patterns p = patterns_of(list);
	const size_t i = functions_patterns_check(&p);

	if (i == p.nr)
		return 0;
	err_set(e, -EINVAL, "functions.%s: \"%.60s\" is not of the form [OBJECT:]GLOB%s", key,
		p.item[i], strlen(p.item[i]) > 60 ? ", or too long" : "");
	err_hint(e, "for example parse_* or libfoo.so:*");
	return -EINVAL;
}

static int check_criteria(const struct spec_functions *asked, struct err *e)
{
	if (!asked)
		return 0;
	return check_patterns("include", &asked->include, e)
	       ?: check_patterns("exclude", &asked->exclude, e)
	       ?: check_patterns("callers_of", &asked->callers_of, e);
}

int event_functions_find(const struct catalogue *c, const char *text, struct event_functions *out,
			 struct err *e)
{
	struct search s = {.c = c};
	int rc = check_criteria(c->functions, e) ?: read_text(&s, text, e);

	if (rc)
		return rc;
	if (!usdt_has_target(c->objects) && !*s.pattern.object)
		return refuse_machine(&s, e);
	rc = walk(&s);
	if (rc == 0 && !s.found.nr && !*s.pattern.object) {
		s.is_in_libraries = true;
		rc = walk(&s);
	}
	s.found.is_of_program = !s.is_in_libraries;
	rc = rc ?: (s.found.nr ? decide_ends(&s) : refuse_none(&s, e));
	if (rc == -E2BIG)
		refuse_many(&s, e);
	if (rc)
		mem_free(s.found.place);
	else
		*out = s.found;
	return rc;
}

/* --- rows */

static const char *const entries[] = {
    [FUNCTIONS_NOP5] = "NOP of 5 bytes",
    [FUNCTIONS_CHEAP] = "emulated",
    [FUNCTIONS_STEPPED] = "single-stepped",
};

const char *event_function_entry(enum functions_entry entry)
{
	return entries[entry];
}

/* First those that are measured, in their order. */
static size_t keep_measured(struct event_functions *f)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->nr; i++)
		if (!f->place[i].refused) {
			struct functions_place p = f->place[nr];

			f->place[nr++] = f->place[i];
			f->place[i] = p;
		}
	return nr;
}

static void add_detail(struct buf *text, const struct functions_place *p)
{
	buf_printf(text, "%s%s+0x%" PRIx64 ": %s", text->len ? "\n" : "", p->path, p->offset,
		   p->name);
	if (p->refused) {
		buf_printf(text, " is omitted: %s", p->refused);
		return;
	}
	buf_printf(text, ", %s, about %.1f us a call", event_function_entry(p->entry),
		   (double)functions_hit_ns(p) / 1e3);
	if (p->prepared != FUNCTIONS_PREPARED_NOT)
		buf_adds(text, ", prepared by the compiler");
	if (p->ret == FUNCTIONS_RETURN_NONE)
		buf_printf(text, "; no times: %s", p->reason ?: "");
}

static char *make_detail(const struct catalogue *c, const struct event_functions *f)
{
	BUF_AUTO(text, MAX_DETAIL_BYTES);

	for (size_t i = 0; i < f->nr && i < MAX_DETAILED; i++)
		add_detail(&text, &f->place[i]);
	if (f->nr > MAX_DETAILED)
		buf_printf(&text, "\n%zu more: cpuperf --list-functions lists them",
			   f->nr - MAX_DETAILED);
	return text.len ? arena_strndup(c->arena, text.data, text.len) : NULL;
}

/* Those behind the first nr; those of the program's start do not surprise. */
static const char *describe_omitted(const struct catalogue *c, const struct event_functions *f,
				    size_t nr)
{
	const struct functions_place *p = &f->place[nr];
	size_t left = f->nr - nr;

	return left == 1
		   ? arena_printf(c->arena, "%.200s is omitted: %s", p->name, p->refused)
		   : arena_printf(c->arena,
				  "%zu are omitted, as %.200s: %s; --list-functions lists them",
				  left, p->name, p->refused);
}

static const char *describe(const struct catalogue *c, const struct event_functions *f, size_t nr)
{
	bool is_one_file = !ARRAY_ANY(p, f->place, nr, strcmp(p->path, f->place[0].path) != 0);

	return arena_printf(c->arena, "Calls of %zu function%s of %s%s.", nr, nr == 1 ? "" : "s",
			    f->place[0].path, is_one_file ? "" : " and other files");
}

/* That all have. NULL: they have several, or none. */
static const struct functions_signature *shared_signature(const struct event_functions *f,
							  size_t nr)
{
	const struct functions_signature *first = nr ? f->place[0].signature : NULL;

	return ARRAY_ANY(p, f->place, nr, p->signature != first) ? NULL : first;
}

/* The raw data of calls that are sampled when they end, as of a tracepoint. */
static char *make_format(const struct catalogue *c, const struct event_functions *f, size_t nr)
{
	const struct functions_signature *s = shared_signature(f, nr);
	size_t nr_texts = 0;
	BUF_AUTO(text, MAX_DETAIL_BYTES);

	buf_adds(&text, "\tfield:u64 " FUNCTIONS_DURATION ";\toffset:0;\tsize:8;\tsigned:0;\n");
	for (size_t i = 0; s && i < s->nr; i++) {
		const struct functions_value *v = &s->value[i];

		if (v->kind == FUNCTIONS_TEXT)
			buf_printf(&text,
				   "\tfield:char %s[%d];\toffset:%zu;\tsize:%d;\tsigned:0;\n",
				   v->name, PERF_ABI_ENDED_TEXT_BYTES,
				   PERF_ABI_ENDED_TEXTS + nr_texts++ * PERF_ABI_ENDED_TEXT_BYTES,
				   PERF_ABI_ENDED_TEXT_BYTES);
		else
			buf_printf(&text, "\tfield:%s %s;\toffset:%zu;\tsize:8;\tsigned:%d;\n",
				   v->kind == FUNCTIONS_SIGNED ? "s64" : "u64", v->name,
				   PERF_ABI_ENDED_WORDS + 8 * i, v->kind == FUNCTIONS_SIGNED);
	}
	return arena_strndup(c->arena, text.data, text.len);
}

static struct event_row *new_row(const struct catalogue *c, const char *name,
				 const struct event_functions *f, size_t nr)
{
	struct event_row *row = arena_alloc(c->arena, sizeof(*row));
	struct event_part *part = arena_alloc(c->arena, sizeof(*part));
	struct functions_place *places = arena_calloc(c->arena, nr, sizeof(*places));

	bool is_prepared = ARRAY_ANY(p, f->place, nr, p->prepared != FUNCTIONS_PREPARED_NOT);

	if (!row || !part || !places)
		return NULL;
	memcpy(places, f->place, nr * sizeof(*places));
	*part = (struct event_part){.pmu = "",
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_BPF_OUTPUT,
				    .config1 = PERF_ABI_PROBE,
				    .config2 = PERF_ABI_RETURNS};
	*row = (struct event_row){
	    .name = arena_strdup(c->arena, name),
	    .kind = EVENT_COUNT,
	    .scope = EVENT_SCOPE_CPU,
	    .unit = "calls",
	    .source = is_prepared ? "BPF: uprobe, or the calls that the compiler has put there"
				  : "BPF: uprobe",
	    .description = describe(c, f, nr),
	    .detail = make_detail(c, f),
	    .format = make_format(c, f, nr),
	    .nr_parts = 1,
	    .parts = part,
	    .functions = places,
	    .nr_functions = (uint32_t)nr,
	    .omitted = f->nr > nr ? describe_omitted(c, f, nr) : NULL,
	};
	return row->name && row->description && row->format && !row->omitted == (f->nr == nr)
		   ? row
		   : NULL;
}

static int refuse_all(const struct event_functions *f, struct err *e)
{
	err_set(e, -ENOENT, "%.200s is not measured: %s", f->place[0].name, f->place[0].refused);
	err_hint(e, "cpuperf --list-functions lists what can be measured");
	return -ENOENT;
}

static int find(const struct catalogue *c, const char *name, const struct event_row **out,
		struct err *e)
{
	struct event_functions f = {.nr = 0};
	struct event_row *row;
	size_t nr;
	int rc;

	if (*c->host->root.dir)
		return -ENOENT;
	rc = event_functions_find(c, name, &f, e);
	if (rc) /* any other says that nothing of that name could be */
		return rc == -ENOMEM ? rc : -ENOENT;
	nr = keep_measured(&f);
	row = nr ? new_row(c, name, &f, nr) : NULL;
	rc = row ? 0 : nr ? -ENOMEM : refuse_all(&f, e);
	mem_free(f.place);
	if (rc == 0)
		*out = row;
	return rc;
}

/* A program has thousands, and who lists events asks for other things: --list-functions. */
static int each(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		void *arg)
{
	(void)c;
	(void)fn;
	(void)arg;
	return 0;
}

static const struct event_maker function_maker = {.find = find, .each = each};
static const struct event_maker *const makers[] = {&function_maker};

const struct event_group event_function_group = {
    .name = "function",
    .description = "Calls of the functions of programs and libraries, [OBJECT:]GLOB.",
    .id = EVENT_GROUP_FUNCTION,
    .is_perf = true,
    .makers = makers,
    .nr_makers = ARRAY_NR(makers),
};

bool event_is_function(const struct event *ev)
{
	return ev->group->id == EVENT_GROUP_FUNCTION;
}
