/*
 * Locks of the page: those of the first session at which most was waited.
 */
#include "locks.h"
#include "base/err.h"
#include "page/page.h"
#include "report/functions.h"
#include "reports/reports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { MAX_ROWS = 1000, DIGITS = 6 };

static void put_name(struct page *h, const struct report_lock *l)
{
	char name[LOCKS_NAME_BYTES], address[20];
	const char *object = locks_variable(job_input(h->j), l, name);

	snprintf(address, sizeof(address), "0x%" PRIx64, l->futex);
	jsonw_text(&h->json, "lock", *name ? name : address);
	jsonw_text(&h->json, "object", object);
	jsonw_u64(&h->json, "pid", l->pid);
}

static void put_holder(struct page *h, const struct report_lock *l)
{
	char name[LOCKS_NAME_BYTES];

	if (!l->holder.weight.samples)
		return;
	jsonw_text(&h->json, locks_has_owner(l) ? "owner" : "waker",
		   locks_holder(h->j->inputs->functions, l, name));
	page_real(h, "part", reports_share_of(&l->holder.weight, &l->weight).share, DIGITS);
}

static void put_row(struct page *h, const struct report_lock *l)
{
	const struct interval time = reports_estimate(&l->weight, 0);

	JSONW_OBJECT(&h->json, NULL) {
		put_name(h, l);
		jsonw_text(&h->json, "kind", l->kind);
		page_real(h, "waits", l->waits, DIGITS);
		page_real(h, "time", time.share, DIGITS);
		page_real(h, "half", interval_half(&time), DIGITS);
		jsonw_u64(&h->json, "max", l->max_ns);
		jsonw_u64(&h->json, "threads", l->threads);
		put_holder(h, l);
		jsonw_text(&h->json, "function",
			   report_functions_at(h->j->inputs->functions, l->function)->name);
	}
}

static int put_rows(struct page *h, const struct report_lock *rows, size_t nr, struct err *e)
{
	int rc = 0;

	JSONW_ARRAY(&h->json, "locks") {
		for (size_t i = 0; i < nr && i < MAX_ROWS && rc == 0; i++) {
			put_row(h, &rows[i]);
			rc = page_flush(h, e);
		}
	}
	if (nr > MAX_ROWS)
		page_note(h, PAGE_NOTE, "%zu more locks are omitted.", nr - MAX_ROWS);
	return rc;
}

int page_locks_put(struct page *h, struct err *e)
{
	struct report_locks *locks;
	const struct report_lock *rows;
	const uint64_t nr_records = h->j->output->nr_records;
	struct report_stats stats;
	size_t nr = 0;
	int rc;

	if (locks_missing(h->facts, &h->j->selection->filter))
		return 0;
	locks = report_locks_new(h->j->inputs->functions, locks_have_wakers(h->facts));
	if (!locks)
		return err_set(e, -ENOMEM, "out of memory");
	rc = samples_read(h->j, h->j->first, 1, report_locks_sink(locks), &stats, e);
	h->j->output->nr_records = nr_records; /* read once more */
	rows = rc == 0 ? report_locks_rows(locks, &nr) : NULL;
	if (rc == 0)
		rc = rows ? put_rows(h, rows, nr, e) : err_set(e, -ENOMEM, "out of memory");
	report_stats_fini(&stats);
	report_locks_free(locks);
	return rc;
}
