/*
 * One host of a job: from ssh to host.json.
 */
#include "job/starter_host.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/str.h"
#include "base/sys.h"
#include "program.h"
#include "rights.h"
#include "target/command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NR_PINGS = 10,
	MAX_LINE_BYTES = 64 << 10,
	MAX_OFFSET_S = 3000000000, /* of a clock: 95 years */
	NS_PER_S = 1000000000,
	END_NS = 2000000000, /* for ssh to end */
};

static const char *name_of(const struct host *h)
{
	return h->address->name;
}

/* The disk is full: of the hosts that send a file, the one that has sent most loses it, since it is
 * not whole anyway. False: nothing would be gained. */
static bool make_room(const struct host_job *job)
{
	struct host *most = NULL;

	for (size_t i = 0; i < job->nr; i++) {
		struct host *h = &job->hosts[i];

		if (h->job && h->file >= 0 && h->file_bytes &&
		    (!most || h->stored_bytes > most->stored_bytes))
			most = h;
	}
	if (!most)
		return false;
	(void)unlinkat(most->dirfd, most->file_name, 0);
	io_close(&most->file);
	most->stored_bytes -= most->file_bytes;
	most->file_bytes = 0;
	most->write_error = -ENOSPC;
	return true;
}

static bool is_full(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT;
}

static void save(struct host *h)
{
	struct err e = {0};
	int rc = h->dirfd >= 0 ? hosts_part_write(h->dirfd, h->path, &h->part, &e) : 0;

	while (is_full(rc) && make_room(h->job)) {
		e = (struct err){0};
		rc = hosts_part_write(h->dirfd, h->path, &h->part, &e);
	}
	if (rc)
		log_err(LOG_ERROR, &e);
}

static void close_pipes(struct host *h)
{
	io_close(&h->to);
	io_close(&h->from);
	io_close(&h->errors);
	io_close(&h->file);
}

/* Prints a piece of the host's output, with its name before each line if there are several. */
static void print_line(const struct host *h, int fd, const char *text, size_t len)
{
	BUF_AUTO(line, MAX_LINE_BYTES + HOSTS_NAME_BYTES + 4);

	buf_adds(&line, name_of(h));
	buf_adds(&line, ": ");
	buf_add(&line, text, len);
	buf_addc(&line, '\n');
	(void)io_write_full(fd, line.data, line.len);
}

static void note_error(struct host *h, const char *text, size_t len)
{
	static const char mark[] = "error: ", own[] = "cpuperf: error: ";
	size_t skipped =
	    len >= sizeof(own) - 1 && memcmp(text, own, sizeof(own) - 1) == 0 ? sizeof(own) - 1 : 0;

	if (!memmem(text, len, mark, sizeof(mark) - 1))
		return;
	snprintf(h->error, sizeof(h->error), "%.*s", (int)(len - skipped), text + skipped);
	str_clean(h->error, strlen(h->error));
}

/* Whole lines of what came, and the rest later. on_line: for each. */
static void split(struct host *h, struct buf *rest, const char *text, size_t len,
		  void (*on_line)(struct host *h, const char *text, size_t len))
{
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t part = end ? (size_t)(end - text) : len;
		size_t room = MAX_LINE_BYTES - rest->len;

		if (part > room) /* a longer line is divided */
			part = room, end = NULL;
		buf_add(rest, text, part);
		if (end || rest->len == MAX_LINE_BYTES) {
			on_line(h, buf_str(rest), rest->len);
			buf_reset(rest);
		}
		part += end != NULL;
		text += part;
		len -= part;
	}
}

static void on_output_line(struct host *h, const char *text, size_t len)
{
	print_line(h, STDOUT_FILENO, text, len);
}

static void on_error_line(struct host *h, const char *text, size_t len)
{
	note_error(h, text, len);
	if (h->job->has_prefix)
		print_line(h, STDERR_FILENO, text, len);
}

/* Until the host answers it may be the reason why it does not. */
static void on_ssh_line(struct host *h, const char *text, size_t len)
{
	if (len && text[len - 1] == '\r')
		len--;
	if (h->state == HOST_CONNECTING && len) {
		snprintf(h->error, sizeof(h->error), "%.*s", (int)len, text);
		str_clean(h->error, strlen(h->error));
	} else if (h->state != HOST_DONE) {
		print_line(h, STDERR_FILENO, text, len);
	}
}

