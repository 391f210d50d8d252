/*
 * A part of a job, on its host. This process talks to the starter, and never waits for anything
 * else; the session is measured by a child, the recorder. When the starter is gone the recorder
 * gets SIGHUP, which it forwards to its command, as of a terminal that was closed.
 */
#include "job/as_part.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/privilege.h"
#include "base/str.h"
#include "base/sys.h"
#include "hosts/frame.h"
#include "program.h"
#include "signals.h"
#include "spec/cpsession.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_QUEUED_BYTES = 4 * HOSTS_MAX_DATA_BYTES,
	ENOUGH_QUEUED_BYTES = 2 * HOSTS_MAX_DATA_BYTES,
	ALIVE_MS = 1000,
	LOOK_MS = 50, /* for the recorder's end, where there are no pidfds */
	GRACE_NS = 5000000000,
	NS_PER_S = 1000000000,
};

/* What the recorder says through its socket. */
enum { SAYS_OPEN = 1, SAYS_LATE, SAYS_ENDED };
struct message {
	int32_t what, status;
};

enum phase { ASKED, RUNNING, SENDING, ENDING };

struct file {
	char *name; /* owned */
};

struct supervisor {
	as_part_program *program;
	enum phase phase;
	struct buf in, out; /* from and to the starter */
	bool is_starter_gone;
	struct as_part part;
	pid_t pid; /* of the recorder; 0: it has ended or was not started */
	int pidfd, ready, output, errors;
	bool is_late, has_status;
	bool is_stopped; /* the recorder, by SIGSTOP or so */
	int status;      /* of the recorder, as program.h has it */
	int wait_status; /* as waitpid returns it */
	uint64_t hung_up_ns;
	struct file *files;
	size_t nr_files, room_files, next_file;
	int dirfd, file;
	uint64_t file_left;
	uint64_t sent_ns;
};

bool as_part_is_asked(int argc, char *const *argv)
{
	return argc == 2 && strcmp(argv[1], "--as-part") == 0;
}

static void greet(struct supervisor *s)
{
	char node[HOST_NAME_MAX + 1] = "";
	BUF_AUTO(data, 4096);

	(void)gethostname(node, sizeof(node) - 1);
	str_clean(node, strlen(node));
	buf_le32(&data, HOSTS_PROTOCOL);
	hosts_frame_string(&data, CPUPERF_VERSION);
	hosts_frame_string(&data, node);
	buf_adds(&s->out, HOSTS_MAGIC);
	hosts_frame_add(&s->out, HOSTS_HELLO, data.data, data.len);
}

static void end(struct supervisor *s, int status, unsigned how, const char *why)
{
	BUF_AUTO(data, 4096);

	buf_le32(&data, (uint32_t)status);
	buf_le32(&data, how);
	hosts_frame_string(&data, why);
	held_close(&s->part.held); /* before the starter sees the end */
	hosts_frame_add(&s->out, HOSTS_END, data.data, data.len);
	s->phase = ENDING;
}

static void fail_early(struct supervisor *s, const struct err *e)
{
	end(s, 0, HOSTS_ENDED_FAILED, e->msg);
}

static void pong(struct supervisor *s, struct cursor *data)
{
	uint64_t number[2] = {cursor_le64(data)};

	number[1] = clock_realtime_ns();
	hosts_frame_add_numbers(&s->out, HOSTS_PONG, 2, number);
}

/* The text in a file without a name, which no program inherits. */
static int make_spec(const struct hosts_run *run)
{
	int fd = memfd_create("spec", MFD_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = io_write_full(fd, run->spec_text, run->spec_len);
	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = -errno;
	if (rc)
		io_close(&fd);
	return rc ? rc : fd;
}

static int open_held(struct held *h, struct err *e)
{
	const char *place = secure_getenv("TMPDIR");
	struct err ignored = {0};

	if (place)
		return held_open_in(place, h, e);
	return held_open(h, &ignored) ? held_open_in("/tmp", h, e) : 0;
}

/* In the recorder. Its command has the environment, limits and folder that ssh gave. */
static void become_recorder(struct supervisor *s, const struct hosts_run *run, const int out[2],
			    const int err[2], const int ready[2])
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGHUP);
	(void)signal(SIGPIPE, SIG_DFL);
	if (getppid() == 1 || dup2(nothing, STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0 ||
	    dup2(err[1], STDERR_FILENO) < 0)
		_exit(EXIT_NOT_MEASURED);
	close(ready[0]);
	s->part.fd = ready[1];
	exit(s->program((int)run->nr_args, run->argv, &s->part));
}

