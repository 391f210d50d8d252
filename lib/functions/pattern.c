#include "functions/pattern.h"

#include "base/str.h"
#include "elf/demangle.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* --- the text */

/* The colon that ends the object; NULL: there is none. */
static const char *find_split(const char *text)
{
	for (const char *at = text; (at = strchr(at, ':')); at += strspn(at, ":"))
		if (at > text && at[1] != ':')
			return at;
	return NULL;
}

int functions_pattern_parse(const char *text, struct functions_pattern *out)
{
	const char *split = find_split(text), *glob = split ? split + 1 : text;
	size_t len = split ? (size_t)(split - text) : 0;

	if (!*glob || len >= sizeof(out->object) || strlen(glob) >= sizeof(out->glob))
		return -EINVAL;
	memcpy(out->object, text, len);
	out->object[len] = '\0';
	memcpy(out->glob, glob, strlen(glob) + 1);
	return 0;
}

bool functions_is_glob(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

bool functions_pattern_has_file(const struct functions_pattern *p, const char *path)
{
	const char *name = strchr(p->object, '/') ? path : str_base_name(path);
	char versions[PATH_MAX + 4];

	snprintf(versions, sizeof(versions), "%s.*", p->object);
	return fnmatch(p->object, name, 0) == 0 || fnmatch(versions, name, 0) == 0;
}

/* --- names */

static bool matches(const struct functions_pattern *p, const char *name)
{
	return fnmatch(p->glob, name, 0) == 0;
}

/* The parenthesis that begins the parameters: of "f(int (*)(int)) const" the first. NULL: none. */
static char *find_parameters(char *name)
{
	char *end = strrchr(name, ')');
	int depth = 0;

	for (char *at = end; at && at > name; at--) {
		depth += (*at == ')') - (*at == '(');
		if (depth == 0)
			return at;
	}
	return NULL;
}

/* What is behind the result: of "int ns::f<a b>" the rest. */
static const char *skip_result(const char *name)
{
	static const char word[] = "operator";
	const char *start = name;
	int depth = 0;

	for (const char *at = name; *at; at++) {
		if (strncmp(at, word, sizeof(word) - 1) == 0)
			break;
		depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
		if (*at == ' ' && depth == 0)
			start = at + 1;
	}
	return start;
}

static bool matches_source(const struct functions_pattern *p, const char *name)
{
	char plain[ELF_MAX_NAME_BYTES], *parameters;

	if (!elf_demangle(name, plain))
		return false;
	if (matches(p, plain))
		return true;
	parameters = find_parameters(plain);
	if (parameters)
		*parameters = '\0';
	return matches(p, plain) || matches(p, skip_result(plain));
}

bool functions_pattern_has_name(const struct functions_pattern *p, const char *name)
{
	char plain[ELF_MAX_NAME_BYTES];
	const char *version = *name ? strchr(name + 1, '@') : NULL;

	if (matches(p, name))
		return true;
	if (version && (size_t)(version - name) < sizeof(plain)) {
		memcpy(plain, name, (size_t)(version - name));
		plain[version - name] = '\0';
		if (matches(p, plain))
			return true;
	}
	return *name == '_' && matches_source(p, name);
}