static void end_lines(struct host *h)
{
	if (h->out_line.len)
		on_output_line(h, buf_str(&h->out_line), h->out_line.len);
	if (h->err_line.len)
		on_error_line(h, buf_str(&h->err_line), h->err_line.len);
	if (h->ssh_line.len)
		on_ssh_line(h, buf_str(&h->ssh_line), h->ssh_line.len);
	buf_reset(&h->out_line);
	buf_reset(&h->err_line);
	buf_reset(&h->ssh_line);
}

void host_end(struct host *h, enum hosts_status status, const char *reason)
{
	if (h->state == HOST_DONE)
		return;
	end_lines(h);
	h->state = HOST_DONE;
	h->ended_ns = clock_monotonic_ns();
	h->part.status = status;
	snprintf(h->part.reason, sizeof(h->part.reason), "%s", reason);
	str_clean(h->part.reason, strlen(h->part.reason));
	close_pipes(h);
	save(h);
}

/* What it did send remains. */
__attribute__((format(printf, 2, 3))) static void fail_host(struct host *h, const char *fmt, ...)
{
	char reason[sizeof(h->part.reason)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	host_end(h, h->nr_files ? HOSTS_PARTIAL : HOSTS_FAILED, reason);
}

/* ssh, without a terminal: Ctrl-C is for the starter. */
static void become_ssh(const struct host *h, const int to[2], const int from[2],
		       const int errors[2])
{
	char timeout[48];
	BUF_AUTO(command, 16 * PATH_MAX);
	const char *argv[16] = {
	    "ssh", "-T", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "-o", timeout};
	size_t nr = 8;
	sigset_t none;

	snprintf(timeout, sizeof(timeout), "ConnectTimeout=%" PRIu64,
		 h->job->timeout_ns / NS_PER_S + 1);
	if (*h->address->port) {
		argv[nr++] = "-p";
		argv[nr++] = h->address->port;
	}
	if (h->job->send) {
		hosts_send_command(h->job->send, h->job->program, CPUPERF_VERSION, &command);
	} else {
		buf_shell_word(&command, h->job->program);
		buf_adds(&command, " --as-part");
	}
	argv[nr++] = "--";
	argv[nr++] = h->address->target;
	argv[nr] = buf_str(&command);
	(void)setsid();
	(void)signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	privilege_drop();
	if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0 ||
	    dup2(errors[1], STDERR_FILENO) < 0)
		_exit(EXIT_NOT_MEASURED);
	execvpe("ssh", (char *const *)(uintptr_t)argv, rights_environment());
	dprintf(STDERR_FILENO, "ssh cannot be executed: %s\n", strerror(errno));
	_exit(EXIT_NOT_MEASURED);
}

static int start_ssh(struct host *h)
{
	int to[2] = {-1, -1}, from[2] = {-1, -1}, errors[2] = {-1, -1}, rc = 0;

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC) || pipe2(errors, O_CLOEXEC) ||
	    (h->pid = fork()) < 0)
		rc = -errno;
	if (rc == 0 && h->pid == 0)
		become_ssh(h, to, from, errors);
	io_close(&to[0]);
	io_close(&from[1]);
	io_close(&errors[1]);
	h->pid = rc ? 0 : h->pid;
	h->to = to[1];
	h->from = from[0];
	h->errors = errors[0];
	if (rc) {
		close_pipes(h);
		return rc;
	}
	io_set_nonblocking(h->to);
	io_set_nonblocking(h->from);
	io_set_nonblocking(h->errors);
	return 0;
}