static void close_pair(int pair[2])
{
	io_close(&pair[0]);
	io_close(&pair[1]);
}

static int start(struct supervisor *s, const struct hosts_run *run, struct err *e)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1}, ready[2] = {-1, -1}, rc = 0;

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ready))
		rc = -errno;
	s->pid = rc ? -1 : fork();
	if (s->pid == 0)
		become_recorder(s, run, out, err, ready);
	if (s->pid < 0) {
		rc = rc ? rc : -errno;
		close_pair(out);
		close_pair(err);
		close_pair(ready);
		s->pid = 0;
		return err_set(e, rc, "the recorder cannot be started: %s", strerror(-rc));
	}
	privilege_drop(); /* only the recorder measures */
	close(out[1]);
	close(err[1]);
	close(ready[1]);
	s->output = out[0];
	s->errors = err[0];
	s->ready = ready[0];
	io_set_nonblocking(s->output);
	io_set_nonblocking(s->errors);
	io_set_nonblocking(s->ready);
	s->pidfd = sys()->pidfd_open(s->pid);
	s->phase = RUNNING;
	return 0;
}

static void run(struct supervisor *s, const struct hosts_frame *f)
{
	struct hosts_run run = {.argv = NULL};
	struct err e = {0};
	int rc = s->phase == ASKED ? hosts_frame_read_run(f, &run) : -EBADMSG;

	if (rc == 0 && run.nr_args < 2)
		rc = -EBADMSG;
	if (rc) {
		err_set(&e, rc, "the request is invalid");
	} else if (run.spec_text) {
		/* the last argument is the spec's name */
		s->part.spec_name = run.argv[--run.nr_args];
		run.argv[run.nr_args] = NULL;
		s->part.spec_fd = make_spec(&run);
		if (s->part.spec_fd < 0)
			rc = err_set(&e, s->part.spec_fd, "the spec cannot be stored");
	}
	if (rc == 0)
		rc = open_held(&s->part.held, &e) ?: start(s, &run, &e);
	mem_free(run.argv);
	io_close(&s->part.spec_fd);
	if (rc)
		fail_early(s, &e);
}

static void pass_signal(const struct supervisor *s, struct cursor *data)
{
	int number = (int)cursor_le32(data);

	if (!s->pid || s->phase != RUNNING)
		return;
	if (number == SIGINT || number == SIGQUIT) /* as a terminal: the command, too */
		(void)kill(-s->pid, number);
	else if (number == SIGTERM || number == SIGHUP || number == SIGUSR1 || number == SIGUSR2)
		(void)kill(s->pid, number);
}

