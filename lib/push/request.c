#include "push/request.h"

#include "base/buf.h"
#include "base/json_writer.h"
#include "export/gzip.h"
#include "export/proto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What viewers list a profile under; its events are the sample types in it. */
static const char profile_name[] = "cpuperf";

/* push.v1.PushRequest of Pyroscope */
enum { PUSH_SERIES = 1 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES };
enum { PAIR_NAME = 1, PAIR_VALUE };
enum { SAMPLE_PROFILE = 1, SAMPLE_ID };

/* Names of labels have no dots but in OTLP. */
static const char *plain_key(const char *key, char out[PUSH_KEY_BYTES])
{
	snprintf(out, PUSH_KEY_BYTES, "%s", key);
	for (char *dot = out; (dot = strchr(dot, '.'));)
		*dot = '_';
	return out;
}

/* Calls put for each label; those of the profile come first. */
typedef void put_label_fn(void *arg, const char *key, const char *value);
static void each_label(const struct push_profile *p, put_label_fn *put, void *arg)
{
	char key[PUSH_KEY_BYTES];

	put(arg, "__name__", profile_name);
	put(arg, "service_name", p->service);
	if (*p->host)
		put(arg, "host", p->host);
	for (size_t i = 0; i < p->labels->nr; i++)
		put(arg, plain_key(p->labels->item[i].key, key), p->labels->item[i].value);
}

/* --- Pyroscope ----------------------------------------------------------------------------------
 */

static void put_pair(void *arg, const char *key, const char *value)
{
	struct buf *b = arg;

	PROTO_MESSAGE(b, SERIES_LABELS) {
		proto_text(b, PAIR_NAME, key);
		proto_text(b, PAIR_VALUE, value);
	}
}

/* The form of a UUID. */
static void put_id(struct buf *b, const uint8_t id[PUSH_ID_BYTES])
{
	char text[2 * PUSH_ID_BYTES + 5];
	size_t len = 0;

	for (size_t i = 0; i < PUSH_ID_BYTES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
					id[i]);
	proto_text(b, SAMPLE_ID, text);
}

static int make_pyroscope(const struct push_profile *p, struct buf *query, struct buf *b)
{
	(void)query;
	PROTO_MESSAGE(b, PUSH_SERIES) {
		each_label(p, put_pair, b);
		PROTO_MESSAGE(b, SERIES_SAMPLES) {
			proto_bytes(b, SAMPLE_PROFILE, p->data, p->data_bytes);
			put_id(b, p->id);
		}
	}
	return buf_error(b);
}

static void put_escaped(struct buf *b, const char *text)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

	for (; *text; text++)
		buf_printf(b, strchr(plain, *text) ? "%c" : "%%%02X", (unsigned char)*text);
}

/* Its grammar has no quotes. */
static void put_named(struct buf *b, const char *text)
{
	for (char one[2] = ""; (*one = *text); text++) {
		if (strchr("{},=", *one))
			*one = '_';
		put_escaped(b, one);
	}
}

/* service{host=h,key=value} */
static void put_named_label(void *arg, const char *key, const char *value)
{
	struct buf *b = arg;

	if (strcmp(key, "__name__") == 0)
		return;
	if (strcmp(key, "service_name") == 0) {
		put_named(b, value);
		put_escaped(b, "{");
		return;
	}
	if (b->len < 3 || strcmp(buf_str(b) + b->len - 3, "%7B") != 0)
		put_escaped(b, ",");
	put_named(b, key);
	put_escaped(b, "=");
	put_named(b, value);
}

static int make_ingest(const struct push_profile *p, struct buf *query, struct buf *b)
{
	const uint64_t ns_per_s = 1000000000;

	buf_adds(query, "?name=");
	each_label(p, put_named_label, query);
	put_escaped(query, "}");
	buf_printf(query, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName=cpuperf",
		   p->from_ns / ns_per_s, (p->to_ns + ns_per_s - 1) / ns_per_s);
	buf_add(b, p->data, p->data_bytes);
	return buf_error(query) ?: buf_error(b);
}

/* --- Parca --------------------------------------------------------------------------------------
 */

static void put_base64(struct buf *b, const uint8_t *p, size_t len)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *to = buf_reserve(b, (len + 2) / 3 * 4);
	size_t nr = 0;

	for (size_t i = 0; to && i < len; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < len ? p[i + 2] : 0);

		to[nr++] = digits[v >> 18];
		to[nr++] = digits[v >> 12 & 63];
		to[nr++] = i + 1 < len ? digits[v >> 6 & 63] : '=';
		to[nr++] = i + 2 < len ? digits[v & 63] : '=';
	}
	if (to)
		buf_use(b, nr);
}

static void put_json_label(void *arg, const char *key, const char *value)
{
	struct json_writer *j = arg;

	JSONW_OBJECT(j, NULL) {
		jsonw_text(j, "name", key);
		jsonw_text(j, "value", value);
	}
}

static void put_raw_profile(struct json_writer *j, const struct push_profile *p)
{
	JSONW_OBJECT(j, NULL) {
		jsonw_key(j, "rawProfile");
		buf_addc(j->out, '"');
		put_base64(j->out, p->data, p->data_bytes);
		buf_addc(j->out, '"');
	}
}

static void put_series(struct json_writer *j, const struct push_profile *p)
{
	JSONW_OBJECT(j, NULL) {
		JSONW_OBJECT(j, "labels") {
			JSONW_ARRAY(j, "labels") {
				each_label(p, put_json_label, j);
			}
		}
		JSONW_ARRAY(j, "samples") {
			put_raw_profile(j, p);
		}
	}
}

/* WriteRawRequest of parca.profilestore.v1alpha1, as JSON. Addresses are offsets in files. */
static int make_parca(const struct push_profile *p, struct buf *query, struct buf *b)
{
	struct json_writer j;

	(void)query;
	jsonw_init(&j, b, false);
	JSONW_OBJECT(&j, NULL) {
		JSONW_ARRAY(&j, "series") {
			put_series(&j, p);
		}
		jsonw_bool(&j, "normalized", true);
	}
	return buf_error(b);
}

/* --- OTLP ---------------------------------------------------------------------------------------
 */

/* The labels are in the message, as attributes of its resource. */
static int make_otlp(const struct push_profile *p, struct buf *query, struct buf *b)
{
	struct gzip *g = gzip_new(GZIP_FASTEST);
	int rc = g ? gzip_add(g, p->data, p->data_bytes, b) ?: gzip_end(g, b) : -ENOMEM;

	(void)query;
	gzip_free(g);
	return rc;
}

int push_request_make(enum push_protocol protocol, const struct push_profile *p, struct buf *query,
		      struct buf *body)
{
	static int (*const make[PUSH_NR_PROTOCOLS])(const struct push_profile *, struct buf *,
						    struct buf *) = {
	    [PUSH_PYROSCOPE] = make_pyroscope,
	    [PUSH_INGEST] = make_ingest,
	    [PUSH_PARCA] = make_parca,
	    [PUSH_OTLP] = make_otlp,
	};

	return make[protocol](p, query, body);
}
