#include "push/options.h"

#include "base/err.h"
#include "base/str.h"
#include "push/credentials.h"
#include "push/target.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_key(const char *s, size_t len)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char others[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789";

	return len && len < PUSH_KEY_BYTES && strchr(letters, *s) && strspn(s, others) >= len;
}

static bool is_value(const char *s)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	return len && len < PUSH_VALUE_BYTES && str_is_utf8(s, len);
}

/* What each profile has. */
static bool is_taken(const struct push_labels *l, const char *key)
{
	static const char *const own[] = {"service_name", "service.name", "host", "host.name",
					  "comm"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(own[i], key) == 0)
			return true;
	for (size_t i = 0; i < l->nr; i++)
		if (strcmp(l->item[i].key, key) == 0)
			return true;
	return false;
}

static int add_label(struct push_labels *l, const char *text, struct err *e)
{
	size_t len = strcspn(text, "=");
	struct push_label *label = &l->item[l->nr];

	if (l->nr == PUSH_MAX_LABELS)
		return err_set(e, -EINVAL, "--push-label: more than %d labels", PUSH_MAX_LABELS);
	if (!text[len] || !is_key(text, len) || !is_value(text + len + 1)) {
		err_set(e, -EINVAL, "--push-label=%s: not KEY=VALUE", text);
		err_hint(e,
			 "a KEY has letters, digits, _ and ., up to %d, the first being no digit "
			 "and no .; a VALUE is text of up to %d bytes",
			 PUSH_KEY_BYTES - 1, PUSH_VALUE_BYTES - 1);
		return -EINVAL;
	}
	snprintf(label->key, sizeof(label->key), "%.*s", (int)len, text);
	if (strncmp(text, "__", 2) == 0)
		return err_set(e, -EINVAL,
			       "--push-label=%s: a KEY that begins with __ is the receiver's own",
			       text);
	if (is_taken(l, label->key))
		return err_set(e, -EINVAL, "--push-label=%s: profiles have a label of this name",
			       text);
	label->value = text + len + 1;
	l->nr++;
	return 0;
}

int push_labels_parse(const struct opt_strings *texts, struct push_labels *out, struct err *e)
{
	int rc = 0;

	*out = (struct push_labels){.nr = 0};
	for (size_t i = 0; i < texts->nr && rc == 0; i++)
		rc = add_label(out, texts->item[i], e);
	return rc;
}

/* One of "bytes:1MiB", "seconds:1h". */
static int set_limit(struct push_limits *l, const char *text, size_t len)
{
	static const char bytes[] = "bytes:", seconds[] = "seconds:";
	char one[64];

	if (len >= sizeof(one))
		return -EINVAL;
	snprintf(one, sizeof(one), "%.*s", (int)len, text);
	if (strncmp(one, bytes, strlen(bytes)) == 0 && !l->bytes)
		return str_parse_bytes(one + strlen(bytes), &l->bytes);
	if (strncmp(one, seconds, strlen(seconds)) == 0 && !l->age_ns)
		return str_parse_duration_ns(one + strlen(seconds), &l->age_ns);
	return -EINVAL;
}

static int set_limits(struct push_limits *l, const char *text)
{
	size_t len = strcspn(text, ",");
	int rc = set_limit(l, text, len);

	return rc || !text[len] ? rc : set_limits(l, text + len + 1);
}

int push_limits_parse(const char *text, struct push_limits *out, struct err *e)
{
	struct push_limits given = {0};

	*out = (struct push_limits){.bytes = 0};
	if (set_limits(out, PUSH_DEFAULT_LIMITS))
		return err_set(e, -EINVAL, "--push-limit: " PUSH_DEFAULT_LIMITS);
	if (!text)
		return 0;
	if (strlen(text) > PUSH_VALUE_BYTES || set_limits(&given, text) ||
	    (!given.bytes && !given.age_ns)) {
		err_set(e, -EINVAL, "--push-limit=%s: not a limit", text);
		err_hint(e, "write bytes:1MiB, seconds:1h or both, separated by a comma");
		return -EINVAL;
	}
	out->bytes = given.bytes ? given.bytes : out->bytes;
	out->age_ns = given.age_ns ? given.age_ns : out->age_ns;
	return 0;
}

int push_wait_parse(const char *text, uint64_t *ns, struct err *e)
{
	const uint64_t max_ns = 24 * 3600 * 1000000000ull;

	if (str_parse_duration_ns(text ? text : PUSH_DEFAULT_WAIT, ns) || *ns > max_ns)
		return err_set(e, -EINVAL, "--push-wait=%s: not a time of up to a day", text);
	return 0;
}

static int check_unused(const struct push_options *o, struct err *e)
{
	const bool is_used =
	    o->name || o->credentials || o->ca || o->spool || o->limits || o->wait || o->labels.nr;

	return is_used ? err_set(e, -EINVAL, "the options --push-… require --push=URL") : 0;
}

int push_options_check(const struct push_options *o, struct err *e)
{
	struct push_credentials secret;
	struct push_limits limits;
	struct push_labels labels;
	struct push_target target;
	uint64_t wait_ns;
	int rc;

	if (!o->url)
		return check_unused(o, e);
	if (o->name && !is_value(o->name))
		return err_set(e, -EINVAL, "--push-name=%s: not a text of up to %d bytes", o->name,
			       PUSH_VALUE_BYTES - 1);
	rc = push_target_parse(o->url, &target, e) ?: push_labels_parse(&o->labels, &labels, e)
		     ?: push_limits_parse(o->limits, &limits, e)
			?: push_wait_parse(o->wait, &wait_ns, e);
	if (rc || !o->credentials)
		return rc;
	rc = push_credentials_load(o->credentials, &secret, e);
	push_credentials_forget(&secret);
	return rc;
}