static void start_at(const struct supervisor *s, struct cursor *data)
{
	uint64_t instant = cursor_le64(data);

	if (s->ready >= 0)
		(void)send(s->ready, &instant, sizeof(instant), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* False: what came is no frame of a starter. */
static bool obey(struct supervisor *s, const struct hosts_frame *f)
{
	struct cursor data = f->data;

	switch (f->kind) {
	case HOSTS_PING:
		pong(s, &data);
		break;
	case HOSTS_RUN:
		run(s, f);
		break;
	case HOSTS_START:
		start_at(s, &data);
		break;
	case HOSTS_SIGNAL:
		pass_signal(s, &data);
		break;
	default:
		return false;
	}
	return cursor_ok(&data);
}

static void lose_starter(struct supervisor *s)
{
	s->is_starter_gone = true;
	buf_reset(&s->out);
	if (s->phase != RUNNING)
		return;
	s->hung_up_ns = clock_monotonic_ns();
	if (!s->pid)
		return;
	(void)kill(s->pid, SIGHUP);
	(void)kill(s->pid, SIGCONT); /* one that is stopped would not see it */
}

static void read_starter(struct supervisor *s)
{
	void *at = buf_reserve(&s->in, HOSTS_MAX_DATA_BYTES);
	ssize_t len = at ? read(STDIN_FILENO, s->in.data + s->in.len, HOSTS_MAX_DATA_BYTES) : -1;
	struct hosts_frame f;
	size_t used = 0;
	ptrdiff_t n;

	if (len < 0 && at && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		lose_starter(s);
		return;
	}
	buf_use(&s->in, (size_t)len);
	while ((n = hosts_frame_next(s->in.data + used, s->in.len - used, HOSTS_MAX_REQUEST_BYTES,
				     &f)) > 0) {
		used += (size_t)n;
		if (!obey(s, &f)) {
			lose_starter(s);
			return;
		}
	}
	if (n < 0)
		lose_starter(s);
	buf_drop(&s->in, used);
}

static void write_starter(struct supervisor *s)
{
	ssize_t len = write(STDOUT_FILENO, s->out.data, s->out.len);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len < 0) {
		lose_starter(s);
		return;
	}
	s->sent_ns = clock_monotonic_ns();
	buf_drop(&s->out, (size_t)len);
}

static bool has_room(const struct supervisor *s)
{
	return s->out.len < ENOUGH_QUEUED_BYTES;
}

/* Bytes from the descriptor as a frame. False: there are none, for now or any more. */
static bool pass_bytes(struct supervisor *s, int *fd, enum hosts_kind kind, size_t max)
{
	char bytes[16 << 10];
	ssize_t len = read(*fd, bytes, max < sizeof(bytes) ? max : sizeof(bytes));

	if (len > 0 && !s->is_starter_gone)
		hosts_frame_add(&s->out, kind, bytes, (size_t)len);
	if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
		io_close(fd);
	return len > 0;
}

static void hear_recorder(struct supervisor *s)
{
	struct message m;
	ssize_t len = recv(s->ready, &m, sizeof(m), MSG_DONTWAIT);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len != sizeof(m)) {
		io_close(&s->ready);
		return;
	}
	if (m.what == SAYS_OPEN)
		hosts_frame_add(&s->out, HOSTS_READY, NULL, 0);
	s->is_late |= m.what == SAYS_LATE;
	if (m.what == SAYS_ENDED) {
		s->has_status = true;
		s->status = m.status;
	}
}

static int add_file(const char *name, void *arg)
{
	struct supervisor *s = arg;
	struct file *f;

	if (!hosts_frame_is_file(name, strlen(name)) || s->nr_files >= HOSTS_MAX_FILES)
		return 0;
	f = MEM_ADD(s->files, s->nr_files, s->room_files);
	if (f)
		f->name = mem_strdup(name);
	return f && f->name ? 0 : -ENOMEM;
}

/* The manifest first: what arrives after it can be read though the rest is missing. */
static int compare_files(const void *a, const void *b)
{
	const char *x = ((const struct file *)a)->name, *y = ((const struct file *)b)->name;

	return (strcmp(y, CPSESSION_FOLDER_MANIFEST) == 0) -
		       (strcmp(x, CPSESSION_FOLDER_MANIFEST) == 0)
		   ?: strcmp(x, y);
}

static void list_files(struct supervisor *s)
{
	struct err e = {0};
	int rc;

	s->phase = SENDING;
	s->dirfd = sys()->openat(AT_FDCWD, s->part.held.path, O_RDONLY | O_DIRECTORY, 0);
	rc = s->dirfd < 0 ? s->dirfd : io_each_name(s->dirfd, add_file, s);
	if (rc) {
		err_set(&e, rc, "its files cannot be listed: %s", strerror(-rc));
		fail_early(s, &e);
		return;
	}
	order_sort(s->files, s->nr_files, sizeof(*s->files), compare_files);
}

