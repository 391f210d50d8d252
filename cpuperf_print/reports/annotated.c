/*
 * The code of functions with the weights of its lines and instructions, as report annotate and the
 * page show it.
 */
#include "reports/annotated.h"

#include "annotate/kernel.h"
#include "annotate/source.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/perf_abi.h"
#include "base/root.h"
#include "elf/finder.h"
#include "options.h"
#include "profile/codes.h"
#include "profile/processes.h"
#include "symbol/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILLED = 1000 /* lines without code between two with */ };

static struct annotate_namer namer_of(const struct annotated *a, struct elf_build_id *id)
{
	const struct profile_object *o = a->rows[a->f->first].object;

	id->len = o ? o->build_id_len : 0;
	if (o)
		memcpy(id->bytes, o->build_id, id->len);
	return (struct annotate_namer){.id = id, .rights = a->rights};
}

const struct annotate_source *annotated_source(const struct annotated *a, const char *path)
{
	struct elf_build_id id;
	const struct annotate_namer by = namer_of(a, &id);

	return annotate_sources_find(a->sources, path, &by);
}

const char *annotated_source_fault(const struct annotated *a, const char *path)
{
	struct elf_build_id id;
	const struct annotate_namer by = namer_of(a, &id);

	return annotate_sources_fault(a->sources, path, &by);
}

/* --- how exact addresses are --- */

enum skid { EXACT, BY_TIMER, PRECISE, IMPRECISE };
static const struct annotated_skid skids[] = {
    [EXACT] = {"none", NULL},
    [BY_TIMER] = {"timer", "by a timer, so a sample is at the instruction that was to run next: "
			   "time is often at the one behind a slow one"},
    [PRECISE] = {"precise", "precise: the CPU recorded the instruction itself"},
    [IMPRECISE] = {"skid", "not precise: a sample may be a few instructions behind its cause; the "
			   "flag precise asks the CPU for the exact one"},
};

static enum skid skid_of(const struct trace_event *ev)
{
	struct perf_event_attr attr = {.size = 0};

	if (!ev->attr_bytes)
		return EXACT;
	memcpy(&attr, ev->attr, ev->attr_bytes < sizeof(attr) ? ev->attr_bytes : sizeof(attr));
	if (attr.precise_ip)
		return PRECISE;
	if (attr.type == PERF_TYPE_SOFTWARE &&
	    (attr.config == PERF_COUNT_SW_CPU_CLOCK || attr.config == PERF_COUNT_SW_TASK_CLOCK))
		return BY_TIMER;
	return attr.type == PERF_TYPE_SOFTWARE || attr.type == PERF_TYPE_TRACEPOINT ? EXACT
										    : IMPRECISE;
}

const struct annotated_skid *annotated_skid(const struct trace_event *ev)
{
	return &skids[skid_of(ev)];
}

const struct report_weight *annotated_weight(const struct annotated *a, size_t i)
{
	const uint32_t sample = a->code.row[i].sample;

	return sample == ANNOTATE_NO_SAMPLE ? NULL : &a->rows[sample].weight;
}

static int add_lines(struct annotated *a)
{
	dict_fini(&a->lines);
	for (size_t i = 0; i < a->code.nr; i++) {
		const struct annotate_row *row = &a->code.row[i];
		const struct report_weight *w = annotated_weight(a, i);
		const struct annotated_line key = {
		    .inlined = row->inlined, .file = row->at.file, .line = row->at.line};
		struct annotated_line *line = dict_get(&a->lines, &key);

		if (!line)
			return -ENOMEM;
		line->call = line->call ? line->call : row->own.line;
		if (w)
			report_weight_add(&line->weight, w);
	}
	return 0;
}

static int compare_texts(const char *a, const char *b)
{
	return !a != !b ? !b - !a : a && a != b ? strcmp(a, b) : 0;
}

static int by_place(const void *x, const void *y)
{
	const struct annotated_line *a = x, *b = y;

	return compare_texts(a->inlined, b->inlined)
		   ?: compare_texts(a->file, b->file) ?: order_u64(a->line, b->line);
}

/* The function's own lines first, then what has most. */
static int by_group(const void *x, const void *y, void *arg)
{
	const struct annotated *a = arg;
	const struct annotated_group *g = x, *h = y;

	return order_u64(a->line[g->first].inlined != NULL, a->line[h->first].inlined != NULL)
		   ?: order_u64(h->weight, g->weight) ?: order_u64(g->first, h->first);
}

/* The lines without code between two of a file, as far as it has them. */
static int fill_lines(struct annotated *a, const struct annotated_line *from,
		      const struct annotated_line *to)
{
	const struct annotate_source *source =
	    a->is_to_be_read && from->line && from->file && from->file == to->file &&
		    from->inlined == to->inlined && to->line - from->line < MAX_FILLED
		? annotated_source(a, from->file)
		: NULL;

	for (uint32_t at = from->line + 1; source && at < to->line; at++) {
		struct annotated_line *line = MEM_ADD(a->line, a->nr_lines, a->line_room);

		if (!line)
			return -ENOMEM;
		*line =
		    (struct annotated_line){.inlined = to->inlined, .file = to->file, .line = at};
	}
	return 0;
}

static int add_group(struct annotated *a, const struct annotated_line *line)
{
	struct annotated_group *group = MEM_ADD(a->group, a->nr_groups, a->group_room);

	if (!group)
		return -ENOMEM;
	*group = (struct annotated_group){.first = a->nr_lines, .call = line->call};
	return 0;
}

