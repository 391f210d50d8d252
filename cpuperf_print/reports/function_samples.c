/*
 * Samples are found by the name of a function in the table of symbols and the name of its file, as
 * the recorder of calls and the samples know both. Two static functions of one name cannot be told
 * apart by that, and have no sampled time.
 */
#include "reports/function_samples.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "registry.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MAX_WANTED = 1 << 18, MAX_BYTES = 128 << 20, KEY_BYTES = 72 << 10 };

struct wanted {
	const char *key;
	uint64_t address;
	bool is_twin;
	struct report_weight weight;
};

void reports_function_samples_fini(struct reports_function_samples *s)
{
	dict_fini(&s->wanted);
	report_stats_fini(&s->stats);
}

/* No name of a file has a slash. */
static void make_key(const char *name, const char *object, struct buf *key)
{
	buf_reset(key);
	buf_printf(key, "%s/%s", str_base_name(object), name);
}

int reports_function_samples_want(struct reports_function_samples *s, const char *name,
				  const char *object, uint64_t address)
{
	BUF_AUTO(key, KEY_BYTES);
	struct wanted *w;
	size_t nr;

	if (!s->wanted.item_bytes)
		dict_init_texts(&s->wanted, sizeof(*w), MAX_WANTED, MAX_BYTES);
	nr = s->wanted.nr;
	make_key(name, object, &key);
	w = buf_error(&key) ? NULL : dict_get(&s->wanted, buf_str(&key));
	if (!w)
		return -ENOMEM;
	if (s->wanted.nr > nr)
		w->address = address;
	w->is_twin |= w->address != address;
	return 0;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	struct reports_function_samples *s = arg;
	const struct report_function *fn = e->frames[0].function;
	BUF_AUTO(key, KEY_BYTES);
	struct wanted *w;

	if (e->key.event != s->event)
		return 0;
	make_key(fn->linkage_name, fn->object, &key);
	w = buf_error(&key) ? NULL : dict_at(&s->wanted, dict_find(&s->wanted, buf_str(&key)));
	if (w)
		report_weight_add(&w->weight, &e->weight);
	return buf_error(&key);
}

/* The first event that samples the time on CPUs. */
static bool find_event(const struct job *j, uint32_t *out)
{
	const struct profile_facts *f = job_input(j)->facts;

	for (uint32_t i = 0; i < f->nr_events; i++) {
		const struct trace_event *ev = &f->events[i];

		if ((ev->rate || ev->frequency) && strcmp(ev->unit, "ns") == 0 &&
		    strcmp(ev->group, "heap") != 0 && !samples_is_wait(ev)) {
			*out = i;
			return true;
		}
	}
	return false;
}

static bool are_sampled(const struct job *j)
{
	for (size_t i = j->first; i < j->first + j->nr; i++)
		if (!j->inputs->item[i].facts->is_sampling)
			return false;
	return true;
}

int reports_function_samples_read(struct reports_function_samples *s, struct job *j, struct err *e)
{
	const struct report_sink sink = {.entry = add_entry, .arg = s};
	int rc;

	if (!s->wanted.nr || j->row->samples == REGISTRY_NO_SAMPLES || !are_sampled(j) ||
	    !find_event(j, &s->event) || reports_is_part(&j->selection->filter))
		return 0;
	rc = samples_read(j, j->first, j->nr, &sink, &s->stats, e);
	s->is_read = rc == 0;
	return rc;
}

const struct report_weight *reports_function_samples_find(const struct reports_function_samples *s,
							  const char *name, const char *object)
{
	BUF_AUTO(key, KEY_BYTES);
	const struct wanted *w;

	if (!s->is_read)
		return NULL;
	make_key(name, object, &key);
	w = buf_error(&key) ? NULL : dict_at(&s->wanted, dict_find(&s->wanted, buf_str(&key)));
	return w && !w->is_twin ? &w->weight : NULL;
}

double reports_function_samples_share(const struct reports_function_samples *s, const struct job *j,
				      const struct report_weight *w, struct interval *share)
{
	const struct report_event_stats *of = &s->stats.event[s->event];
	struct report_weight all = of->counted;

	report_weight_add(&all, &of->omitted);
	if (!w->samples && all.samples) { /* it may have run between them: people see a range */
		*share = reports_estimate_among(w, &all, all.weight / all.samples);
		share->share = fmax(share->share, share->high * 1e-9);
		return 1;
	}
	*share = reports_share_of(w, &all);
	return (double)reports_amount(j, s->event, all.weight);
}
