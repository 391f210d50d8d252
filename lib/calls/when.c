#include "calls/when.h"

#include "base/array.h"
#include "base/err.h"
#include "base/str.h"
#include "functions/functions.h"
#include "functions/signature.h"
#include "plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)CALLS_WHEN_MAX == (int)SPEC_WHEN_MAX + 1, "terms of a condition");

enum { TIME_BYTES = 8 };

/* Both bounds are meant. */
struct bounds {
	uint64_t least, most;
};

static bool is_name(const struct spec_comparison *c, const struct functions_value *v)
{
	return c->is_result ? v->where == FUNCTIONS_RESULT
			    : v->where != FUNCTIONS_RESULT && strlen(v->name) == c->len &&
				  memcmp(v->name, c->name, c->len) == 0;
}

static const struct functions_value *find_value(const struct spec_comparison *c,
						const struct functions_signature *s)
{
	for (size_t i = 0; s && i < s->nr; i++)
		if (is_name(c, &s->value[i]))
			return &s->value[i];
	return NULL;
}

static int refuse_float(const struct spec_comparison *c, const struct functions_place *f,
			struct err *e)
{
	err_set(e, -EINVAL, "%.*s of %.100s is floating-point: " FUNCTIONS_NO_FLOATS,
		(int)(c->len < 40 ? c->len : 40), c->name, f->name);
	err_hint(e, "compare an integer or a pointer, or duration");
	return -EINVAL;
}

static bool is_float(const struct spec_comparison *c, const struct functions_signature *s)
{
	static const char result[] = "result";

	return s && (c->is_result ? functions_signature_has_float(s, result, sizeof(result) - 1)
				  : functions_signature_has_float(s, c->name, c->len));
}

static int refuse_name(const struct spec_comparison *c, const struct functions_place *f,
		       struct err *e)
{
	const struct functions_signature *s = f->signature;
	char name[FUNCTIONS_VALUE_NAME_BYTES];
	const char *nearest = NULL;
	size_t distance = 0;

	snprintf(name, sizeof(name), "%.*s", (int)(c->len < sizeof(name) ? c->len : 0), c->name);
	for (size_t i = 0; s && i < s->nr; i++)
		str_nearest_offer(name, s->value[i].name, &nearest, &distance);
	if (!s)
		err_set(e, -EINVAL, "%.100s has no signature, so no \"%.*s\" is known", f->name,
			(int)(c->len < 40 ? c->len : 40), c->name);
	else
		err_set(e, -EINVAL, "no value of %.100s that is recorded has the name \"%.*s\"",
			f->name, (int)(c->len < 40 ? c->len : 40), c->name);
	if (nearest)
		err_hint(e, "did you mean %s?", nearest);
	else
		err_hint(e, "name it in the signature: function:%.60s(NAME:TYPE)>TYPE", f->name);
	return -EINVAL;
}

/* A value is compared with a constant of its kind; NULL is an address. */
static int check_kind(const struct spec_comparison *c, const struct functions_value *v,
		      const struct functions_place *f, struct err *e)
{
	const bool is_text = v->kind == FUNCTIONS_TEXT;

	if (is_text && c->unit != SPEC_WHEN_TEXT && !c->is_null) {
		err_set(e, -EINVAL,
			"%s of %.100s is a text, which is compared with one in quotes, or NULL",
			v->name, f->name);
		err_hint(e, "%s == \"TEXT\", %s ~ \"BEGIN*\", or %s != NULL", v->name, v->name,
			 v->name);
		return -EINVAL;
	}
	if (!is_text && c->unit == SPEC_WHEN_TEXT) {
		err_set(e, -EINVAL, "%s of %.100s is %s, which is compared with a number", v->name,
			f->name, v->kind == FUNCTIONS_POINTER ? "an address" : "an integer");
		err_hint(e, "what has the type str in a signature is compared with a text");
		return -EINVAL;
	}
	if (c->unit == SPEC_WHEN_FRACTION) {
		err_set(e, -EINVAL, "%s of %.100s is an integer, which has no fraction", v->name,
			f->name);
		err_hint(e, "compare it with an integer");
		return -EINVAL;
	}
	return 0;
}

static int make_range(const struct spec_comparison *c, const struct functions_value *v,
		      struct spec_when_range *out, struct err *e)
{
	if (c->unit != SPEC_WHEN_TEXT)
		return spec_when_range(c, v->bytes, v->kind == FUNCTIONS_SIGNED, out, e);
	*out = spec_when_text_range(c);
	return 0;
}

static int check_value(const struct spec_comparison *c, const struct functions_place *f,
		       struct err *e)
{
	const struct functions_value *v = find_value(c, f->signature);
	struct spec_when_range unused;

	if (!v)
		return is_float(c, f->signature) ? refuse_float(c, f, e) : refuse_name(c, f, e);
	return check_kind(c, v, f, e) ?: make_range(c, v, &unused, e);
}

/* What is measured: refused functions are behind these. */
static int check_comparison(const struct plan_event *p, const struct spec_comparison *c,
			    struct err *e)
{
	struct spec_when_range range;
	int rc = 0;

	if (c->is_duration)
		return spec_when_range(c, TIME_BYTES, false, &range, e);
	for (uint32_t i = 0; i < p->event.row->nr_functions && rc == 0; i++)
		rc = check_value(c, &p->event.row->functions[i], e);
	return rc;
}

static bool narrow(struct bounds *b, const struct spec_when_range *r)
{
	b->least = b->least > r->low ? b->least : r->low;
	b->most = b->most < r->low + r->span ? b->most : r->low + r->span;
	return b->least <= b->most;
}

