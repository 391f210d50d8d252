/*
 * The loop: decode, send, and read the clocks once a second and when the session asks.
 */
#include "cupti/helper.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "cupti/message.h"
#include "cupti/sampler.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert(offsetof(struct cupti_message, samples.values) == CUPTI_SAMPLES_BYTES, "no holes");
_Static_assert(offsetof(struct cupti_message, clock) == CUPTI_HEAD_BYTES, "no holes");

enum {
	NS_PER_MS = 1000000,
	DECODE_NS = 20 * NS_PER_MS,
	CLOCK_NS = 1000 * NS_PER_MS,
	CLOCK_TRIES = 8, /* of which the one that took least counts */
};

struct helper {
	int fd;
	struct cupti_library library;
	struct cupti_request request;
	const char *names[CUPTI_MAX_METRICS];
	struct cupti_device devices[CUPTI_MAX_DEVICES];
	uint32_t is_on;                    /* bit i: device i is sampled */
	struct err why[CUPTI_MAX_DEVICES]; /* why it did not begin */
	uint32_t sending;                  /* the device whose samples are in the message */
	uint64_t clock_ns;                 /* when the clocks were read last */
	struct cupti_message message;
};

/* 0, or -EPIPE: the session has ended. */
static int send_message(struct helper *h, enum cupti_message_kind kind, uint32_t device,
			size_t bytes)
{
	ssize_t n;

	h->message.kind = kind;
	h->message.device = device;
	do
		n = send(h->fd, &h->message, bytes, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -EPIPE : 0;
}

static int send_failure(struct helper *h, uint32_t device, const struct err *e)
{
	h->message.failed.code = e->code;
	snprintf(h->message.failed.text, sizeof(h->message.failed.text), "%s", e->msg);
	snprintf(h->message.failed.hint, sizeof(h->message.failed.hint), "%s", e->hint);
	return send_message(h, CUPTI_MESSAGE_FAILED, device,
			    CUPTI_HEAD_BYTES + sizeof(h->message.failed));
}

/* --- clocks ---------------------------------------------------------------------------------- */

static int send_clock(struct helper *h)
{
	struct cupti_clock best = {0}, now;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		now.before_ns = clock_monotonic_ns();
		if (h->library.cuptiGetTimestamp(&now.gpu_ns) != CUPTI_OK)
			continue;
		now.after_ns = clock_monotonic_ns();
		if (!best.after_ns || now.after_ns - now.before_ns < best.after_ns - best.before_ns)
			best = now;
	}
	h->clock_ns = clock_monotonic_ns();
	if (!best.after_ns)
		return 0;
	h->message.clock = best;
	return send_message(h, CUPTI_MESSAGE_CLOCK, UINT32_MAX,
			    CUPTI_HEAD_BYTES + sizeof(h->message.clock));
}

/* --- samples --------------------------------------------------------------------------------- */

static int send_samples(struct helper *h)
{
	uint32_t nr = h->message.samples.nr;
	size_t bytes = CUPTI_SAMPLES_BYTES + (size_t)nr * h->message.samples.stride *
						 sizeof(h->message.samples.values[0]);
	int rc = nr ? send_message(h, CUPTI_MESSAGE_SAMPLES, h->sending, bytes) : 0;

	h->message.samples.nr = 0;
	return rc;
}

static int add_sample(uint64_t start_ns, uint64_t end_ns, const double *values, void *arg)
{
	struct helper *h = arg;
	uint32_t stride = h->request.nr_metrics + 2;
	uint64_t *at;

	h->message.samples.stride = stride;
	at = h->message.samples.values + (size_t)h->message.samples.nr * stride;
	at[0] = start_ns;
	at[1] = end_ns;
	memcpy(at + 2, values, h->request.nr_metrics * sizeof(*values));
	h->message.samples.nr++;
	return (h->message.samples.nr + 1) * stride > CUPTI_MAX_VALUES ? send_samples(h) : 0;
}

/* Decodes one device. A device that fails is stopped; the others go on. 0 or -EPIPE. */
static int decode(struct helper *h, uint32_t device)
{
	struct err e = {0};
	bool overflow;
	int rc, sent;

	h->message.samples.nr = 0;
	h->sending = device;
	rc = cupti_device_decode(&h->devices[device], add_sample, h, &overflow, &e);
	if (rc == -EPIPE && !e.code)
		return rc;
	sent = send_samples(h);
	if (sent == 0 && overflow)
		sent = send_message(h, CUPTI_MESSAGE_OVERFLOW, device, CUPTI_HEAD_BYTES);
	if (sent || rc == 0)
		return sent;
	h->is_on &= ~(1u << device);
	sent = send_failure(h, device, &e);
	cupti_device_stop(&h->devices[device]);
	return sent;
}

static int decode_all(struct helper *h)
{
	int rc = 0;

	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES && rc == 0; i++)
		if (h->is_on >> i & 1)
			rc = decode(h, i);
	return rc;
}

/* --- the session ----------------------------------------------------------------------------- */

/* Receives a packet of exactly so many bytes. 1; 0: the session has closed the socket; -EPROTO. */
static int receive(int fd, void *out, size_t bytes)
{
	ssize_t n;

	do
		n = recv(fd, out, bytes, MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 0;
	return n == (ssize_t)bytes ? 1 : -EPROTO;
}

/* Waits until the next decoding, or a request for one. 1: *number; 0: none; -EPIPE, -EPROTO. */
static int wait_for(int fd, uint64_t until_ns, uint32_t *number)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t now_ns = clock_monotonic_ns();
	int rc;

	if (poll(&p, 1, now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0) <= 0)
		return 0;
	rc = receive(fd, number, sizeof(*number));
	return rc ? rc : -EPIPE;
}

