/*
 * The rules of a list of events. It has at most 289, so comparing each with each is cheap.
 */
#include "spec/check.h"

#include "base/array.h"
#include "spec/diag.h"
#include "spec/when.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Arithmetic on the null pointer of an empty list is undefined. */
static const struct spec_event *events_end(const struct spec *s)
{
	return s->nr_events ? s->events + s->nr_events : s->events;
}

bool spec_group_is_misc(const char *group)
{
	return strcmp(group, "misc") == 0 || strcmp(group, "gpu") == 0;
}

static bool is_misc(const struct spec_event *e)
{
	return spec_group_is_misc(e->group_name);
}

static bool misc_is_timebase(const struct spec_event *e)
{
	return is_misc(e) && e->flags & SPEC_TIMEBASE;
}

/* A timebase has a rate: that it is none says it all. */
static bool misc_has_rate(const struct spec_event *e)
{
	return is_misc(e) && e->rate && !misc_is_timebase(e);
}

static bool misc_has_frequency(const struct spec_event *e)
{
	return is_misc(e) && e->frequency && !misc_is_timebase(e);
}

static bool misc_has_sample_flag(const struct spec_event *e)
{
	return is_misc(e) && e->flags & CHECK_SAMPLE_FLAGS && !misc_is_timebase(e);
}

static bool misc_has_counter_flag(const struct spec_event *e)
{
	return is_misc(e) && e->flags & CHECK_COUNTER_FLAGS;
}

static bool other_has_pace(const struct spec_event *e)
{
	return !is_misc(e) && e->every_ns;
}

static bool other_has_duration(const struct spec_event *e)
{
	return e->longer_ns && strcmp(e->group_name, "function") != 0;
}

static bool longer_has_no_rate(const struct spec_event *e)
{
	return e->longer_ns && !other_has_duration(e) && !e->rate && !e->frequency;
}

static bool longer_is_aggregated(const struct spec_event *e)
{
	return e->longer_ns && e->is_aggregated;
}

static bool other_has_condition(const struct spec_event *e)
{
	return e->when && strcmp(e->group_name, "function") != 0;
}

static bool condition_has_no_rate(const struct spec_event *e)
{
	return e->when && !other_has_condition(e) && !e->rate && !e->frequency;
}

static bool condition_is_aggregated(const struct spec_event *e)
{
	return e->when && e->is_aggregated;
}

static bool has_rate_and_frequency(const struct spec_event *e)
{
	return !is_misc(e) && e->rate && e->frequency;
}

static bool misc_is_sampled(const struct spec_event *e)
{
	return is_misc(e) && e->is_sampled;
}

static bool sampled_has_no_rate(const struct spec_event *e)
{
	return !is_misc(e) && e->is_sampled;
}

static bool sample_flag_has_no_rate(const struct spec_event *e)
{
	return !is_misc(e) && e->flags & CHECK_SAMPLE_FLAGS && !spec_event_is_sampled(e) &&
	       !e->is_sampled;
}

static bool stack_bytes_has_no_flag(const struct spec_event *e)
{
	return e->stack_bytes && !(e->flags & SPEC_USER_STACK);
}

static bool branch_filter_has_no_flag(const struct spec_event *e)
{
	return e->branch_filter && !(e->flags & SPEC_LAST_BRANCH);
}

static bool aggregate_has_no_rate(const struct spec_event *e)
{
	return e->is_aggregated && !spec_event_is_sampled(e) && !e->is_sampled;
}

static bool aggregate_has_no_stack(const struct spec_event *e)
{
	return e->is_aggregated && spec_event_is_sampled(e) && !(e->flags & SPEC_CALLCHAIN);
}

enum { SINGLE_FLAGS = SPEC_USER_STACK | SPEC_LAST_BRANCH | SPEC_TIMEBASE | SPEC_WAKER };

/* Stacks that the recorder unwinds have no bytes left. */
static unsigned single_flags(const struct spec_event *e)
{
	return e->flags & (e->is_unwound ? SINGLE_FLAGS & ~SPEC_USER_STACK : SINGLE_FLAGS);
}

