#include "estimate/running.h"

typedef unsigned __int128 wide;

double running_share(uint64_t enabled_ns, uint64_t running_ns)
{
	return running_ns < enabled_ns ? (double)running_ns / (double)enabled_ns : 1;
}

bool running_scale(uint64_t raw, uint64_t enabled_ns, uint64_t running_ns, uint64_t *out)
{
	wide n = raw;

	if (running_ns < enabled_ns)
		n = running_ns ? (n * enabled_ns + running_ns / 2) / running_ns
			       : (wide)UINT64_MAX + 1;
	if (n > UINT64_MAX)
		return false;
	*out = (uint64_t)n;
	return true;
}