static int make_folder(struct host *h)
{
	int rc = sys()->mkdirat(h->job->dirfd, h->folder, 0700);

	if (rc == 0)
		rc = h->dirfd = sys()->openat(h->job->dirfd, h->folder,
					      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	return rc < 0 ? rc : 0;
}

void host_connect(struct host *h, const struct host_job *job, const struct hosts_address *address)
{
	int rc;

	h->job = job;
	h->address = address;
	h->dirfd = h->to = h->from = h->errors = h->file = -1;
	h->heard_ns = clock_monotonic_ns();
	buf_init(&h->in, 4 * HOSTS_MAX_DATA_BYTES);
	buf_init(&h->out, HOSTS_MAX_REQUEST_BYTES + HOSTS_MAX_DATA_BYTES);
	buf_init(&h->out_line, 2 * MAX_LINE_BYTES);
	buf_init(&h->err_line, 2 * MAX_LINE_BYTES);
	buf_init(&h->ssh_line, 2 * MAX_LINE_BYTES);
	snprintf(h->path, sizeof(h->path), "%s/%.255s", job->path, h->folder);
	h->part.status = HOSTS_FAILED;
	snprintf(h->part.reason, sizeof(h->part.reason), "the starter was ended");
	rc = make_folder(h);
	if (rc) {
		fail_host(h, "%s cannot be made: %s", h->path, strerror(-rc));
		return;
	}
	save(h);
	rc = start_ssh(h);
	if (rc)
		fail_host(h, "ssh cannot be started: %s", strerror(-rc));
}

static void ping(struct host *h)
{
	h->pinged_ns = clock_realtime_ns();
	h->nr_pings++;
	hosts_frame_add_numbers(&h->out, HOSTS_PING, 1, &h->pinged_ns);
}

static void on_hello(struct host *h, struct cursor *data)
{
	char text[128];
	uint32_t protocol = cursor_le32(data);
	size_t len;
	const char *version = cursor_string16(data, &len);

	snprintf(text, sizeof(text), "%.*s", (int)(len < 64 ? len : 64), version);
	str_clean(text, strlen(text));
	snprintf(h->part.tool, sizeof(h->part.tool), "cpuperf %.50s", text);
	if (protocol != HOSTS_PROTOCOL) {
		fail_host(h, "its cpuperf %s speaks protocol %u, and this one %d", text, protocol,
			  HOSTS_PROTOCOL);
		return;
	}
	if (strcmp(text, CPUPERF_VERSION) != 0) {
		fail_host(h,
			  "cpuperf %s is there, and %s here: the versions must be the same, and "
			  "--send copies this one there",
			  text, CPUPERF_VERSION);
		return;
	}
	version = cursor_string16(data, &len);
	if (!cursor_ok(data))
		return;
	snprintf(h->part.node, sizeof(h->part.node), "%.*s", (int)(len < 255 ? len : 255), version);
	str_clean(h->part.node, strlen(h->part.node));
	h->state = HOST_CLOCK;
	ping(h);
}

/* The host read its clock between two readings of ours: the offset from their middle is wrong by at
 * most half of the time between them. */
static void on_pong(struct host *h, struct cursor *data)
{
	uint64_t now = clock_realtime_ns(), sent = cursor_le64(data), there = cursor_le64(data);
	int64_t middle, error, offset;

	if (!cursor_ok(data))
		return;
	if (sent != h->pinged_ns || there > INT64_MAX) {
		fail_host(h, "it answered in another protocol");
		return;
	}
	error = now > sent ? (int64_t)((now - sent + 1) / 2) : 0;
	middle = (int64_t)sent + error;
	offset = (int64_t)there - middle;
	if (offset > (int64_t)MAX_OFFSET_S * NS_PER_S ||
	    offset < -(int64_t)MAX_OFFSET_S * NS_PER_S) {
		fail_host(h, "its clock differs by a century");
		return;
	}
	if (now > sent &&
	    (h->part.clock_error_ns == HOSTS_ABSENT || error < h->part.clock_error_ns)) {
		h->part.clock_error_ns = error;
		h->part.clock_offset_ns = offset;
	}
	if (h->nr_pings < NR_PINGS) {
		ping(h);
		return;
	}
	hosts_frame_add_run(&h->out, h->job->run);
	h->state = HOST_OPENING;
}

static int never(int fd)
{
	(void)fd;
	return 0;
}

static void on_file(struct host *h, struct cursor *data)
{
	char path[PATH_MAX + NAME_MAX + 2];
	uint64_t size = cursor_le64(data);
	size_t len;
	const char *text = cursor_string16(data, &len);
	struct err e = {0};
	int rc;

	if (!cursor_ok(data))
		return;
	h->has_lost_bytes |= h->file_left != 0;
	io_close(&h->file);
	if (!hosts_frame_is_file(text, len) || size > INT64_MAX || h->nr_files >= HOSTS_MAX_FILES) {
		fail_host(h, "it sent a file that no session has");
		return;
	}
	h->nr_files++;
	h->file_left = size;
	h->file_bytes = 0;
	snprintf(h->file_name, sizeof(h->file_name), "%.*s", (int)len, text);
	snprintf(path, sizeof(path), "%s/%s", h->path, h->file_name);
	rc = h->write_error ? 0 : io_create(h->dirfd, h->file_name, path, never, &h->file, &e);
	while (is_full(rc) && make_room(h->job))
		rc = io_create(h->dirfd, h->file_name, path, never, &h->file, &e);
	if (rc == -EEXIST || rc == -EPERM)
		fail_host(h, "it sent a file twice");
	else
		h->write_error = h->write_error ? h->write_error : rc;
}

/* The host's own file may be the one that is given up: then it is closed. */
static int store(struct host *h, const void *bytes, size_t len)
{
	int rc;

	while (h->file >= 0) {
		rc = io_write_full(h->file, bytes, len);
		if (!is_full(rc)) {
			h->file_bytes += rc ? 0 : len;
			h->stored_bytes += rc ? 0 : len;
			return rc;
		}
		/* a part of it may have been written */
		if (ftruncate(h->file, (off_t)h->file_bytes) ||
		    lseek(h->file, (off_t)h->file_bytes, SEEK_SET) < 0 || !make_room(h->job))
			return rc;
	}
	return 0;
}

static void on_bytes(struct host *h, const struct cursor *data)
{
	int rc;

	if (!data->left || data->left > h->file_left) {
		fail_host(h, "it sent more of a file than it said");
		return;
	}
	h->file_left -= data->left;
	rc = store(h, data->at, data->left);
	h->write_error = h->write_error ? h->write_error : rc;
	if (rc)
		io_close(&h->file);
}

static void on_end(struct host *h, struct cursor *data)
{
	uint32_t status = cursor_le32(data), how = cursor_le32(data);
	char why[256];
	size_t len;
	const char *text = cursor_string16(data, &len);

	if (!cursor_ok(data))
		return;
	end_lines(h); /* the last error may be among them */
	snprintf(why, sizeof(why), "%.*s", (int)(len < 255 ? len : 255), text);
	h->has_lost_bytes |= h->file_left != 0;
	if (how & HOSTS_ENDED_FAILED) {
		fail_host(h, "%s", *h->error ? h->error : why);
		return;
	}
	h->part.exit_status = status & 0xff;
	if (h->write_error)
		fail_host(h, "its files cannot be written: %s", strerror(-h->write_error));
	else if (!h->nr_files && *h->error)
		fail_host(h, "%s", h->error);
	else if (h->has_lost_bytes || !h->nr_files)
		fail_host(h, "it did not send all of its files");
	else if (how & HOSTS_ENDED_LATE)
		host_end(h, HOSTS_LATE, "it was ready only after the others had begun");
	else
		host_end(h, HOSTS_OK, "");
}

static void on_output(struct host *h, enum hosts_kind kind, const struct cursor *data)
{
	const char *text = (const char *)data->at;

	if (!h->job->has_prefix)
		(void)io_write_full(kind == HOSTS_OUT ? STDOUT_FILENO : STDERR_FILENO, text,
				    data->left);
	if (kind == HOSTS_ERR)
		split(h, &h->err_line, text, data->left, on_error_line);
	else if (h->job->has_prefix)
		split(h, &h->out_line, text, data->left, on_output_line);
}

#define KIND(k) (1u << HOSTS_##k)
/* What it may say. A request that fails ends before it is ready. */
static const unsigned allowed[] = {
    [HOST_CONNECTING] = KIND(HELLO),
    [HOST_CLOCK] = KIND(PONG) | KIND(ALIVE),
    [HOST_OPENING] = KIND(READY) | KIND(OUT) | KIND(ERR) | KIND(ALIVE) | KIND(NEW_FILE) |
		     KIND(BYTES) | KIND(END),
    [HOST_READY] = KIND(OUT) | KIND(ERR) | KIND(ALIVE) | KIND(NEW_FILE) | KIND(BYTES) | KIND(END),
    [HOST_RUNNING] = KIND(OUT) | KIND(ERR) | KIND(ALIVE) | KIND(NEW_FILE) | KIND(BYTES) | KIND(END),
    [HOST_DONE] = 0,
};

static void obey(struct host *h, struct hosts_frame *f)
{
	if (!(allowed[h->state] & 1u << f->kind)) {
		fail_host(h, "it answered in another protocol");
		return;
	}
	switch (f->kind) {
	case HOSTS_HELLO:
		on_hello(h, &f->data);
		break;
	case HOSTS_PONG:
		on_pong(h, &f->data);
		break;
	case HOSTS_READY:
		h->state = HOST_READY;
		break;
	case HOSTS_OUT:
	case HOSTS_ERR:
		on_output(h, f->kind, &f->data);
		break;
	case HOSTS_NEW_FILE:
		on_file(h, &f->data);
		break;
	case HOSTS_BYTES:
		on_bytes(h, &f->data);
		break;
	case HOSTS_END:
		on_end(h, &f->data);
		break;
	default: /* it is alive */
		break;
	}
	if (!cursor_ok(&f->data))
		fail_host(h, "it answered in another protocol");
}

/* It has no cpuperf, and asks for one before all else, or may be about to. */
static bool is_asking(struct host *h)
{
	static const char magic[] = HOSTS_SEND_MAGIC;
	const size_t len = sizeof(magic) - 1, max = len + HOSTS_SEND_MACHINE_BYTES;
	const char *text = (const char *)h->in.data, *end;

	if (!h->job->send || h->sent || h->is_greeted || h->in.len > max ||
	    memcmp(text, magic, h->in.len < len ? h->in.len : len) != 0)
		return false;
	end = memchr(text, '\n', h->in.len);
	if (!end)
		return true;
	h->sent = hosts_send_find(h->job->send, text + len, (size_t)(end - text) - len);
	if (!h->sent) {
		fail_host(h, "it asked for what is not sent");
		return true;
	}
	buf_drop(&h->in, (size_t)(end - text) + 1);
	return !h->in.len; /* what is behind that is no question */
}

/* What a shell prints when it starts would stand before the greeting. */
static bool is_greeted(struct host *h, size_t *used)
{
	static const char magic[] = HOSTS_MAGIC;
	size_t len = sizeof(magic) - 1;
	char text[64];

	if (h->is_greeted)
		return true;
	if (memcmp(h->in.data, magic, h->in.len < len ? h->in.len : len) != 0) {
		snprintf(text, sizeof(text), "%.60s", buf_str(&h->in));
		str_clean(text, strlen(text));
		fail_host(h, "something else answered, perhaps the login shell: %s", text);
	}
	if (h->state == HOST_DONE || h->in.len < len)
		return false;
	*used = len;
	return h->is_greeted = true;
}

static void read_host(struct host *h)
{
	struct hosts_frame f;
	size_t used = 0;
	ptrdiff_t n = 0;
	ssize_t len;

	if (!buf_reserve(&h->in, HOSTS_MAX_DATA_BYTES)) {
		fail_host(h, "out of memory");
		return;
	}
	len = read(h->from, h->in.data + h->in.len, HOSTS_MAX_DATA_BYTES);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		h->is_deaf = true;
		h->ended_ns = clock_monotonic_ns();
		io_close(&h->from);
		return;
	}
	h->heard_ns = clock_monotonic_ns();
	buf_use(&h->in, (size_t)len);
	if (is_asking(h) || !is_greeted(h, &used))
		return;
	while (h->state != HOST_DONE && (n = hosts_frame_next(h->in.data + used, h->in.len - used,
							      HOSTS_MAX_DATA_BYTES, &f)) > 0) {
		used += (size_t)n;
		obey(h, &f);
	}
	if (n < 0)
		fail_host(h, "it answered in another protocol");
	buf_drop(&h->in, used);
}

