/*
 * Parsing, formatting and sanitising text.
 */
#include "base/str.h"

#include "base/array.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

int str_scan_u64(const char **p, const char *end, uint64_t *out)
{
	const char *at = *p;
	uint64_t v = 0;

	if (at == end || *at < '0' || *at > '9')
		return -EINVAL;
	for (; at != end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*at - '0'), &v))
			return -ERANGE;
	*p = at;
	*out = v;
	return 0;
}

int str_scan_hex(const char **p, const char *end, uint64_t *out)
{
	const char *at = *p;
	uint64_t v = 0;

	for (; at != end; at++) {
		const bool is_letter = *at >= 'a' && *at <= 'f';

		if (!is_letter && (*at < '0' || *at > '9'))
			break;
		if (v >> 60)
			return -ERANGE;
		v = v << 4 | (unsigned)(is_letter ? *at - 'a' + 10 : *at - '0');
	}
	if (at == *p)
		return -EINVAL;
	*p = at;
	*out = v;
	return 0;
}

int str_parse_u64(const char *s, uint64_t *out)
{
	const char *end = s + strlen(s);
	uint64_t v;
	int rc = str_scan_u64(&s, end, &v);

	if (rc == 0 && s != end)
		rc = -EINVAL;
	if (rc == 0)
		*out = v;
	return rc;
}

static const struct time_unit {
	const char *name;
	uint64_t ns;
} time_units[] = {
    {"", 1000000000u}, {"s", 1000000000u},  {"ms", 1000000u},      {"us", 1000u},
    {"ns", 1u},        {"m", 60000000000u}, {"h", 3600000000000u},
};

/* Digits after the point, at most 9. */
static int scan_fraction(const char **p, const char *end, uint64_t *digits, uint64_t *scale)
{
	const char *start = ++*p;

	if (str_scan_u64(p, end, digits) || *p - start > 9)
		return -EINVAL;
	for (*scale = 1; start < *p; start++)
		*scale *= 10;
	return 0;
}

int str_parse_duration_ns(const char *s, uint64_t *out)
{
	const char *end = s + strlen(s);
	uint64_t whole, digits = 0, scale = 1, ns, unit = 0;
	int rc = str_scan_u64(&s, end, &whole);

	if (rc == 0 && *s == '.')
		rc = scan_fraction(&s, end, &digits, &scale);
	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof(time_units) / sizeof(time_units[0]); i++)
		if (strcmp(time_units[i].name, s) == 0)
			unit = time_units[i].ns;
	if (!unit || (unsigned __int128)digits * unit % scale)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &ns) ||
	    __builtin_add_overflow(ns, (uint64_t)((unsigned __int128)digits * unit / scale), &ns))
		return -ERANGE;
	*out = ns;
	return 0;
}

int str_parse_bytes(const char *s, uint64_t *out)
{
	static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
	const char *end = s + strlen(s);
	uint64_t nr;
	int rc = str_scan_u64(&s, end, &nr);

	for (unsigned i = 0; rc == 0 && i < ARRAY_NR(units); i++) {
		if (strcmp(units[i], s) != 0)
			continue;
		return __builtin_mul_overflow(nr, UINT64_C(1) << 10 * i, out) ? -ERANGE : 0;
	}
	return rc ?: -EINVAL;
}

void str_format_duration(uint64_t ns, char *buf, size_t size)
{
	static const struct time_unit steps[] = {
	    {"s", 1000000000u}, {"ms", 1000000u}, {"us", 1000u}, {"ns", 1u}};
	size_t i = 0;
	char fraction[12] = "";

	while (i < 3 && ns && ns < steps[i].ns)
		i++;
	if (steps[i].ns > 1 && ns % steps[i].ns) {
		/* up to three decimals, without trailing zeros */
		int len = snprintf(fraction, sizeof(fraction), ".%03u",
				   (unsigned)(ns % steps[i].ns / (steps[i].ns / 1000)));

		while (len > 1 && fraction[len - 1] == '0')
			fraction[--len] = '\0';
		if (len == 1)
			fraction[0] = '\0';
	}
	snprintf(buf, size, "%llu%s %s", (unsigned long long)(ns / steps[i].ns), fraction,
		 steps[i].name);
}

enum { NEAREST_MAX_LEN = 64 };