bool check_may_aggregate(const struct spec_event *e)
{
	return !is_misc(e) && !single_flags(e) && strcmp(e->group_name, "tracepoint") != 0 &&
	       strcmp(e->group_name, "heap") != 0 && strcmp(e->group_name, "resource") != 0;
}

static bool unwind_has_no_stack(const struct spec_event *e)
{
	const unsigned needed = SPEC_CALLCHAIN | SPEC_USER_STACK;

	return e->is_unwound && !e->is_sampled && (e->flags & needed) != needed;
}

static bool aggregate_has_single_flag(const struct spec_event *e)
{
	return e->is_aggregated && single_flags(e);
}

bool check_may_thin(const struct spec_event *e)
{
	return strcmp(e->group_name, "sched") == 0 && !e->frequency && !e->is_aggregated;
}

static bool max_frequency_has_no_wait(const struct spec_event *e)
{
	return e->max_frequency && (!check_may_thin(e) || !spec_event_is_sampled(e));
}

#define AT(member) offsetof(struct spec_event, member)
static const struct rule {
	bool (*is_broken)(const struct spec_event *e);
	size_t pos_offset;
	unsigned flags; /* the message names the first of them that the event has; 0: none */
	const char *what, *hint;
} rules[] = {
    {misc_is_timebase, AT(flags_pos), 0, "a misc event cannot be the timebase",
     "choose another, like software:cpu_clock: misc events are read at its pace, without a rate"},
    {misc_has_rate, AT(rate_pos), 0, "a misc event cannot have a rate",
     "remove rate: misc events are read at the pace of the timebase event"},
    {misc_has_frequency, AT(frequency_pos), 0, "a misc event cannot have a frequency",
     "remove frequency: misc events are read at the pace of the timebase "
     "event"},
    {misc_has_sample_flag, AT(flags_pos), CHECK_SAMPLE_FLAGS, "a misc event cannot be sampled",
     "misc events accept only the flags os and user"},
    {misc_has_counter_flag, AT(flags_pos), CHECK_COUNTER_FLAGS,
     "a misc event does not accept this flag", "misc events accept only the flags os and user"},
    {other_has_pace, AT(every_pos), 0, "only events of misc and gpu have a pace of their own",
     "remove every: other events are counted all the time, and sampled with rate or frequency"},
    {other_has_duration, AT(longer_pos), 0, "only events of function have longer_than",
     "remove longer_than; the events of latency have how long things took"},
    {longer_has_no_rate, AT(longer_pos), 0, "longer_than needs a rate greater than 0",
     "remove rate: then each call that lasted longer is a sample"},
    {longer_is_aggregated, AT(aggregate_pos), 0, "calls with longer_than cannot be added up",
     "remove aggregate, or longer_than"},
    {other_has_condition, AT(when_pos), 0, "only events of function have when",
     "remove when: what single calls are is known of functions alone"},
    {condition_has_no_rate, AT(when_pos), 0, "when needs a rate greater than 0",
     "remove rate: then each call that meets the condition is a sample"},
    {condition_is_aggregated, AT(aggregate_pos), 0, "calls with when cannot be added up",
     "remove aggregate, or when"},
    {has_rate_and_frequency, AT(frequency_pos), 0, "rate and frequency are mutually exclusive",
     "remove one: rate is the number of events between samples, frequency "
     "the number of samples per second"},
    {sample_flag_has_no_rate, AT(flags_pos), CHECK_SAMPLE_FLAGS,
     "this flag needs a rate greater than 0, or a frequency",
     "add \"rate\", the number of events between samples, or \"frequency\", "
     "the number of samples per second"},
    {misc_is_sampled, AT(pos), 0, "a misc event cannot be sampled",
     "remove sampled: misc events are read at the pace of the timebase event"},
    {sampled_has_no_rate, AT(pos), 0, "sampled needs a rate or a frequency",
     "add one to the key \"sampling\" of the spec, or to the event"},
    {stack_bytes_has_no_flag, AT(stack_pos), 0, "stack_bytes needs the flag user_stack",
     "add \"user_stack\" to the flags, or remove stack_bytes"},
    {branch_filter_has_no_flag, AT(branch_pos), 0, "branch_filter needs the flag last_branch",
     "add \"last_branch\" to the flags, or remove branch_filter"},
    {aggregate_has_no_rate, AT(aggregate_pos), 0, "aggregate needs a rate or a frequency",
     "add \"rate\" or \"frequency\", or remove aggregate"},
    {aggregate_has_no_stack, AT(aggregate_pos), 0, "aggregate needs the flag callchain",
     "add \"callchain\" to the flags, or remove aggregate"},
    {max_frequency_has_no_wait, AT(max_frequency_pos), 0,
     "max_frequency is for samples of waits with a rate, which are not added up",
     "remove it; off_cpu_time and run_queue_time of group sched are waits"},
    {unwind_has_no_stack, AT(unwind_pos), 0, "unwind needs the flags callchain and user_stack",
     "add them to the flags, or remove unwind"},
    {aggregate_has_single_flag, AT(aggregate_pos), SINGLE_FLAGS,
     "samples with this flag cannot be added up", "remove the flag, or aggregate"},
};

