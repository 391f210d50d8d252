/*
 * What the session (gpu/pm.c) and the process that samples GPUs (helper.h) send each other,
 * over a socket of packets (SOCK_SEQPACKET). The process runs the vendor's code: what it sends is
 * hostile, and the session checks it.
 */
#ifndef CUPTI_MESSAGE_H
#define CUPTI_MESSAGE_H

#include <stdint.h>

enum {
	CUPTI_MAX_METRICS = 32, /* the fields of a source of things */
	CUPTI_MAX_DEVICES = 16,
	CUPTI_NAME_BYTES = 128,
	CUPTI_DEVICE_NAME_BYTES = 32,
	CUPTI_TEXT_BYTES = 512,
	CUPTI_MAX_VALUES = 4096, /* of a message of samples */
};

/* The first packet: what to sample. */
struct cupti_request {
	uint64_t interval_ns;
	/* bit i: the device of number i in the order of the bus; those that do not exist are
	 * ignored
	 */
	uint32_t devices;
	uint32_t nr_metrics;
	char metrics[CUPTI_MAX_METRICS][CUPTI_NAME_BYTES];
	char names[CUPTI_MAX_DEVICES][CUPTI_DEVICE_NAME_BYTES]; /* of devices, in errors */
};

/* Each further packet to the process is an uint32_t: it sends all samples up to now, and a
 * message CUPTI_FLUSHED with this number. When the socket is closed it stops and exits. */

enum cupti_message_kind {
	CUPTI_MESSAGE_READY = 1, /* sampling has begun, on these devices */
	CUPTI_MESSAGE_FAILED,    /* it has ended, or never began; the last message */
	CUPTI_MESSAGE_SAMPLES,
	CUPTI_MESSAGE_CLOCK, /* after the samples before it */
	CUPTI_MESSAGE_OVERFLOW,
	CUPTI_MESSAGE_FLUSHED,
};

/* GPU: by cuptiGetTimestamp. The other times: CLOCK_MONOTONIC, just before and after. */
struct cupti_clock {
	uint64_t gpu_ns, before_ns, after_ns;
};

struct cupti_message {
	uint32_t kind;   /* enum cupti_message_kind */
	uint32_t device; /* of samples, a clock, an overflow; of a failure: UINT32_MAX: of all */
	union {
		struct {
			uint32_t devices;     /* bits */
			uint32_t failed;      /* that did not begin: a failure of each follows */
			uint64_t interval_ns; /* of the devices' samples; 0: it varies (cycles) */
		} ready;
		struct {
			int32_t code; /* -errno */
			char text[CUPTI_TEXT_BYTES], hint[CUPTI_TEXT_BYTES];
		} failed;
		struct {
			uint32_t nr;     /* of samples */
			uint32_t stride; /* nr_metrics + 2 */
			/* By sample: start and end by the GPU's clock, and the bits of a double for
			 * each metric, in the request's order. */
			uint64_t values[CUPTI_MAX_VALUES];
		} samples;
		struct cupti_clock clock;
		uint32_t flushed;
	};
};
/* Bytes before the union, and before values. */
enum { CUPTI_HEAD_BYTES = 8, CUPTI_SAMPLES_BYTES = 16 };

#endif