static void finish(struct supervisor *s)
{
	bool has_ended = s->has_status && (s->status >= EXIT_COMMAND || s->status == EXIT_DONE);
	unsigned how = (s->is_late ? (unsigned)HOSTS_ENDED_LATE : 0) |
		       (has_ended ? 0 : (unsigned)HOSTS_ENDED_FAILED);
	int status = s->status >= EXIT_COMMAND ? s->status - EXIT_COMMAND : s->status;
	char why[128] = "";

	if (!has_ended && s->has_status)
		snprintf(why, sizeof(why), "cpuperf ended there with exit status %d", status);
	else if (!has_ended)
		snprintf(why, sizeof(why), "cpuperf was ended there by %s",
			 WIFSIGNALED(s->wait_status) ? strsignal(WTERMSIG(s->wait_status))
						     : "an error");
	end(s, status, how, why);
}

static void send_file(struct supervisor *s)
{
	const char *name = s->files[s->next_file++].name;
	struct stat st;
	BUF_AUTO(data, 4096);

	s->file = sys()->openat(s->dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (s->file < 0 || fstat(s->file, &st) || !S_ISREG(st.st_mode)) {
		io_close(&s->file);
		return;
	}
	s->file_left = (uint64_t)st.st_size;
	buf_le64(&data, s->file_left);
	hosts_frame_string(&data, name);
	hosts_frame_add(&s->out, HOSTS_NEW_FILE, data.data, data.len);
}

static void send_more(struct supervisor *s)
{
	while (s->phase == SENDING && has_room(s)) {
		size_t before = s->out.len;

		if (s->file >= 0 && s->file_left &&
		    pass_bytes(s, &s->file, HOSTS_BYTES, s->file_left))
			s->file_left -= s->out.len - before - HOSTS_HEADER_BYTES;
		else if (s->file >= 0)
			io_close(&s->file);
		else if (s->next_file < s->nr_files)
			send_file(s);
		else
			finish(s);
	}
}

/* What it left in the pipes is passed on first; what its command's children will write is not
 * waited for. */
static void reap(struct supervisor *s)
{
	if (s->pid && waitpid(s->pid, &s->wait_status, WNOHANG) != s->pid)
		return;
	s->pid = 0;
	io_close(&s->pidfd);
	while (s->ready >= 0 && !s->has_status) {
		struct pollfd p = {.fd = s->ready, .events = POLLIN};

		if (poll(&p, 1, 0) <= 0)
			break;
		hear_recorder(s);
	}
	for (bool is_any = true; is_any && (s->is_starter_gone || has_room(s));) {
		is_any = s->output >= 0 && pass_bytes(s, &s->output, HOSTS_OUT, SIZE_MAX);
		is_any |= s->errors >= 0 && pass_bytes(s, &s->errors, HOSTS_ERR, SIZE_MAX);
		if (!is_any && !s->is_starter_gone)
			list_files(s);
	}
}

/* While it is stopped nothing more is said: after its limit of time the starter goes on without. */
static void watch_recorder(struct supervisor *s)
{
	siginfo_t info = {.si_pid = 0};
	char text[128];

	if (s->phase != RUNNING || !s->pid) {
		s->is_stopped = false;
		return;
	}
	if (waitid(P_PID, (id_t)s->pid, &info, WSTOPPED | WCONTINUED | WNOHANG) ||
	    info.si_pid != s->pid)
		return;
	s->is_stopped = info.si_code == CLD_STOPPED;
	if (!s->is_stopped || s->is_starter_gone)
		return;
	snprintf(
	    text, sizeof(text),
	    "cpuperf: warning: the process that measures, %d, was stopped: SIGCONT continues it\n",
	    s->pid);
	hosts_frame_add(&s->out, HOSTS_ERR, text, strlen(text));
}

static void turn(struct supervisor *s)
{
	bool is_read = s->phase == RUNNING && !s->is_stopped && (has_room(s) || s->is_starter_gone);
	struct pollfd p[] = {
	    {.fd = s->is_starter_gone ? -1 : STDIN_FILENO, .events = POLLIN},
	    {.fd = s->out.len && !s->is_starter_gone ? STDOUT_FILENO : -1, .events = POLLOUT},
	    {.fd = s->ready, .events = POLLIN},
	    {.fd = is_read ? s->output : -1, .events = POLLIN},
	    {.fd = is_read ? s->errors : -1, .events = POLLIN},
	    {.fd = s->phase == RUNNING && s->pid ? s->pidfd : -1, .events = POLLIN},
	};
	bool is_due = s->phase == RUNNING && s->pid && s->pidfd < 0;

	/* the end of the recorder is seen again when there is room for what it left */
	if (poll(p, ARRAY_NR(p), is_due ? LOOK_MS : ALIVE_MS) < 0)
		return;
	if (p[0].revents)
		read_starter(s);
	if (p[2].revents)
		hear_recorder(s);
	if (p[3].revents)
		(void)pass_bytes(s, &s->output, HOSTS_OUT, SIZE_MAX);
	if (p[4].revents)
		(void)pass_bytes(s, &s->errors, HOSTS_ERR, SIZE_MAX);
	if (s->phase == RUNNING && (p[5].revents || is_due || !s->pid))
		reap(s);
	send_more(s);
	watch_recorder(s);
	if (!s->out.len && !s->is_starter_gone && !s->is_stopped &&
	    clock_monotonic_ns() - s->sent_ns >= (uint64_t)ALIVE_MS * 1000000)
		hosts_frame_add(&s->out, HOSTS_ALIVE, NULL, 0);
	if (s->out.len && !s->is_starter_gone)
		write_starter(s);
}

/* The recorder has a while to end by itself; a command that ignores SIGHUP goes on. */
static bool is_over(const struct supervisor *s)
{
	if (!s->is_starter_gone)
		return s->phase == ENDING && !s->out.len;
	if (s->phase != RUNNING || !s->pid)
		return true;
	if (clock_monotonic_ns() - s->hung_up_ns < GRACE_NS)
		return false;
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, 0);
	return true;
}

