/*
 * Changes a spec by the text of options, with the limits of the file: scalar keys, events, and how
 * they are sampled.
 */
#include "base/arena.h"
#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "spec/check.h"
#include "spec/diag.h"
#include "spec/keys.h"
#include "spec/spec.h"
#include "spec/when.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int refuse(const struct key_row *row, const char *value, const char *source, int rc,
		  struct err *e)
{
	char wanted[128];

	diag_wanted(row, wanted, sizeof(wanted));
	err_set_at(e, rc, source, 0, 0, "%s must be %s, not \"%.*s\"", row->name, wanted,
		   diag_cut(value), value);
	if (row->type == KEY_SECONDS)
		err_hint(e, "units are allowed: 10s, 0.5s, 10ms, 2m");
	else if (row->type == KEY_PERCENT)
		err_hint(e, "as a percentage of one CPU: 0.5 or 0.5%%");
	else if (row->has_units)
		err_hint(e, "units are allowed: 64KiB, 500MiB, 1GiB");
	return rc;
}

/* "0.5", "0.5%", "0.5 %". */
static int parse_percent(const char *value, uint64_t *out)
{
	char number[32];
	size_t len = strspn(value, "0123456789.");
	const char *rest = value + len + strspn(value + len, " ");

	if (len >= sizeof(number) || rest[*rest == '%'])
		return -EINVAL;
	snprintf(number, sizeof(number), "%.*s", (int)len, value);
	return str_parse_duration_ns(number, out);
}

static int set_number(void *model, const struct key_row *row, const char *value, const char *source,
		      struct err *e)
{
	uint64_t unit = key_has_decimals(row) ? KEY_NS_PER_S : 1, v;
	int rc = row->type == KEY_SECONDS   ? str_parse_duration_ns(value, &v)
		 : row->type == KEY_PERCENT ? parse_percent(value, &v)
		 : row->has_units           ? str_parse_bytes(value, &v)
					    : str_parse_u64(value, &v);

	if (rc == 0 && !key_fits(row, v, unit))
		rc = -ERANGE;
	if (rc)
		return refuse(row, value, source, rc, e);
	memcpy((char *)model + row->offset, &v, sizeof(v));
	return 0;
}

static int set_string(struct spec *s, const struct key_row *row, const char *value,
		      const char *source, struct err *e)
{
	size_t len = strlen(value);
	const char *copy;

	if (len < row->min || len > row->max)
		return refuse(row, value, source, -ERANGE, e);
	if (!key_ends_well(row, value, len))
		return refuse(row, value, source, -EINVAL, e);
	if (!str_is_utf8(value, len)) /* JSON, and so the manifest, cannot hold it */
		return err_set_at(e, -EINVAL, source, 0, 0, "%s must be UTF-8", row->name);
	copy = arena_strdup(&s->arena, value);
	if (!copy)
		return err_set_at(e, -ENOMEM, source, 0, 0, "out of memory");
	memcpy((char *)s + row->offset, &copy, sizeof(copy));
	return 0;
}

static int set_word(struct spec *s, const struct key_row *row, const char *value,
		    const char *source, struct err *e)
{
	const char *word = key_word(row, value);

	if (!word)
		return refuse(row, value, source, -EINVAL, e);
	memcpy((char *)s + row->offset, &word, sizeof(word));
	return 0;
}

/* The struct of the row's key: the spec, or an object in it. */
static void *model_of(struct spec *s, const struct key_row *row)
{
	const struct key_row *owner =
	    ARRAY_FIND(x, key_rows, key_nr_rows,
		       x->level == KEY_SPEC && x->type == KEY_OBJECT && x->inner == row->level);

	return (char *)s + (owner ? owner->offset : 0);
}

static int set_bool(struct spec *s, const struct key_row *row, const char *value,
		    const char *source, struct err *e)
{
	bool is_true = strcmp(value, "true") == 0;

	if (!is_true && strcmp(value, "false") != 0) {
		err_set_at(e, -EINVAL, source, 0, 0, "%s: \"%s\" is not true or false", row->name,
			   value);
		return -EINVAL;
	}
	memcpy((char *)model_of(s, row) + row->offset, &is_true, sizeof(is_true));
	return 0;
}

