/*
 * host.json: written, read and described by one table of its keys.
 */
#include "hosts/part.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json_writer.h"
#include "base/str.h"
#include "base/sys.h"
#include "spec/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 1, MAX_FILE_BYTES = 64 << 10 };

static const char *const statuses[HOSTS_NR_STATUSES] = {
    [HOSTS_OK] = "ok",
    [HOSTS_FAILED] = "failed",
    [HOSTS_LATE] = "late",
    [HOSTS_PARTIAL] = "partial",
};

enum kind { TEXT, NUMBER, STATUS };

struct field {
	const char *name;
	enum kind kind;
	bool is_required;
	size_t offset, size; /* in struct hosts_part; size: of a text, with the NUL */
	int64_t min, max;    /* of a number */
	const char *description;
};

#define PART_TEXT(f)                                                                               \
	.kind = TEXT, .offset = offsetof(struct hosts_part, f),                                    \
	.size = sizeof(((struct hosts_part *)0)->f)
#define PART_NUMBER(f, least, most)                                                                \
	.kind = NUMBER, .offset = offsetof(struct hosts_part, f), .min = (least), .max = (most)

/* In the order of the file. The version comes before. */
static const struct field fields[] = {
    {"host", PART_TEXT(host), .is_required = true,
     .description = "The host, as the user named it; with ranks, the node."},
    {"node", PART_TEXT(node), .description = "The name that the host has for itself."},
    {"rank", PART_NUMBER(rank, 0, HOSTS_MAX_RANK),
     .description = "The rank in a parallel program."},
    {"job", PART_TEXT(job), .description = "The scheduler's job."},
    {"step", PART_TEXT(step), .description = "The step of the scheduler's job."},
    {"status", .kind = STATUS, .is_required = true, .offset = offsetof(struct hosts_part, status),
     .description = "\"ok\"; \"failed\": without a session; \"late\": a session that began after "
		    "the instant agreed on; \"partial\": with some of the session's files."},
    {"reason", PART_TEXT(reason), .description = "Why the status is not \"ok\"."},
    {"exit_status", PART_NUMBER(exit_status, 0, 255),
     .description = "The exit status of the command; 128 and the signal if one ended it."},
    {"clock_offset_ns", PART_NUMBER(clock_offset_ns, -INT64_MAX, INT64_MAX),
     .description = "The host's CLOCK_REALTIME minus the starter's, in nanoseconds."},
    {"clock_error_ns", PART_NUMBER(clock_error_ns, 0, INT64_MAX),
     .description = "The largest error of clock_offset_ns: half of the shortest round trip, in "
		    "nanoseconds."},
    {"start_realtime_ns", PART_NUMBER(start_realtime_ns, 0, INT64_MAX),
     .description = "The instant agreed on for the start, by the starter's CLOCK_REALTIME, in "
		    "nanoseconds since 1970."},
    {"tool", PART_TEXT(tool), .description = "What measured, with its version."},
};

void hosts_part_init(struct hosts_part *p)
{
	memset(p, 0, sizeof(*p));
	p->rank = p->exit_status = p->clock_offset_ns = p->clock_error_ns = p->start_realtime_ns =
	    HOSTS_ABSENT;
}

const char *hosts_status_name(enum hosts_status status)
{
	return statuses[status];
}

static bool is_usual(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.';
}

void hosts_part_folder(const struct hosts_part *p, char name[NAME_MAX + 1])
{
	enum { MAX_HOST = NAME_MAX - sizeof(".2147483647") };
	size_t len = strnlen(p->host, MAX_HOST);

	for (size_t i = 0; i < len; i++)
		name[i] = (char)(is_usual(p->host[i]) ? p->host[i] : '_');
	if (len && (name[0] == '.' || name[0] == '-'))
		name[0] = '_';
	name[len] = '\0';
	if (p->rank != HOSTS_ABSENT)
		snprintf(name + len, NAME_MAX + 1 - len, ".%" PRIi64, p->rank);
}

static void write_field(struct json_writer *w, const struct field *f, const struct hosts_part *p)
{
	const char *at = (const char *)p + f->offset;
	char digits[32];
	int64_t number;

	switch (f->kind) {
	case TEXT:
		if (*at)
			jsonw_text(w, f->name, at);
		return;
	case NUMBER:
		memcpy(&number, at, sizeof(number));
		snprintf(digits, sizeof(digits), "%" PRIi64, number);
		if (number != HOSTS_ABSENT)
			jsonw_raw(w, f->name, digits);
		return;
	case STATUS:
		jsonw_text(w, f->name, statuses[p->status]);
	}
}

void hosts_part_to_json(const struct hosts_part *p, struct buf *out)
{
	struct json_writer w;

	jsonw_init(&w, out, false);
	JSONW_OBJECT(&w, NULL) {
		jsonw_u64(&w, "version", VERSION);
		for (size_t i = 0; i < ARRAY_NR(fields); i++)
			write_field(&w, &fields[i], p);
	}
	buf_addc(out, '\n');
}

static int read_text(const struct field *f, const json_t *value, char *out)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	if (!text || len >= f->size || strlen(text) != len || (f->is_required && !len))
		return -EINVAL;
	memcpy(out, text, len + 1);
	str_clean(out, len);
	return 0;
}

static int read_number(const struct field *f, const json_t *value, char *out)
{
	int64_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < f->min || number > f->max)
		return -EINVAL;
	memcpy(out, &number, sizeof(number));
	return 0;
}

static int read_status(const json_t *value, enum hosts_status *out)
{
	const char *text = json_string_value(value);

	for (size_t i = 0; text && i < ARRAY_NR(statuses); i++) {
		if (strcmp(text, statuses[i]) != 0)
			continue;
		*out = (enum hosts_status)i;
		return 0;
	}
	return -EINVAL;
}

