#include "calls/when.h"

#include "base/err.h"
#include "base/str.h"
#include "functions/functions.h"
#include "functions/signature.h"
#include "plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)CALLS_WHEN_MAX == (int)SPEC_WHEN_MAX, "comparisons of a condition");

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

/* Of a text there is where it is. */
static int make_condition(const struct spec_comparison *c, const struct functions_place *f,
			  struct spec_when_range *out, struct err *e)
{
	const struct functions_value *v = find_value(c, f->signature);

	if (!v)
		return is_float(c, f->signature) ? refuse_float(c, f, e) : refuse_name(c, f, e);
	if (v->kind == FUNCTIONS_TEXT && !c->is_null) {
		err_set(e, -EINVAL, "%s of %.100s is a text, which is compared with NULL alone",
			v->name, f->name);
		err_hint(e, "%s == NULL, or %s != NULL; the log has the texts of all calls",
			 v->name, v->name);
		return -EINVAL;
	}
	return spec_when_range(c, v->bytes, v->kind == FUNCTIONS_SIGNED, out, e);
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
		rc = make_condition(c, &p->event.row->functions[i], &range, e);
	return rc;
}

static bool narrow(struct bounds *b, const struct spec_when_range *r)
{
	b->least = b->least > r->low ? b->least : r->low;
	b->most = b->most < r->low + r->span ? b->most : r->low + r->span;
	return b->least <= b->most;
}

/* False: none lasts so long and so short. */
static bool find_durations(const struct spec_event *asked, const struct spec_when *when,
			   struct bounds *out)
{
	bool is_any = true;

	*out = (struct bounds){asked->longer_ns ? asked->longer_ns + 1 : 0, UINT64_MAX};
	for (size_t i = 0; i < when->nr; i++) {
		struct spec_when_range r;

		if (when->item[i].is_duration &&
		    spec_when_range(&when->item[i], TIME_BYTES, false, &r, NULL) == 0)
			is_any &= narrow(out, &r);
	}
	return is_any;
}

int calls_when_check(const struct plan_event *p, struct spec_pos *pos, struct err *e)
{
	const struct spec_event *asked = p->asked;
	struct spec_when when = {.nr = 0};
	struct bounds durations;
	size_t at = 0;
	int rc = spec_when_parse(asked->when, &when, &at, e); /* spec/ has checked it */

	for (size_t i = 0; i < when.nr && rc == 0; i++) {
		const struct spec_comparison *c = &when.item[i];
		struct err why = {0};

		rc = check_comparison(p, c, &why);
		if (rc == 0)
			continue;
		at = (size_t)(c->name - asked->when);
		err_set(e, rc, "function:%s: when %s: %s", p->event.row->name, asked->when,
			why.msg);
		err_hint(e, "%s", why.hint);
	}
	if (rc == 0 && !find_durations(asked, &when, &durations)) {
		at = 0;
		rc =
		    err_set(e, -EINVAL, "function:%s: when %s: no duration is as short and as long",
			    p->event.row->name, asked->when);
		err_hint(e,
			 "name the event twice for \"or\"; longer_than (@>TIME) has to hold, too");
	}
	if (rc && asked->when_pos.line)
		*pos = spec_when_pos(asked, at);
	return rc;
}

static size_t parse(const struct spec_event *asked, struct spec_when *out)
{
	size_t at;

	*out = (struct spec_when){.nr = 0};
	if (asked->when)
		(void)spec_when_parse(asked->when, out, &at, NULL);
	return out->nr;
}

struct calls_range calls_when_duration(const struct spec_event *asked)
{
	struct spec_when when;
	struct bounds b;

	(void)parse(asked, &when);
	(void)find_durations(asked, &when, &b);
	return (struct calls_range){b.least, b.most - b.least};
}

size_t calls_when_conditions(const struct spec_event *asked,
			     const struct functions_signature *signature,
			     struct calls_condition out[CALLS_WHEN_MAX])
{
	struct spec_when when;
	size_t nr = 0;

	(void)parse(asked, &when);
	for (size_t i = 0; i < when.nr; i++) {
		const struct spec_comparison *c = &when.item[i];
		const struct functions_value *v = find_value(c, signature);
		struct spec_when_range r;

		if (c->is_duration || !v ||
		    spec_when_range(c, v->bytes, v->kind == FUNCTIONS_SIGNED, &r, NULL))
			continue;
		out[nr++] = (struct calls_condition){
		    .field = (uint32_t)(v - signature->value),
		    .range = {r.low, r.span},
		};
	}
	return nr;
}
