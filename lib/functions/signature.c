#include "functions/signature.h"

#include "base/array.h"
#include "base/err.h"
#include "elf/parameters.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
enum { NR_REGISTERS = 6 };
#else
enum { NR_REGISTERS = 8 };
#endif

enum { NR_FLOAT_REGISTERS = 8 };

/* What the arguments so far have taken: registers of both kinds, and words of the stack, which
 * those of both kinds share in their order. */
struct places {
	uint32_t registers, floats, words;
};

static void put(struct places *p, struct functions_value *v)
{
	const bool is_float = v->kind == FUNCTIONS_FLOAT;
	uint32_t *used = is_float ? &p->floats : &p->registers;
	const bool is_register = *used < (is_float ? NR_FLOAT_REGISTERS : NR_REGISTERS);

	v->where = is_register ? FUNCTIONS_REGISTER : FUNCTIONS_STACK;
	v->number = is_register ? (*used)++ : p->words++;
}

/* As in C on Linux of 64 bits, and by width. */
static const struct type {
	const char *name;
	enum functions_kind kind;
	uint32_t bytes;
} types[] = {
    {"u8", FUNCTIONS_UNSIGNED, 1},     {"u16", FUNCTIONS_UNSIGNED, 2},
    {"u32", FUNCTIONS_UNSIGNED, 4},    {"u64", FUNCTIONS_UNSIGNED, 8},
    {"s8", FUNCTIONS_SIGNED, 1},       {"s16", FUNCTIONS_SIGNED, 2},
    {"s32", FUNCTIONS_SIGNED, 4},      {"s64", FUNCTIONS_SIGNED, 8},
    {"bool", FUNCTIONS_UNSIGNED, 1},   {"char", FUNCTIONS_SIGNED, 1},
    {"short", FUNCTIONS_SIGNED, 2},    {"ushort", FUNCTIONS_UNSIGNED, 2},
    {"int", FUNCTIONS_SIGNED, 4},      {"uint", FUNCTIONS_UNSIGNED, 4},
    {"long", FUNCTIONS_SIGNED, 8},     {"ulong", FUNCTIONS_UNSIGNED, 8},
    {"size_t", FUNCTIONS_UNSIGNED, 8}, {"ssize_t", FUNCTIONS_SIGNED, 8},
    {"ptr", FUNCTIONS_POINTER, 8},     {"str", FUNCTIONS_TEXT, 8},
    {"skip", FUNCTIONS_SKIPPED, 8},    {"float", FUNCTIONS_FLOAT, 4},
    {"double", FUNCTIONS_FLOAT, 8},    {"f32", FUNCTIONS_FLOAT, 4},
    {"f64", FUNCTIONS_FLOAT, 8},
};

/* A part of the text. */
struct word {
	const char *at;
	size_t len;
};

static bool is_identifier(struct word w)
{
	for (size_t i = 0; i < w.len; i++)
		if (!isalnum((unsigned char)w.at[i]) && w.at[i] != '_')
			return false;
	return w.len && !isdigit((unsigned char)*w.at);
}

static struct word trim(struct word w)
{
	while (w.len && *w.at == ' ')
		w = (struct word){w.at + 1, w.len - 1};
	while (w.len && w.at[w.len - 1] == ' ')
		w.len--;
	return w;
}

static int find_type(struct word w, const struct type **out, struct err *e)
{
	*out = ARRAY_FIND(t, types, ARRAY_NR(types),
			  strlen(t->name) == w.len && memcmp(t->name, w.at, w.len) == 0);
	if (*out)
		return 0;
	err_set(e, -EINVAL, "\"%.*s\" is no type of a value", (int)(w.len < 64 ? w.len : 64), w.at);
	err_hint(e, "use u8 to u64, s8 to s64, bool, char, int, long, size_t, ptr, str, or skip, "
		    "float (f32) and double (f64), which are not recorded");
	return -EINVAL;
}

/* What the text has been split into. */
struct parts {
	struct word parameter[FUNCTIONS_MAX_PARAMETERS];
	size_t nr;
	struct word result; /* len 0: none */
	size_t len;         /* of what is before */
	bool is_long;       /* there are more parameters */
};

/* The parenthesis that the last one closes; NULL: none. */
static const char *find_open(const char *text, const char *close)
{
	int depth = 0;

	for (const char *at = close; at >= text; at--) {
		depth += (*at == ')') - (*at == '(');
		if (!depth)
			return at;
	}
	return NULL;
}