static bool is_of_group(const char *text, size_t len, const char *group)
{
	return len == strlen(group) && memcmp(text, group, len) == 0;
}

/* The slashes of "cpu/event=1,umask=2/" are around terms; those of a path, as in
 * "usdt:/lib/x.so:provider:name" and "function:./x.so:name", and of "gpu:pm/x" are not. */
static bool has_terms(const char *text)
{
	const size_t group_len = strcspn(text, ":,");

	return text[group_len] != ':' ||
	       !(text[group_len + 1] == '/' || is_of_group(text, group_len, "gpu") ||
		 is_of_group(text, group_len, "function"));
}

static bool is_function(const char *text)
{
	return is_of_group(text, strcspn(text, ":,"), "function");
}

/* How a byte of a function's name changes the depth of brackets: of parameters, and of templates
 * but for operators ("operator<", "operator->") and for what returns, "f(a:int)>int". */
static int step_of(const char *text, size_t at, int depth)
{
	static const char word[] = "operator";
	const size_t word_len = sizeof(word) - 1;
	size_t before = at;

	if (text[at] == '(' || text[at] == ')')
		return text[at] == '(' ? 1 : -1;
	if (text[at] != '<' && text[at] != '>')
		return 0;
	while (before && strchr("<>-=", text[before - 1]))
		before--;
	if (before >= word_len && memcmp(text + before - word_len, word, word_len) == 0)
		return 0;
	return text[at] == '<' ? 1 : -(depth > 0);
}

/* Up to the next comma, or the end; terms contain commas, and so do the parameters of a function,
 * "function:f(int, int)". Behind an '@' the signs are those of a condition, and its texts may
 * contain any. *sign: the last '@' outside of them; NULL: none. *open: the outermost parenthesis of
 * a function that is not closed; NULL: none. */
static size_t spelled_len(const char *text, const char **sign, const char **open)
{
	const bool with_terms = has_terms(text), with_parameters = is_function(text);
	bool is_in_terms = false, is_behind = false;
	char quote = '\0';
	int depth = 0, nr_open = 0;
	size_t len = 0;

	*sign = *open = NULL;
	for (; text[len] && (is_in_terms || quote || depth > 0 || text[len] != ','); len++) {
		if (quote || (with_parameters && is_behind && strchr("\"'", text[len]))) {
			quote = !quote ? text[len] : quote == text[len] ? '\0' : quote;
			continue;
		}
		is_in_terms ^= text[len] == '/' && with_terms;
		is_behind |= text[len] == '@' && depth == 0;
		*sign = text[len] == '@' ? text + len : *sign;
		*open = text[len] == '(' && !nr_open ? text + len : *open;
		nr_open += text[len] == '(' ? 1 : -(text[len] == ')' && nr_open > 0);
		if (with_parameters && !(is_behind && strchr("<>", text[len])))
			depth += step_of(text, len, depth);
	}
	*open = with_parameters && nr_open ? *open : NULL;
	return len;
}

/* A parenthesis that is not closed contains the events that follow. It may be meant in a glob. */
static bool is_left_open(const char *text, size_t len, const char *sign, const char *open)
{
	const char *const end = text + len;

	if (sign && open > sign)
		return memchr(open, ',', (size_t)(end - open));
	for (const char *at = open; at < end && at != sign; at++)
		if (strchr("*?[", *at))
			return false;
	return true;
}

static unsigned column_of(const char *list, size_t at)
{
	unsigned column = 1;

	for (size_t i = 0; i < at; i++)
		column += ((unsigned char)list[i] & 0xc0) != 0x80;
	return column;
}

/* One item of a list, at its column of the option. */
static int scan_item(struct spec *s, const struct key_row *row, const char *list, size_t at,
		     const char *source, const char **out, struct err *e)
{
	const char *sign, *open;
	size_t len = spelled_len(list + at, &sign, &open);
	unsigned column = column_of(list, at);
	char *copy;
	uint64_t v;

	if (!len)
		return err_set_at(e, -EINVAL, source, 1, column,
				  "%s: the name of %s %s is missing in \"%.*s\"", key_option(row),
				  *row->item == 'e' ? "an" : "a", row->item, diag_cut(list), list);
	if (!str_is_utf8(list + at, len))
		return err_set_at(e, -EINVAL, source, 1, column, "%s must be UTF-8",
				  key_option(row));
	copy = arena_alloc(&s->arena, len + 1);
	if (!copy)
		return err_set_at(e, -ENOMEM, source, 0, 0, "out of memory");
	memcpy(copy, list + at, len);
	copy[len] = '\0';
	if (row->has_numbers && str_parse_u64(copy, &v))
		return err_set_at(e, -EINVAL, source, 1, column, "%s: \"%s\" is not a number",
				  key_option(row), copy);
	*out = copy;
	return 0;
}

