/* What answers mean, how long is waited, what a URL may be, what is in the spool. */
#include "kit.h"

#include "base/buf.h"
#include "base/err.h"
#include "push/answer.h"
#include "push/sender.h"
#include "push/spool.h"
#include "push/target.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum push_outcome judge(enum push_protocol protocol, long status, const char *type,
			       const char *body, size_t len, struct push_answer *a)
{
	*a = (struct push_answer){.status = status, .body = body, .body_bytes = len};
	memcpy(a->type, type, strlen(type) + 1);
	return push_answer_judge(protocol, a);
}

TEST(statuses)
{
	static const struct {
		long status;
		enum push_outcome outcome;
	} cases[] = {{0, PUSH_FAILED},    {200, PUSH_SENT},    {204, PUSH_SENT},
		     {301, PUSH_REFUSED}, {400, PUSH_REFUSED}, {401, PUSH_REFUSED},
		     {408, PUSH_FAILED},  {413, PUSH_REFUSED}, {429, PUSH_FAILED},
		     {499, PUSH_REFUSED}, {500, PUSH_FAILED},  {599, PUSH_FAILED}};
	struct push_answer a;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(judge(PUSH_INGEST, cases[i].status, "", "", 0, &a),
				 cases[i].outcome);
	assert_int_equal(judge(PUSH_PARCA, 200, "Application/JSON; charset=utf-8", "{}", 2, &a),
			 PUSH_SENT);
	assert_int_equal(judge(PUSH_PARCA, 200, "text/html", "{}", 2, &a), PUSH_FAILED);
	assert_int_equal(judge(PUSH_INGEST, 400, "text/plain", "a\tb\nc", 5, &a), PUSH_REFUSED);
	assert_string_equal(a.why, "the receiver's status is 400: a?b");
}

TEST(rejected)
{
	static const char type[] = "application/x-protobuf";
	static const char one[] = "\x0a\x06\x08\x01\x12\x02no",
			  cut[] = "\x0a\x07\x08\x02\x12\x02no",
			  long_varint[] = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
			  negative[] = "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	struct push_answer a;

	assert_int_equal(judge(PUSH_OTLP, 200, type, "", 0, &a), PUSH_SENT);
	assert_int_equal(judge(PUSH_OTLP, 200, type, one, sizeof(one) - 1, &a), PUSH_REFUSED);
	assert_string_equal(a.why, "the receiver rejected profiles: no");
	assert_int_equal(judge(PUSH_OTLP, 200, type, cut, sizeof(cut) - 1, &a), PUSH_FAILED);
	assert_int_equal(judge(PUSH_OTLP, 200, type, long_varint, sizeof(long_varint) - 1, &a),
			 PUSH_FAILED);
	assert_int_equal(judge(PUSH_OTLP, 200, type, negative, sizeof(negative) - 1, &a),
			 PUSH_SENT);
}

TEST(delays)
{
	const uint64_t s = 1000000000;

	assert_int_equal(push_sender_delay_ns(1, 0, 0), s / 2);
	assert_int_equal(push_sender_delay_ns(1, 0, s / 2), s);
	assert_int_equal(push_sender_delay_ns(3, 0, 0), 2 * s);
	assert_int_equal(push_sender_delay_ns(1000000, 0, 0), 150 * s);
	assert_int_equal(push_sender_delay_ns(1000000, 0, 150 * s), 300 * s);
	assert_int_equal(push_sender_delay_ns(1, 60, UINT64_MAX), 60 * s);
	assert_int_equal(push_sender_delay_ns(1, UINT64_MAX, 0), 3600 * s);
}

TEST(urls)
{
	struct push_target t;
	struct err e = {0};

	assert_int_equal(push_target_parse("parca+https://[2001:db8::1]:7070/a/b//", &t, &e), 0);
	assert_int_equal(t.protocol, PUSH_PARCA);
	assert_string_equal(t.base, "https://[2001:db8::1]:7070/a/b");
	assert_string_equal(t.place, "parca at [2001:db8::1]:7070");
	assert_false(t.is_plain);
	assert_int_equal(push_target_parse("otlp+http://127.1.2.3", &t, &e), 0);
	assert_true(t.is_plain);
	assert_int_not_equal(push_target_parse("otlp+http://[::2]:1", &t, &e), 0);
	err_clear(&e);
	assert_int_not_equal(push_target_parse("otlp+https://a:secret@h", &t, &e), 0);
	assert_null(strstr(e.msg, "secret"));
}

TEST(spool)
{
	char folder[] = "/tmp/cpuperf-spool.XXXXXX", command[64];
	const struct push_limits limits = {.bytes = 1 << 20, .age_ns = UINT64_MAX};
	struct push_counts counts = {0};
	struct push_backoff backoff;
	BUF_AUTO(data, 1 << 20);
	struct push_spool s, other;
	struct push_entry entry;
	struct err e = {0};

	assert_non_null(mkdtemp(folder));
	assert_int_equal(push_spool_open(&s, folder, "otlp", "https://h:1/a_b", &limits, &e), 0);
	assert_int_equal(push_spool_open(&other, folder, "otlp", "https://h:1/a?b", &limits, &e),
			 0);
	assert_string_not_equal(s.path, other.path);
	push_spool_close(&other);
	assert_int_equal(push_spool_first(&s, &entry, &data, &counts), 0);
	assert_int_equal(push_spool_add(&s, "?a=b", "one", 3, &counts, &e), 0);
	assert_int_equal(push_spool_add(&s, "", "two", 3, &counts, &e), 0);
	assert_int_equal(counts.made, 2);
	assert_int_equal(counts.waiting, 2);
	assert_int_equal(push_spool_first(&s, &entry, &data, &counts), 1);
	assert_string_equal(entry.query, "?a=b");
	assert_int_equal(entry.body_bytes, 3);
	assert_memory_equal(entry.body, "one", 3);
	assert_true(push_spool_remove(&s, &entry));
	assert_false(push_spool_remove(&s, &entry));
	assert_int_equal(push_spool_first(&s, &entry, &data, &counts), 1);
	assert_string_equal(entry.query, "");
	assert_memory_equal(entry.body, "two", 3);
	assert_int_equal(push_spool_lock(&s), 0);
	assert_int_equal(push_spool_open(&other, folder, "otlp", "https://h:1/a_b", &limits, &e),
			 0);
	assert_int_equal(push_spool_lock(&other), -EAGAIN);
	backoff = (struct push_backoff){3, 12345, "it was so"};
	push_spool_write_backoff(&s, &backoff);
	backoff = (struct push_backoff){0, 0, ""};
	push_spool_read_backoff(&other, &backoff);
	assert_int_equal(backoff.failures, 3);
	assert_int_equal(backoff.not_before_ns, 12345);
	assert_string_equal(backoff.why, "it was so");
	push_spool_close(&other);
	push_spool_close(&s);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}