int as_part_run(as_part_program *program)
{
	struct supervisor s = {.program = program,
			       .part = {.held = HELD_NONE, .fd = -1, .spec_fd = -1},
			       .pidfd = -1,
			       .ready = -1,
			       .output = -1,
			       .errors = -1,
			       .dirfd = -1,
			       .file = -1,
			       .sent_ns = clock_monotonic_ns()};

	(void)signal(SIGPIPE, SIG_IGN);
	io_set_nonblocking(STDIN_FILENO);
	io_set_nonblocking(STDOUT_FILENO);
	buf_init(&s.in, HOSTS_MAX_REQUEST_BYTES + 2 * HOSTS_MAX_DATA_BYTES);
	buf_init(&s.out, MAX_QUEUED_BYTES);
	greet(&s);
	while (!is_over(&s) && !buf_error(&s.out))
		turn(&s);
	held_close(&s.part.held);
	for (size_t i = 0; i < s.nr_files; i++)
		mem_free(s.files[i].name);
	mem_free(s.files);
	io_close(&s.dirfd);
	io_close(&s.file);
	buf_fini(&s.in);
	buf_fini(&s.out);
	return s.is_starter_gone ? EXIT_FAILED : EXIT_DONE;
}

static void say(const struct as_part *part, int what, int status)
{
	struct message m = {.what = what, .status = status};

	(void)send(part->fd, &m, sizeof(m), MSG_NOSIGNAL);
}

static bool has_stopped(void)
{
	return signals_have_interrupted() || signals_have_stopped_runs();
}

int as_part_wait(const struct as_part *part, struct err *e)
{
	struct timespec now, until;
	uint64_t instant = 0;
	ssize_t len;

	say(part, SAYS_OPEN, 0);
	do
		len = recv(part->fd, &instant, sizeof(instant), 0);
	while (len < 0 && errno == EINTR && !has_stopped());
	if (len != sizeof(instant))
		return err_set(e, -ECANCELED, "the job ended before it began");
	until.tv_sec = (time_t)(instant / NS_PER_S);
	until.tv_nsec = (long)(instant % NS_PER_S);
	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec > until.tv_sec ||
	    (now.tv_sec == until.tv_sec && now.tv_nsec > until.tv_nsec))
		say(part, SAYS_LATE, 0);
	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == EINTR)
		if (has_stopped())
			return err_set(e, -ECANCELED, "the job ended before it began");
	return 0;
}

void as_part_report(const struct as_part *part, int status)
{
	say(part, SAYS_ENDED, status);
}
