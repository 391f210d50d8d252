/*
 * /proc/stat.
 *
 *   cpu  10132153 290696 3084719 46828483 16683 0 25195 0 175628 0
 *   cpu0 1393280 32966 572056 13343292 6130 0 17875 0 23933 0
 *   ctxt 1990473
 *
 * user nice system idle iowait irq softirq steal guest guest_nice, in ticks. user and nice contain
 * guest and guest_nice already. idle, iowait and steal can decrease (nohz accounting, hypervisors,
 * migration), so busy is the sum of the others, not total - idle; and a time that decreased stands
 * still, so that what the others are shares of is the time that passed.
 */
#include "things/machine_stat.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, NR_TIMES };
enum { NR_REQUIRED = IDLE + 1 }; /* Linux 2.4 had these; the rest came later */

#define BIT(i) (1u << (i))

/* The columns that each field sums up. */
static const unsigned times_of[] = {
    [MACHINE_STAT_UTILIZATION] =
	BIT(USER) | BIT(NICE) | BIT(SYSTEM) | BIT(IRQ) | BIT(SOFTIRQ) | BIT(STEAL),
    [MACHINE_STAT_USER] = BIT(USER) | BIT(NICE),
    [MACHINE_STAT_SYSTEM] = BIT(SYSTEM),
    [MACHINE_STAT_IOWAIT] = BIT(IOWAIT),
    [MACHINE_STAT_NICE] = BIT(NICE),
    [MACHINE_STAT_IDLE] = BIT(IDLE),
    [MACHINE_STAT_IRQ] = BIT(IRQ),
    [MACHINE_STAT_SOFTIRQ] = BIT(SOFTIRQ),
    [MACHINE_STAT_STEAL] = BIT(STEAL),
};
enum { ALL_TIMES = (1u << NR_TIMES) - 1 };

/* Lines of the whole machine; the first number of each is read. */
enum { FIRST_NUMBER = MACHINE_STAT_CTXT };
static const char *const numbers[] = {
    [MACHINE_STAT_CTXT - FIRST_NUMBER] = "ctxt ",
    [MACHINE_STAT_PROCESSES - FIRST_NUMBER] = "processes ",
    [MACHINE_STAT_PROCS_RUNNING - FIRST_NUMBER] = "procs_running ",
    [MACHINE_STAT_PROCS_BLOCKED - FIRST_NUMBER] = "procs_blocked ",
};
enum { NR_NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

struct cpu_times {
	bool seen;
	uint64_t ticks[NR_TIMES];
	uint64_t missing[NR_TIMES]; /* by how much each decreased so far */
};

struct machine_stat {
	unsigned seen; /* bit i: number[i] was in the text */
	uint64_t number[NR_NUMBERS];
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

static int parse_number(const char *p, const char *end, struct machine_stat *s)
{
	for (unsigned i = 0; i < NR_NUMBERS; i++) {
		size_t len = strlen(numbers[i]);

		if ((size_t)(end - p) < len || memcmp(p, numbers[i], len) != 0)
			continue;
		p += len;
		s->seen |= BIT(i);
		return str_scan_u64(&p, end, &s->number[i]);
	}
	return 0;
}

static int parse_line(const char *p, const char *end, struct machine_stat *s, uint32_t nr_cpus)
{
	uint64_t cpu;

	if (end - p < 4 || memcmp(p, "cpu", 3) != 0)
		return parse_number(p, end, s);
	if (p[3] < '0' || p[3] > '9')
		return 0; /* the line of all CPUs */
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

/* The time that decreased, or NR_TIMES. */
static unsigned hold_cpu(struct cpu_times *now, const struct cpu_times *before)
{
	unsigned which = NR_TIMES;

	if (!now->seen) { /* offline: it comes back with these */
		*now = *before;
		now->seen = false;
		return NR_TIMES;
	}
	for (unsigned i = 0; i < NR_TIMES; i++) {
		now->missing[i] = before->missing[i];
		if (now->ticks[i] >= before->ticks[i])
			continue;
		now->missing[i] += before->ticks[i] - now->ticks[i];
		which = i;
	}
	return which;
}

static const char *hold(void *state, const void *before, uint32_t nr_cpus)
{
	static const char *const names[NR_TIMES + 1] = {"user",   "nice", "system",  "idle",
							"iowait", "irq",  "softirq", "steal"};
	const struct machine_stat *was = before;
	struct machine_stat *s = state;
	const char *name = NULL;

	for (uint32_t cpu = 0; cpu < nr_cpus; cpu++)
		name = names[hold_cpu(&s->cpus[cpu], &was->cpus[cpu])] ?: name;
	return name;
}

static uint64_t sum(const struct cpu_times *t, unsigned which)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < NR_TIMES; i++)
		if (which & BIT(i))
			v += t->ticks[i] + t->missing[i];
	return v;
}

int machine_stat_parse_all(const char *text, size_t len, uint64_t *ticks)
{
	const char *end = text + len, *stop, *line = str_next_line(&text, end, &stop);
	struct cpu_times all;

	if (!line || stop - line < 4 || memcmp(line, "cpu ", 4) != 0 ||
	    parse_times(line + 4, stop, &all))
		return -EINVAL;
	*ticks = sum(&all, times_of[MACHINE_STAT_UTILIZATION] & ~BIT(STEAL));
	return 0;
}

static bool get(const void *state, uint16_t field, uint32_t cpu, struct collect_value *out)
{
	const struct machine_stat *s = state;

	if (field >= FIRST_NUMBER) {
		*out = (struct collect_value){.raw = s->number[field - FIRST_NUMBER]};
		return s->seen & BIT(field - FIRST_NUMBER);
	}
	out->raw = sum(&s->cpus[cpu], times_of[field]);
	out->base = sum(&s->cpus[cpu], ALL_TIMES);
	return s->cpus[cpu].seen;
}

const struct collect_source machine_stat_source = {
    .path = "/proc/stat",
    .state_bytes = sizeof(struct machine_stat),
    .cpu_bytes = sizeof(struct cpu_times),
    .parse = parse,
    .hold = hold,
    .get = get,
};
