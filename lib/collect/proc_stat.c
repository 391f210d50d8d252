/*
 * /proc/stat.
 *
 *   cpu  10132153 290696 3084719 46828483 16683 0 25195 0 175628 0
 *   cpu0 1393280 32966 572056 13343292 6130 0 17875 0 23933 0
 *   ctxt 1990473
 *
 * user nice system idle iowait irq softirq steal guest guest_nice, in ticks. user and nice contain
 * guest and guest_nice already. idle and iowait can go back by a little (nohz accounting), so busy
 * is the sum of the others and not total - idle.
 */
#include "collect/proc_stat.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, NR_TIMES };
enum { NR_REQUIRED = IDLE + 1 }; /* Linux 2.4 had these; the rest came later */

struct cpu_times {
	bool seen;
	uint64_t ticks[NR_TIMES];
};

struct proc_stat {
	bool has_ctxt;
	uint64_t ctxt;
	struct cpu_times cpus[];
};

static int parse_times(const char *p, const char *end, struct cpu_times *out)
{
	struct cpu_times times = {.seen = true};
	int nr = 0;

	while (nr < NR_TIMES) {
		while (p != end && *p == ' ')
			p++;
		if (p == end)
			break;
		if (str_scan_u64(&p, end, &times.ticks[nr]) ||
		    times.ticks[nr] > UINT64_MAX / NR_TIMES) /* their sum must not wrap */
			return -EINVAL;
		nr++;
	}
	if (nr < NR_REQUIRED)
		return -EINVAL;
	*out = times;
	return 0;
}

static int parse_line(const char *p, const char *end, struct proc_stat *s, uint32_t nr_cpus)
{
	uint64_t cpu;

	if (end - p > 5 && memcmp(p, "ctxt ", 5) == 0) {
		p += 5;
		s->has_ctxt = true;
		return str_scan_u64(&p, end, &s->ctxt);
	}
	if (end - p < 4 || memcmp(p, "cpu", 3) != 0 || p[3] < '0' || p[3] > '9')
		return 0; /* also the line of all CPUs */
	p += 3;
	if (str_scan_u64(&p, end, &cpu))
		return -EINVAL;
	return cpu < nr_cpus ? parse_times(p, end, &s->cpus[cpu]) : 0;
}

static int parse(const char *text, size_t len, void *state, uint32_t nr_cpus)
{
	const char *end = text + len, *line, *stop;
	int rc = 0;

	while (rc == 0 && (line = str_next_line(&text, end, &stop)))
		rc = parse_line(line, stop, state, nr_cpus);
	return rc;
}

static uint64_t busy(const uint64_t *t)
{
	return t[USER] + t[NICE] + t[SYSTEM] + t[IRQ] + t[SOFTIRQ] + t[STEAL];
}

static bool get(const void *state, uint16_t field, uint32_t cpu, struct collect_value *out)
{
	const struct proc_stat *s = state;
	const uint64_t *t = s->cpus[cpu].ticks;

	out->base = busy(t) + t[IDLE] + t[IOWAIT];
	switch ((enum proc_stat_field)field) {
	case PROC_STAT_UTILIZATION:
		out->raw = busy(t);
		return s->cpus[cpu].seen;
	case PROC_STAT_USER:
		out->raw = t[USER] + t[NICE];
		return s->cpus[cpu].seen;
	case PROC_STAT_SYSTEM:
		out->raw = t[SYSTEM];
		return s->cpus[cpu].seen;
	case PROC_STAT_IOWAIT:
		out->raw = t[IOWAIT];
		return s->cpus[cpu].seen;
	case PROC_STAT_CTXT:
		*out = (struct collect_value){.raw = s->ctxt};
		return s->has_ctxt;
	}
	return false;
}

const struct collect_source proc_stat_source = {
    .path = "/proc/stat",
    .state_bytes = sizeof(struct proc_stat),
    .cpu_bytes = sizeof(struct cpu_times),
    .parse = parse,
    .get = get,
};
