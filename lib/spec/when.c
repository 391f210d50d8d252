#include "spec/when.h"

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What an operator means of the values from least to most: those below the constant, the constant,
 * those above it. Two that begin alike: the longer one first. */
static const struct operator_row {
	const char *name;
	bool below, equal, above;
	bool is_begin; /* of texts alone: the begin is compared */
} operators[] = {
    {"<=", true, true, false},
    {">=", false, true, true},
    {"==", false, true, false},
    {"!=", true, false, true},
    {"!~", true, false, true, .is_begin = true},
    {"~", false, true, false, .is_begin = true},
    {"<", true, false, false},
    {">", false, false, true},
    {"=", false, true, false},
};

enum { MAX_DEPTH = 16 }; /* of parentheses */

#define FORM                                                                                       \
	"write NAME OPERATOR VALUE, joined by and, or, ( ): size >= 4KiB and (return < 0 or "      \
	"duration > 10ms)"

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_spaces(const char *at)
{
	return at + strspn(at, " ");
}

static bool is_word(const char *at, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(at, word, len) == 0;
}

/* Of what an error shows: a word, or the whole characters of its first bytes. */
static int word_len(const char *at)
{
	size_t len = strcspn(at, " ()");

	return (int)(len > 32 ? str_whole(at, 32) : len ?: *at != '\0');
}

static int refuse(struct err *e, const char *at, const char *what)
{
	if (*at)
		err_set(e, -EINVAL, "\"%.*s\" is not %s", word_len(at), at, what);
	else
		err_set(e, -EINVAL, "%s is missing at the end", what);
	err_hint(e, FORM);
	return -EINVAL;
}

static int scan_name(const char **at, struct spec_comparison *c, struct err *e)
{
	const char *p = *at;

	while (is_of_name(*p))
		p++;
	c->name = *at;
	c->len = (size_t)(p - *at);
	if (is_word(c->name, c->len, "and") || is_word(c->name, c->len, "or")) {
		err_set(e, -EINVAL, "\"%.*s\" is not the name of an argument, return or duration",
			word_len(*at), *at);
		err_hint(e, "it joins two comparisons; an argument of this name needs another one "
			    "in the signature");
		return -EINVAL;
	}
	if (!c->len || isdigit((unsigned char)**at))
		return refuse(e, *at, "the name of an argument, return or duration");
	c->is_duration = is_word(c->name, c->len, "duration");
	c->is_result = is_word(c->name, c->len, "return") || is_word(c->name, c->len, "result");
	*at = p;
	return 0;
}

static int scan_operator(const char **at, struct spec_comparison *c, struct err *e)
{
	const struct operator_row *o = ARRAY_FIND(x, operators, ARRAY_NR(operators),
						  strncmp(*at, x->name, strlen(x->name)) == 0);

	if (!o || (o[0].name[1] == '\0' && (*at)[1] && strchr("<>=!~", (*at)[1])))
		return refuse(e, *at, "an operator (<, <=, >, >=, ==, !=, ~, !~)");
	c->row = (unsigned)(o - operators);
	*at += strlen(o->name);
	return 0;
}

static int parse_hex(const char *text, uint64_t *out)
{
	const char *end = text + strlen(text), *p = text + 2;

	if (strncmp(text, "0x", 2) != 0)
		return -EINVAL;
	return str_scan_hex(&p, end, out) || p != end ? -EINVAL : 0;
}

/* A number alone is no time. */
static int parse_time(const char *text, uint64_t *out)
{
	return *text && islower((unsigned char)text[strlen(text) - 1])
		   ? str_parse_duration_ns(text, out)
		   : -EINVAL;
}

static int parse_null(const char *text, uint64_t *out)
{
	if (strcmp(text, "NULL") != 0)
		return -EINVAL;
	*out = 0;
	return 0;
}

/* Without a unit and an exponent, which is enough to know what is meant. */
static int parse_fraction(const char *text, uint64_t *out)
{
	static const char digits[] = "0123456789";
	const size_t before = strspn(text, digits);
	const size_t after = text[before] == '.' ? strspn(text + before + 1, digits) : 0;

	if (!after || text[before + 1 + after])
		return -EINVAL;
	*out = 0;
	return 0;
}

