/*
 * What cpuperf_print finds in the recordings of both sides.
 */
#include "versus/versus.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/str.h"
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 20, MAX_DIFFERENCES = 256 };

int versus_compare(const char *folder, const char *format, bool is_report, int fd)
{
	char printer[PATH_MAX], session[PATH_MAX + 16], diff[PATH_MAX + 16], how[64];
	char counts[] = "--counts", totals[] = "--no-totals", top[] = "--top=10",
	     quiet[] = "--quiet", no_pager[] = "--no-pager";
	char *const options[] = {session, diff, how, quiet, no_pager, is_report ? counts : NULL,
				 totals,  top,  NULL};

	snprintf(session, sizeof(session), "--session=%s/new", folder);
	snprintf(diff, sizeof(diff), "--diff=%s/old", folder);
	snprintf(how, sizeof(how), "--output-format=%s", format);
	return find_printer(printer) ?: ask_printer(printer, options, fd, -1);
}

static int read_all(int fd, struct buf *out)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	void *to = size > 0 ? buf_reserve(out, (size_t)size) : NULL;

	if (!to || lseek(fd, 0, SEEK_SET) || io_read_full(fd, to, (size_t)size) != size)
		return -EIO;
	buf_use(out, (size_t)size);
	return 0;
}

/* A row of ndjson, and which one it is in its list. */
struct row {
	const char *text;
	size_t len, rank;
};

/* The value of a field with its end, which stands in no string, as quotes are escaped there. */
static size_t find_field(const struct row *r, const char *name, const char **value)
{
	const char *at = memmem(r->text, r->len, name, strlen(name));
	const char *end = at ? memmem(at, (size_t)(r->text + r->len - at), ",\"", 2) : NULL;

	*value = at;
	return end ? (size_t)(end - at) : 0;
}

static bool is_same(const struct row *a, const struct row *b, const char *name)
{
	const char *of_a, *of_b;
	const size_t len = find_field(a, name, &of_a);

	return len == find_field(b, name, &of_b) && (len == 0 || memcmp(of_a, of_b, len) == 0);
}

/* Those that are significant, each with its place in the list of its event and state. */
static size_t find_significant(const struct buf *all, struct row rows[MAX_DIFFERENCES])
{
	static const char significant[] = "\"certain\":true";
	const char *at = buf_str(all), *stop;
	struct row row;
	size_t nr = 0;

	while (nr < MAX_DIFFERENCES &&
	       (row.text = str_next_line(&at, buf_str(all) + all->len, &stop))) {
		row.len = (size_t)(stop - row.text);
		if (!memmem(row.text, row.len, significant, strlen(significant)))
			continue;
		row.rank = nr && is_same(&row, &rows[nr - 1], "\"event\":") &&
				   is_same(&row, &rows[nr - 1], "\"state\":")
			       ? rows[nr - 1].rank + 1
			       : 0;
		rows[nr++] = row;
	}
	return nr;
}

void versus_read_differences(const char *folder, struct buf *out)
{
	IO_AUTO_FD int fd = memfd_create("rows", MFD_CLOEXEC);
	struct row rows[MAX_DIFFERENCES];
	BUF_AUTO(all, MAX_TEXT);
	size_t nr, nr_put = 0;

	if (fd < 0 || versus_compare(folder, "ndjson", true, fd) || read_all(fd, &all))
		return;
	nr = find_significant(&all, rows);
	for (size_t rank = 0; nr_put < nr; rank++)
		for (size_t i = 0; i < nr; i++) {
			if (rows[i].rank != rank)
				continue;
			buf_add(out, rows[i].text, rows[i].len);
			buf_addc(out, '\n');
			nr_put++;
		}
}
