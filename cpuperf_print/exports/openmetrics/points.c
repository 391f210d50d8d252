#include "exports/openmetrics/points.h"

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "export/openmetrics.h"
#include "export/spool.h"
#include "output.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
	MAX_FAMILIES = 1 << 16,
	MAX_SERIES = 16 << 20,
	MAX_FAMILIES_BYTES = 64 << 20,
	MAX_SERIES_BYTES = 1 << 30,
	MAX_KEY_BYTES = 1 << 20,
};

struct family {
	const char *name;
	const char *metadata; /* among the texts of the series */
};
struct metric {
	const char *key;
	uint32_t family;
	uint32_t bucket; /* of the spool */
};
struct series {
	const char *text; /* all before the number */
	uint32_t metric;
};

int points_init(struct points *p, struct err *e)
{
	int rc, fd = -1;

	memset(p, 0, sizeof(*p));
	p->e = e;
	buf_init(&p->key, MAX_KEY_BYTES);
	dict_init_texts(&p->families, sizeof(struct family), MAX_FAMILIES, MAX_FAMILIES_BYTES);
	dict_init_texts(&p->metrics, sizeof(struct metric), MAX_SERIES, MAX_SERIES_BYTES);
	dict_init_texts(&p->series, sizeof(struct series), MAX_SERIES, MAX_SERIES_BYTES);
	p->spool = export_spool_new(e);
	rc = p->spool ? io_open_temporary(&fd, e) : e->code;
	if (rc)
		return rc;
	p->numbers = fdopen(fd, "w+");
	if (p->numbers)
		return 0;
	io_close(&fd);
	return err_set(e, -ENOMEM, "out of memory");
}

void points_fini(struct points *p)
{
	if (p->numbers)
		(void)fclose(p->numbers);
	export_spool_free(p->spool);
	dict_fini(&p->families);
	dict_fini(&p->metrics);
	dict_fini(&p->series);
	buf_fini(&p->key);
}

static const char *key_of(struct points *p, const char *begin, size_t len)
{
	buf_reset(&p->key);
	buf_add(&p->key, begin, len);
	return buf_error(&p->key) ? NULL : buf_str(&p->key);
}

static uint32_t find_family(struct points *p, const struct openmetrics *m, const char *text)
{
	uint32_t nr = dict_add(&p->families, m->name);
	struct family *f = dict_at(&p->families, nr);
	const char *metadata;
	uint32_t at;

	if (!f || f->metadata)
		return nr;
	metadata = key_of(p, text + m->family_at, m->line_at - m->family_at);
	at = metadata ? dict_add(&p->series, metadata) : DICT_NONE;
	if (at == DICT_NONE)
		return DICT_NONE;
	f->metadata = dict_text(&p->series, at);
	return nr;
}

static uint32_t find_metric(struct points *p, const struct openmetrics *m, const char *text)
{
	struct metric *metric;
	uint32_t family, nr;

	family = find_family(p, m, text);
	if (family == DICT_NONE)
		return family;
	buf_reset(&p->key);
	buf_adds(&p->key, m->name);
	buf_add(&p->key, text + m->labels_at, m->shared_end - m->labels_at);
	nr = buf_error(&p->key) ? DICT_NONE : dict_add(&p->metrics, buf_str(&p->key));
	metric = dict_at(&p->metrics, nr);
	if (metric)
		metric->family = family;
	return nr;
}

static uint32_t find_series(struct points *p, const struct openmetrics *m, const char *text)
{
	const char *key = key_of(p, text + m->line_at, m->value_at - m->line_at);
	uint32_t nr = key ? dict_find(&p->series, key) : DICT_NONE, metric;
	struct series *s;

	if (nr != DICT_NONE || !key)
		return nr;
	metric = find_metric(p, m, text);
	key = key_of(p, text + m->line_at, m->value_at - m->line_at);
	nr = metric == DICT_NONE ? DICT_NONE : dict_add(&p->series, key);
	s = dict_at(&p->series, nr);
	if (s)
		s->metric = metric;
	return nr;
}

