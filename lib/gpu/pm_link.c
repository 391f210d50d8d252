/*
 * A helper child (base/child.h) that becomes another program.
 */
#include "gpu/pm_link.h"

#include "base/err.h"
#include "base/self.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROGRAM "cpuperf/cpuperf-gpu-pm"

static const char *program;

void pm_link_set_program(const char *path)
{
	program = path;
}

/* Beside the running program as in an install, or where it was to be installed. */
static void find_program(char path[PATH_MAX])
{
	if (program)
		snprintf(path, PATH_MAX, "%s", program);
	else if (self_near(CPUPERF_LIBEXEC_FROM_BIN "/" PROGRAM, path) || access(path, X_OK))
		snprintf(path, PATH_MAX, "%s/" PROGRAM, CPUPERF_LIBEXEC);
}

/* In the child: standard input, output and errors are nothing, whatever the vendor's code prints.
 */
static void become_program(int fd, const void *arg)
{
	const char *path = arg;
	char number[16], name[] = "cpuperf-gpu-pm", *argv[] = {name, number, NULL};
	int mine = fcntl(fd, F_DUPFD, STDERR_FILENO + 1), null;

	if (mine < 0)
		return;
	close(fd);
	do
		null = open("/dev/null", O_RDWR);
	while (null >= 0 && null < STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
	snprintf(number, sizeof(number), "%d", mine);
	execv(path, argv);
}

int pm_link_start(struct child *c, const struct cupti_request *request, struct err *e)
{
	char path[PATH_MAX];
	int rc;

	find_program(path);
	if (access(path, X_OK)) {
		err_set(e, -ENOENT, "%s is not installed: it is in the package cpuperf", path);
		return -ENOENT;
	}
	rc = child_start(c, SOCK_SEQPACKET, "cpuperf-gpu-pm", become_program, path);
	if (rc)
		return err_set(e, rc, "cpuperf-gpu-pm cannot be started: %s", strerror(-rc));
	/* one that has ended already says so, or why, to who waits for its start */
	(void)!send(c->fd, request, sizeof(*request), MSG_NOSIGNAL);
	return 0;
}

void pm_link_ask(int fd, uint32_t number)
{
	(void)!send(fd, &number, sizeof(number), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool are_samples(const struct cupti_message *m, const struct cupti_request *r, size_t len)
{
	uint64_t nr = (uint64_t)m->samples.nr * m->samples.stride;

	return m->device < CUPTI_MAX_DEVICES && m->samples.stride == r->nr_metrics + 2 &&
	       m->samples.nr <= CUPTI_MAX_VALUES && nr <= CUPTI_MAX_VALUES &&
	       len == CUPTI_SAMPLES_BYTES + nr * sizeof(m->samples.values[0]);
}

static bool is_message(struct cupti_message *m, const struct cupti_request *r, size_t len)
{
	static const size_t bytes[] = {
	    [CUPTI_MESSAGE_READY] = CUPTI_HEAD_BYTES + sizeof(m->ready),
	    [CUPTI_MESSAGE_FAILED] = CUPTI_HEAD_BYTES + sizeof(m->failed),
	    [CUPTI_MESSAGE_CLOCK] = CUPTI_HEAD_BYTES + sizeof(m->clock),
	    [CUPTI_MESSAGE_OVERFLOW] = CUPTI_HEAD_BYTES,
	    [CUPTI_MESSAGE_FLUSHED] = CUPTI_HEAD_BYTES + sizeof(m->flushed),
	};

	if (len < CUPTI_HEAD_BYTES)
		return false;
	if (m->kind == CUPTI_MESSAGE_SAMPLES)
		return len >= CUPTI_SAMPLES_BYTES && are_samples(m, r, len);
	if (!m->kind || m->kind >= sizeof(bytes) / sizeof(bytes[0]) || len != bytes[m->kind])
		return false;
	if (m->kind == CUPTI_MESSAGE_FAILED) {
		m->failed.text[CUPTI_TEXT_BYTES - 1] = m->failed.hint[CUPTI_TEXT_BYTES - 1] = '\0';
		return m->failed.code < 0 &&
		       (m->device < CUPTI_MAX_DEVICES || m->device == UINT32_MAX);
	}
	if (m->kind == CUPTI_MESSAGE_READY)
		return m->ready.devices && !(m->ready.devices & m->ready.failed) &&
		       !((m->ready.devices | m->ready.failed) >> CUPTI_MAX_DEVICES);
	if (m->kind == CUPTI_MESSAGE_CLOCK)
		return m->clock.before_ns <= m->clock.after_ns;
	return m->kind != CUPTI_MESSAGE_OVERFLOW || m->device < CUPTI_MAX_DEVICES;
}

int pm_link_receive(int fd, const struct cupti_request *request, struct cupti_message *out,
		    unsigned ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n;
	int nr = poll(&p, 1, (int)ms);

	if (nr == 0 || (nr < 0 && errno == EINTR))
		return -ETIMEDOUT;
	n = nr < 0 ? -1 : recv(fd, out, sizeof(*out), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -ETIMEDOUT;
	if (n <= 0)
		return -ECONNRESET;
	return is_message(out, request, (size_t)n) ? 0 : -EPROTO;
}
