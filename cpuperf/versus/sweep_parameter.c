#include "versus/sweep.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS_BYTES = 8 << 20 };

static bool is_name(const char *s, size_t len)
{
	size_t i = 0;

	while (i < len && (isalpha((unsigned char)s[i]) || s[i] == '_' ||
			   (i && (isdigit((unsigned char)s[i]) || s[i] == '-'))))
		i++;
	return len && i == len;
}

/* A number above 0, or NAN. */
static double number_of(const char *text)
{
	char *end;
	const double x = strtod(text, &end);

	return end != text && !*end && isfinite(x) && x > 0 ? x : NAN;
}

/* In words, around a value. */
static int refuse(const char *text, const char *why, const char *value, const char *end,
		  struct err *e)
{
	err_set(e, -EINVAL, "--sweep=%s: %s%s%s", text, why, value, end);
	err_hint(e, "name a parameter and its values: --sweep=n=1,2,4,8, --sweep=n=1..64*2 or "
		    "--sweep=compiler=gcc,clang");
	return -EINVAL;
}

static bool is_there(const struct sweep_parameter *p, const char *value)
{
	const double x = number_of(value);

	for (size_t i = 0; i < p->nr; i++)
		if (strcmp(p->value[i], value) == 0 || p->number[i] == x)
			return true;
	return false;
}

static int add(struct sweep_parameter *p, const char *text, const char *value, struct err *e)
{
	if (!*value)
		return refuse(text, "a value is empty", "", "", e);
	if (is_there(p, value))
		return refuse(text, "the value ", value, " is there twice", e);
	if (p->nr == SWEEP_MAX_VALUES)
		return refuse(text, "at most 64 values can be compared", "", "", e);
	p->value[p->nr] = mem_strdup(value);
	if (!p->value[p->nr])
		return err_set(e, -ENOMEM, "out of memory");
	p->number[p->nr++] = number_of(value);
	return 0;
}

/* FIRST..LAST, FIRST..LAST*FACTOR. False: it is no such text. */
static bool parse_range(const char *text, uint64_t *first, uint64_t *last, uint64_t *factor)
{
	const char *at = text, *end = text + strlen(text);

	*factor = 0;
	if (str_scan_u64(&at, end, first) || strncmp(at, "..", 2) != 0)
		return false;
	at += 2;
	if (str_scan_u64(&at, end, last))
		return false;
	if (*at == '*' && (at++, str_scan_u64(&at, end, factor) || *factor < 2))
		return false;
	return !*at && *first <= *last && (!*factor || *first);
}

/* It begins as a range, with a number and dots, and is none. */
static bool is_bad_range(const char *text)
{
	const char *at = text + (*text == '-');
	uint64_t first;

	return str_scan_u64(&at, at + strlen(at), &first) == 0 && strncmp(at, "..", 2) == 0;
}

static int add_range(struct sweep_parameter *p, const char *text, uint64_t first, uint64_t last,
		     uint64_t factor, struct err *e)
{
	uint64_t x = first;
	int rc = 0;

	while (rc == 0 && x <= last) {
		BUF_AUTO(value, 32);

		buf_u64(&value, x);
		rc = add(p, text, buf_str(&value), e);
		if (factor ? __builtin_mul_overflow(x, factor, &x)
			   : __builtin_add_overflow(x, 1, &x))
			break;
	}
	return rc;
}

static int add_values(struct sweep_parameter *p, const char *text, char *values, struct err *e)
{
	uint64_t first, last, factor;
	char *value;
	int rc = 0;

	while (rc == 0 && (value = strsep(&values, ",")))
		if (parse_range(value, &first, &last, &factor))
			rc = add_range(p, text, first, last, factor, e);
		else if (is_bad_range(value))
			rc = refuse(text, "", value,
				    " is no range: the first number is at most the last, and the "
				    "factor 2 or more",
				    e);
		else
			rc = add(p, text, value, e);
	return rc;
}

int sweep_parameter_parse(const char *text, struct sweep_parameter *out, struct err *e)
{
	const char *equals = strchr(text, '=');
	int rc;

	*out = (struct sweep_parameter){0};
	if (!equals || !is_name(text, (size_t)(equals - text)))
		return refuse(text, "it does not begin with a name and =", "", "", e);
	if (!equals[1])
		return refuse(text, "it has no value", "", "", e);
	out->name = mem_strdup(text);
	if (!out->name)
		return err_set(e, -ENOMEM, "out of memory");
	out->name[equals - text] = '\0';
	rc = add_values(out, text, out->name + (equals - text) + 1, e);
	out->has_numbers = rc == 0 && !ARRAY_ANY(x, out->number, out->nr, isnan(*x));
	if (rc)
		sweep_parameter_fini(out);
	return rc;
}

void sweep_parameter_fini(struct sweep_parameter *p)
{
	for (size_t i = 0; i < p->nr; i++)
		mem_free(p->value[i]);
	mem_free(p->name);
	*p = (struct sweep_parameter){0};
}

/* --- the commands */

/* The length of a name in braces at s, without them; 0: there is none. */
static size_t braced(const char *s)
{
	const size_t len = *s == '{' ? strcspn(s + 1, "}") : 0;

	return len && s[1 + len] && is_name(s + 1, len) ? len : 0;
}

static int refuse_name(const struct sweep_parameter *p, const char *name, size_t len,
		       const char *word, struct err *e)
{
	err_set(e, -EINVAL, "{%.*s} in %s: --sweep has no values of %.*s", (int)len, name, word,
		(int)len, name);
	err_hint(e, "write {%s}, or {{%.*s}} for the text {%.*s} itself", p->name, (int)len, name,
		 (int)len, name);
	return -EINVAL;
}

/* One word, with its end. */
static int fill_word(const struct sweep_parameter *p, size_t i, const char *word, struct buf *out,
		     size_t *nr, struct err *e)
{
	for (const char *at = word; *at;) {
		const size_t text = *at == '{' ? braced(at + 1) : 0, len = braced(at);

		if (text && at[text + 3] == '}') {
			buf_add(out, at + 1, text + 2);
			at += text + 4;
		} else if (!len) {
			buf_addc(out, *at++);
		} else if (strlen(p->name) == len && strncmp(at + 1, p->name, len) == 0) {
			buf_adds(out, p->value[i]);
			at += len + 2;
			++*nr;
		} else {
			return refuse_name(p, at + 1, len, word, e);
		}
	}
	buf_addc(out, '\0');
	return 0;
}

/* Strings side by side as words behind their pointers. */
static int make_words(const struct buf *strings, size_t nr, char ***out)
{
	char **words = mem_alloc((nr + 1) * sizeof(*words) + strings->len), *at;

	if (!words)
		return -ENOMEM;
	at = memcpy(words + nr + 1, buf_str(strings), strings->len);
	for (size_t i = 0; i < nr; i++, at += strlen(at) + 1)
		words[i] = at;
	words[nr] = NULL;
	*out = words;
	return 0;
}

int sweep_parameter_fill(const struct sweep_parameter *p, size_t i, char *const *words, char ***out,
			 size_t *nr, struct err *e)
{
	BUF_AUTO(strings, MAX_WORDS_BYTES);
	size_t nr_words = 0;
	int rc = 0;

	for (; words[nr_words] && rc == 0; nr_words++)
		rc = fill_word(p, i, words[nr_words], &strings, nr, e);
	if (rc)
		return rc;
	rc = buf_error(&strings) ?: make_words(&strings, nr_words, out);
	return rc ? err_set(e, rc, "the command of a value: %s", strerror(-rc)) : 0;
}
