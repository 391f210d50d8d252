#include "target/children.h"

#include "base/buf.h"
#include "base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

enum {
	MAX_LIST_BYTES = 16 << 20,
	MAX_DEPTH = 32, /* of control groups */
};

static void load_file(int folder, const char *name, struct buf *out)
{
	IO_AUTO_FD int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	while (fd >= 0 && buf_reserve(out, 4096) && (n = read(fd, out->data + out->len, 4096)) > 0)
		buf_use(out, (size_t)n);
}

static int each_below(int parent, const char *name, unsigned depth, proc_id_fn *fn, void *arg)
{
	BUF_AUTO(text, MAX_LIST_BYTES);
	const struct dirent *d;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		io_close(&fd);
		return 0;
	}
	load_file(fd, "cgroup.procs", &text);
	rc = proc_each_number(buf_str(&text), text.len, fn, arg);
	while (rc == 0 && depth < MAX_DEPTH && (d = readdir(dir)))
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			rc = each_below(fd, d->d_name, depth + 1, fn, arg);
	closedir(dir);
	return rc;
}

int target_each_of_cgroup(int folder, proc_id_fn *fn, void *arg)
{
	return each_below(folder, ".", 0, fn, arg);
}
