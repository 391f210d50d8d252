#include "experiments/causal_regions.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_TEXT = 1 << 16 };

int causal_regions_add(struct causal_candidates *out)
{
	const struct causal_candidate one = {.path = "", .name = ""};
	int rc = 0;

	for (uint32_t i = 0; i < CAUSAL_MEMORY_REGIONS && rc == 0; i++)
		rc = causal_candidates_add(out, &one);
	out->nr_regions = (uint32_t)out->nr;
	return rc;
}

/* Of what the program writes. */
static const char *copy_name(const struct causal_memory_region *r, struct arena *strings)
{
	char *name = arena_strndup(strings, r->name, strnlen(r->name, sizeof(r->name) - 1));

	if (name)
		str_clean(name, strlen(name));
	return name;
}

void causal_regions_look(const struct causal_shared *s, const char *glob, struct arena *strings,
			 struct causal_candidates *c)
{
	const struct causal_memory_region *r = causal_shared_regions(s);

	for (uint32_t i = 0; i < c->nr_regions; i++) {
		struct causal_candidate *one = &c->list[i];

		if (!one->region &&
		    __atomic_load_n(&r[i].kind, __ATOMIC_ACQUIRE) == CAUSAL_MEMORY_POINT)
			one->region = copy_name(&r[i], strings);
		one->is_left_open = __atomic_load_n(&r[i].left_open, __ATOMIC_RELAXED);
		if (!one->region || one->is_left_open || fnmatch(glob, one->region, 0) != 0)
			one->ns = 0;
	}
}

/* Those that were left open and match, or the others. */
static void put_names(const struct causal_candidates *c, const char *glob, bool is_left_open,
		      struct buf *out)
{
	for (uint32_t i = 0; i < c->nr_regions && c->list[i].region; i++) {
		const struct causal_candidate *one = &c->list[i];

		if (is_left_open && (!one->is_left_open || fnmatch(glob, one->region, 0) != 0))
			continue;
		buf_adds(out, out->len ? ", " : "");
		buf_shown(out, one->region, strlen(one->region));
	}
}

static int refuse_names(const struct causal_candidates *c, const char *glob, const char *subject,
			struct err *e)
{
	BUF_AUTO(all, MAX_TEXT);
	const char *nearest = NULL;
	size_t distance = 0;

	put_names(c, glob, false, &all);
	for (uint32_t i = 0; i < c->nr_regions && c->list[i].region; i++)
		str_nearest_offer(glob, c->list[i].region, &nearest, &distance);
	err_set_at(e, -ENODATA, subject, 0, 0, "no region matches \"%.100s\"", glob);
	if (nearest)
		err_hint(e, "did you mean \"%.100s\"? It has: %.300s", nearest, buf_str(&all));
	else
		err_hint(e, "it has: %.400s", buf_str(&all));
	return e->code;
}

int causal_regions_refuse(const struct causal_candidates *c, const char *glob,
			  const struct causal_regions_marks *marks, const char *subject,
			  struct err *e)
{
	BUF_AUTO(left, MAX_TEXT);

	put_names(c, glob, true, &left);
	if (left.len && buf_error(&left) == 0)
		return err_set_at(e, -ENODATA, subject, 0, 0,
				  "regions that end in other threads than they begin in, or are "
				  "left open, cannot be tried: %.200s",
				  buf_str(&left));
	if (c->nr_regions && c->list[0].region)
		return refuse_names(c, glob, subject, e);
	if (marks->nr_lost) {
		err_set_at(e, -ENODATA, subject, 0, 0,
			   "%" PRIu64 " marks were lost, so no thread is known to have been in a "
			   "region",
			   marks->nr_lost);
		err_hint(e, "it writes them faster than they can be received: mark larger parts");
	} else if (marks->has_any) {
		err_set_at(e, -ENODATA, subject, 0, 0, "no thread ran within a region");
		err_hint(e, "make the command run for longer, or mark larger parts of it");
	} else {
		err_set_at(e, -ENODATA, subject, 0, 0, "it marks no region");
		err_hint(e, "mark some: CPUPERF_BEGIN(\"name\") and CPUPERF_END of "
			    "cpuperf/mark.h, or by NVTX, ITT, Kokkos (cpuperf-regions(7)); without "
			    "marks: --causal, or --causal=lines");
	}
	return e->code;
}

void causal_regions_warn(const struct causal_candidates *c, const char *glob, uint64_t nr_lost)
{
	BUF_AUTO(left, MAX_TEXT);

	put_names(c, glob, true, &left);
	if (left.len && buf_error(&left) == 0)
		log_warning("--causal=regions: not tried, as they end in other threads than they "
			    "begin in, or are left open: %.300s",
			    buf_str(&left));
	if (nr_lost)
		log_warning("%" PRIu64 " marks were lost: a thread wrote them faster than they "
			    "could be received; until its next region it counts as in none",
			    nr_lost);
}