/* What is not UTF-8 no manifest can hold. */
static bool is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]))
			return false;
	return str_is_utf8(text, len);
}

/* The begin of a text has a star behind it, and no other one. */
static int check_begin(struct spec_comparison *c, struct err *e)
{
	const char *star = memchr(c->text, '*', c->text_len);

	if (!star || star != c->text + c->text_len - 1) {
		err_set(e, -EINVAL, "%s compares the begin of a text, which ends with its only *",
			operators[c->row].name);
		err_hint(e, "for example path ~ \"/etc/*\"; == and != compare all of a text");
		return -EINVAL;
	}
	if (c->text_len == 1) {
		err_set(e, -EINVAL, "every text begins so");
		err_hint(e, "name what it begins with, or write %.*s != NULL", (int)c->len,
			 c->name);
		return -EINVAL;
	}
	c->is_begin = true;
	c->text_len--;
	return 0;
}

/* Between quotes of either kind, which the text then has not. */
static int scan_text(const char **at, struct spec_comparison *c, struct err *e)
{
	const char *end = strchr(*at + 1, **at);

	if (!end) {
		err_set(e, -EINVAL, "the text has no end: %c is missing", **at);
		err_hint(e, "a text with one kind of quotes in it is written between the other");
		return -EINVAL;
	}
	c->unit = SPEC_WHEN_TEXT;
	c->text = *at + 1;
	c->text_len = (size_t)(end - c->text);
	if (!is_printable(c->text, c->text_len)) {
		err_set(e, -EINVAL, "the text has a control character, or is not UTF-8");
		err_hint(e, "compare what is before it: NAME ~ \"BEGIN*\"");
		return -EINVAL;
	}
	if (operators[c->row].is_begin && check_begin(c, e))
		return -EINVAL;
	if (c->text_len > SPEC_WHEN_TEXT_BYTES) {
		err_set(e, -EINVAL, "the text is longer than %d bytes", SPEC_WHEN_TEXT_BYTES);
		err_hint(e, "compare its begin: NAME ~ \"BEGIN*\"");
		return -EINVAL;
	}
	*at = end + 1;
	return 0;
}

static int scan_number(const char **at, struct spec_comparison *c, struct err *e)
{
	static const struct {
		int (*parse)(const char *text, uint64_t *out);
		enum spec_when_unit unit;
	} forms[] = {
	    {str_parse_bytes, SPEC_WHEN_NUMBER},  {parse_hex, SPEC_WHEN_NUMBER},
	    {parse_null, SPEC_WHEN_NUMBER},       {parse_time, SPEC_WHEN_TIME},
	    {parse_fraction, SPEC_WHEN_FRACTION},
	};
	size_t len = strcspn(*at, " &|()"), i = 0;
	char value[40];

	c->is_negative = **at == '-';
	if (len >= sizeof(value) || len == c->is_negative)
		return refuse(e, *at, "a value");
	snprintf(value, sizeof(value), "%.*s", (int)(len - c->is_negative), *at + c->is_negative);
	while (i < ARRAY_NR(forms) && forms[i].parse(value, &c->number))
		i++;
	if (i == ARRAY_NR(forms)) {
		err_set(e, -EINVAL, "\"%.*s\" is not a value", word_len(*at), *at);
		err_hint(e, "a value is a number (4096, -1, 0x1f, 4KiB, NULL), of duration a time "
			    "(10ms), of a text one in quotes (\"x\" or 'x')");
		return -EINVAL;
	}
	c->unit = forms[i].unit;
	c->is_null = *value == 'N';
	*at += len;
	return 0;
}