/* A number alone says nothing: neither samples nor what stands there. */
static bool is_bare(const struct annotated *a, const struct annotated_line *line)
{
	return line->weight.weight == 0 &&
	       (!line->line || !line->file || !annotated_source(a, line->file));
}

static void drop_bare_lines(struct annotated *a)
{
	struct annotated_line *of = a->lines.items;
	size_t nr = 0;

	for (size_t i = 0; i < a->lines.nr; i++)
		if (!is_bare(a, &of[i]))
			of[nr++] = of[i];
	a->lines.nr = nr;
}

/* Lines in the order in which they are printed, and their groups. */
static int make_groups(struct annotated *a)
{
	struct annotated_line *of = a->lines.items;
	int rc = 0;

	a->nr_groups = a->nr_lines = 0;
	if (a->is_to_be_read)
		drop_bare_lines(a);
	if (a->lines.nr)
		qsort(of, a->lines.nr, sizeof(*of), by_place);
	for (size_t i = 0; i < a->lines.nr && rc == 0; i++) {
		const bool is_first =
		    !i || of[i].inlined != of[i - 1].inlined || of[i].file != of[i - 1].file;
		struct annotated_line *line;

		rc = is_first ? add_group(a, &of[i]) : fill_lines(a, &of[i - 1], &of[i]);
		line = rc ? NULL : MEM_ADD(a->line, a->nr_lines, a->line_room);
		if (!line)
			return -ENOMEM;
		*line = of[i];
		a->group[a->nr_groups - 1].end = a->nr_lines;
		a->group[a->nr_groups - 1].weight += line->weight.weight;
	}
	qsort_r(a->group, a->nr_groups, sizeof(*a->group), by_group, a);
	return rc;
}

int annotated_make_lines(struct annotated *a)
{
	return add_lines(a) ?: make_groups(a);
}

bool annotated_is_interpreted(const struct annotated *a)
{
	const struct report_address_row *row = &a->rows[a->f->first];

	return !row->object && profile_is_code(row->address);
}

/* Its code, if this is the kernel that was recorded. */
static const struct annotate_kernel *get_kernel(struct annotated *a, struct err *missing)
{
	if (!a->has_tried_kernel && job_input(a->j)->is_same_boot)
		annotate_kernel_open(&root_live, &a->kernel, missing);
	a->has_tried_kernel = true;
	return a->kernel;
}

static int make_room(struct annotated *a)
{
	uint64_t *address = a->f->nr <= a->address_room
				? a->address
				: mem_resize(a->address, a->f->nr * sizeof(*address));

	if (!address)
		return -ENOMEM;
	a->address = address;
	if (a->f->nr > a->address_room)
		a->address_room = a->f->nr;
	return 0;
}

int annotated_load(struct annotated *a, struct err *missing)
{
	const struct report_address_row *row = &a->rows[a->f->first];
	int rc = 0;

	annotate_code_reset(&a->code);
	a->rights = (struct elf_rights){.are_limited = false};
	rc = make_room(a);
	for (size_t i = 0, nr; i < a->f->nr && rc == 0; i += nr) {
		struct annotate_wanted w = {.symbols = job_input(a->j)->symbols,
					    .object = row[i].object,
					    .address = a->address,
					    .first = (uint32_t)(a->f->first + i)};

		if (!w.object && a->f->function->is_kernel && a->f->function->is_known)
			w.kernel = get_kernel(a, missing);
		for (nr = 0; i + nr < a->f->nr && row[i + nr].object == w.object; nr++)
			a->address[nr] = row[i + nr].address;
		w.nr = nr;
		rc = annotate_code_add(&a->code, &w, missing);
		a->rights = elf_rights_of_both(
		    a->rights, annotated_is_interpreted(a)
				   ? symbols_interpreted_rights(w.symbols, a->address[0])
				   : symbols_rights(w.symbols, w.object));
	}
	return rc;
}

static int init(struct annotated *a, struct job *j, struct err *e)
{
	const struct options *o = j->inputs->options;
	const struct annotate_sources_config config = {
	    .finder = j->inputs->finder,
	    .dirs = o->source_dirs.item,
	    .nr_dirs = o->source_dirs.nr,
	};

	a->j = j;
	dict_init(&a->lines, sizeof(struct annotated_line), DICT_KEY(struct annotated_line, line),
		  DICT_MAX);
	a->addresses = report_addresses_new();
	a->sources = annotate_sources_new(&config);
	return a->addresses && a->sources ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int annotated_read(struct annotated *a, struct job *j, struct err *e)
{
	int rc =
	    init(a, j, e)
		?: samples_read(j, j->first, 1, report_addresses_sink(a->addresses), &a->stats, e);

	if (rc)
		return rc;
	a->function = report_addresses_functions(a->addresses, &a->nr_functions);
	if (!a->function)
		return err_set(e, -ENOMEM, "out of memory");
	a->rows = report_addresses_rows(a->addresses);
	return 0;
}

void annotated_fini(struct annotated *a)
{
	report_addresses_free(a->addresses);
	annotate_sources_free(a->sources);
	annotate_code_fini(&a->code);
	annotate_kernel_close(a->kernel);
	dict_fini(&a->lines);
	mem_free(a->address);
	mem_free(a->line);
	mem_free(a->group);
	report_stats_fini(&a->stats);
}