static int serve(struct helper *h)
{
	uint64_t due_ns = clock_monotonic_ns() + DECODE_NS;
	int rc = send_clock(h);

	while (rc == 0 && h->is_on) {
		uint32_t number = 0;
		int asked = wait_for(h->fd, due_ns, &number);

		if (asked < 0)
			return asked;
		due_ns = clock_monotonic_ns() + DECODE_NS;
		rc = decode_all(h);
		if (rc == 0 && (asked || clock_monotonic_ns() - h->clock_ns >= CLOCK_NS))
			rc = send_clock(h);
		h->message.flushed = number;
		if (rc == 0 && asked)
			rc = send_message(h, CUPTI_MESSAGE_FLUSHED, UINT32_MAX,
					  CUPTI_HEAD_BYTES + sizeof(number));
	}
	return rc;
}

/* --- the start ------------------------------------------------------------------------------- */

static int start_cuda(struct helper *h, int *nr, struct err *e)
{
	struct cupti_profiler init = {.size = CUPTI_SIZE(struct cupti_profiler, priv)};
	int rc = cupti_library_load(&h->library, e), result;

	if (rc)
		return rc;
	result = h->library.cuInit(0);
	if (result == CUDA_OK)
		result = h->library.cuDeviceGetCount(nr);
	if (result == CUDA_NO_DEVICE || (result == CUDA_OK && *nr <= 0))
		return err_set(e, -ENODEV, "there is no GPU that CUDA can use");
	if (result != CUDA_OK)
		return err_set(e, -EIO, "CUDA does not start (cuInit: %d)", result);
	result = h->library.cuptiProfilerInitialize(&init);
	return result == CUPTI_OK
		   ? 0
		   : err_set(e, -EIO, "CUPTI does not start (cuptiProfilerInitialize: %d)", result);
}

/* Starts each that was asked for. 0 if any could be; else the error of the last. */
static int start_devices(struct helper *h, int nr, struct err *e)
{
	struct cupti_sampler_config config = {
	    .metrics = h->names,
	    .nr_metrics = h->request.nr_metrics,
	    .interval_ns = h->request.interval_ns,
	};

	for (int i = 0; i < nr && i < CUPTI_MAX_DEVICES; i++) {
		if (!(h->request.devices >> i & 1))
			continue;
		config.device = (size_t)i;
		config.name = h->request.names[i];
		if (cupti_device_start(&h->devices[i], &h->library, &config, &h->why[i]) == 0)
			h->is_on |= 1u << i;
		else
			*e = h->why[i];
	}
	if (h->is_on)
		return 0;
	return e->code ? e->code : err_set(e, -ENODEV, "there is no GPU of that number");
}

/* Also why the others did not begin. */
static int send_ready(struct helper *h)
{
	int rc;

	h->message.ready.devices = h->is_on;
	h->message.ready.failed = 0;
	for (int i = 0; i < CUPTI_MAX_DEVICES; i++)
		h->message.ready.failed |= h->why[i].code ? 1u << i : 0;
	h->message.ready.interval_ns = h->request.interval_ns;
	for (int i = 0; i < CUPTI_MAX_DEVICES; i++)
		if (h->devices[i].is_in_cycles)
			h->message.ready.interval_ns = 0;
	rc = send_message(h, CUPTI_MESSAGE_READY, UINT32_MAX,
			  CUPTI_HEAD_BYTES + sizeof(h->message.ready));
	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES && rc == 0; i++)
		if (h->why[i].code)
			rc = send_failure(h, i, &h->why[i]);
	return rc;
}

static int run(struct helper *h)
{
	struct err e = {0};
	int nr = 0, rc = receive(h->fd, &h->request, sizeof(h->request));

	if (rc <= 0)
		return rc;
	if (!h->request.nr_metrics || h->request.nr_metrics > CUPTI_MAX_METRICS)
		return -EPROTO;
	for (uint32_t i = 0; i < h->request.nr_metrics; i++) {
		h->request.metrics[i][CUPTI_NAME_BYTES - 1] = '\0';
		h->names[i] = h->request.metrics[i];
	}
	for (uint32_t i = 0; i < CUPTI_MAX_DEVICES; i++)
		h->request.names[i][CUPTI_DEVICE_NAME_BYTES - 1] = '\0';
	/* devices are numbered in the order of the bus, and all of them */
	(void)setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	(void)unsetenv("CUDA_VISIBLE_DEVICES");
	rc = start_cuda(h, &nr, &e) ?: start_devices(h, nr, &e);
	if (rc)
		return send_failure(h, UINT32_MAX, &e);
	rc = send_ready(h) ?: serve(h);
	for (int i = 0; i < CUPTI_MAX_DEVICES; i++)
		cupti_device_stop(&h->devices[i]);
	return rc == -EPIPE ? 0 : rc;
}

int cupti_helper_run(int fd)
{
	struct helper *h = mem_zalloc(sizeof(*h));
	int rc;

	if (!h)
		return -ENOMEM;
	h->fd = fd;
	rc = run(h);
	mem_free(h);
	return rc;
}