static const char *first_flag(unsigned flags)
{
	return flags ? spec_flag_name(flags & -flags) : "";
}

/* What its names mean is known with the signature: calls/when.c. */
static void check_condition(const struct spec *s, const struct spec_event *e, struct err_list *errs)
{
	struct spec_when when;
	struct err why = {0};
	size_t at;

	if (!e->when || spec_when_parse(e->when, &when, &at, &why) == 0)
		return;
	err_hint(diag_at(errs, e->when_source ?: s->source, spec_when_pos(e, at), "%s:%s: when: %s",
			 e->group_name, e->event_name, why.msg),
		 "%s", why.hint);
}

static void check_event(const struct spec *s, const struct spec_event *e, struct err_list *errs)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const char *flag = first_flag(e->flags & rules[i].flags);
		struct spec_pos pos;

		if (!rules[i].is_broken(e))
			continue;
		memcpy(&pos, (const char *)e + rules[i].pos_offset, sizeof(pos));
		err_hint(diag_at(errs, s->source, pos, "%s:%s: %s%s%s", e->group_name,
				 e->event_name, flag, *flag ? ": " : "", rules[i].what),
			 "%s", rules[i].hint);
	}
	check_condition(s, e, errs);
	if (e->choice.key && !is_misc(e))
		err_hint(diag_at(errs, s->source, e->choice.pos,
				 "%s:%s: only events of misc and gpu have %s", e->group_name,
				 e->event_name, e->choice.key),
			 "remove %s: other events count on whole CPUs", e->choice.key);
}

static bool is_same_choice(const struct spec_choice *a, const struct spec_choice *b)
{
	if (a->nr_words != b->nr_words || (a->key && strcmp(a->key, b->key) != 0))
		return false;
	for (size_t i = 0; i < a->nr_words; i++)
		if (strcmp(a->words[i], b->words[i]) != 0)
			return false;
	return true;
}

static bool is_same_text(const char *a, const char *b)
{
	return strcmp(a ?: "", b ?: "") == 0;
}

bool spec_is_same_event(const struct spec_event *a, const struct spec_event *b)
{
	return is_same_choice(&a->choice, &b->choice) && a->rate == b->rate &&
	       a->frequency == b->frequency && a->flags == b->flags &&
	       a->longer_ns == b->longer_ns && is_same_text(a->when, b->when) &&
	       a->stack_bytes == b->stack_bytes && a->branch_filter == b->branch_filter &&
	       strcmp(a->group_name, b->group_name) == 0 &&
	       strcmp(a->event_name, b->event_name) == 0;
}

