#include "pcp/text.h"

#include "base/array.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void pcp_text_init(struct pcp_text *t, const char *text, size_t len)
{
	t->at = text;
	t->end = text + len;
	t->type = PCP_TEXT_NR_TYPES;
	*t->family = *t->unit = *t->help = '\0';
}

const char *pcp_text_label(const struct pcp_text_line *line, const char *name)
{
	const struct pcp_text_label *label =
	    ARRAY_FIND(x, line->labels, line->nr_labels, strcmp(x->name, name) == 0);

	return label ? label->value : NULL;
}

/* Undoes the escapes of a text that ends at a NUL or, if it is in quotes, at one; in place. What
 * follows; NULL: the quote is missing. */
static char *unescape(char *s, bool is_quoted)
{
	char *to = s;

	for (; *s && (!is_quoted || *s != '"'); s++) {
		if (*s == '\\' && s[1])
			s++;
		else {
			*to++ = *s;
			continue;
		}
		*to++ = *s;
		if (*s == 'n')
			to[-1] = '\n';
	}
	if (is_quoted && !*s)
		return NULL;
	s += is_quoted;
	*to = '\0';
	return s;
}

/* "# TYPE name type" and so on, with a line's text. */
static int read_metadata(struct pcp_text *t)
{
	static const char *const types[] = {[PCP_TEXT_GAUGE] = "gauge",
					    [PCP_TEXT_COUNTER] = "counter",
					    [PCP_TEXT_INFO] = "info",
					    [PCP_TEXT_HISTOGRAM] = "histogram"};
	char *name = t->line + strlen("# TYPE "), *text = strchr(name, ' ');
	size_t type = 0;

	if (!text)
		return -EINVAL;
	*text++ = '\0';
	if (memcmp(t->line, "# TYPE ", strlen("# TYPE ")) == 0) {
		while (type < PCP_TEXT_NR_TYPES && strcmp(types[type], text) != 0)
			type++;
		t->type = (enum pcp_text_type)type;
		snprintf(t->family, sizeof(t->family), "%s", name);
		*t->unit = *t->help = '\0';
		return type < PCP_TEXT_NR_TYPES && *name ? 0 : -EINVAL;
	}
	if (strcmp(name, t->family) != 0)
		return -EINVAL;
	unescape(text, false);
	snprintf(memcmp(t->line, "# UNIT ", strlen("# UNIT ")) == 0 ? t->unit : t->help,
		 sizeof(t->help), "%s", text);
	return 0;
}

/* What follows the {, up to what follows the }; NULL: invalid. */
static char *read_labels(char *s, struct pcp_text_line *out)
{
	while (*s != '}') {
		struct pcp_text_label *label = &out->labels[out->nr_labels];
		char *value = strstr(s, "=\"");

		if (out->nr_labels == PCP_TEXT_MAX_LABELS || !value)
			return NULL;
		*value = '\0';
		*label = (struct pcp_text_label){s, value + 2};
		out->nr_labels++;
		s = unescape(value + 2, true);
		if (!s || (*s != ',' && *s != '}'))
			return NULL;
		s += *s == ',';
	}
	return s + 1;
}

static int read_line(struct pcp_text *t, struct pcp_text_line *out)
{
	size_t family = strlen(t->family), name = strcspn(t->line, "{ ");
	char *s = t->line + name;
	bool has_labels = *s == '{';

	*out = (struct pcp_text_line){
	    .family = t->family, .unit = t->unit, .help = t->help, .type = t->type};
	if (t->type == PCP_TEXT_NR_TYPES || name < family ||
	    memcmp(t->line, t->family, family) != 0 || !*s)
		return -EINVAL;
	*s++ = '\0';
	out->suffix = t->line + family;
	if (has_labels) {
		s = read_labels(s, out);
		if (!s || *s++ != ' ')
			return -EINVAL;
	}
	out->value = s;
	s += strcspn(s, " "); /* a time may follow */
	*s = '\0';
	return *out->value ? 1 : -EINVAL;
}

int pcp_text_next(struct pcp_text *t, struct pcp_text_line *out)
{
	static const char *const metadata[] = {"# TYPE ", "# UNIT ", "# HELP "};
	const char *line, *stop;
	int rc = 0;

	while (rc == 0) {
		line = str_next_line(&t->at, t->end, &stop);
		if (!line || (size_t)(stop - line) >= sizeof(t->line) ||
		    memchr(line, '\0', (size_t)(stop - line)))
			return -EINVAL;
		memcpy(t->line, line, (size_t)(stop - line));
		t->line[stop - line] = '\0';
		if (strcmp(t->line, "# EOF") == 0)
			return t->at == t->end ? 0 : -EINVAL;
		rc = str_begins_with_any(t->line, metadata, ARRAY_NR(metadata)) ? read_metadata(t)
										: read_line(t, out);
	}
	return rc;
}
