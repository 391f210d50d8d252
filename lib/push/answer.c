#include "push/answer.h"

#include "base/cursor.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	HTTP_TIMEOUT = 408,
	HTTP_TOO_MANY = 429,
	MAX_SHOWN_BYTES = 120,
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_LEN = 2,
	WIRE_FIXED32 = 5,
};
enum { RESPONSE_PARTIAL = 1 };
enum { PARTIAL_REJECTED = 1, PARTIAL_MESSAGE };

/* --- a message of Protocol Buffers --------------------------------------------------------------
 */

static uint64_t read_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_u8(c);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->underflow = true;
	return 0;
}

/* A field: its number, and its value or, of texts and messages, their bytes. */
struct field {
	uint64_t number, value;
	const uint8_t *data;
	bool is_varint;
};

static int read_field(struct cursor *c, struct field *out)
{
	uint64_t key = read_varint(c);

	*out = (struct field){.number = key >> 3, .is_varint = (key & 7) == WIRE_VARINT};
	switch (key & 7) {
	case WIRE_VARINT:
		out->value = read_varint(c);
		break;
	case WIRE_FIXED64:
		cursor_skip(c, 8);
		break;
	case WIRE_LEN:
		out->value = read_varint(c);
		out->data = cursor_bytes(c, out->value);
		break;
	case WIRE_FIXED32:
		cursor_skip(c, 4);
		break;
	default:
		return -EINVAL;
	}
	return cursor_ok(c) && out->number ? 0 : -EINVAL;
}

static int read_partial(const uint8_t *data, size_t len, int64_t *rejected, const char **message,
			size_t *message_bytes)
{
	struct cursor c;
	struct field f;

	for (cursor_init(&c, data, len); c.left;) {
		if (read_field(&c, &f))
			return -EINVAL;
		if (f.number == PARTIAL_REJECTED && f.is_varint)
			*rejected = (int64_t)f.value;
		if (f.number == PARTIAL_MESSAGE && f.data) {
			*message = (const char *)f.data;
			*message_bytes = f.value;
		}
	}
	return 0;
}

int push_answer_rejected(const void *data, size_t len, int64_t *rejected, const char **message,
			 size_t *message_bytes)
{
	int64_t nr = 0;
	const char *text = "";
	size_t text_bytes = 0;
	struct cursor c;
	struct field f;

	for (cursor_init(&c, data, len); c.left;)
		if (read_field(&c, &f) ||
		    (f.number == RESPONSE_PARTIAL &&
		     (!f.data || read_partial(f.data, f.value, &nr, &text, &text_bytes))))
			return -EINVAL;
	*rejected = nr;
	*message = text;
	*message_bytes = text_bytes;
	return 0;
}

/* --- judging ------------------------------------------------------------------------------------
 */

static void say(struct push_answer *a, const char *what, const char *text, size_t len)
{
	const bool has_text = len && *text;

	snprintf(a->why, sizeof(a->why), "%s%s%.*s", what, has_text ? ": " : "",
		 (int)(len < MAX_SHOWN_BYTES ? len : MAX_SHOWN_BYTES), text);
	str_disarm(a->why);
}

/* The answer's first line is what people wrote in it, mostly. */
static void say_status(struct push_answer *a)
{
	const bool is_text =
	    strncasecmp(a->type, "text/plain", strlen("text/plain")) == 0 ||
	    strncasecmp(a->type, "application/json", strlen("application/json")) == 0;
	size_t len = 0;
	char what[64];

	while (is_text && len < a->body_bytes && a->body[len] != '\n' && a->body[len] != '\r')
		len++;
	snprintf(what, sizeof(what), "the receiver's status is %ld", a->status);
	say(a, what, a->body, len);
}

static enum push_outcome judge_otlp(struct push_answer *a)
{
	const char *message;
	int64_t rejected;
	size_t len;

	if (push_answer_rejected(a->body, a->body_bytes, &rejected, &message, &len)) {
		say(a, "the receiver's answer is no message of OTLP", "", 0);
		return PUSH_FAILED;
	}
	if (rejected <= 0)
		return PUSH_SENT;
	say(a, "the receiver rejected profiles", message, len);
	return PUSH_REFUSED;
}

/* A page of something between, as of a portal, is no success. */
static enum push_outcome judge_success(enum push_protocol protocol, struct push_answer *a)
{
	const char *type = push_interfaces[protocol].answer_type;

	if (type && strncasecmp(a->type, type, strlen(type)) != 0) {
		say(a, "what answered is no receiver of this interface: Content-Type",
		    *a->type ? a->type : "none", strlen(*a->type ? a->type : "none"));
		return PUSH_FAILED;
	}
	return protocol == PUSH_OTLP ? judge_otlp(a) : PUSH_SENT;
}

enum push_outcome push_answer_judge(enum push_protocol protocol, struct push_answer *a)
{
	if (!a->status)
		return PUSH_FAILED;
	if (a->status >= 200 && a->status < 300)
		return judge_success(protocol, a);
	say_status(a);
	if (a->status >= 500 || a->status == HTTP_TIMEOUT || a->status == HTTP_TOO_MANY)
		return PUSH_FAILED;
	return PUSH_REFUSED;
}