/* "page_faults,software:task_clock". Replaces the list of the file, and its place. */
static int set_list(struct spec *s, const struct key_row *row, const char *value,
		    const char *source, struct err *e)
{
	const char **item = arena_calloc(&s->arena, row->max, sizeof(*item));
	struct spec_list list = {.item = item};
	const struct spec_pos nowhere = {0};
	void *model = model_of(s, row);

	if (!item)
		return err_set_at(e, -ENOMEM, source, 0, 0, "out of memory");
	for (size_t at = 0;; at++) {
		int rc;

		if (list.nr == row->max)
			return err_set_at(e, -ERANGE, source, 1, column_of(value, at),
					  "%s: more than %" PRIu64 " %ss", key_option(row),
					  row->max, row->item);
		rc = scan_item(s, row, value, at, source, &item[list.nr], e);
		if (rc)
			return rc;
		at += strlen(item[list.nr++]);
		if (!value[at])
			break;
	}
	memcpy((char *)model + row->offset, &list, sizeof(list));
	if (row->pos_offset)
		memcpy((char *)model + row->pos_offset, &nowhere, sizeof(nowhere));
	return 0;
}

/* "iterations:1000,bytes:1GiB" */
static int set_retain(struct spec *s, const char *value, const char *source, struct err *e)
{
	struct spec_retain retain = {0};

	for (const char *at = value;; at++) {
		size_t len = strcspn(at, ",");
		char member[64];
		char *colon = NULL;
		const struct key_row *row = NULL;
		uint64_t v = 0;
		int rc;

		if (len < sizeof(member)) {
			snprintf(member, sizeof(member), "%.*s", (int)len, at);
			colon = strchr(member, ':');
		}
		if (colon) {
			*colon = '\0';
			row = key_find(KEY_RETAIN, member);
		}
		if (row)
			memcpy(&v, (char *)&retain + row->offset, sizeof(v));
		if (!row || v) {
			err_set_at(e, -EINVAL, source, 0, 0, "retain: \"%.*s\" is %s", (int)len, at,
				   v ? "a second limit of its kind" : "not a limit");
			err_hint(e, "write iterations:1000, seconds:1h, bytes:1GiB or several of "
				    "them, separated by commas");
			return -EINVAL;
		}
		rc = set_number(&retain, row, colon + 1, source, e);
		if (rc)
			return rc;
		at += len;
		if (!*at)
			break;
	}
	s->retain = retain;
	return 0;
}

int spec_override(struct spec *s, const char *key, const char *value, const char *source,
		  struct err *e)
{
	const struct key_row *row = key_find_option(key);

	if (row && (row->type == KEY_BOOL || row->is_switch))
		return set_bool(s, row, value, source, e);
	if (!row || !row->metavar)
		return err_set_at(e, -EINVAL, source, 0, 0, "no option sets the key \"%s\"", key);
	if (row->type == KEY_STRING)
		return set_string(s, row, value, source, e);
	if (row->type == KEY_WORD)
		return set_word(s, row, value, source, e);
	if (row->type == KEY_LIST)
		return set_list(s, row, value, source, e);
	if (row->type == KEY_OBJECT)
		return row->option_key
			   ? set_number((char *)s + row->offset,
					key_find(row->inner, row->option_key), value, source, e)
			   : set_retain(s, value, source, e);
	return set_number(model_of(s, row), row, value, source, e);
}