static struct bounds bounds_of(const struct spec_event *asked)
{
	return (struct bounds){asked->longer_ns ? asked->longer_ns + 1 : 0, UINT64_MAX};
}

/* False: no duration that is in the bounds meets it. */
static bool narrow_by(struct bounds *b, const struct spec_comparison *c)
{
	struct spec_when_range r;

	return !c->is_duration || spec_when_range(c, TIME_BYTES, false, &r, NULL) != 0 ||
	       narrow(b, &r);
}

/* All ways from item i on: *useful gets a bit for each item that holds on a way by which a call can
 * be meant. held has those that hold on the way to i. At most 16 deep. */
static void find_useful(const struct spec_when *when, unsigned i, struct bounds b, uint32_t held,
			uint32_t *useful)
{
	struct bounds narrower = b;

	if (i >= SPEC_WHEN_MAX) {
		*useful |= i == SPEC_WHEN_YES ? held : 0;
		return;
	}
	find_useful(when, when->item[i].next[false], b, held, useful);
	if (narrow_by(&narrower, &when->item[i]))
		find_useful(when, when->item[i].next[true], narrower, held | 1U << i, useful);
}

/* The first item with which no call is meant, whatever it has; their number: there is none. */
static size_t find_impossible(const struct spec_event *asked, const struct spec_when *when)
{
	uint32_t useful = 0;
	size_t i = 0;

	if (when->nr)
		find_useful(when, 0, bounds_of(asked), 0, &useful);
	while (i < when->nr && useful >> i & 1)
		i++;
	return i;
}

/* Begins a message about the event. */
#define ABOUT "function:%.*s: when %.*s: "
#define ABOUT_ARGS(p)                                                                              \
	(int)str_whole((p)->event.row->name, 120), (p)->event.row->name,                           \
	    (int)str_whole((p)->asked->when, 160), (p)->asked->when

static void set_place(const struct spec_event *asked, size_t at, struct spec_pos *pos,
		      struct err *e)
{
	const struct spec_pos where = spec_when_pos(asked, at);

	if (where.line)
		*pos = where;
	if (!asked->when_source)
		return;
	snprintf(e->source, sizeof(e->source), "%s", asked->when_source);
	e->line = where.line;
	e->column = where.column;
}

int calls_when_check(const struct plan_event *p, struct spec_pos *pos, struct err *e)
{
	const struct spec_event *asked = p->asked;
	struct spec_when when = {.nr = 0};
	size_t at = 0, impossible;
	int rc = spec_when_parse(asked->when, &when, &at, e); /* spec/ has checked it */

	for (size_t i = 0; i < when.nr && rc == 0; i++) {
		const struct spec_comparison *c = &when.item[i];
		struct err why = {0};

		rc = check_comparison(p, c, &why);
		if (rc == 0)
			continue;
		at = (size_t)(c->name - asked->when);
		err_set(e, rc, ABOUT "%s", ABOUT_ARGS(p), why.msg);
		err_hint(e, "%s", why.hint);
	}
	impossible = rc ? when.nr : find_impossible(asked, &when);
	if (impossible < when.nr) {
		at = (size_t)(when.item[impossible].name - asked->when);
		rc =
		    err_set(e, -EINVAL, ABOUT "no duration is as short and as long", ABOUT_ARGS(p));
		err_hint(e, "join what need not both be with or; longer_than (@>TIME) has to hold, "
			    "too");
	}
	if (rc)
		set_place(asked, at, pos, e);
	return rc;
}

/* Of a checked comparison. */
static struct calls_term make_term(const struct spec_comparison *c,
				   const struct functions_signature *signature)
{
	const struct functions_value *v = c->is_duration ? NULL : find_value(c, signature);
	struct spec_when_range r = {UINT64_MAX, 0};

	if (c->is_duration)
		(void)spec_when_range(c, TIME_BYTES, false, &r, NULL);
	if (!v)
		return (struct calls_term){.field = CALLS_DURATION, .range = {r.low, r.span}};
	(void)make_range(c, v, &r, NULL);
	return (struct calls_term){
	    .field = (uint32_t)(v - signature->value),
	    .text = c->unit == SPEC_WHEN_TEXT ? c->text : NULL,
	    .len = c->text_len,
	    .is_begin = c->is_begin,
	    .range = {r.low, r.span},
	};
}

/* before: the event's terms that are before the one of item 0. */
static unsigned term_of(unsigned item, unsigned before)
{
	return item + (item < SPEC_WHEN_MAX ? before : CALLS_NO - SPEC_WHEN_NO);
}

size_t calls_when_terms(const struct spec_event *asked, const struct functions_signature *signature,
			struct calls_term out[CALLS_WHEN_MAX])
{
	const struct bounds b = bounds_of(asked);
	struct spec_when when = {.nr = 0};
	unsigned before;
	size_t nr = 0, at;

	if (asked->when)
		(void)spec_when_parse(asked->when, &when, &at, NULL);
	if (asked->longer_ns || !when.nr)
		out[nr++] = (struct calls_term){
		    .field = CALLS_DURATION,
		    .next = {CALLS_NO, when.nr ? 1 : CALLS_YES},
		    .range = {b.least, b.most - b.least},
		};
	before = (unsigned)nr;
	for (size_t i = 0; i < when.nr; i++, nr++) {
		out[nr] = make_term(&when.item[i], signature);
		for (int k = 0; k < 2; k++)
			out[nr].next[k] = term_of(when.item[i].next[k], before);
	}
	return nr;
}