/* Levenshtein distance, with one row. Longer names are SIZE_MAX. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NEAREST_MAX_LEN + 1], la = strlen(a), lb = strlen(b);

	if (la > NEAREST_MAX_LEN || lb > NEAREST_MAX_LEN)
		return SIZE_MAX;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t d = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < d)
				d = row[j] + 1;
			if (row[j - 1] + 1 < d)
				d = row[j - 1] + 1;
			row[j] = d;
		}
	}
	return row[lb];
}

void str_nearest_offer(const char *s, const char *name, const char **best, size_t *best_distance)
{
	size_t len = strlen(s), d = distance(s, name);
	size_t limit = len < 4 ? 1 : len / 3 + 1;

	/* a prefix counts as one typing error */
	if (len >= 3 && strncmp(s, name, len) == 0)
		d = 1;
	if (d > limit || (*best && d >= *best_distance))
		return;
	*best = name;
	*best_distance = d;
}

const char *str_nearest(const char *s, const char *const *names, size_t nr)
{
	const char *best = NULL;
	size_t best_distance = 0;

	for (size_t i = 0; i < nr; i++)
		str_nearest_offer(s, names[i], &best, &best_distance);
	return best;
}

bool str_begins_with_any(const char *s, const char *const *texts, size_t nr)
{
	return ARRAY_ANY(x, texts, nr, strncmp(s, *x, strlen(*x)) == 0);
}

size_t str_stem(const char *s, const char *end)
{
	const size_t len = strlen(s), nr = strlen(end);

	return len > nr && strcmp(s + len - nr, end) == 0 ? len - nr : 0;
}

bool str_glob(const char *pattern, const char *s)
{
	if (pattern[strcspn(pattern, "*?[")])
		return fnmatch(pattern, s, FNM_CASEFOLD) == 0;
	return strcasestr(s, pattern) != NULL;
}

/* Rejects overlong forms, surrogates and values above U+10FFFF (RFC 3629). */
size_t str_character(const char *s, size_t left)
{
	static const struct {
		unsigned char from, to, second_from, second_to, len;
	} rows[] = {
	    {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
	    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
	    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	const unsigned char *p = (const unsigned char *)s;

	for (size_t i = 0; left && i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = rows[i].len;

		if (p[0] < rows[i].from || p[0] > rows[i].to)
			continue;
		if (len > left ||
		    (len > 1 && (p[1] < rows[i].second_from || p[1] > rows[i].second_to)))
			return 0;
		for (size_t k = 2; k < len; k++)
			if ((p[k] & 0xc0) != 0x80)
				return 0;
		return len;
	}
	return 0;
}

const char *str_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *str_next_line(const char **text, const char *end, const char **stop)
{
	const char *line = *text, *newline;

	if (line == end)
		return NULL;
	newline = memchr(line, '\n', (size_t)(end - line));
	*stop = newline ? newline : end;
	*text = newline ? newline + 1 : end;
	return line;
}

/* A character that str_character has found. */
static uint32_t decode(const char *s, size_t len)
{
	uint32_t character = (uint8_t)s[0] & (len == 1 ? 0x7f : 0x7f >> len);

	for (size_t i = 1; i < len; i++)
		character = character << 6 | ((uint8_t)s[i] & 0x3f);
	return character;
}

size_t str_visible(const char *s, size_t left)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
	    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},
	    {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},
	    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
	};
	size_t len = str_character(s, left);
	uint32_t character = len ? decode(s, len) : 0;

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return 0;
	return len;
}

size_t str_whole(const char *s, size_t most)
{
	size_t len = strnlen(s, most);

	while (len && ((unsigned char)s[len] & 0xc0) == 0x80)
		len--;
	return len;
}

bool str_is_utf8(const char *s, size_t len)
{
	while (len) {
		size_t n = str_character(s, len);

		if (!n)
			return false;
		s += n;
		len -= n;
	}
	return true;
}

void str_hex16(const uint8_t id[16], char out[33])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 16; i++) {
		out[2 * i] = digits[id[i] >> 4];
		out[2 * i + 1] = digits[id[i] & 15];
	}
	out[32] = '\0';
}

static bool is_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* Of the bytes that are not visible, those in kept stay, those in spaces become a space, and others
 * become '?'. */
static void clean(char *s, size_t len, const char *spaces, const char *kept)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = str_visible(s + i, len - i);
		if (n)
			continue;
		if (!is_of(s[i], kept))
			s[i] = is_of(s[i], spaces) ? ' ' : '?';
		n = 1;
	}
}

void str_disarm(char *s)
{
	clean(s, strlen(s), "", "");
}

void str_clean(char *s, size_t len)
{
	clean(s, len, "\t\n\r", "");
}

void str_clean_lines(char *s, size_t len)
{
	clean(s, len, "\r", "\t\n");
}
