/*
 * Runs of commands, one after the other, by a process that makes those of the runs that are
 * measured, and another one for all that runs aside: setup, preparing, recordings.
 */
#include "versus/versus.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/root.h"
#include "proc/family.h"
#include "target/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 2048, NR_STREAMS = 3 };

struct versus_runner {
	struct target_command *command[VERSUS_NR_STREAMS]; /* NULL: there is no such run */
	struct target_command *volatile running;           /* NULL: none */
	/* The runs' standard input; standard error aside: a file in memory. -1: ours, and there is
	 * none. */
	int input, errors;
	int ended; /* an eventfd: the run has ended */
};

static int open_input(const char *path, struct err *e)
{
	struct stat st;
	int fd = open(path ? path : "/dev/null", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return err_set_at(e, -errno, path, 0, 0, "%s", strerror(errno));
	if (path && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		err_set_at(e, -EINVAL, path, 0, 0, "not a regular file: each run reads it anew");
		return e->code;
	}
	return fd;
}

/* Makes the process with these as its standard streams; then ours are again as they were. */
static int make_process(const int streams[NR_STREAMS], struct target_command **out, struct err *e)
{
	int before[NR_STREAMS], rc = 0;

	for (int i = 0; i < NR_STREAMS; i++) {
		before[i] = fcntl(i, F_DUPFD_CLOEXEC, NR_STREAMS);
		if (streams[i] >= 0 && dup2(streams[i], i) < 0)
			rc = -errno;
	}
	rc = rc ? err_set(e, rc, "standard streams: %s", strerror(-rc))
		: target_command_new_later("the command", out, e);
	for (int i = 0; i < NR_STREAMS; i++) {
		if (before[i] >= 0)
			(void)dup2(before[i], i);
		else
			(void)close(i);
		if (before[i] >= 0)
			(void)close(before[i]);
	}
	return rc;
}

/* Runs that are measured write errors to nowhere: in memory they would have no limit. */
static int make_processes(struct versus_runner *r, int nowhere, struct err *e)
{
	return make_process((int[]){r->input, nowhere, nowhere}, &r->command[VERSUS_MEASURED], e)
		   ?: make_process((int[]){r->input, nowhere, r->errors}, &r->command[VERSUS_ASIDE],
				   e);
}

int versus_runner_new(const char *input, bool is_ours, struct versus_runner **out, struct err *e)
{
	struct versus_runner *r = mem_zalloc(sizeof(*r));
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), rc;

	if (!r || nowhere < 0) {
		rc = r ? -errno : -ENOMEM;
		mem_free(r);
		if (nowhere >= 0)
			close(nowhere);
		return err_set(e, rc, "/dev/null: %s", strerror(-rc));
	}
	r->input = r->errors = -1;
	r->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = open_input(input, e);
	if (rc >= 0) {
		r->input = rc;
		r->errors = memfd_create("stderr", MFD_CLOEXEC);
		rc = r->errors < 0 || r->ended < 0
			 ? err_set(e, -errno, "memory: %s", strerror(errno))
			 : 0;
	}
	rc = rc ?: make_processes(r, nowhere, e);
	if (rc == 0 && is_ours)
		rc = make_process((int[]){input ? r->input : -1, nowhere, -1},
				  &r->command[VERSUS_OURS], e);
	close(nowhere);
	if (rc) {
		versus_runner_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

void versus_runner_free(struct versus_runner *r)
{
	if (!r)
		return;
	/* the later one has the descriptors of the other */
	for (int i = VERSUS_NR_STREAMS; i-- > 0;)
		target_command_free(r->command[i]);
	if (r->ended >= 0)
		close(r->ended);
	if (r->input >= 0)
		close(r->input);
	if (r->errors >= 0)
		close(r->errors);
	mem_free(r);
}

static void on_end(void *arg)
{
	const struct versus_runner *r = arg;

	(void)eventfd_write(r->ended, 1);
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

int versus_runner_begin(struct versus_runner *r, char *const *argv, enum versus_streams streams,
			struct err *e)
{
	struct target_command *c = r->command[streams];
	int rc = target_command_set(c, argv, e);
	eventfd_t ignored;

	(void)eventfd_read(r->ended, &ignored);
	(void)lseek(r->input, 0, SEEK_SET);
	(void)lseek(r->errors, 0, SEEK_SET);
	if (rc == 0 && ftruncate(r->errors, 0))
		rc = err_set(e, -errno, "memory: %s", strerror(errno));
	rc = rc ? rc : target_command_next(c, e);
	r->running = c;
	return rc ? rc : target_command_start(c, on_end, r, e);
}

pid_t versus_runner_pid(const struct versus_runner *r)
{
	return target_command_pid(r->running);
}

bool versus_runner_has_ended(const struct versus_runner *r, uint64_t until_ns)
{
	struct pollfd p = {.fd = r->ended, .events = POLLIN};
	const uint64_t now = clock_monotonic_ns(), ns = until_ns > now ? until_ns - now : 0;
	const struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	return ppoll(&p, 1, until_ns == UINT64_MAX ? NULL : &left, NULL) > 0;
}

void versus_runner_end(struct versus_runner *r, struct versus_run *out)
{
	struct target_end end;

	target_command_wait(r->running, &end);
	r->running = NULL;
	*out = (struct versus_run){
	    .value = {[VERSUS_WALL] = (double)(end.end_ns - end.start_ns) / 1e9,
		      [VERSUS_CPU_TIME] =
			  seconds(&end.usage.ru_utime) + seconds(&end.usage.ru_stime),
		      [VERSUS_PEAK_MEMORY] =
			  end.is_peak_limit ? 0 : (double)end.usage.ru_maxrss * 1024,
		      [VERSUS_PAGE_FAULTS] = (double)(end.usage.ru_minflt + end.usage.ru_majflt)},
	    .status = end.status};
}

int versus_runner_run(struct versus_runner *r, char *const *argv, bool is_measured,
		      struct versus_run *out, struct err *e)
{
	int rc = versus_runner_begin(r, argv, is_measured ? VERSUS_MEASURED : VERSUS_ASIDE, e);

	if (rc)
		return rc;
	versus_runner_end(r, out);
	return 0;
}

int versus_runner_set_variable(struct versus_runner *r, char *const *argv, const char *name,
			       const char *value, struct err *e)
{
	static const enum versus_streams set[] = {VERSUS_MEASURED, VERSUS_OURS};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(set) && rc == 0; i++) {
		struct target_command *c = r->command[set[i]];

		if (c)
			rc = target_command_set(c, argv, e)
				 ?: target_command_set_variable(c, name, value, e);
	}
	return rc;
}

/* The last line of text that has the word, or NULL any text. Returns its length. */
static size_t find_line(const char *text, size_t len, const char *word, const char **line)
{
	size_t end = len, begin;

	for (; end; end = begin ? begin - 1 : 0) {
		for (begin = end; begin > 0 && text[begin - 1] != '\n';)
			begin--;
		*line = text + begin;
		if (word ? memmem(*line, end - begin, word, strlen(word)) != NULL
			 : end > begin + strspn(*line, "\r\t "))
			return end - begin;
	}
	return 0;
}

void versus_runner_last_line(const struct versus_runner *r, struct buf *out)
{
	char text[LINE_BYTES + 1] = "";
	const off_t end = lseek(r->errors, 0, SEEK_END);
	const off_t from = end > LINE_BYTES ? end - LINE_BYTES : 0;
	const ssize_t nr = pread(r->errors, text, LINE_BYTES, from);
	const char *line = text;
	size_t len = nr > 0 ? find_line(text, (size_t)nr, "error: ", &line) : 0;

	len = len || nr <= 0 ? len : find_line(text, (size_t)nr, NULL, &line);
	buf_shown(out, line, len);
}

void versus_runner_signal(struct versus_runner *r, int number)
{
	if (r->running)
		(void)target_command_signal(r->running, number);
}

void versus_runner_stop(struct versus_runner *r, int number)
{
	struct proc_family f = {0};
	const pid_t pid = r->running ? versus_runner_pid(r) : 0;

	if (pid && proc_family_add(&f, (uint32_t)pid) == 0)
		(void)proc_family_grow(&f, &root_live);
	versus_runner_signal(r, number);
	for (size_t i = 1; i < f.nr; i++)
		(void)kill((pid_t)f.pid[i], number);
	proc_family_fini(&f);
}
