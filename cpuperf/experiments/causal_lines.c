#include "experiments/causal_lines.h"

#include "base/dict.h"
#include "base/err.h"
#include "base/order.h"
#include "elf/lines.h"
#include "event/usdt_files.h"
#include "experiments/causal_memory.h"
#include "functions/list.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SOURCES = 1 << 16, MAX_SOURCES_BYTES = 16 << 20 };
#define NAME "lines"

struct source {
	const char *path;
};

struct line {
	uint32_t source, number;
	uint32_t candidate; /* + 1; 0: it is none so far */
};

/* Lines of a file. */
struct search {
	struct functions_place *place; /* by address */
	size_t nr;
	struct arena *strings;
	struct causal_candidates *out;
	struct dict sources, lines;
	struct stat st;
	int rc;
};

static int add_candidate(struct search *s, const struct functions_place *f,
			 const struct elf_line *line, struct line *to)
{
	const struct causal_candidate one = {.path = f->path,
					     .name = f->name,
					     .source = arena_strdup(s->strings, line->path),
					     .line = line->line};
	int rc = one.source ? causal_candidates_add(s->out, &one) : -ENOMEM;

	to->candidate = rc ? 0 : (uint32_t)s->out->nr;
	return rc;
}

/* What of the piece is in a function. */
static int add_part(struct search *s, const struct functions_place *f, const struct elf_line *line)
{
	const uint64_t end = f->address + f->size;
	struct causal_range range = {.device = s->st.st_dev,
				     .inode = s->st.st_ino,
				     .address =
					 line->begin > f->address ? line->begin : f->address};
	const uint32_t key[] = {dict_add(&s->sources, line->path), line->line};
	struct line *to = key[0] == DICT_NONE ? NULL : dict_get(&s->lines, key);
	int rc = 0;

	if (!to)
		return -E2BIG;
	if (!to->candidate)
		rc = add_candidate(s, f, line, to);
	range.size = (line->end < end ? line->end : end) - range.address;
	range.candidate = to->candidate - 1;
	return rc ?: causal_candidates_add_range(s->out, &range);
}

static int add_line(void *arg, const struct elf_line *line)
{
	struct search *s = arg;
	size_t i = ORDER_FIRST(k, s->nr, s->place[k].address + s->place[k].size > line->begin);

	for (; i < s->nr && s->place[i].address < line->end && s->rc == 0; i++)
		s->rc = add_part(s, &s->place[i], line);
	return s->rc;
}

static int read_lines(const struct elf_file *f, const struct usdt_file *file, void *arg)
{
	struct search *s = arg;
	struct functions_list list;
	int rc = functions_list_load(f, file->path, file->reader, &list);

	if (rc)
		return rc;
	(void)elf_lines_each(list.debug ?: f, add_line, s);
	functions_list_fini(&list);
	return s->rc;
}

static int by_address(const void *a, const void *b)
{
	const struct functions_place *x = a, *y = b;

	return order_u64(x->address, y->address);
}

static int add_file(struct search *s)
{
	const char *path = s->place->path;
	int rc = 0;

	dict_init_texts(&s->sources, sizeof(struct source), MAX_SOURCES, MAX_SOURCES_BYTES);
	dict_init(&s->lines, sizeof(struct line), DICT_KEY(struct line, number),
		  CAUSAL_MEMORY_CANDIDATES);
	order_sort(s->place, s->nr, sizeof(*s->place), by_address);
	if (stat(path, &s->st) == 0)
		rc = usdt_files_walk_one(path, read_lines, s);
	dict_fini(&s->sources);
	dict_fini(&s->lines);
	return rc;
}

int causal_lines_add(struct functions_place *place, size_t nr, struct arena *strings,
		     struct causal_candidates *out, struct err *e)
{
	int rc = 0;

	for (size_t i = 0, of_file; i < nr && rc == 0; i += of_file) {
		struct search s = {.place = place + i, .strings = strings, .out = out};

		for (of_file = 1;
		     i + of_file < nr && strcmp(place[i + of_file].path, place[i].path) == 0;)
			of_file++;
		s.nr = of_file;
		rc = add_file(&s);
	}
	if (rc == -E2BIG)
		return err_set(e, rc,
			       "--causal=" NAME ": more than %d lines are meant: name fewer "
			       "functions, --causal=" NAME ":GLOB",
			       CAUSAL_MEMORY_CANDIDATES);
	if (rc)
		return err_set(e, rc, "--causal=" NAME ": %s", strerror(-rc));
	if (out->nr)
		return 0;
	err_set(e, -ENOENT, "--causal=" NAME ": the lines of the functions are not known");
	err_hint(e, "compile with -g, or install the debug package (Debian: NAME-dbgsym)");
	return e->code;
}