static void read_errors(struct host *h)
{
	char text[4096];
	ssize_t len = read(h->errors, text, sizeof(text));

	if (len > 0)
		split(h, &h->ssh_line, text, (size_t)len, on_ssh_line);
	else if (len == 0 || (errno != EAGAIN && errno != EINTR))
		io_close(&h->errors);
}

static bool is_sending(const struct host *h)
{
	return h->sent && h->sent_bytes < h->sent->data.len;
}

/* While it is being sent, nothing else is. */
static ssize_t send_more(struct host *h)
{
	ssize_t len =
	    write(h->to, h->sent->data.data + h->sent_bytes, h->sent->data.len - h->sent_bytes);

	if (len > 0) {
		h->sent_bytes += (size_t)len;
		h->heard_ns = clock_monotonic_ns();
	}
	return len;
}

static void write_host(struct host *h)
{
	const bool is_file = is_sending(h);
	ssize_t len = is_file ? send_more(h) : write(h->to, h->out.data, h->out.len);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len < 0) { /* its end is seen elsewhere */
		io_close(&h->to);
		return;
	}
	if (is_file)
		return;
	buf_drop(&h->out, (size_t)len);
}

void host_expect(const struct host *h, struct pollfd p[HOST_NR_FDS])
{
	p[0] = (struct pollfd){.fd = h->out.len || is_sending(h) ? h->to : -1, .events = POLLOUT};
	p[1] = (struct pollfd){.fd = h->from, .events = POLLIN};
	p[2] = (struct pollfd){.fd = h->errors, .events = POLLIN};
}