/* False: there are no parentheses at the end. */
static bool split(const char *text, struct parts *out)
{
	const char *close = strrchr(text, ')'), *open = close ? find_open(text, close) : NULL;
	struct word rest;

	*out = (struct parts){.nr = 0};
	if (!open || open == text)
		return false;
	out->len = (size_t)(open - text);
	if (close[1] == '>')
		out->result = trim((struct word){close + 2, strlen(close + 2)});
	if (close[1] && !is_identifier(out->result))
		return false;
	rest = trim((struct word){open + 1, (size_t)(close - open - 1)});
	while (rest.len) {
		const char *comma = memchr(rest.at, ',', rest.len);
		size_t len = comma ? (size_t)(comma - rest.at) : rest.len;

		if (out->nr == FUNCTIONS_MAX_PARAMETERS) {
			out->is_long = true;
			break;
		}
		out->parameter[out->nr++] = trim((struct word){rest.at, len});
		rest = comma ? (struct word){comma + 1, rest.len - len - 1} : (struct word){0};
	}
	return true;
}

/* "size:u64". */
static bool split_parameter(struct word w, struct word *name, struct word *type)
{
	const char *colon = w.len ? memchr(w.at, ':', w.len) : NULL;

	if (!colon)
		return false;
	*name = trim((struct word){w.at, (size_t)(colon - w.at)});
	*type = trim((struct word){colon + 1, w.len - (size_t)(colon + 1 - w.at)});
	return is_identifier(*name) && is_identifier(*type);
}

#define RESULT "result"

/* A sample of a call has its duration, and a result has a name. */
static bool is_taken(const struct functions_signature *s, const char *name)
{
	return strcmp(name, FUNCTIONS_DURATION) == 0 ||
	       ARRAY_ANY(v, s->value, s->nr, strcmp(v->name, name) == 0);
}

static int add(struct functions_signature *s, struct functions_value v, struct word name,
	       struct err *e)
{
	if (s->nr == FUNCTIONS_MAX_VALUES) {
		err_set(e, -EINVAL, "more than %d values of a call", FUNCTIONS_MAX_VALUES);
		err_hint(e, "give what is not needed the type skip, or omit what is at the end");
		return -EINVAL;
	}
	snprintf(v.name, sizeof(v.name), "%.*s", (int)(name.len < sizeof(v.name) ? name.len : 0),
		 name.at);
	if (is_taken(s, v.name)) {
		err_set(e, -EINVAL, "two values of a call would have the name \"%s\"", v.name);
		err_hint(e, "use another name: it need not be that of the source");
		return -EINVAL;
	}
	if (!*v.name)
		return err_set(e, -EINVAL, "the name of an argument is longer than %d bytes",
			       FUNCTIONS_VALUE_NAME_BYTES - 1);
	s->value[s->nr++] = v;
	return 0;
}

static void add_float(struct functions_signature *s, const char *name, size_t len)
{
	const size_t at = strlen(s->floats);

	if (len < FUNCTIONS_VALUE_NAME_BYTES && at + len + 1 < sizeof(s->floats))
		snprintf(s->floats + at, sizeof(s->floats) - at, " %.*s", (int)len, name);
}

bool functions_signature_has_float(const struct functions_signature *s, const char *name,
				   size_t len)
{
	for (const char *at = s->floats; *at;) {
		const size_t has = strcspn(++at, " ");

		if (has == len && memcmp(at, name, len) == 0)
			return true;
		at += has;
	}
	return false;
}

static int add_parameter(struct functions_signature *s, struct word w, struct places *used,
			 struct err *e)
{
	struct functions_value v = {.bytes = 0};
	struct word name, type;
	const struct type *t;
	int rc;

	if (!split_parameter(w, &name, &type)) {
		err_set(e, -EINVAL, "\"%.*s\" is not of the form NAME:TYPE",
			(int)(w.len < 64 ? w.len : 64), w.at);
		err_hint(e, "for example function:handle(path:str, size:u64)>int");
		return -EINVAL;
	}
	rc = find_type(type, &t, e);
	if (rc)
		return rc;
	v.kind = t->kind;
	v.bytes = t->bytes;
	put(used, &v);
	if (t->kind == FUNCTIONS_FLOAT)
		add_float(s, name.at, name.len);
	return t->kind < FUNCTIONS_SKIPPED ? add(s, v, name, e) : 0;
}

