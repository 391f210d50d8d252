/*
 * The folder of a session that leaves no files is removed when its process was killed, also while
 * another process writes and renames files in it.
 */
#include "kit.h"

#include "session/held.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct root tree;

/* Shared with the process that is killed. */
struct shared {
	char path[PATH_MAX];
	volatile int nr_writes;
};

HOOK(before_each)
{
	tree = tree_make();
}

HOOK(after_each)
{
	tree_remove(&tree);
}

/* One file, whose name changes all the time, until the folder is gone. */
static _Noreturn void write_on(struct shared *s)
{
	char names[2][PATH_MAX + 8];

	for (int i = 0; i < 2; i++)
		snprintf(names[i], sizeof(names[i]), "%s/%d", s->path, i);
	for (int i = 0;; i++) {
		int fd;

		if (rename(names[i % 2], names[(i + 1) % 2]) == 0)
			continue;
		fd = open(names[i % 2], O_CREAT | O_WRONLY, 0600);
		if (fd < 0)
			_exit(0);
		close(fd);
		s->nr_writes++;
	}
}

static pid_t start_writer(struct shared *s)
{
	const pid_t writer = fork();

	if (writer == 0)
		write_on(s);
	return writer;
}

TEST(removed_after_kill)
{
	struct shared *s =
	    mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t holder, writer;
	int status;

	assert_ptr_not_equal(s, MAP_FAILED);
	holder = fork();
	if (holder == 0) {
		struct held h;
		struct err e = {0};

		if (held_open_in(tree.dir, &h, &e))
			_exit(1);
		snprintf(s->path, sizeof(s->path), "%s", h.path);
		s->nr_writes = 1;
		for (;;)
			pause();
	}
	while (!s->nr_writes)
		poll(NULL, 0, 1);
	writer = start_writer(s);
	while (s->nr_writes < 2)
		poll(NULL, 0, 1);
	kill(holder, SIGKILL);
	waitpid(holder, &status, 0);
	waitpid(writer, &status, 0); /* it ends when the folder is gone */
	assert_int_equal(status, 0);
	assert_int_equal(access(s->path, F_OK), -1);
	munmap(s, sizeof(*s));
}
