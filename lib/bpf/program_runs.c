/*
 * Walks the loaded programs by id.
 */
#include "bpf/program_runs.h"

#include "base/err.h"
#include "base/io.h"
#include "base/privilege.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <stdio.h>

int program_runs_open(int *fd, struct err *e)
{
	int rc;

	privilege_raise();
	rc = bpf_enable_stats(BPF_STATS_RUN_TIME);
	privilege_lower();
	if (rc >= 0) {
		*fd = rc;
		return 0;
	}
	if (rc == -EPERM || rc == -EACCES) {
		rc =
		    err_set(e, -EPERM, "BPF programs: the kernel adds up their time for root only");
		err_hint(e, "run cpuperf as root (CAP_SYS_ADMIN)");
		return rc;
	}
	if (rc == -EINVAL || rc == -ENOSYS)
		return err_set(e, -ENOTSUP,
			       "BPF programs: this kernel cannot add up their time on request "
			       "(Linux 5.8 or later can)");
	return err_set(e, rc, "BPF programs: their time cannot be added up: %s", strerror(-rc));
}

/* 0; -ENOENT: it is unloaded meanwhile; -errno. */
static int read_one(uint32_t id, struct program_runs *out)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	IO_AUTO_FD int fd = bpf_prog_get_fd_by_id(id);
	int rc = fd < 0 ? fd : bpf_obj_get_info_by_fd(fd, &info, &len);

	if (rc)
		return rc;
	*out = (struct program_runs){.id = id, .run_ns = info.run_time_ns, .nr_runs = info.run_cnt};
	snprintf(out->name, sizeof(out->name), "%.*s", (int)sizeof(info.name), info.name);
	return 0;
}

/* Ids grow, so that the walk ends. */
static int walk(program_runs_fn *fn, void *arg)
{
	uint32_t id = 0, next;
	int rc = 0;

	while (rc == 0 && (rc = bpf_prog_get_next_id(id, &next)) == 0 && next > id) {
		struct program_runs p;

		id = next;
		rc = read_one(id, &p);
		rc = rc == -ENOENT ? 0 : rc ? rc : fn(arg, &p);
	}
	return rc == -ENOENT ? 0 : rc;
}

int program_runs_each(program_runs_fn *fn, void *arg)
{
	int rc;

	privilege_raise();
	rc = walk(fn, arg);
	privilege_lower();
	return rc;
}