void points_add(void *arg, const struct openmetrics *m)
{
	struct points *p = arg;
	const char *text = buf_str(m->out);
	size_t len = m->out->len - m->value_at;
	struct export_record r = {.time_ns = m->time_ns, .weight = p->numbers_bytes};

	if (p->e->code)
		return;
	if (buf_error(m->out)) {
		err_set(p->e, buf_error(m->out), "a line is too long");
		return;
	}
	r.tag = find_series(p, m, text);
	r.stack = (uint32_t)len;
	if (r.tag == DICT_NONE) {
		err_set(p->e, -EFBIG, "there are too many series for this format, or no memory");
		err_hint(p->e, "select fewer: --event=NAME, --cpu=LIST");
	} else if (fwrite(text + m->value_at, 1, len, p->numbers) != len) {
		err_set(p->e, -errno, "points cannot be stored: %s", strerror(errno));
	} else {
		(void)export_spool_add(p->spool, &r, p->e);
	}
	p->numbers_bytes += len;
	buf_cut(m->out, m->family_at);
}

/* --- the text -------------------------------------------------------------------------------- */

/* A bucket for each metric, family by family. */
static struct export_place *make_places(struct points *p)
{
	struct export_place *places = mem_calloc(p->series.nr + 1, sizeof(*places));
	uint32_t bucket = 0;

	for (uint32_t f = 0; f < p->families.nr && places; f++)
		for (uint32_t i = 0; i < p->metrics.nr; i++) {
			struct metric *m = dict_at(&p->metrics, i);

			if (m->family == f)
				m->bucket = bucket++;
		}
	for (uint32_t i = 0; i < p->series.nr && places; i++) {
		const struct series *s = dict_at(&p->series, i);
		const struct metric *m = dict_at(&p->metrics, s->metric);

		if (m) /* else there is none at all */
			places[i].bucket = m->bucket;
	}
	return places;
}

static int put_metric(struct points *p, const struct metric *m, const char *numbers,
		      struct output *out, struct err *e)
{
	size_t nr;
	const struct export_record *r = export_spool_bucket(p->spool, m->bucket, &nr);
	int rc = 0;

	for (size_t i = 0; i < nr && rc == 0; i++) {
		buf_adds(&out->text, dict_text(&p->series, r[i].tag));
		buf_add(&out->text, numbers + r[i].weight, r[i].stack);
		if (r[i].time_ns)
			openmetrics_add_time(&out->text, r[i].time_ns);
		buf_addc(&out->text, '\n');
		export_spool_touch(p->spool);
		rc = output_flush(out, e);
	}
	return rc;
}

static int put_all(struct points *p, const char *numbers, struct output *out, struct err *e)
{
	int rc = 0;

	for (uint32_t f = 0; f < p->families.nr && rc == 0; f++) {
		buf_adds(&out->text, ((const struct family *)dict_at(&p->families, f))->metadata);
		for (uint32_t i = 0; i < p->metrics.nr && rc == 0; i++) {
			const struct metric *m = dict_at(&p->metrics, i);

			if (m->family == f)
				rc = put_metric(p, m, numbers, out, e);
		}
	}
	return rc;
}

int points_put(struct points *p, struct output *out, struct err *e)
{
	struct export_place *places = p->e->code ? NULL : make_places(p);
	size_t bytes = p->numbers_bytes;
	char *numbers = MAP_FAILED;
	int rc;

	if (p->e->code)
		return p->e->code;
	rc = places ? export_spool_sort(p->spool, places, p->metrics.nr, e)
		    : err_set(e, -ENOMEM, "out of memory");
	if (rc == 0 && bytes) {
		if (fflush(p->numbers) == 0)
			numbers = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fileno(p->numbers), 0);
		if (numbers == MAP_FAILED)
			rc = err_set(e, -errno, "points cannot be read: %s", strerror(errno));
	}
	rc = rc ?: put_all(p, numbers, out, e);
	if (numbers != MAP_FAILED)
		munmap(numbers, bytes);
	mem_free(places);
	return rc;
}
