/*
 * Frames between the starter of a job and its parts.
 */
#include "hosts/frame.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "spec/cpsession.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

enum { MAX_STRING = 1000 };

ptrdiff_t hosts_frame_next(const void *data, size_t len, size_t max_data, struct hosts_frame *out)
{
	uint32_t head[2], size, kind;

	_Static_assert(sizeof(head) == HOSTS_HEADER_BYTES, "size and kind");
	if (len < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	size = le32toh(head[0]);
	kind = le32toh(head[1]);
	if (size > max_data || kind >= HOSTS_NR_KINDS)
		return -EBADMSG;
	if (len - sizeof(head) < size)
		return 0;
	out->kind = (enum hosts_kind)kind;
	cursor_init(&out->data, (const uint8_t *)data + sizeof(head), size);
	return HOSTS_HEADER_BYTES + (ptrdiff_t)size;
}

void hosts_frame_add(struct buf *out, enum hosts_kind kind, const void *data, size_t len)
{
	buf_le32(out, (uint32_t)len);
	buf_le32(out, kind);
	buf_add(out, data, len);
}

void hosts_frame_add_numbers(struct buf *out, enum hosts_kind kind, size_t nr,
			     const uint64_t *number)
{
	buf_le32(out, (uint32_t)(nr * sizeof(*number)));
	buf_le32(out, kind);
	for (size_t i = 0; i < nr; i++)
		buf_le64(out, number[i]);
}

void hosts_frame_string(struct buf *data, const char *text)
{
	size_t len = strnlen(text, MAX_STRING);

	buf_le16(data, (uint16_t)len);
	buf_add(data, text, len);
}

void hosts_frame_add_run(struct buf *out, const struct hosts_run *run)
{
	BUF_AUTO(data, HOSTS_MAX_REQUEST_BYTES);

	buf_le32(&data, (uint32_t)run->nr_args);
	for (size_t i = 0; i < run->nr_args; i++)
		buf_add(&data, run->argv[i], strlen(run->argv[i]) + 1);
	buf_le32(&data, run->spec_text != NULL);
	if (run->spec_text)
		buf_add(&data, run->spec_text, run->spec_len);
	if (buf_error(&data))
		out->error = out->error ? out->error : buf_error(&data);
	else
		hosts_frame_add(out, HOSTS_RUN, data.data, data.len);
}

/* NULL: it does not end in the data. */
static char *next_argument(struct cursor *c)
{
	const uint8_t *end = c->left ? memchr(c->at, '\0', c->left) : NULL;
	const uint8_t *arg = end ? cursor_bytes(c, (size_t)(end - c->at) + 1) : NULL;

	return (char *)(uintptr_t)arg;
}

int hosts_frame_read_run(const struct hosts_frame *frame, struct hosts_run *out)
{
	struct cursor c = frame->data;
	uint32_t nr = cursor_le32(&c), has_spec;
	char **argv;

	if (nr > HOSTS_MAX_ARGS || nr > c.left)
		return -EBADMSG;
	argv = mem_calloc(nr + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		argv[i] = next_argument(&c);
		c.underflow |= !argv[i];
	}
	has_spec = cursor_le32(&c);
	if (!cursor_ok(&c) || has_spec > 1 || (!has_spec && c.left)) {
		mem_free(argv);
		return -EBADMSG;
	}
	*out = (struct hosts_run){.argv = argv, .nr_args = nr};
	if (has_spec) {
		out->spec_text = (const char *)c.at;
		out->spec_len = c.left;
	}
	return 0;
}

bool hosts_frame_is_file(const char *name, size_t len)
{
	static const char usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_.-";
	static const char *const ends[] = {".cpuperf", ".cpsession"};
	char copy[NAME_MAX + 1];

	if (len > NAME_MAX || memchr(name, '\0', len))
		return false;
	memcpy(copy, name, len);
	copy[len] = '\0';
	if (copy[strspn(copy, usual)] ||
	    strncmp(copy, CPSESSION_FOLDER_PREFIX ".", sizeof(CPSESSION_FOLDER_PREFIX)) != 0)
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_stem(copy, ends[i]))
			return true;
	return false;
}
