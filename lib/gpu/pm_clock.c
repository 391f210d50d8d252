/*
 * Interpolation between neighbouring pairs.
 */
#include "gpu/pm_clock.h"

#include <stdbool.h>

static bool is_line(const struct pm_clock *a, const struct pm_clock *b)
{
	uint64_t gpu = b->gpu_ns - a->gpu_ns, ns = b->ns - a->ns;

	return b->gpu_ns > a->gpu_ns && b->ns > a->ns && gpu / 2 <= ns && ns / 2 <= gpu;
}

uint64_t pm_clock_convert(const struct pm_clock *a, const struct pm_clock *b, uint64_t gpu_ns)
{
	__int128 since = (__int128)gpu_ns - b->gpu_ns, at;

	if (is_line(a, b))
		since = since * (b->ns - a->ns) / (__int128)(b->gpu_ns - a->gpu_ns);
	at = b->ns + since;
	return at < 0 ? 0 : at > UINT64_MAX ? UINT64_MAX : (uint64_t)at;
}
