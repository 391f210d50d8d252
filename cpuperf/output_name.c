/*
 * A number is counted up until a folder of that name can be made.
 */
#include "output_name.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_NUMBER = 1000000, MAX_HOST_BYTES = 256 };

struct parts {
	int64_t now_s;
	unsigned number;
};

static void add_host(const struct parts *p, struct buf *out)
{
	char host[MAX_HOST_BYTES] = "localhost";

	(void)p;
	if (gethostname(host, sizeof(host) - 1) == 0)
		for (char *c = host; (c = strchr(c, '/'));)
			*c = '_';
	buf_adds(out, host);
}

static void add_process(const struct parts *p, struct buf *out)
{
	(void)p;
	buf_printf(out, "%d", (int)getpid());
}

static void add_date(const struct parts *p, struct buf *out)
{
	const time_t seconds = (time_t)p->now_s;
	char text[32];
	struct tm tm;

	if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm))
		buf_adds(out, text);
}

static void add_number(const struct parts *p, struct buf *out)
{
	buf_printf(out, "%u", p->number);
}

static void add_percent(const struct parts *p, struct buf *out)
{
	(void)p;
	buf_addc(out, '%');
}

static const struct part {
	char letter;
	void (*add)(const struct parts *p, struct buf *out);
} parts[] = {
    {'h', add_host}, {'p', add_process}, {'d', add_date}, {'n', add_number}, {'%', add_percent},
};

/* 0 or -EINVAL with *e. *is_numbered: the name has the number. */
static int make(const char *pattern, const struct parts *p, struct buf *out, bool *is_numbered,
		struct err *e)
{
	buf_reset(out);
	for (const char *at = pattern; *at; at++) {
		const struct part *part;

		if (*at != '%') {
			buf_addc(out, *at);
			continue;
		}
		at++;
		part = ARRAY_FIND(x, parts, ARRAY_NR(parts), x->letter == *at);
		if (!part) {
			err_set(e, -EINVAL, "--output=%s: %%%.1s has no meaning", pattern, at);
			err_hint(e, "%%h is the host, %%p the process, %%d the date, %%n a number "
				    "that is free, %%%% a %%");
			return -EINVAL;
		}
		part->add(p, out);
		*is_numbered |= part->add == add_number;
	}
	return 0;
}

int output_name_make(const char *pattern, int64_t now_s, char out[PATH_MAX], bool *is_made,
		     struct err *e)
{
	struct parts p = {.now_s = now_s, .number = 1};
	BUF_AUTO(name, PATH_MAX);
	bool is_numbered = false;
	int rc;

	do {
		rc = make(pattern, &p, &name, &is_numbered, e);
		if (rc == 0 && buf_error(&name))
			rc = err_set(e, -ENAMETOOLONG, "--output: the name is too long");
		if (rc == 0 && is_numbered)
			rc = mkdir(buf_str(&name), 0700) ? -errno : 0;
	} while (rc == -EEXIST && p.number++ < MAX_NUMBER);
	if (rc && !e->code)
		err_set(e, rc, "--output: %s: cannot be made: %s", buf_str(&name), strerror(-rc));
	if (rc)
		return rc;
	memcpy(out, buf_str(&name), name.len + 1);
	*is_made = is_numbered;
	return 0;
}