void host_handle(struct host *h, const struct pollfd p[HOST_NR_FDS])
{
	if (h->errors >= 0 && p[2].revents)
		read_errors(h);
	if (h->from >= 0 && p[1].revents)
		read_host(h);
	if (h->to >= 0 && (h->out.len || is_sending(h)))
		write_host(h);
}

static void explain_end(struct host *h, int status)
{
	enum { SSH_FAILED = 255 };
	bool has_exited = WIFEXITED(status);

	while (h->errors >= 0 &&
	       poll(&(struct pollfd){.fd = h->errors, .events = POLLIN}, 1, 0) > 0)
		read_errors(h);
	end_lines(h);
	if (h->state != HOST_CONNECTING && has_exited && WEXITSTATUS(status) != SSH_FAILED)
		fail_host(h, "cpuperf was ended there");
	else if (has_exited && WEXITSTATUS(status) == EXIT_NOT_FOUND)
		fail_host(h, "cpuperf was not found there: %s%s",
			  *h->error ? h->error : h->job->program,
			  h->job->send ? "" : "; --send copies this one there");
	else if (*h->error && h->state == HOST_CONNECTING)
		fail_host(h, "%s", h->error);
	else if (has_exited && h->state == HOST_CONNECTING)
		fail_host(h, "ssh ended with exit status %d", WEXITSTATUS(status));
	else
		fail_host(h, "the connection was lost");
}

