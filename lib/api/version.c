/*
 * The library's version.
 */
#include "cpuperf/cpuperf.h"

const char *cpuperf_version(void)
{
	return CPUPERF_VERSION;
}
