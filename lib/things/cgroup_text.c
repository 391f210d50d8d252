/*
 * Parsers of the files of a control group and of mountinfo.
 */
#include "things/cgroup_text.h"

#include "base/str.h"
#include "things/cgroup.h"
#include "things/keyed.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BIT(f) (1u << (f))

enum { US = 1000 };

/* "usage_usec 10037601574\n…\nthrottled_usec 0\n" */
int cgroup_parse_cpu(const char *text, size_t len, uint64_t *values, uint32_t *has)
{
	static const char *const names[] = {[CGROUP_CPU_USAGE] = "usage_usec",
					    [CGROUP_CPU_THROTTLED] = "throttled_usec",
					    [CGROUP_CPU_THROTTLED + 1] = NULL};
	struct keyed k = {0};
	int rc = keyed_parse(text, len, names, &k);

	for (int i = CGROUP_CPU_USAGE; i <= CGROUP_CPU_THROTTLED && rc == 0; i++)
		if (__builtin_mul_overflow(k.value[i], (uint64_t)US, &values[i]))
			rc = -ERANGE;
	if (rc == 0)
		*has |= k.seen;
	return rc;
}

/* "90112\n" */
int cgroup_parse_memory(const char *text, size_t len, uint64_t *values, uint32_t *has)
{
	const char *end = text + len;
	int rc = str_scan_u64(&text, end, &values[CGROUP_MEMORY_CURRENT]);

	if (rc == 0 && (text == end || *text != '\n' || text + 1 != end))
		rc = -EINVAL;
	if (rc == 0)
		*has |= BIT(CGROUP_MEMORY_CURRENT);
	return rc;
}

/* The next word of text, not past end; its length, 0 at the end. */
static size_t next_word(const char **text, const char *end, const char **word)
{
	while (*text != end && (**text == ' ' || **text == '\n'))
		++*text;
	*word = *text;
	while (*text != end && **text != ' ' && **text != '\n')
		++*text;
	return (size_t)(*text - *word);
}

/* Adds the number of "rbytes=90430464" to *sum if word begins with name. */
static int add_value(const char *word, size_t len, const char *name, uint64_t *sum)
{
	const char *end = word + len;
	size_t name_len = strlen(name);
	uint64_t value;
	int rc;

	if (len < name_len || memcmp(word, name, name_len) != 0)
		return 0;
	word += name_len;
	rc = str_scan_u64(&word, end, &value);
	if (rc || word != end)
		return rc ? rc : -EINVAL;
	return __builtin_add_overflow(*sum, value, sum) ? -ERANGE : 0;
}

/*
 *   8:16 rbytes=9083418112 wbytes=72376709632 rios=388623 wios=11650553 dbytes=0 dios=0
 *   7:7 7:6 7:5 7:4 rbytes=28672 wbytes=0 rios=22 wios=0 dbytes=0 dios=0
 *
 * Devices without I/O share the line of the next, or stand alone: only the keys are read.
 */
int cgroup_parse_io(const char *text, size_t len, uint64_t *values, uint32_t *has)
{
	const char *end = text + len, *word;
	size_t n;
	int rc = 0;

	while (rc == 0 && (n = next_word(&text, end, &word))) {
		rc = add_value(word, n, "rbytes=", &values[CGROUP_IO_READ_BYTES]);
		if (rc == 0)
			rc = add_value(word, n, "wbytes=", &values[CGROUP_IO_WRITE_BYTES]);
	}
	if (rc == 0)
		*has |= BIT(CGROUP_IO_READ_BYTES) | BIT(CGROUP_IO_WRITE_BYTES);
	return rc;
}

struct word {
	const char *text;
	size_t len;
};

static bool is(const struct word *w, const char *text)
{
	return w->len == strlen(text) && memcmp(w->text, text, w->len) == 0;
}

/*
 *   38 31 0:41 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
 *
 * Root and mount point of a line whose type, after the dash, is cgroup2.
 */
static bool parse_mount(const char *line, const char *end, struct word *root, struct word *point)
{
	enum { ROOT = 3, POINT = 4 };
	struct word w;

	for (int i = 0; (w.len = next_word(&line, end, &w.text)); i++) {
		if (i == ROOT)
			*root = w;
		else if (i == POINT)
			*point = w;
		else if (is(&w, "-"))
			break;
	}
	w.len = next_word(&line, end, &w.text);
	return is(&w, "cgroup2");
}

static bool is_octal(const char *p, const char *end)
{
	return end - p >= 4 && p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
	       p[2] <= '7' && p[3] >= '0' && p[3] <= '7';
}

/* The kernel writes space, tab, newline and backslash as \040 … \134. */
static int unescape(const struct word *from, char *out, size_t size)
{
	const char *p = from->text, *end = p + from->len;
	size_t len = 0;

	while (p != end && len < size - 1) {
		bool octal = is_octal(p, end);

		out[len++] =
		    octal ? (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0')) : *p;
		p += octal ? 4 : 1;
	}
	out[len] = '\0';
	return p == end && len ? 0 : -ENOENT;
}

int cgroup_find_mount(const char *text, size_t len, char *out, size_t size)
{
	const char *end = text + len, *line, *stop;
	struct word best = {0};
	bool is_whole = false;

	while (!is_whole && (line = str_next_line(&text, end, &stop))) {
		struct word root = {0}, point = {0};

		if (!parse_mount(line, stop, &root, &point))
			continue;
		is_whole = is(&root, "/");
		if (is_whole || !best.text)
			best = point;
	}
	return best.text ? unescape(&best, out, size) : -ENOENT;
}
