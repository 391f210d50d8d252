#include "exports/tree.h"

#include "base/err.h"
#include "base/mem.h"
#include "report/functions.h"

#include <errno.h>
#include <string.h>

struct tree_reading {
	const struct job *j;
	struct report_tree *tree;
	struct report_frame frames[EXPORT_MAX_FRAMES];
};

static int add_entry(void *arg, const struct report_entry *e)
{
	struct tree_reading *r = arg;
	const struct report_sink *sink = report_tree_sink(r->tree);
	struct report_functions *functions = r->j->inputs->functions;
	const char *comm = report_functions_text(functions, e->key.comm);
	struct report_entry below = *e;
	size_t nr = e->nr_frames < EXPORT_MAX_FRAMES ? e->nr_frames : EXPORT_MAX_FRAMES - 1;

	memcpy(r->frames, e->frames, nr * sizeof(*r->frames));
	r->frames[nr] =
	    (struct report_frame){.function = report_functions_named(functions, comm, "")};
	if (!r->frames[nr].function)
		return -ENOMEM;
	below.frames = r->frames;
	below.nr_frames = nr + 1;
	return sink->entry(sink->arg, &below);
}

int export_tree_read(struct job *j, struct report_tree **out, struct report_stats *stats,
		     struct err *e)
{
	struct tree_reading *r = mem_zalloc(sizeof(*r));
	const struct report_sink sink = {
	    .parts = REPORT_BY_STACK | REPORT_BY_COMM, .entry = add_entry, .arg = r};
	int rc;

	*out = report_tree_new(false, 0);
	if (r && *out) {
		r->j = j;
		r->tree = *out;
		rc = samples_read(j, j->first, j->nr, &sink, stats, e);
		if (rc == 0 && report_tree_finish(*out))
			rc = err_set(e, -ENOMEM, "out of memory");
	} else {
		rc = err_set(e, -ENOMEM, "out of memory");
	}
	mem_free(r);
	return rc;
}
