/*
 * Callchains of programs that the kernel recorded after their samples
 * (PERF_ABI_RECORD_CALLCHAIN_DEFERRED): the pass over the file notes where they are, and slices put
 * them into the samples. So readers see ordinary callchains.
 */
#include "import/internal.h"

#include "base/io.h"

#include <errno.h>

enum { WORD = PERF_ABI_WORD_BYTES, ADDRESSES_AT = 3 * WORD };

int import_add_deferred(struct import *im, const struct import_record *r, int fd)
{
	const struct import_event *ev = import_layout_of(im, r->p, r->size);
	struct import_deferred *d, key;
	struct trace_record record;

	if (!ev || trace_record_decode(&ev->layout, r->p, r->size, &record))
		return 0;
	key = (struct import_deferred){.cookie = record.object, .tid = record.tid};
	d = dict_get(&im->deferred, &key);
	if (!d) {
		im->deferred_is_full = im->deferred.nr == IMPORT_MAX_DEFERRED;
		return im->deferred_is_full ? 0 : -ENOMEM;
	}
	d->nr = (uint32_t)record.nr_callchain;
	d->at = r->at + ADDRESSES_AT;
	d->fd = fd;
	return 0;
}

static bool read_addresses(const struct import *im, const struct import_deferred *d, uint8_t *out)
{
	size_t len = (size_t)d->nr * WORD;

	if (io_pread_full(d->fd, out, len, d->at) != (ssize_t)len)
		return false;
	for (size_t i = 0; i < d->nr && im->facts.is_big_endian; i++) {
		uint64_t v;

		memcpy(&v, out + i * WORD, WORD);
		v = __builtin_bswap64(v);
		memcpy(out + i * WORD, &v, WORD);
	}
	return true;
}

size_t import_put_complete(struct import *im, const struct import_record *r, uint8_t *out)
{
	const struct import_event *ev =
	    r->type == PERF_RECORD_SAMPLE ? import_event_of(im, r->p, r->size) : NULL;
	const struct import_deferred *d;
	struct import_deferred key;
	struct trace_record record;
	size_t own, before, behind, len;
	uint16_t size;
	uint64_t nr;

	if (!ev || trace_record_decode(&ev->layout, r->p, r->size, &record) ||
	    record.nr_callchain < 2)
		return 0;
	own = (size_t)record.nr_callchain - 2;
	if (trace_word(record.callchain, own) != PERF_ABI_CONTEXT_USER_DEFERRED)
		return 0;
	key = (struct import_deferred){.cookie = trace_word(record.callchain, own + 1),
				       .tid = record.tid};
	d = dict_at(&im->deferred, dict_find(&im->deferred, &key));
	if (!d)
		return 0;
	before = (size_t)(record.callchain - r->p) + own * WORD;
	behind = r->size - before - 2 * (size_t)WORD;
	len = before + (size_t)d->nr * WORD + behind;
	if (len > PERF_ABI_MAX_RECORD_BYTES || !read_addresses(im, d, out + before))
		return 0;
	memcpy(out, r->p, before);
	memcpy(out + len - behind, r->p + r->size - behind, behind);
	nr = htole64(own + d->nr);
	memcpy(out + (record.callchain - r->p) - WORD, &nr, sizeof(nr));
	size = htole16((uint16_t)len);
	memcpy(out + 6, &size, sizeof(size));
	return len;
}
