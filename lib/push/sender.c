#include "push/sender.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/sys.h"
#include "push/http.h"
#include "push/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MAX_DOUBLINGS = 9, MAX_DELAY_S = 300, MAX_RETRY_AFTER_S = 3600 };
static const uint64_t ns_per_s = 1000000000, max_run_ns = 10 * 1000000000ull,
		      min_run_ns = 1000000000;

uint64_t push_sender_delay_ns(uint64_t failures, uint64_t retry_after_s, uint64_t random)
{
	uint64_t doublings = failures > MAX_DOUBLINGS ? MAX_DOUBLINGS : failures ? failures - 1 : 0;
	uint64_t s = 1ull << doublings, ns;

	ns = (s > MAX_DELAY_S ? MAX_DELAY_S : s) * ns_per_s;
	ns = ns / 2 + random % (ns / 2 + 1);
	if (retry_after_s > MAX_RETRY_AFTER_S)
		retry_after_s = MAX_RETRY_AFTER_S;
	return ns > retry_after_s * ns_per_s ? ns : retry_after_s * ns_per_s;
}

static uint64_t random_number(void)
{
	uint64_t n;

	return sys()->getrandom(&n, sizeof(n)) == (int)sizeof(n) ? n : clock_monotonic_ns();
}

static bool is_over(const struct push_sender *s)
{
	return s->is_over && *s->is_over;
}

static void sleep_ns(const struct push_sender *s, uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / ns_per_s), .tv_nsec = (long)(ns % ns_per_s)};

	while (nanosleep(&t, &t) && errno == EINTR && !is_over(s))
		;
}

/* What is left of the time for requests. */
static uint64_t left_ns(const struct push_sender *s, uint64_t start_ns)
{
	uint64_t spent_ns = clock_monotonic_ns() - start_ns,
		 ns = s->is_over ? max_run_ns : min_run_ns;

	ns = s->wait_ns > ns ? s->wait_ns : ns;
	return spent_ns < ns && !is_over(s) ? ns - spent_ns : 0;
}

/* How long it is until then; a time beyond what this program would have waited is of another clock.
 */
static uint64_t remaining_ns(const struct push_backoff *b)
{
	uint64_t now_ns = clock_realtime_ns(), ns = b->not_before_ns;

	return ns <= now_ns || ns - now_ns > MAX_RETRY_AFTER_S * ns_per_s ? 0 : ns - now_ns;
}

static enum push_outcome post(struct push_sender *s, const struct push_entry *entry,
			      uint64_t limit_ns, struct push_answer *a)
{
	const struct push_http_end end = {.limit_ns = s->is_over ? UINT64_MAX : limit_ns,
					  .is_over = s->is_over};
	enum push_outcome outcome;

	push_http_post(s->http, entry->query, entry->body, entry->body_bytes, &end, a);
	outcome = push_answer_judge(s->protocol, a);
	if (outcome != PUSH_SENT)
		snprintf(s->why, sizeof(s->why), "%s", a->why);
	return outcome;
}

/* One request. False: it failed. */
static bool send_entry(struct push_sender *s, const struct push_entry *entry, uint64_t limit_ns,
		       struct push_backoff *backoff)
{
	struct push_answer a;
	enum push_outcome outcome = post(s, entry, limit_ns, &a);

	if (outcome == PUSH_FAILED) {
		backoff->failures++;
		backoff->not_before_ns =
		    clock_realtime_ns() +
		    push_sender_delay_ns(backoff->failures, a.retry_after_s, random_number());
		snprintf(backoff->why, sizeof(backoff->why), "%s", a.why);
		s->counts->failures++;
	} else {
		(void)push_spool_remove(s->spool, entry);
		*backoff = (struct push_backoff){.failures = 0};
		s->counts->sent += outcome == PUSH_SENT;
		s->counts->sent_bytes += outcome == PUSH_SENT ? entry->body_bytes : 0;
		s->counts->refused += outcome == PUSH_REFUSED;
	}
	return outcome != PUSH_FAILED;
}

/* False: the next try is too late for this run. */
static bool wait_for_turn(struct push_sender *s, const struct push_backoff *b, uint64_t start_ns)
{
	uint64_t ns = remaining_ns(b), spent_ns = clock_monotonic_ns() - start_ns;

	if (ns && spent_ns + ns > s->wait_ns) {
		if (!*s->why && *b->why)
			snprintf(s->why, sizeof(s->why), "the last try failed: %.200s", b->why);
		return false;
	}
	if (ns)
		sleep_ns(s, ns);
	return left_ns(s, start_ns) > 0;
}

static int send_all(struct push_sender *s, struct buf *data)
{
	const uint64_t start_ns = clock_monotonic_ns();
	struct push_backoff backoff;
	struct push_entry entry = {.query = NULL};
	uint64_t failures;
	int rc;

	push_spool_read_backoff(s->spool, &backoff);
	for (;;) {
		rc = push_spool_trim(s->spool, s->counts)
			 ?: push_spool_first(s->spool, &entry, data, s->counts);
		if (rc <= 0 || !wait_for_turn(s, &backoff, start_ns))
			return rc < 0 ? rc : 0;
		failures = backoff.failures;
		(void)send_entry(s, &entry, left_ns(s, start_ns), &backoff);
		if (failures || backoff.failures)
			push_spool_write_backoff(s->spool, &backoff);
	}
}

int push_sender_run(struct push_sender *s)
{
	BUF_AUTO(data, PUSH_MAX_BYTES + (64 << 10));
	int rc = push_spool_lock(s->spool);

	rc = rc ?: send_all(s, &data);
	if (rc == -EAGAIN)
		rc = 0;
	return rc ?: push_spool_trim(s->spool, s->counts);
}