static int read_field(const struct field *f, const json_t *root, struct hosts_part *p,
		      const char *source, struct err *e)
{
	const json_t *value = json_object_get(root, f->name);
	char *at = (char *)p + f->offset;
	int rc = 0;

	if (!value)
		return f->is_required ? err_set_at(e, -EINVAL, source, 0, 0,
						   "the key \"%s\" is missing", f->name)
				      : 0;
	switch (f->kind) {
	case TEXT:
		rc = read_text(f, value, at);
		break;
	case NUMBER:
		rc = read_number(f, value, at);
		break;
	case STATUS:
		rc = read_status(value, &p->status);
	}
	return rc ? err_set_at(e, rc, source, 0, 0, "the value of \"%s\" is invalid", f->name) : 0;
}

static int read_root(const json_t *root, const char *source, struct hosts_part *p, struct err *e)
{
	const json_t *version = json_object_get(root, "version");

	if (!json_is_integer(version))
		return err_set_at(e, -EINVAL, source, 0, 0, "it has no version");
	if (json_integer_value(version) != VERSION)
		return err_set_at(e, -EINVAL, source, 0, 0,
				  "its version is %lld, and this program reads version %d",
				  (long long)json_integer_value(version), VERSION);
	return ARRAY_RUN(i, ARRAY_NR(fields), read_field(&fields[i], root, p, source, e));
}

int hosts_part_parse(const char *text, size_t len, const char *source, struct hosts_part *p,
		     struct err *e)
{
	json_error_t error;
	json_t *root = NULL;
	struct hosts_part fresh;
	int rc = json_parse(text, len, &root, &error);

	if (rc == -ENOMEM)
		return err_set(e, rc, "out of memory");
	if (rc)
		return err_set_at(e, rc, source, (unsigned)error.line, 0, "%s", error.text);
	hosts_part_init(&fresh);
	rc = read_root(root, source, &fresh, e);
	json_decref(root);
	if (rc == 0)
		*p = fresh;
	return rc;
}

int hosts_part_write(int dirfd, const char *path, const struct hosts_part *p, struct err *e)
{
	char file[PATH_MAX];
	BUF_AUTO(text, MAX_FILE_BYTES);

	snprintf(file, sizeof(file), "%s/" HOSTS_FILE, path);
	hosts_part_to_json(p, &text);
	if (buf_error(&text))
		return err_set_at(e, buf_error(&text), file, 0, 0, "out of memory");
	return io_write_atomic(dirfd, HOSTS_FILE, file, buf_str(&text), text.len, NULL, e);
}

int hosts_part_read(int dirfd, const char *path, struct hosts_part *p, struct err *e)
{
	char file[PATH_MAX];
	struct stat st;
	BUF_AUTO(text, MAX_FILE_BYTES);
	IO_AUTO_FD int fd = io_open_linked(dirfd, HOSTS_FILE, O_NOFOLLOW, &st);
	int rc = fd < 0 ? fd : io_load_fd(fd, &text);

	snprintf(file, sizeof(file), "%s/" HOSTS_FILE, path);
	if (rc)
		return err_set_at(e, rc, file, 0, 0, "cannot be read: %s", io_reason(rc));
	return hosts_part_parse(buf_str(&text), text.len, file, p, e);
}

static void number_schema(struct json_writer *w, const struct field *f)
{
	char digits[32];

	jsonw_text(w, "type", "integer");
	if (f->min != -INT64_MAX) {
		snprintf(digits, sizeof(digits), "%" PRIi64, f->min);
		jsonw_raw(w, "minimum", digits);
	}
	if (f->max != INT64_MAX)
		jsonw_u64(w, "maximum", (uint64_t)f->max);
}

static void text_schema(struct json_writer *w, const struct field *f)
{
	jsonw_text(w, "type", "string");
	if (f->is_required)
		jsonw_u64(w, "minLength", 1);
	jsonw_u64(w, "maxLength", f->size - 1); /* of characters; the reader counts bytes */
}

static void status_schema(struct json_writer *w, const struct field *f)
{
	(void)f;
	jsonw_text(w, "type", "string");
	JSONW_ARRAY(w, "enum") {
		for (size_t i = 0; i < ARRAY_NR(statuses); i++)
			jsonw_text(w, NULL, statuses[i]);
	}
}

void hosts_part_schema(struct buf *out)
{
	static void (*const bodies[])(struct json_writer * w, const struct field *f) = {
	    [TEXT] = text_schema, [NUMBER] = number_schema, [STATUS] = status_schema};
	struct json_writer w;

	jsonw_init(&w, out, true);
	JSONW_OBJECT(&w, NULL) {
		jsonw_text(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
		jsonw_text(&w, "title", "host");
		jsonw_text(&w, "description",
			   "A part of a job: host.json beside the files of a session. Later "
			   "versions of cpuperf may add keys.");
		jsonw_text(&w, "type", "object");
		jsonw_raw(&w, "required", "[\"version\", \"host\", \"status\"]");
		JSONW_OBJECT(&w, "properties") {
			JSONW_OBJECT(&w, "version") {
				jsonw_text(&w, "description", "The version of this format.");
				jsonw_u64(&w, "const", VERSION);
			}
			for (size_t i = 0; i < ARRAY_NR(fields); i++) {
				JSONW_OBJECT(&w, fields[i].name) {
					jsonw_text(&w, "description", fields[i].description);
					bodies[fields[i].kind](&w, &fields[i]);
				}
			}
		}
	}
	buf_addc(out, '\n');
}
