/*
 * CPU time of the machine, of a control group or of a tree, less that of the rows.
 */
#include "process/rest.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/root.h"
#include "base/sys.h"
#include "things/cgroup.h"
#include "things/cgroup_text.h"
#include "things/machine_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Both accounts differ by what CPUs have not added yet, at ticks. */
static void init(struct process_rest *r, int fd, uint64_t tick_ns)
{
	enum { TICKS_OF_ROUNDING = 4 };
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*r = (struct process_rest){.fd = fd < 0 ? -1 : fd};
	r->slack_ns = (int64_t)tick_ns * (TICKS_OF_ROUNDING + (nr_cpus > 0 ? nr_cpus : 1));
}

static uint64_t get_tick_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK);

	return hz > 0 ? UINT64_C(1000000000) / (uint64_t)hz : 0;
}

void process_rest_open(struct process_rest *r, const struct root *root)
{
	uint64_t tick_ns = get_tick_ns();

	init(r, tick_ns ? root_open(root, "/proc/stat") : -1, tick_ns);
	r->tick_ns = tick_ns;
}

void process_rest_open_group(struct process_rest *r, int folder)
{
	init(r, sys()->openat(folder, "cpu.stat", O_RDONLY | O_CLOEXEC, 0), get_tick_ns());
}

void process_rest_open_tree(struct process_rest *r, bool is_time)
{
	init(r, -1, is_time ? get_tick_ns() : 0);
	r->is_of_tree = true;
}

void process_rest_close(struct process_rest *r)
{
	io_close(&r->fd);
}

static void drop_missing(struct process_rest *r)
{
	const int64_t least_ns = -r->slack_ns - r->owed_ns;
	bool is_behind = r->ahead_ns < least_ns;
	int64_t behind_ns;

	if (is_behind && (!r->is_of_tree || r->is_behind))
		r->ahead_ns = least_ns;
	r->is_behind = is_behind;
	behind_ns = r->ahead_ns < -r->slack_ns ? -r->slack_ns - r->ahead_ns : 0;
	if (r->owed_ns > behind_ns)
		r->owed_ns = behind_ns;
}

void process_rest_owe(struct process_rest *r, uint64_t ns)
{
	r->owed_ns += r->is_begun ? (int64_t)ns : 0;
}

void process_rest_lose(struct process_rest *r, uint64_t ns)
{
	r->machine_ns -= ns;
}

void process_rest_add(struct process_rest *r, uint64_t machine_ns, uint64_t rows_ns, bool is_whole)
{
	if (r->is_begun && is_whole) {
		r->ahead_ns += (int64_t)(machine_ns - r->machine_ns) - (int64_t)rows_ns;
		if (r->ahead_ns > 0) {
			r->raw_ns += (uint64_t)r->ahead_ns;
			r->ahead_ns = 0;
		}
		drop_missing(r);
	}
	r->is_begun = is_whole;
	r->machine_ns = machine_ns;
}

static int parse(const struct process_rest *r, const char *text, size_t len, uint64_t *ns)
{
	uint64_t values[CGROUP_NR_FIELDS] = {0};
	uint32_t has = 0;
	int rc;

	if (!r->tick_ns) {
		rc = cgroup_parse_cpu(text, len, values, &has);
		*ns = values[CGROUP_CPU_USAGE];
		return rc ?: has & 1u << CGROUP_CPU_USAGE ? rc : -ENODATA;
	}
	rc = machine_stat_parse_all(text, len, ns);
	*ns *= r->tick_ns;
	return rc;
}

int process_rest_read(struct process_rest *r, uint64_t rows_ns, bool is_whole)
{
	char text[4096]; /* of /proc/stat its first line */
	ssize_t n = sys()->pread(r->fd, text, sizeof(text), 0);
	uint64_t ns = 0;
	int rc = n < 0 ? (int)n : parse(r, text, (size_t)n, &ns);

	r->time_ns = clock_monotonic_ns();
	if (rc)
		r->is_begun = false;
	else
		process_rest_add(r, ns, rows_ns, is_whole);
	return rc;
}
