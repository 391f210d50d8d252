/*
 * CPU time of the machine less that of the rows.
 */
#include "collect/process_rest.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/root.h"
#include "base/sys.h"
#include "collect/proc_stat.h"

#include <errno.h>
#include <unistd.h>

void process_rest_open(struct process_rest *r, const struct root *root)
{
	enum { TICKS_OF_ROUNDING = 4, NS_PER_S = 1000000000 };
	long hz = sysconf(_SC_CLK_TCK), nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int fd = hz > 0 ? root_open(root, "/proc/stat") : -1;

	*r = (struct process_rest){.fd = fd < 0 ? -1 : fd};
	if (fd < 0)
		return;
	r->tick_ns = NS_PER_S / (uint64_t)hz;
	r->slack_ns = (int64_t)r->tick_ns * (TICKS_OF_ROUNDING + (nr_cpus > 0 ? nr_cpus : 1));
}

void process_rest_close(struct process_rest *r)
{
	io_close(&r->fd);
}

void process_rest_add(struct process_rest *r, uint64_t machine_ns, uint64_t rows_ns, bool is_whole)
{
	if (r->is_begun && is_whole) {
		r->ahead_ns += (int64_t)(machine_ns - r->machine_ns) - (int64_t)rows_ns;
		if (r->ahead_ns > 0) {
			r->raw_ns += (uint64_t)r->ahead_ns;
			r->ahead_ns = 0;
		}
		if (r->ahead_ns < -r->slack_ns)
			r->ahead_ns = -r->slack_ns;
	}
	r->is_begun = is_whole;
	r->machine_ns = machine_ns;
}

int process_rest_read(struct process_rest *r, uint64_t rows_ns, bool is_whole)
{
	char text[1024]; /* its first line */
	ssize_t n = sys()->pread(r->fd, text, sizeof(text), 0);
	uint64_t ticks;
	int rc = n < 0 ? (int)n : proc_stat_parse_all(text, (size_t)n, &ticks);

	r->time_ns = clock_monotonic_ns();
	if (rc)
		r->is_begun = false;
	else
		process_rest_add(r, ticks * r->tick_ns, rows_ns, is_whole);
	return rc;
}
