#include "exports/chrome/later.h"

#include "base/err.h"
#include "base/io.h"
#include "output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH_BYTES = 64 << 10, MAX_BYTES = 1 << 30 };

void later_init(struct later *l, bool is_object)
{
	l->fd = -1;
	buf_init(&l->text, MAX_BYTES);
	jsonw_init(&l->json, &l->text, false);
	if (is_object)
		jsonw_object(&l->json, NULL);
	else
		jsonw_array(&l->json, NULL);
}

void later_fini(struct later *l)
{
	buf_fini(&l->text);
	io_close(&l->fd);
}

int later_flush(struct later *l, struct err *e)
{
	int rc = buf_error(&l->text);

	if (rc)
		return err_set(e, rc, "out of memory");
	if (l->text.len < FLUSH_BYTES)
		return 0;
	if (l->fd < 0)
		rc = io_open_temporary(&l->fd, e);
	if (rc)
		return rc;
	rc = io_write_full(l->fd, l->text.data, l->text.len);
	buf_reset(&l->text);
	return rc ? err_set(e, rc, "a temporary file cannot be written: %s", strerror(-rc)) : 0;
}

static int copy(struct later *l, struct output *out, struct err *e)
{
	int rc = 0;

	for (off_t at = 0; rc == 0 && l->fd >= 0;) {
		char *to = buf_reserve(&out->text, FLUSH_BYTES);
		ssize_t nr = to ? pread(l->fd, to, FLUSH_BYTES, at) : 0;

		if (nr < 0)
			return err_set(e, -errno, "a temporary file cannot be read: %s",
				       strerror(errno));
		if (nr == 0)
			break;
		buf_use(&out->text, (size_t)nr);
		at += nr;
		rc = output_flush(out, e);
	}
	return rc;
}

int later_put(struct later *l, struct json_writer *to, const char *key, struct output *out,
	      struct err *e)
{
	int rc;

	jsonw_end(&l->json);
	jsonw_key(to, key);
	rc = copy(l, out, e);
	buf_add(&out->text, l->text.data, l->text.len);
	if (buf_error(&l->text))
		return err_set(e, buf_error(&l->text), "out of memory");
	return rc ?: output_flush(out, e);
}