void host_look(struct host *h)
{
	uint64_t now = clock_monotonic_ns();
	char limit[32];
	int status;

	if (h->pid && waitpid(h->pid, &status, WNOHANG) == h->pid) {
		h->pid = 0;
		while (h->from >= 0 && h->state != HOST_DONE &&
		       poll(&(struct pollfd){.fd = h->from, .events = POLLIN}, 1, 0) > 0)
			read_host(h);
		explain_end(h, status);
	}
	if (h->pid && (h->state == HOST_DONE || h->is_deaf) && now - h->ended_ns > END_NS) {
		(void)kill(h->pid, SIGKILL);
		h->ended_ns = now;
	}
	if (h->state == HOST_DONE || h->is_deaf || now - h->heard_ns < h->job->timeout_ns)
		return;
	str_format_duration(h->job->timeout_ns, limit, sizeof(limit));
	if (h->state == HOST_CONNECTING)
		fail_host(h, "it did not answer for %s%s%s", limit, *h->error ? ": " : "",
			  h->error);
	else
		fail_host(h, "it was silent for %s", limit);
	if (h->pid)
		(void)kill(h->pid, SIGKILL);
}

void host_start(struct host *h, int64_t instant_ns)
{
	int64_t offset = h->part.clock_offset_ns == HOSTS_ABSENT ? 0 : h->part.clock_offset_ns;
	uint64_t instant = (uint64_t)(instant_ns + offset);

	h->part.start_realtime_ns = instant_ns;
	hosts_frame_add_numbers(&h->out, HOSTS_START, 1, &instant);
	h->state = HOST_RUNNING;
	h->part.exit_status = HOSTS_ABSENT;
}

void host_signal(struct host *h, int number)
{
	BUF_AUTO(data, 16);

	if (h->state == HOST_DONE)
		return;
	if (h->state != HOST_RUNNING) {
		fail_host(h, "the job was ended before it began");
		return;
	}
	buf_le32(&data, (uint32_t)number);
	hosts_frame_add(&h->out, HOSTS_SIGNAL, data.data, data.len);
}

void host_close(struct host *h)
{
	if (h->pid) {
		(void)kill(h->pid, SIGKILL);
		(void)waitpid(h->pid, NULL, 0);
	}
	close_pipes(h);
	io_close(&h->dirfd);
	buf_fini(&h->in);
	buf_fini(&h->out);
	buf_fini(&h->out_line);
	buf_fini(&h->err_line);
	buf_fini(&h->ssh_line);
}