static void check_repeated(const struct spec *s, const struct spec_event *e, struct err_list *errs)
{
	for (const struct spec_event *a = s->events; a < e; a++) {
		if (!spec_is_same_event(a, e))
			continue;
		err_hint(diag_at(errs, s->source, e->pos,
				 "%s:%s appears twice with the same rate and flags: first at %u:%u",
				 e->group_name, e->event_name, a->pos.line, a->pos.column),
			 "remove one, or use other flags for another column");
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
		    diag_at(errs, s->source, e->label_pos,
			    "the label \"%.*s\" is already used by another column: %s:%s at %u:%u",
			    diag_cut(e->label), e->label, a->group_name, a->event_name, a->pos.line,
			    a->pos.column),
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
			diag_at(errs, s->source, e->flags_pos,
				"%s:%s: a second timebase; the first is %s:%s at %u:%u",
				e->group_name, e->event_name, first->group_name, first->event_name,
				first->flags_pos.line, first->flags_pos.column);
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
		err_hint(diag_at(errs, s->source, e->pos, "too many events: at most %zu %s", max,
				 misc ? "of misc and gpu" : "that are not of misc or gpu"),
			 "measure the rest with a second spec");
		return;
	}
}

static void check_sampling(const struct spec *s, struct err_list *errs)
{
	const struct spec_event *e = &s->sampling;

	if (e->rate && e->frequency)
		diag_at(errs, s->source, e->frequency_pos,
			"sampling: rate and frequency are mutually exclusive");
	if (e->flags & SPEC_TIMEBASE)
		err_hint(diag_at(errs, s->source, e->flags_pos,
				 "sampling: timebase: only one event can have this flag"),
			 "add it to the flags of that event");
}

static void check_target(const struct spec *s, struct err_list *errs)
{
	const struct spec_target *t = &s->target;
	bool has_tasks = t->pids.nr || t->comms.nr;

	if (t->command.nr && (has_tasks || t->cgroups.nr))
		diag_at(errs, s->source, s->target_pos,
			"target: command and pids, comms or cgroups are mutually exclusive");
	if (t->cgroups.nr && has_tasks)
		diag_at(errs, s->source, s->target_pos,
			"target: cgroups and pids or comms are mutually exclusive");
	if (t->waits_for_children && !t->command.nr)
		diag_at(errs, s->source, s->target_pos, "target: wait_children requires a command");
	if (t->attaches && !has_tasks && !t->cgroups.nr)
		diag_at(errs, s->source, s->target_pos,
			"target: attach requires pids, comms or cgroups");
	if (t->has_short_tasks && !t->command.nr && !has_tasks)
		diag_at(errs, s->source, s->target_pos,
			"target: short_tasks requires command, pids or comms");
	if (t->maps_memory && !spec_has_target(s))
		diag_at(errs, s->source, s->target_pos,
			"target: memory_map requires command, pids, comms or cgroups");
	if (!t->has_children && !t->command.nr && !has_tasks)
		diag_at(errs, s->source, s->target_pos,
			"target: children requires a command, pids or comms");
}

#define EACH_RUN     "each run is an iteration, which lasts until it has ended"
#define EACH_CAPTURE "each capture of a window is an iteration"

static void check_times(const struct spec *s, struct err_list *errs)
{
	const struct {
		const char *name, *other;
		struct spec_pos pos, other_pos;
		const char *hint;
	} pairs[] = {
	    {"num_iterations", "runs", s->iterations_pos, s->runs_pos, EACH_RUN},
	    {"duration", "runs", s->duration_pos, s->runs_pos, EACH_RUN},
	    {"num_iterations", "windows", s->iterations_pos, s->windows_pos, EACH_CAPTURE},
	    {"duration", "windows", s->duration_pos, s->windows_pos, EACH_CAPTURE},
	    {"windows", "runs", s->windows_pos, s->runs_pos, EACH_RUN},
	    {"delay", "runs", s->delay_pos, s->runs_pos, EACH_RUN},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (!pairs[i].pos.line || !pairs[i].other_pos.line)
			continue;
		err_hint(diag_at(errs, s->source, pairs[i].pos, "%s and %s are mutually exclusive",
				 pairs[i].name, pairs[i].other),
			 "remove one: %s", pairs[i].hint);
		return;
	}
}

