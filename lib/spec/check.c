/*
 * What makes a list of events sensible. At most 289 of them get here, so comparing
 * each with each is cheap.
 */
#include "spec/check.h"

#include "spec/report.h"
#include "spec/spec.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const unsigned sampling_flags = SPEC_PC | SPEC_LAST_BRANCH | SPEC_TIMEBASE;

/* No arithmetic on the null pointer of an empty list. */
static const struct spec_event *events_end(const struct spec *s)
{
	return s->nr_events ? s->events + s->nr_events : s->events;
}

static bool is_misc(const struct spec_event *e)
{
	return strcmp(e->group_name, "misc") == 0;
}

static bool misc_has_rate(const struct spec_event *e)
{
	return is_misc(e) && e->rate;
}

static bool misc_has_sampling_flag(const struct spec_event *e)
{
	return is_misc(e) && e->flags & sampling_flags;
}

static bool sampling_flag_has_no_rate(const struct spec_event *e)
{
	return !is_misc(e) && e->flags & sampling_flags && !e->rate;
}

static const struct rule {
	bool (*is_broken)(const struct spec_event *e);
	size_t pos_offset;
	const char *what, *hint;
} rules[] = {
    {misc_has_rate, offsetof(struct spec_event, rate_pos), "a misc event has no rate",
     "leave rate out: misc events are read when the timebase event reaches its rate"},
    {misc_has_sampling_flag, offsetof(struct spec_event, flags_pos),
     "a misc event cannot be sampled", "of the flags, misc events take os and user only"},
    {sampling_flag_has_no_rate, offsetof(struct spec_event, flags_pos),
     "this flag needs a rate greater than 0",
     "give the event a \"rate\": the number of events from one sample to the next"},
};

static const char *first_flag(unsigned flags)
{
	return spec_flag_name(flags & -flags);
}

static void check_event(const struct spec *s, const struct spec_event *e, struct err_list *errs)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		unsigned flags = e->flags & sampling_flags;
		bool of_flags = rules[i].pos_offset == offsetof(struct spec_event, flags_pos);
		struct spec_pos pos;

		if (!rules[i].is_broken(e))
			continue;
		memcpy(&pos, (const char *)e + rules[i].pos_offset, sizeof(pos));
		err_hint(report_at(errs, s->source, pos, "%s:%s: %s%s%s", e->group_name,
				   e->event_name, of_flags ? first_flag(flags) : "",
				   of_flags ? ": " : "", rules[i].what),
			 "%s", rules[i].hint);
	}
}

static bool is_same(const struct spec_event *a, const struct spec_event *b)
{
	return a->rate == b->rate && a->flags == b->flags &&
	       strcmp(a->group_name, b->group_name) == 0 &&
	       strcmp(a->event_name, b->event_name) == 0;
}

static void check_repeated(const struct spec *s, const struct spec_event *e, struct err_list *errs)
{
	for (const struct spec_event *a = s->events; a < e; a++) {
		if (!is_same(a, e))
			continue;
		err_hint(
		    report_at(errs, s->source, e->pos,
			      "%s:%s is here twice with the same rate and flags: first at %u:%u",
			      e->group_name, e->event_name, a->pos.line, a->pos.column),
		    "leave one out; with other flags it may stay as another column");
		return;
	}
}

/* Labels are unique among all columns; names without a label may repeat (fixed:X and arch:X). */
static void check_label(const struct spec *s, const struct spec_event *e, struct err_list *errs)
{
	for (const struct spec_event *a = s->events; e->label && a < events_end(s); a++) {
		if (a == e || (a->label && a > e) || strcmp(spec_event_column(a), e->label) != 0)
			continue;
		err_hint(
		    report_at(errs, s->source, e->label_pos,
			      "the label \"%.*s\" is the name of another column: %s:%s at %u:%u",
			      report_cut(e->label), e->label, a->group_name, a->event_name,
			      a->pos.line, a->pos.column),
		    "choose another label");
		return;
	}
}

static void check_timebases(const struct spec *s, struct err_list *errs)
{
	const struct spec_event *first = NULL;

	for (const struct spec_event *e = s->events; e < events_end(s); e++) {
		if (!(e->flags & SPEC_TIMEBASE))
			continue;
		if (first)
			report_at(errs, s->source, e->flags_pos,
				  "%s:%s: a second timebase; the first is %s:%s at %u:%u",
				  e->group_name, e->event_name, first->group_name,
				  first->event_name, first->flags_pos.line,
				  first->flags_pos.column);
		else
			first = e;
	}
}

static void check_count(const struct spec *s, bool misc, size_t max, struct err_list *errs)
{
	size_t nr = 0;

	for (const struct spec_event *e = s->events; e < events_end(s); e++) {
		nr += is_misc(e) == misc;
		if (nr <= max)
			continue;
		err_hint(report_at(errs, s->source, e->pos, "too many events: at most %zu %s", max,
				   misc ? "of group misc" : "that are not of group misc"),
			 "measure the rest with a second spec");
		return;
	}
}

void check_events(const struct spec *s, struct err_list *errs)
{
	for (const struct spec_event *e = s->events; e < events_end(s); e++) {
		check_event(s, e, errs);
		check_repeated(s, e, errs);
		check_label(s, e, errs);
	}
	check_timebases(s, errs);
	check_count(s, false, SPEC_MAX_PERF_EVENTS, errs);
	check_count(s, true, SPEC_MAX_MISC_EVENTS, errs);
}

int spec_check(const struct spec *s, struct err_list *errs)
{
	size_t errors = report_count(errs);

	if (s->nr_events == 0)
		report_at(errs, s->source, s->events_pos, "No events specified");
	check_events(s, errs);
	return report_count(errs) == errors ? 0 : -EINVAL;
}
