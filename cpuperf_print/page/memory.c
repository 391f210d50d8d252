/*
 * The map of a target's memory in the page: of the first session.
 */
#include "base/err.h"
#include "base/mem.h"
#include "memory_maps.h"
#include "page/page.h"

#include <errno.h>
#include <string.h>

enum { MAX_ROWS = 2000 };

/* In the order of the columns of memory.js. */
static void put_amounts(struct page *h, const struct memory_at *at)
{
	const uint64_t amounts[] = {
	    at->nr,         at->sums.size,    at->sums.resident, at->sums.proportional,
	    at->sums.dirty, at->sums.swapped, at->sums.huge};

	JSONW_ARRAY(&h->json, NULL) {
		for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
			jsonw_u64(&h->json, NULL, amounts[i]);
	}
}

static void put_row(struct page *h, const struct memory_maps_row *row)
{
	JSONW_OBJECT(&h->json, NULL) {
		jsonw_text(&h->json, "kind", mapping_kind_name(row->kind));
		jsonw_text(&h->json, "object", row->object);
		JSONW_ARRAY(&h->json, "at") {
			for (int m = 0; m < MEMORY_NR_MOMENTS; m++)
				put_amounts(h, &row->at[m]);
		}
	}
}

static void put_times(struct page *h, const struct memory_maps *maps)
{
	const uint64_t start_ns = job_input(h->j)->start_ns ?: maps->start_ns;

	JSONW_ARRAY(&h->json, "times") {
		for (int m = 0; m < MEMORY_NR_MOMENTS; m++) {
			const uint64_t at_ns = maps->map[m].time_ns;

			jsonw_u64(&h->json, NULL, at_ns > start_ns ? at_ns - start_ns : 0);
		}
	}
}

static int put(struct page *h, const struct memory_maps *maps, struct err *e)
{
	MEM_AUTO const struct memory_maps_row **rows = memory_maps_sorted(maps);
	const size_t nr = maps->rows.nr < MAX_ROWS ? maps->rows.nr : MAX_ROWS;
	int rc = 0;

	if (!rows)
		return err_set(e, -ENOMEM, "out of memory");
	JSONW_OBJECT(&h->json, "memory") {
		put_times(h, maps);
		JSONW_ARRAY(&h->json, "rows") {
			for (size_t i = 0; i < nr && rc == 0; i++) {
				put_row(h, rows[i]);
				rc = page_flush(h, e);
			}
		}
	}
	if (nr < maps->rows.nr)
		page_note(h, PAGE_NOTE, "%zu more rows of the memory map are omitted.",
			  maps->rows.nr - nr);
	return rc;
}

int page_memory_put(struct page *h, struct err *e)
{
	const struct input *o = job_input(h->j);
	struct memory_maps maps;
	int rc = 0;

	if (!h->facts->has_memory || !o->session)
		return 0;
	memory_maps_init(&maps);
	rc = memory_maps_read(&maps, o->session, &job_filter(h->j, o)->iterations);
	if (rc)
		err_set(e, rc, "the map of the memory cannot be read: %s", strerror(-rc));
	else if (maps.has_map)
		rc = put(h, &maps, e);
	memory_maps_fini(&maps);
	return rc;
}
