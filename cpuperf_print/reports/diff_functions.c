/*
 * Functions whose calls are compared: those with the most time now, as if they were latencies. Few,
 * since what is found beyond chance is corrected for all that is compared.
 */
#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"
#include "counts/functions.h"
#include "elf/demangle.h"
#include "reports/diff.h"
#include "reports/reports.h"
#include "trace/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
	const struct counts_function *x = *(const struct counts_function *const *)a;
	const struct counts_function *y = *(const struct counts_function *const *)b;

	return order_u64(y->wall_ns, x->wall_ns);
}

static int add_trace(void *functions, const struct profile_trace *t)
{
	return ARRAY_RUN(i, t->nr_functions,
			 counts_functions_add(functions, &t->functions[i].function));
}

static int read_now(const struct job *j, struct counts_functions *l)
{
	return ARRAY_RUN(i, j->inputs->nr,
			 j->inputs->item[i].import
			     ? 0
			     : reports_each_trace(j, &j->inputs->item[i], add_trace, l));
}

/* One is called as its event: it needs no other name. */
static int choose(struct diff_functions *c, const struct job *j, const struct counts_functions *l,
		  const struct counts_function *f)
{
	struct diff_function *to = &c->item[c->nr];
	const char *label = job_event(j, f->event)->label;
	char name[ELF_MAX_NAME_BYTES];

	elf_demangle(counts_function_name(l, f), name);
	to->event = f->event;
	to->linkage = arena_strdup(&c->texts, counts_function_name(l, f));
	to->object = arena_strdup(&c->texts, str_base_name(counts_function_object(l, f)));
	snprintf(to->name, sizeof(to->name), "%.63s", strcmp(name, label) != 0 ? name : "");
	if (!to->linkage || !to->object)
		return -ENOMEM;
	c->nr++;
	return 0;
}

int diff_functions_choose(struct diff_functions *c, const struct job *j)
{
	struct counts_functions l = {.nr_skipped = 0};
	struct counts_function **rows = NULL;
	int rc;

	arena_init(&c->texts, DIFF_MAX_FUNCTION_BYTES);
	rc = read_now(j, &l);
	if (rc == 0 && !(rows = dict_pointers(&l.rows)))
		rc = -ENOMEM;
	if (rc == 0)
		order_sort(rows, l.rows.nr, sizeof(*rows), by_time);
	for (size_t i = 0; i < l.rows.nr && rc == 0; i++) {
		if (!rows[i]->has_times || !rows[i]->timed)
			continue;
		if (c->nr < DIFF_MAX_FUNCTIONS)
			rc = choose(c, j, &l, rows[i]);
		else
			c->nr_left++;
	}
	mem_free(rows);
	counts_functions_fini(&l);
	return rc;
}

void diff_functions_fini(struct diff_functions *c)
{
	arena_fini(&c->texts);
	c->nr = 0;
}

static bool is_that(const struct diff_function *c, const struct trace_function *f)
{
	return c->event == f->event && strcmp(c->linkage, f->name) == 0 &&
	       strcmp(c->object, str_base_name(f->object)) == 0;
}

static int add_one(const struct diff_function *c, const struct trace_function *f,
		   struct latencies *to)
{
	struct histogram *h = f->nr ? latencies_get(to, c->event, c->name, "") : NULL;

	for (size_t i = 0; i < f->nr && h; i++)
		histogram_add(h, f->bucket[i].number, f->bucket[i].count);
	if (h)
		histogram_add_sum(h, f->wall_ns, f->max_ns, f->bucket[f->nr - 1].number);
	return h || !f->nr ? 0 : -ENOMEM;
}

int diff_functions_add(const struct diff_functions *c, const struct profile_trace *t,
		       struct latencies *to)
{
	int rc = 0;

	for (size_t i = 0; i < t->nr_functions && rc == 0; i++)
		for (size_t k = 0; k < c->nr && rc == 0; k++)
			if (is_that(&c->item[k], &t->functions[i].function))
				rc = add_one(&c->item[k], &t->functions[i].function, to);
	return rc;
}