static void check_windows(const struct spec *s, struct err_list *errs)
{
	struct spec_window windows[SPEC_MAX_WINDOWS];
	struct err e = {0};

	if (spec_windows(s, windows, &e) < 0)
		err_hint(diag_at(errs, s->source, s->windows_pos, "%s", e.msg), "%s", e.hint);
}

static void check_flight(const struct spec *s, struct err_list *errs)
{
	const struct spec_pos *const others[] = {&s->duration_pos, &s->iterations_pos, &s->runs_pos,
						 &s->windows_pos, &s->delay_pos};
	static const char *const names[] = {"duration", "num_iterations", "runs", "windows",
					    "delay"};

	for (size_t i = 0; s->flight_pos.line && i < ARRAY_NR(others); i++)
		if (others[i]->line)
			err_hint(diag_at(errs, s->source, *others[i],
					 "%s and flight_recorder are mutually exclusive", names[i]),
				 "remove one: a flight recorder's iterations end at its snapshots");
}

static void check_retain(const struct spec *s, struct err_list *errs)
{
	if (s->retain_pos.line && !spec_has_retain(s))
		err_hint(diag_at(errs, s->source, s->retain_pos, "retain has no limit"),
			 "add iterations, seconds or bytes");
}

static void check_manifest(const struct spec *s, struct err_list *errs)
{
	if (spec_has_strict_manifest(s) && (spec_has_retain(s) || s->flight.span_ns))
		err_hint(diag_at(errs, s->source, s->manifest_kind_pos,
				 "a strict manifest cannot say which iterations were removed"),
			 "leave out manifest (--manifest), or retain and flight_recorder");
}

void check_events(const struct spec *s, struct err_list *errs)
{
	check_flight(s, errs);
	check_retain(s, errs);
	check_manifest(s, errs);
	check_sampling(s, errs);
	check_times(s, errs);
	check_target(s, errs);
	for (const struct spec_event *e = s->events; e < events_end(s); e++) {
		check_event(s, e, errs);
		check_repeated(s, e, errs);
		check_label(s, e, errs);
	}
	check_timebases(s, errs);
	check_count(s, false, SPEC_MAX_PERF_EVENTS, errs);
	check_count(s, true, SPEC_MAX_MISC_EVENTS, errs);
}

static void check_suffix(const struct spec *s, const struct key_row *row, struct err_list *errs)
{
	struct spec_pos pos = {0};
	char is[128], wanted[128];
	const char *text;

	memcpy(&text, (const char *)s + row->offset, sizeof(text));
	if (key_ends_well(row, text, strlen(text)))
		return;
	if (row->pos_offset)
		memcpy(&pos, (const char *)s + row->pos_offset, sizeof(pos));
	diag_wanted(row, wanted, sizeof(wanted));
	diag_string(text, is, sizeof(is));
	diag_at(errs, s->source, pos, "%s must be %s, not %s", row->name, wanted, is);
}

static bool is_heap(const struct spec_event *e, const char *name)
{
	return strcmp(e->group_name, "heap") == 0 && strcmp(e->event_name, name) == 0;
}

static void check_pattern(const struct spec *s, struct err_list *errs)
{
	if (!spec_has_pattern(s))
		return;
	if (!ARRAY_ANY(e, s->events, s->nr_events, is_heap(e, "untouched")))
		err_hint(diag_at(errs, s->source, s->untouched_pos,
				 "untouched is \"pattern\", but no event is heap:untouched"),
			 "add that event, or remove the key untouched (--untouched)");
	for (const struct spec_event *e = s->events; e < events_end(s); e++)
		if (is_heap(e, "resident") || is_heap(e, "peak"))
			err_hint(diag_at(errs, s->source, e->pos,
					 "heap:%s: the pattern of \"untouched\" is written to all "
					 "that is allocated, so that all of it is in memory",
					 e->event_name),
				 "measure heap:%s in another session, or without \"pattern\"",
				 e->event_name);
}

