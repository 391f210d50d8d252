/*
 * PM sampling of one GPU by CUPTI.
 */
#ifndef CUPTI_SAMPLER_H
#define CUPTI_SAMPLER_H

#include "cupti/library.h"

#include <stdbool.h>

struct err;

struct cupti_sampler_config {
	size_t device;
	const char *name;     /* borrowed, as metrics is; in errors */
	const char **metrics; /* borrowed for as long as it samples */
	size_t nr_metrics;
	uint64_t interval_ns;
};

struct cupti_device {
	const struct cupti_library *library; /* borrowed */
	struct cupti_sampler_config config;
	void *host, *sampler;         /* CUPTI's; NULL: none */
	uint8_t *config_image, *data; /* owned */
	size_t config_bytes, data_bytes;
	double *values; /* owned; of one sample */
	bool is_started, is_in_cycles;
};

/* Configures and starts sampling. 0, or -errno with *e: -EPERM, -EOPNOTSUPP, -EINVAL (a metric, or
 * more than fit into one pass), -EBUSY, -ENOMEM, -EIO. Then nothing is owned. */
int cupti_device_start(struct cupti_device *d, const struct cupti_library *l,
		       const struct cupti_sampler_config *config, struct err *e);
/* Calls fn for each sample since the last call. *overflow: some were lost. 0, or -errno with *e, as
 * for a device that is gone; or the first result of fn that is not 0. */
int cupti_device_decode(struct cupti_device *d,
			int (*fn)(uint64_t start_ns, uint64_t end_ns, const double *values,
				  void *arg),
			void *arg, bool *overflow, struct err *e);
void cupti_device_stop(struct cupti_device *d); /* zeroes are fine */

#endif