static int add_result(struct functions_signature *s, struct word w, struct err *e)
{
	static const char name[] = RESULT;
	const struct type *t;
	int rc = find_type(w, &t, e);

	if (rc == 0 && t->kind >= FUNCTIONS_SKIPPED) {
		err_set(e, -EINVAL, "a result of type %s is not recorded%s", t->name,
			t->kind == FUNCTIONS_FLOAT ? ": " FUNCTIONS_NO_FLOATS : "");
		err_hint(e, "omit >%s: calls, times and the other values are recorded without it",
			 t->name);
		return -EINVAL;
	}
	return rc
		   ?: add(s,
			  (struct functions_value){
			      .kind = t->kind, .bytes = t->bytes, .where = FUNCTIONS_RESULT},
			  (struct word){name, sizeof(name) - 1}, e);
}

int functions_signature_parse(const char *text, size_t *len, struct functions_signature *out,
			      struct err *e)
{
	struct functions_signature s = {.nr = 0};
	struct word name, type;
	struct parts p;
	struct places used = {0};
	int rc = 0;

	*len = strlen(text);
	*out = s;
	if (!split(text, &p) || (!p.result.len && !p.nr))
		return 0;
	if (!p.result.len && p.nr == 1 && p.parameter[0].len == 3 &&
	    memcmp(p.parameter[0].at, "...", 3) == 0) {
		*len = p.len;
		out->is_of_file = true;
		return 0;
	}
	if (!p.result.len && !ARRAY_ANY(w, p.parameter, p.nr, split_parameter(*w, &name, &type)))
		return 0; /* part of a name in C++ */
	if (p.is_long)
		return err_set(e, -EINVAL, "more than %d arguments", FUNCTIONS_MAX_PARAMETERS);
	for (size_t i = 0; i < p.nr && rc == 0; i++)
		rc = add_parameter(&s, p.parameter[i], &used, e);
	rc = rc || !p.result.len ? rc : add_result(&s, p.result, e);
	if (rc)
		return rc;
	if (!s.nr)
		return err_set(e, -EINVAL, "no value of a call is recorded: all are skipped%s",
			       *s.floats ? ", or floating-point: " FUNCTIONS_NO_FLOATS : "");
	*len = p.len;
	*out = s;
	return 0;
}

static struct functions_value value_of(const struct elf_parameter *p)
{
	static const enum functions_kind kinds[] = {
	    [ELF_PARAMETER_UNSIGNED] = FUNCTIONS_UNSIGNED,
	    [ELF_PARAMETER_SIGNED] = FUNCTIONS_SIGNED,
	    [ELF_PARAMETER_POINTER] = FUNCTIONS_POINTER,
	    [ELF_PARAMETER_TEXT] = FUNCTIONS_TEXT,
	    [ELF_PARAMETER_FLOAT] = FUNCTIONS_FLOAT,
	    [ELF_PARAMETER_OTHER] = FUNCTIONS_SKIPPED,
	};
	struct functions_value v = {.kind = kinds[p->kind], .bytes = p->bytes};

	snprintf(v.name, sizeof(v.name), "%s", *p->name ? p->name : "?");
	return v;
}

/* A structure that is returned may be so by a hidden argument. */
const char *functions_signature_make(const struct elf_parameters *p,
				     struct functions_signature *out)
{
	const bool has_result = p->has_result && p->result.kind < ELF_PARAMETER_FLOAT;
	struct places used = {0};

	*out = (struct functions_signature){.nr = 0};
	if (!p->is_known)
		return "the file has no debug information of its arguments: compile it with -g, or "
		       "name them: NAME(path:str, size:u64)>int";
	if (p->has_result && p->result.kind == ELF_PARAMETER_OTHER)
		return "it returns a structure: name its arguments yourself";
	for (size_t i = 0; i < p->nr && p->item[i].kind != ELF_PARAMETER_OTHER &&
			   out->nr + has_result < FUNCTIONS_MAX_VALUES;
	     i++) {
		struct functions_value v = value_of(&p->item[i]);

		put(&used, &v);
		if (v.kind == FUNCTIONS_FLOAT) {
			add_float(out, p->item[i].name, strlen(p->item[i].name));
			continue;
		}
		if (!*p->item[i].name && is_taken(out, v.name))
			snprintf(v.name, sizeof(v.name), "?%zu", i + 1);
		if (is_taken(out, v.name) || (has_result && strcmp(v.name, RESULT) == 0))
			return "two values of its calls would have the same name: name them "
			       "yourself";
		out->value[out->nr++] = v;
	}
	if (p->has_result && p->result.kind == ELF_PARAMETER_FLOAT)
		add_float(out, RESULT, sizeof(RESULT) - 1);
	if (has_result) {
		struct functions_value v = value_of(&p->result);

		v.where = FUNCTIONS_RESULT;
		snprintf(v.name, sizeof(v.name), RESULT);
		out->value[out->nr++] = v;
	}
	return out->nr ? NULL : "it has no argument and no result that can be recorded";
}