/* A name is missing; what it means is not known here. */
static void check_patterns(const struct spec *s, const char *key, const struct spec_list *list,
			   struct spec_pos pos, struct err_list *errs)
{
	for (size_t i = 0; i < list->nr; i++) {
		const char *colon = strrchr(list->item[i], ':');

		if (!colon || colon[1])
			continue;
		err_hint(diag_at(errs, s->source, pos,
				 "functions.%s: \"%s\" is not of the form [OBJECT:]GLOB", key,
				 list->item[i]),
			 "for example parse_* or libfoo.so:*");
	}
}

static bool has_criteria(const struct spec_functions *f)
{
	return f->include.nr || f->exclude.nr || f->callers_of.nr || f->min_instructions ||
	       f->min_size || f->has_loops;
}

static void check_functions(const struct spec *s, struct err_list *errs)
{
	const struct spec_functions *f = &s->functions;

	check_patterns(s, "include", &f->include, f->include_pos, errs);
	check_patterns(s, "exclude", &f->exclude, f->exclude_pos, errs);
	check_patterns(s, "callers_of", &f->callers_of, f->callers_pos, errs);
	if (f->depth && !f->callers_of.nr)
		err_hint(diag_at(errs, s->source, f->depth_pos,
				 "functions.depth (--functions-depth) requires callers_of"),
			 "name what is called: --functions-callers-of=PATTERN");
	if (has_criteria(f) && s->nr_events &&
	    !ARRAY_ANY(e, s->events, s->nr_events, strcmp(e->group_name, "function") == 0))
		err_hint(diag_at(errs, s->source, s->functions_pos,
				 "functions (--functions-...) selects functions, but no event is "
				 "one of the group function"),
			 "add one: -e 'function:*'");
}

int spec_check(const struct spec *s, struct err_list *errs)
{
	size_t errors = diag_count(errs);

	check_windows(s, errs);
	if (s->nr_events == 0)
		diag_at(errs, s->source, s->events_pos, "No events specified");
	if (s->flight.span_ns && !spec_has_samples(s))
		err_hint(
		    diag_at(errs, s->source, s->flight_pos, "flight_recorder: no event is sampled"),
		    "set a rate or a frequency on one: -e software:cpu_clock@997Hz");
	if (s->regions.counts.nr && !s->regions.is_wanted) /* of an option */
		err_hint(diag_at(errs, s->source, s->regions.counts_pos,
				 "--region-counts: no regions are received"),
			 "--regions, or \"regions\": true");
	if (s->regions.is_wanted && s->regions.every > 1 && !s->regions.counts.nr)
		err_hint(diag_at(errs, s->source, s->regions.counts_pos,
				 "regions.every: the regions have no counts"),
			 "name events in regions.counts (--region-counts), or leave every out");
	for (const struct spec_event *e = s->events; s->flight.span_ns && e < events_end(s); e++) {
		if (e->flags & SPEC_TIMEBASE)
			err_hint(diag_at(errs, s->source, e->flags_pos,
					 "%s:%s: a flight recorder has no timebase", e->group_name,
					 e->event_name),
				 "remove the flag timebase: the counts are read at each snapshot");
		if (e->every_ns)
			err_hint(diag_at(errs, s->source, e->every_pos,
					 "%s:%s: a flight recorder has no readings between its "
					 "snapshots",
					 e->group_name, e->event_name),
				 "remove every: the event is read at each snapshot");
	}
	check_pattern(s, errs);
	check_functions(s, errs);
	check_events(s, errs);
	for (size_t i = 0; i < key_nr_rows; i++)
		if (key_rows[i].level == KEY_SPEC && key_rows[i].suffix)
			check_suffix(s, &key_rows[i], errs);
	return diag_count(errs) == errors ? 0 : -EINVAL;
}
