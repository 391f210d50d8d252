/*
 * Any text as what listens at the address of pmdacpuperf. Of what is accepted, each metric and
 * domain has a number of its own, and each instance a name.
 */
#include "pcp/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pcp_metrics m;
	int rc = pcp_metrics_parse(&m, (const char *)data, size);

	require(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	for (uint32_t i = 0; i < m.metrics.nr && rc == 0; i++) {
		const struct pcp_metric *it = dict_at(&m.metrics, i);

		require(it->id >= PCP_FIRST_ID && it->id < 1u << PCP_ID_BITS);
		require(it->indom == PCP_NO_INDOM || it->indom < m.indoms.nr);
		require(it->help && it->family && *it->name);
	}
	for (uint32_t i = 0; i < m.instances.nr && rc == 0; i++) {
		const struct pcp_instance *it = dict_at(&m.instances, i);

		require(it->indom < m.indoms.nr && it->id >= 0 && *it->name);
		require(!strpbrk(it->name, "\n\x1b"));
	}
	pcp_metrics_fini(&m);
	return 0;
}