/* "0.1s": a time with its unit, as a number alone is a rate. */
static int scan_time(const char *text, const char *end, const char *key, uint64_t *out)
{
	const struct key_row *row = key_find(KEY_EVENT, key);
	char time[32];
	uint64_t v;

	if (text == end || end[-1] < 'a' || (size_t)(end - text) >= sizeof(time))
		return -EINVAL;
	snprintf(time, sizeof(time), "%.*s", (int)(end - text), text);
	if (str_parse_duration_ns(time, &v) || !key_fits(row, v, KEY_NS_PER_S))
		return -EINVAL;
	*out = v;
	return 0;
}

/* What follows the '@': "997Hz", "10000", "0.1s" or ">10ms". */
static int scan_pace(const char *text, const char *end, struct spec_spelled *out)
{
	bool is_frequency = end - text > 2 && strncasecmp(end - 2, "Hz", 2) == 0;
	const struct key_row *row = key_find(KEY_EVENT, is_frequency ? "frequency" : "rate");
	const char *stop = is_frequency ? end - 2 : end, *p = text;
	uint64_t v;

	if (*text == '>') {
		out->rate = 1;
		return scan_time(text + 1, end, "longer_than", &out->longer_ns);
	}
	if (!is_frequency && scan_time(text, end, "every", &out->every_ns) == 0)
		return 0;
	if (str_scan_u64(&p, stop, &v) || p != stop || !v || !key_fits(row, v, 1))
		return -EINVAL;
	*(is_frequency ? &out->frequency : &out->rate) = v;
	return 0;
}

/* Reports at the column of the option. */
static int check_spelled_when(const char *list, const struct spec_spelled *event,
			      const char *source, struct err *e)
{
	const struct key_row *row = key_find(KEY_EVENT, "when");
	const size_t begin = (size_t)(event->when - list);
	char text[256];
	struct err why = {0};
	struct spec_when when;
	size_t at;

	if (event->when_len > row->max || event->when_len >= sizeof(text))
		return err_set_at(e, -EINVAL, source, 1, column_of(list, begin),
				  "a condition is longer than %" PRIu64 " bytes", row->max);
	snprintf(text, sizeof(text), "%.*s", (int)event->when_len, event->when);
	if (spec_when_parse(text, &when, &at, &why) == 0)
		return 0;
	err_set_at(e, -EINVAL, source, 1, column_of(list, begin + at), "%s", why.msg);
	err_hint(e, "%s", why.hint);
	return -EINVAL;
}

static int refuse_open(const char *list, const char *open, const char *end, const char *source,
		       struct err *e)
{
	const char *const comma = memchr(open, ',', (size_t)(end - open));

	err_set_at(e, -EINVAL, source, 1, column_of(list, (size_t)(open - list)),
		   "this \"(\" is never closed%s",
		   comma ? ", so no event ends at a comma behind it" : "");
	err_hint(e, "as function:NAME(path:str, size:u64)>int, or function:NAME alone");
	return -EINVAL;
}

int spec_scan_event(const char *list, size_t *at, const char *source, struct spec_spelled *out,
		    struct err *e)
{
	struct spec_spelled next = {.name = list + *at};
	const char *sign, *open;
	size_t len;

	if (*at > strlen(list))
		return 0;
	len = next.len = spelled_len(next.name, &sign, &open);
	next.column = column_of(list, *at);
	if (open && is_left_open(next.name, len, sign, open))
		return refuse_open(list, open, next.name + len, source, e);
	if (sign && is_function(next.name) &&
	    (isalpha((unsigned char)sign[1]) || sign[1] == '_' || sign[1] == '(')) {
		next.when_len = (size_t)(next.name + len - sign) - 1;
		if (spec_when_is_spelled(sign + 1, next.when_len))
			next.when = sign + 1;
		else
			sign = NULL; /* of "function:work@@VER_2" the version */
	}
	if (sign)
		next.len = (size_t)(sign - next.name);
	if (!next.len)
		return err_set_at(e, -EINVAL, source, 1, next.column,
				  "the name of an event is missing in \"%.*s\"", diag_cut(list),
				  list);
	if (next.when && check_spelled_when(list, &next, source, e))
		return -EINVAL;
	if (next.when) {
		next.when_column = column_of(list, (size_t)(next.when - list));
		next.rate = 1;
	}
	if (sign && !next.when && scan_pace(sign + 1, next.name + len, &next)) {
		err_set_at(e, -EINVAL, source, 1, column_of(list, *at + next.len + 1),
			   "\"%.*s\" is neither a rate nor a frequency nor a time",
			   (int)(len - next.len - 1), sign + 1);
		err_hint(e, "@997Hz: samples per second; @10000: events between two samples; "
			    "@0.1s, from 1ms to 1h: the time between two readings of misc or gpu; "
			    "@>10ms, from 1us: each call of function that lasted longer; "
			    "@size>=4KiB: each that meets the condition");
		return -EINVAL;
	}
	*out = next;
	*at += len + 1;
	return 1;
}

