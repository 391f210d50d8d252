/*
 * Parses lists of the command line, and matches values against them.
 */
#include "profile/filter.h"

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "profile/session.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int parse_range(const char **p, const char *end, uint64_t *first, uint64_t *last)
{
	int rc = str_scan_u64(p, end, first);

	*last = *first;
	if (rc == 0 && *p < end && **p == '-') {
		++*p;
		rc = str_scan_u64(p, end, last);
	}
	if (rc == 0 && *p < end && (**p != ',' || ++*p == end))
		rc = -EINVAL;
	rc = rc == 0 && *first > *last ? -EINVAL : rc;
	return rc == 0 && *last > UINT32_MAX ? -ERANGE : rc;
}

int profile_ranges_parse(struct profile_ranges *r, const char *option, const char *text,
			 struct err *e)
{
	const char *p = text, *end = text + strlen(text);
	int rc = p == end ? -EINVAL : 0;

	while (rc == 0 && p < end && r->nr < PROFILE_MAX_RANGES) {
		uint64_t first = 0, last = 0;

		rc = parse_range(&p, end, &first, &last);
		if (rc)
			break;
		r->item[r->nr].first = first;
		r->item[r->nr++].last = last;
	}
	if (rc == 0 && p == end)
		return 0;
	if (rc == -ERANGE)
		return err_set_at(e, -EINVAL, option, 1, (unsigned)(p - text) + 1,
				  "\"%s\" has a number beyond %" PRIu32, text, UINT32_MAX);
	if (rc == 0)
		err_set_at(e, -EINVAL, option, 1, (unsigned)(p - text) + 1,
			   "more than %d numbers and ranges", PROFILE_MAX_RANGES);
	else
		err_set_at(e, -EINVAL, option, 1, (unsigned)(p - text) + 1,
			   "\"%s\" is not a list of numbers", text);
	err_hint(e, "write numbers and ranges with commas: 0-3,8");
	return -EINVAL;
}

bool profile_ranges_has(const struct profile_ranges *r, uint64_t number)
{
	return !r->nr || ARRAY_ANY(x, r->item, r->nr, x->first <= number && number <= x->last);
}

int profile_globs_add(struct profile_globs *g, const char *option, const char *glob, struct err *e)
{
	if (g->nr == PROFILE_MAX_GLOBS)
		return err_set(e, -E2BIG, "%s: used more than %d times", option, PROFILE_MAX_GLOBS);
	g->item[g->nr++] = glob;
	return 0;
}

bool profile_globs_match(const struct profile_globs *g, const char *name)
{
	return !g->nr || ARRAY_ANY(x, g->item, g->nr, fnmatch(*x, name, 0) == 0);
}

bool profile_filter_has_time(const struct profile_filter *f, uint64_t start_ns, uint64_t time_ns)
{
	uint64_t since_ns = time_ns - start_ns;

	if (time_ns < start_ns)
		return !f->from_ns;
	return since_ns >= f->from_ns && (!f->to_ns || since_ns < f->to_ns);
}

bool profile_filter_has_event(const struct profile_filter *f, const struct trace_event *ev)
{
	char full[512];

	snprintf(full, sizeof(full), "%s:%s", ev->group, ev->name);
	return profile_globs_match(&f->events, ev->name) || profile_globs_match(&f->events, full);
}