static int check_unit(const struct spec_comparison *c, struct err *e)
{
	const struct operator_row *o = &operators[c->row];

	if (o->is_begin && c->unit != SPEC_WHEN_TEXT) {
		err_set(e, -EINVAL, "%s compares a text, which has quotes", o->name);
		err_hint(e, "for example path ~ \"/etc/*\"");
		return -EINVAL;
	}
	if (c->is_duration && (c->unit != SPEC_WHEN_TIME || c->is_negative)) {
		err_set(e, -EINVAL, "duration is compared with a time, which has a unit");
		err_hint(e, "for example duration > 10ms; an argument of this name needs another "
			    "one in the signature");
		return -EINVAL;
	}
	if (!c->is_duration && c->unit == SPEC_WHEN_TIME) {
		err_set(e, -EINVAL, "only duration is compared with a time");
		err_hint(e, "write a number without a unit, or duration");
		return -EINVAL;
	}
	if (c->is_duration && o->below == o->above) {
		err_set(e, -EINVAL, "a duration is measured in ns: no two are equal");
		err_hint(e, "use <, <=, > or >=");
		return -EINVAL;
	}
	if (c->unit == SPEC_WHEN_TEXT && o->below != o->above) {
		err_set(e, -EINVAL, "texts are compared by ==, !=, ~ and !~ alone");
		err_hint(e, "for example path == \"/etc/passwd\", or path ~ \"/etc/*\"");
		return -EINVAL;
	}
	return 0;
}

static int scan_comparison(const char **at, struct spec_comparison *c, struct err *e)
{
	const char *begin;
	int rc;

	*at = skip_spaces(*at);
	rc = scan_name(at, c, e);
	if (rc)
		return rc;
	*at = skip_spaces(*at);
	rc = scan_operator(at, c, e);
	if (rc)
		return rc;
	begin = *at = skip_spaces(*at);
	rc = *begin == '"' || *begin == '\'' ? scan_text(at, c, e) : scan_number(at, c, e);
	rc = rc ?: check_unit(c, e);
	if (rc)
		*at = begin;
	return rc;
}

static int scan_join(const char **at, bool *is_or, struct err *e)
{
	static const struct {
		const char *word;
		bool is_or, is_sign;
	} joins[] = {
	    {"and", false, false}, {"&&", false, true}, {"or", true, false}, {"||", true, true}};

	for (size_t i = 0; i < ARRAY_NR(joins); i++) {
		const size_t len = strlen(joins[i].word);

		if (strncmp(*at, joins[i].word, len) != 0 ||
		    (!joins[i].is_sign && (*at)[len] && !strchr(" (", (*at)[len])))
			continue;
		*is_or = joins[i].is_or;
		*at += len;
		return 0;
	}
	err_set(e, -EINVAL, "\"%.*s\" is neither \"and\" nor \"or\"", word_len(*at), *at);
	err_hint(e, "comparisons are joined by and, or; a value and its unit have no space between "
		    "them");
	return -EINVAL;
}

/* What is open: the condition, and each parenthesis in it. */
struct level {
	const char *begin; /* of a parenthesis */
	size_t all_of;     /* the item with which the last alternative begins */
};

struct scan {
	struct spec_when when;
	struct level level[MAX_DEPTH + 1];
	size_t depth;
};

static int scan_opening(const char **at, struct scan *s, struct err *e)
{
	for (*at = skip_spaces(*at); **at == '('; *at = skip_spaces(*at + 1)) {
		if (s->depth == MAX_DEPTH) {
			err_set(e, -EINVAL, "more than %d parentheses in one another", MAX_DEPTH);
			err_hint(e, "remove those that are not needed: and binds closer than or");
			return -EINVAL;
		}
		s->level[++s->depth] = (struct level){*at, s->when.nr};
	}
	return 0;
}

static int scan_closing(const char **at, struct scan *s, struct err *e)
{
	for (*at = skip_spaces(*at); **at == ')'; *at = skip_spaces(*at + 1)) {
		if (!s->depth) {
			err_set(e, -EINVAL, "this ) has no (");
			err_hint(e, "remove it, or begin with (");
			return -EINVAL;
		}
		s->depth--;
	}
	if (**at || !s->depth)
		return 0;
	*at = s->level[s->depth].begin;
	err_set(e, -EINVAL, "this ( has no )");
	err_hint(e, "remove it, or end with )");
	return -EINVAL;
}

/* The next item decides where the items from begin on have decided so. What is before the last
 * alternative goes on to that one if it does not hold. */
