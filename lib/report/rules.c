/*
 * Compiles the user's expressions; regcomp checks them.
 */
#include "report/rules.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum { MAX_NAME_BYTES = 64 << 10, NR_GROUPS = 10 };

static void pattern_fini(struct report_pattern *p)
{
	if (p->is_there)
		regfree(&p->re);
	p->is_there = false;
}

void report_rules_fini(struct report_rules *r)
{
	for (size_t i = 0; i < REPORT_MAX_RULES; i++) {
		pattern_fini(&r->merge[i].pattern);
		mem_free(r->merge[i].name);
		pattern_fini(&r->split[i].caller);
		pattern_fini(&r->split[i].callee);
		mem_free(r->split[i].name);
		pattern_fini(&r->hide[i]);
		pattern_fini(&r->only[i]);
	}
	*r = (struct report_rules){0};
}

static int compile(struct report_pattern *p, const char *option, const char *text, struct err *e)
{
	char why[128];
	int failed;

	if (!*text)
		return err_set(e, -EINVAL, "--%s: an empty expression matches everything", option);
	failed = regcomp(&p->re, text, REG_EXTENDED);
	if (failed) {
		regerror(failed, &p->re, why, sizeof(why));
		err_set(e, failed == REG_ESPACE ? -ENOMEM : -EINVAL, "--%s: \"%s\": %s", option,
			text, why);
		err_hint(e, "use a POSIX extended regular expression, as in grep -E; quote it for "
			    "the shell");
		return failed == REG_ESPACE ? -ENOMEM : -EINVAL;
	}
	p->is_there = true;
	return 0;
}

static int too_many(const char *option, struct err *e)
{
	err_set(e, -E2BIG, "--%s: used more than %d times", option, REPORT_MAX_RULES);
	err_hint(e, "join expressions with |");
	return -E2BIG;
}

static int invalid(const char *option, const char *text, const char *form, struct err *e)
{
	err_set(e, -EINVAL, "--%s=%s: invalid", option, text);
	err_hint(e, "--%s='%s'", option, form);
	return -EINVAL;
}

static char *copy(const char *from, const char *end)
{
	char *s = mem_alloc((size_t)(end - from) + 1);

	if (!s)
		return NULL;
	memcpy(s, from, (size_t)(end - from));
	s[end - from] = '\0';
	return s;
}

/* The first (or last) c from s on without a backslash before it; NULL: none. */
static const char *find_plain(const char *s, char c, bool is_last)
{
	const char *found = NULL;

	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == c && (is_last || !found))
			found = s;
	}
	return found;
}

/* Replaces "\c" by "c": the delimiter was escaped for this parser, not for the expression. */
static void unescape(char *s, char c)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1] == c)
			s++;
		else if (*s == '\\' && s[1])
			*to++ = *s++;
		*to++ = *s;
	}
	*to = '\0';
}

static int compile_part(struct report_pattern *p, const char *option, const char *from,
			const char *end, char sign, struct err *e)
{
	MEM_AUTO char *text = copy(from, end);

	if (!text)
		return err_set(e, -ENOMEM, "out of memory");
	unescape(text, sign);
	return compile(p, option, text, e);
}

int report_rules_add_merge(struct report_rules *r, const char *text, struct err *e)
{
	static const char form[] = "s/REGEX/NAME/";
	struct report_merge *m = &r->merge[r->nr_merge];
	const char *middle, *end;
	char sign = *text == 's' ? text[1] : '\0';
	int rc;

	if (r->nr_merge == REPORT_MAX_RULES)
		return too_many("merge", e);
	if (!sign || sign == '\\')
		return invalid("merge", text, form, e);
	middle = find_plain(text + 2, sign, false);
	end = middle ? find_plain(middle + 1, sign, false) : NULL;
	if (!end || end[1])
		return invalid("merge", text, form, e);
	rc = compile_part(&m->pattern, "merge", text + 2, middle, sign, e);
	if (rc)
		return rc;
	m->name = copy(middle + 1, end);
	r->nr_merge += m->name != NULL;
	return m->name ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int report_rules_add_split(struct report_rules *r, const char *text, struct err *e)
{
	struct report_split *s = &r->split[r->nr_split];
	const char *middle = find_plain(text, '>', false), *end = find_plain(text, '/', true);
	int rc;

	if (r->nr_split == REPORT_MAX_RULES)
		return too_many("split", e);
	if (!middle || !end || end < middle || !end[1])
		return invalid("split", text, "CALLER>CALLEE/NAME", e);
	rc = compile_part(&s->caller, "split", text, middle, '>', e)
		 ?: compile_part(&s->callee, "split", middle + 1, end, '/', e);
	if (rc)
		return rc;
	s->name = copy(end + 1, end + strlen(end));
	if (!s->name)
		return err_set(e, -ENOMEM, "out of memory");
	unescape(s->name, '/');
	unescape(s->name, '>');
	r->nr_split++;
	return 0;
}

static int add_pattern(struct report_pattern *list, size_t *nr, const char *option,
		       const char *text, struct err *e)
{
	int rc;

	if (*nr == REPORT_MAX_RULES)
		return too_many(option, e);
	rc = compile(&list[*nr], option, text, e);
	*nr += rc == 0;
	return rc;
}

int report_rules_add_hide(struct report_rules *r, const char *text, struct err *e)
{
	return add_pattern(r->hide, &r->nr_hide, "hide", text, e);
}

int report_rules_add_only(struct report_rules *r, const char *text, struct err *e)
{
	return add_pattern(r->only, &r->nr_only, "only", text, e);
}

bool report_pattern_matches(const struct report_pattern *p, const char *name)
{
	return regexec(&p->re, name, 0, NULL, 0) == 0;
}

static void add_group(struct buf *out, const char *name, const regmatch_t *group)
{
	if (group->rm_so >= 0)
		buf_add(out, name + group->rm_so, (size_t)(group->rm_eo - group->rm_so));
}

/* Appends the replacement of a match. */
static void add_replacement(struct buf *out, const char *text, const char *name,
			    const regmatch_t *groups)
{
	for (; *text; text++) {
		bool is_escaped = *text == '\\' && text[1];

		text += is_escaped;
		if (is_escaped && *text >= '1' && *text <= '9')
			add_group(out, name, &groups[*text - '0']);
		else
			buf_addc(out, *text);
	}
}

char *report_rules_merged(const struct report_rules *r, const char *name, int *rc)
{
	regmatch_t groups[NR_GROUPS];
	struct buf out;
	size_t i = 0;

	*rc = 0;
	while (i < r->nr_merge && regexec(&r->merge[i].pattern.re, name, NR_GROUPS, groups, 0) != 0)
		i++;
	if (i == r->nr_merge)
		return NULL;
	buf_init(&out, MAX_NAME_BYTES);
	buf_add(&out, name, (size_t)groups[0].rm_so);
	add_replacement(&out, r->merge[i].name, name, groups);
	buf_adds(&out, name + groups[0].rm_eo);
	*rc = buf_error(&out);
	if (*rc == 0)
		return out.data;
	buf_fini(&out);
	return NULL;
}