static bool is_named(const struct spec_event *event, const char *group, const char *name)
{
	return strcmp(event->group_name, group) == 0 && strcmp(event->event_name, name) == 0;
}

static bool is_same_name(const struct spec_event *a, const struct spec_event *b)
{
	return is_named(a, b->group_name, b->event_name);
}

static void set_pace(struct spec_event *event, uint64_t rate, uint64_t frequency)
{
	event->rate = rate;
	event->frequency = frequency;
	event->flags &= ~(unsigned)SPEC_ADAPTIVE; /* this is the rate that is wanted */
	if (!spec_event_is_sampled(event)) {
		event->flags &= ~(unsigned)CHECK_SAMPLE_FLAGS;
		event->stack_bytes = event->branch_filter = 0;
	} else if (!(event->flags & CHECK_SAMPLE_FLAGS)) {
		event->flags |= SPEC_PC;
	}
}

static int append(struct spec *s, struct spec_event event)
{
	enum { MAX = SPEC_MAX_PERF_EVENTS + SPEC_MAX_MISC_EVENTS + 1 };
	struct spec_event *grown;

	if (s->nr_events == MAX)
		return -E2BIG;
	if (s->nr_events == s->max_events) {
		grown = arena_calloc(&s->arena, MAX, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		if (s->nr_events)
			memcpy(grown, s->events, s->nr_events * sizeof(*grown));
		s->events = grown;
		s->max_events = MAX;
	}
	event.flags = SPEC_OS | SPEC_USER;
	set_pace(&event, event.rate, event.frequency);
	s->events[s->nr_events++] = event;
	return 0;
}

/* Two events that differed in what is set now would be one: the second stays. */
static bool has_before(const struct spec *s, size_t nr, const struct spec_event *event)
{
	return ARRAY_ANY(e, s->events, nr, spec_is_same_event(e, event));
}

/* Changes the events of the event's name to it, or adds it. is_further: those that an option names
 * already stay. */
static int name_event(struct spec *s, const struct spec_event *event, bool is_further)
{
	bool is_sampled = spec_event_is_sampled(event), is_any = false, is_alike = false;

	for (size_t i = 0; i < s->nr_events; i++) {
		const struct spec_event *e = &s->events[i];
		bool is_same = is_same_name(e, event) && !(is_further && e->is_named);

		is_any |= is_same;
		is_alike |= is_same && spec_event_is_sampled(e) == is_sampled;
	}
	for (size_t i = 0; i < s->nr_events; i++) {
		struct spec_event *e = &s->events[i], now;

		if (!is_same_name(e, event) || (is_further && e->is_named) ||
		    (is_alike && spec_event_is_sampled(e) != is_sampled))
			continue;
		now = *e;
		set_pace(&now, event->rate, event->frequency);
		now.longer_ns = event->longer_ns;
		now.when = event->when;
		now.when_pos = event->when_pos;
		now.when_source = event->when_source;
		now.when_column = event->when_column;
		now.is_named = true;
		if (!has_before(s, i, &now))
			*e = now;
	}
	return is_any ? 0 : append(s, *event);
}

static int name_once(struct spec *s, const struct spec_event *event)
{
	if (ARRAY_ANY(e, s->events, s->nr_events,
		      e->is_named && is_same_name(e, event) && e->rate == event->rate &&
			  e->frequency == event->frequency && e->longer_ns == event->longer_ns &&
			  strcmp(e->when ?: "", event->when ?: "") == 0))
		return -EEXIST;
	return name_event(s, event, true);
}

int spec_name_event(struct spec *s, const char *group, const char *name, uint64_t rate,
		    uint64_t frequency)
{
	const struct spec_event event = {.group_name = group,
					 .event_name = name,
					 .rate = rate,
					 .frequency = frequency,
					 .is_named = true};

	return name_once(s, &event);
}

int spec_name_ended(struct spec *s, const char *group, const char *name,
		    const struct spec_ended *ended)
{
	const struct spec_event event = {.group_name = group,
					 .event_name = name,
					 .rate = 1,
					 .longer_ns = ended->longer_ns,
					 .when = ended->when,
					 .when_source = ended->when_source,
					 .when_column = ended->when_column,
					 .is_named = true};

	return name_once(s, &event);
}

int spec_name_misc(struct spec *s, const char *group, const char *name, uint64_t every_ns)
{
	struct spec_event event = {.group_name = group, .event_name = name, .every_ns = every_ns};
	int rc = spec_name_event(s, group, name, 0, 0);

	for (size_t i = 0; rc == 0 && every_ns && i < s->nr_events; i++)
		if (is_same_name(&s->events[i], &event))
			s->events[i].every_ns = every_ns;
	return rc;
}

static bool is_clock(const struct spec_event *event)
{
	static const char *const clocks[][2] = {
	    {"software", "cpu_clock"},         {"software", "task_clock"},
	    {"fixed", "unhalted_core_cycles"}, {"fixed", "unhalted_reference_cycles"},
	    {"fixed", "cycle_counter"},        {"arch", "unhalted_core_cycles"},
	    {"resource", "cpu_time"},          {"resource", "real_time"},
	};

	return ARRAY_ANY(x, clocks, ARRAY_NR(clocks), is_named(event, (*x)[0], (*x)[1]));
}

int spec_sample_clock(struct spec *s, const char *key, const char *value, const char *source,
		      const char *group, const char *name, struct err *e)
{
	struct spec_event pace = {0};
	struct key_row row = *key_find(KEY_EVENT, key);
	bool is_any = false;
	int rc;

	row.min = 1; /* a rate of 0 counts */
	rc = set_number(&pace, &row, value, source, e);
	if (rc)
		return rc;
	pace.paced_by = arena_printf(&s->arena, "%s", source);
	for (size_t i = 0; i < s->nr_events; i++)
		if (is_clock(&s->events[i]) && spec_event_is_sampled(&s->events[i])) {
			if (!s->events[i].is_named) {
				set_pace(&s->events[i], pace.rate, pace.frequency);
				s->events[i].paced_by = pace.paced_by;
			}
			is_any = true;
		}
	pace.group_name = group;
	pace.event_name = name;
	rc = is_any ? 0 : name_event(s, &pace, false);
	return rc ? err_set_at(e, rc, source, 0, 0, "%s", strerror(-rc)) : 0;
}

const struct spec_callgraph spec_callgraphs[] = {
    {"fp", SPEC_CALLCHAIN, 0, false, false},
    {"dwarf", SPEC_CALLCHAIN | SPEC_USER_STACK, 16384, false, false},
    {"hybrid", SPEC_CALLCHAIN | SPEC_USER_STACK, 1024, false, false},
    {"aggregate", SPEC_CALLCHAIN, 0, true, false},
    {"whole", SPEC_CALLCHAIN | SPEC_USER_STACK, 0, false, true},
    {NULL, 0, 0, false, false},
};

/* Its stacks come from the program itself: there is one way. */
static bool is_of_heap(const struct spec_event *event)
{
	return strcmp(event->group_name, "heap") == 0 || strcmp(event->group_name, "resource") == 0;
}

void spec_set_callgraph(struct spec *s, const struct spec_callgraph *how)
{
	for (size_t i = 0; i < s->nr_events; i++) {
		struct spec_event *event = &s->events[i];

		if (!spec_event_is_sampled(event))
			continue;
		event->flags &= ~(unsigned)(SPEC_CALLCHAIN | SPEC_USER_STACK);
		event->flags |= is_of_heap(event) ? SPEC_CALLCHAIN : how->flags;
		event->stack_bytes = is_of_heap(event) ? 0 : how->stack_bytes;
		event->is_unwound = how->is_unwound && !is_of_heap(event);
		event->is_aggregated = how->is_aggregated && check_may_aggregate(event);
		if (event->is_aggregated)
			event->max_frequency = 0;
	}
}