static void go_on(struct spec_when *w, size_t begin, bool holds)
{
	for (size_t i = begin; i < w->nr; i++)
		if (w->item[i].next[holds] >= SPEC_WHEN_MAX)
			w->item[i].next[holds] = (unsigned)w->nr;
}

static int join(const char **at, struct scan *s, struct err *e)
{
	struct level *l = &s->level[s->depth];
	bool is_or = false;
	int rc = scan_join(at, &is_or, e);

	if (rc)
		return rc;
	go_on(&s->when, l->all_of, !is_or);
	l->all_of = is_or ? s->when.nr : l->all_of;
	return 0;
}

static int add_comparison(const char **at, struct scan *s, struct err *e)
{
	struct spec_comparison c = {.next = {SPEC_WHEN_NO, SPEC_WHEN_YES}};
	int rc;

	if (s->when.nr == SPEC_WHEN_MAX) {
		err_set(e, -EINVAL, "more than %d comparisons", SPEC_WHEN_MAX);
		err_hint(e, "name the event twice, with a part of the alternatives each");
		return -EINVAL;
	}
	rc = s->when.nr ? join(at, s, e) : 0;
	rc = rc ?: scan_opening(at, s, e) ?: scan_comparison(at, &c, e);
	if (rc == 0)
		s->when.item[s->when.nr++] = c;
	return rc ?: scan_closing(at, s, e);
}

int spec_when_parse(const char *text, struct spec_when *out, size_t *at, struct err *e)
{
	struct scan s = {.depth = 0};
	const char *p = text;
	int rc;

	do
		rc = add_comparison(&p, &s, e);
	while (rc == 0 && *p);
	*at = (size_t)(p - text);
	if (rc == 0)
		*out = s.when;
	return rc;
}

/* Of the type: as 64 bits hold them. */
static uint64_t least_of(uint32_t bytes, bool is_signed)
{
	return is_signed ? -(UINT64_C(1) << (8 * bytes - 1)) : 0;
}

static uint64_t most_of(uint32_t bytes, bool is_signed)
{
	return UINT64_MAX >> (64 - 8 * bytes + is_signed);
}

/* Numbers are shown as the type has them. */
static int refuse_number(const struct spec_comparison *c, uint64_t least, uint64_t most,
			 struct err *e)
{
	err_set(e, -EINVAL, "%.*s is from %" PRId64 " to %" PRIu64, (int)c->len, c->name,
		(int64_t)least, most);
	err_hint(e, "compare it with one of these");
	return -EINVAL;
}

int spec_when_range(const struct spec_comparison *c, uint32_t bytes, bool is_signed,
		    struct spec_when_range *out, struct err *e)
{
	const struct operator_row *o = &operators[c->row];
	const uint64_t least = least_of(bytes, is_signed), most = most_of(bytes, is_signed);
	const uint64_t v = c->is_negative ? -c->number : c->number;
	const uint64_t low = o->equal ? v : v + 1;

	if (c->is_negative ? c->number > -least : c->number > most)
		return refuse_number(c, least, most, e);
	if (o->below && o->above) /* all but this one, around the end */
		*out = (struct spec_when_range){v + 1, UINT64_MAX - 1};
	else if (o->below)
		*out = (struct spec_when_range){least, v - least - !o->equal};
	else if (o->above)
		*out = (struct spec_when_range){low, most - low};
	else
		*out = (struct spec_when_range){v, 0};
	if ((o->below && !o->above && !o->equal && v == least) ||
	    (o->above && !o->below && !o->equal && v == most)) {
		err_set(e, -EINVAL, "no value of %.*s is %s that", (int)c->len, c->name,
			o->below ? "below" : "above");
		err_hint(e, "compare it with another number, or remove the comparison");
		return -EINVAL;
	}
	return 0;
}

struct spec_when_range spec_when_text_range(const struct spec_comparison *c)
{
	return (struct spec_when_range){operators[c->row].equal, 0};
}

bool spec_when_is_spelled(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (strchr("<>=!~", text[i]))
			return true;
	return false;
}
