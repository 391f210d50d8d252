/*
 * Runs of commands, one after the other, by one process that makes the processes of all.
 */
#include "versus.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "target/command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 512, NR_STREAMS = 3 };

struct versus_runner {
	struct target_command *command;
	int input, errors; /* the runs' standard input, and error: a file in memory */
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
static int make_process(const int streams[NR_STREAMS], struct versus_runner *r, struct err *e)
{
	int before[NR_STREAMS], rc = 0;

	for (int i = 0; i < NR_STREAMS; i++) {
		before[i] = fcntl(i, F_DUPFD_CLOEXEC, NR_STREAMS);
		if (dup2(streams[i], i) < 0)
			rc = -errno;
	}
	rc = rc ? err_set(e, rc, "standard streams: %s", strerror(-rc))
		: target_command_new_later("the command", &r->command, e);
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

int versus_runner_new(const char *input, struct versus_runner **out, struct err *e)
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
	rc = open_input(input, e);
	if (rc >= 0) {
		r->input = rc;
		r->errors = memfd_create("stderr", MFD_CLOEXEC);
		rc = r->errors < 0 ? err_set(e, -errno, "memory: %s", strerror(errno)) : 0;
	}
	if (rc == 0)
		rc = make_process((int[]){r->input, nowhere, r->errors}, r, e);
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
	target_command_free(r->command);
	if (r->input >= 0)
		close(r->input);
	if (r->errors >= 0)
		close(r->errors);
	mem_free(r);
}

static void on_end(void *arg)
{
	(void)arg;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

int versus_runner_run(struct versus_runner *r, char *const *argv, struct versus_run *out,
		      struct err *e)
{
	struct target_end end;
	int rc = target_command_set(r->command, argv, e);

	(void)lseek(r->input, 0, SEEK_SET);
	(void)lseek(r->errors, 0, SEEK_SET);
	if (rc == 0 && ftruncate(r->errors, 0))
		rc = err_set(e, -errno, "memory: %s", strerror(errno));
	rc = rc ? rc : target_command_next(r->command, e);
	rc = rc ? rc : target_command_start(r->command, on_end, NULL, e);
	if (rc)
		return rc;
	target_command_wait(r->command, &end);
	*out = (struct versus_run){
	    .value = {[VERSUS_WALL] = (double)(end.end_ns - end.start_ns) / 1e9,
		      [VERSUS_CPU_TIME] =
			  seconds(&end.usage.ru_utime) + seconds(&end.usage.ru_stime),
		      [VERSUS_PEAK_MEMORY] =
			  end.is_peak_limit ? 0 : (double)end.usage.ru_maxrss * 1024,
		      [VERSUS_PAGE_FAULTS] = (double)(end.usage.ru_minflt + end.usage.ru_majflt)},
	    .status = end.status};
	return 0;
}

void versus_runner_last_line(const struct versus_runner *r, struct buf *out)
{
	char text[LINE_BYTES];
	const off_t end = lseek(r->errors, 0, SEEK_END);
	const off_t from = end > LINE_BYTES ? end - LINE_BYTES : 0;
	ssize_t len = pread(r->errors, text, sizeof(text), from);
	ssize_t begin;

	while (len > 0 && strchr("\r\n ", text[len - 1]))
		len--;
	for (begin = len; begin > 0 && text[begin - 1] != '\n';)
		begin--;
	if (len > 0)
		buf_shown(out, text + begin, (size_t)(len - begin));
}

void versus_runner_signal(struct versus_runner *r, int number)
{
	(void)target_command_signal(r->command, number);
}
