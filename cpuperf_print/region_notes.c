#include "region_notes.h"

#include "base/err.h"
#include "base/str.h"
#include "numbers.h"
#include "profile/regions.h"
#include "registry.h"
#include "report/flat.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { LINE_BYTES = 512 };

static void note(const struct profile_regions_stats *s, region_notes_fn *line, void *arg)
{
	char text[LINE_BYTES];

	for (size_t i = 0; i < s->nr_notes; i++)
		line(arg, s->notes[i]);
	/* the recorder was killed before it could say so */
	if (s->nr_lost && !s->nr_notes) {
		snprintf(text, sizeof(text), "%s of %s marks of regions were lost",
			 COMMAS(s->nr_lost), COMMAS(s->nr_lost + s->nr_marks));
		line(arg, text);
	}
	if (s->nr_closed) {
		snprintf(text, sizeof(text), "%s %s", COMMAS(s->nr_closed),
			 str_plural(s->nr_closed,
				    "call of a region has no end of its own: it ends with what is "
				    "around it",
				    "calls of regions have no end of their own: they end with what "
				    "is around them"));
		line(arg, text);
	}
	if (s->nr_unmatched) {
		snprintf(text, sizeof(text), "%s %s a beginning: ignored", COMMAS(s->nr_unmatched),
			 str_plural(s->nr_unmatched, "end of a region is without",
				    "ends of regions are without"));
		line(arg, text);
	}
	if (s->has_unnamed)
		line(arg, "names of regions beyond 64 MiB, or a million, are not read: regions "
			  "with others are [unknown]; mark with fewer names (a number is none: "
			  "CPUPERF_BEGIN_NUMBER)");
	if (s->has_left_out)
		line(arg, "regions beyond a limit are not told apart from those around them");
}

void region_notes(const struct job *j, region_notes_fn *line, void *arg)
{
	for (size_t i = j->first; i < j->first + j->nr; i++) {
		const struct input *o = &j->inputs->item[i];

		if (o->processes && (o->facts->has_regions || profile_has_labels(o->processes)))
			note(profile_regions_stats(o->processes), line, arg);
	}
}

static void put_line(void *arg, const char *line)
{
	struct job *j = arg;
	struct err e = {0};

	if (j->row->kind == REGISTRY_REPORT && j->output->form == GRID_PEOPLE) {
		buf_printf(&j->output->text, "\n(%s)\n", line);
		return;
	}
	err_set(&e, -ENODATA, "%s", line);
	problems_add(&j->output->problems, false, &e);
}

void region_notes_put(struct job *j)
{
	const struct selection *s = j->selection;

	if (j->row->needs_regions || s->root == REPORT_ROOT_REGION || s->filter.regions.nr ||
	    (s->columns & 1u << REPORT_REGION))
		region_notes(j, put_line, j);
}
