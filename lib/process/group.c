/*
 * Lists the numbers in cgroup.procs of each group.
 */
#include "process/group.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PIDS = 1 << 22, /* PID_MAX_LIMIT of the kernel */ MAX_BYTES = 64 << 20, MAX_DEPTH = 64 };

void process_group_fini(struct process_group *g)
{
	mem_free(g->list);
	*g = (struct process_group){0};
}

/* A process outside the reader's PID namespace is 0. */
static int add_numbers(struct process_group *g, char *text)
{
	uint64_t number;
	char *rest = NULL;

	for (char *word = strtok_r(text, "\n", &rest); word; word = strtok_r(NULL, "\n", &rest)) {
		uint32_t *place;

		if (str_parse_u64(word, &number) || number > MAX_PIDS)
			return -EINVAL;
		if (number == 0)
			continue;
		if (g->nr >= 2 * MAX_PIDS)
			return -EFBIG;
		place = MEM_ADD(g->list, g->nr, g->room);
		if (!place)
			return -ENOMEM;
		*place = (uint32_t)number;
	}
	return 0;
}

/* A threaded group refuses to list processes, but lists threads. */
static int add_members(struct process_group *g, int folder)
{
	BUF_AUTO(text, MAX_BYTES);
	int rc = io_load(folder, "cgroup.procs", &text);

	if (rc == -EOPNOTSUPP) {
		buf_reset(&text);
		rc = io_load(folder, "cgroup.threads", &text);
	}
	if (rc == -ENODEV) /* removed */
		return 0;
	return rc ?: text.len ? add_numbers(g, text.data) : 0;
}

static int add_group(struct process_group *g, int parent, const char *name, unsigned depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	int rc;

	if (!dir) {
		rc = errno == ENOENT && depth ? 0 : -errno;
		io_close(&fd);
		return rc;
	}
	rc = add_members(g, fd);
	if (rc == -ENOENT && depth)
		rc = 0;
	while (rc == 0 && depth < MAX_DEPTH && (d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			rc = add_group(g, fd, d->d_name, depth + 1);
	closedir(dir);
	return rc;
}

int process_group_read(struct process_group *g, int folder)
{
	int rc;

	g->nr = 0;
	rc = add_group(g, folder, ".", 0);
	if (rc)
		g->nr = 0;
	else if (g->nr)
		qsort(g->list, g->nr, sizeof(*g->list), order_ids);
	return rc;
}

bool process_group_has(const struct process_group *g, uint32_t pid)
{
	size_t at = ORDER_FIRST(i, g->nr, g->list[i] >= pid);

	return at < g->nr && g->list[at] == pid;
}
