/*
 * The floor of sampling: cpu_clock and the side-band on every CPU, rings that are waited for and
 * whose bytes are written, and nothing else: no header, no task that was there before, no sums.
 * What bench-sampling holds cpuperf against.
 *
 *   sampling_floor PERIOD_NS SECONDS PREFIX [STACK_BYTES]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RINGS = 2048, WAIT_MS = 250 };

/* All general registers: linux/perf_event.h knows them by the numbers of asm/perf_regs.h. */
#if defined(__aarch64__)
#define USER_REGS 0x1ffffffffull
#else
#define USER_REGS 0xff0fffull
#endif

/* As cpuperf has them: samples in 16 MiB for each CPU, side-band in a ring of its own. */
static const uint64_t ring_bytes[2] = {16 << 20, 1 << 20};

struct ring {
	int event, file;
	struct perf_event_mmap_page *head;
	const char *data;
	uint64_t bytes;
};

static void die(const char *what)
{
	fprintf(stderr, "sampling_floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct perf_event_attr samples_attr(uint64_t period_ns, uint32_t stack_bytes)
{
	struct perf_event_attr a = {
	    .size = sizeof(a),
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .sample_period = period_ns,
	    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
	};

	if (stack_bytes) {
		a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		a.sample_regs_user = USER_REGS;
		a.sample_stack_user = stack_bytes;
	}
	return a;
}

static struct perf_event_attr side_band_attr(void)
{
	struct perf_event_attr a = {
	    .size = sizeof(a),
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_DUMMY,
	    .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	    .mmap = 1,
	    .mmap2 = 1,
	    .comm = 1,
	    .comm_exec = 1,
	    .task = 1,
	    .ksymbol = 1,
	    .bpf_event = 1,
	    .build_id = 1,
	    .sample_id_all = 1,
	};

	return a;
}

static void open_ring(struct ring *r, struct perf_event_attr a, long cpu, uint64_t bytes,
		      const char *path)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	a.disabled = 1;
	a.use_clockid = 1;
	a.clockid = CLOCK_MONOTONIC;
	a.watermark = 1;
	a.wakeup_watermark = (uint32_t)(bytes / 4);
	r->event = (int)syscall(SYS_perf_event_open, &a, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->event < 0)
		die("perf_event_open");
	r->head = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->event, 0);
	if (r->head == MAP_FAILED)
		die("mmap");
	r->data = (const char *)r->head + page;
	r->bytes = bytes;
	r->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (r->file < 0)
		die(path);
}

static void drain(struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->head->data_tail, at = tail % r->bytes, len = head - tail;
	uint64_t first = len < r->bytes - at ? len : r->bytes - at;
	struct iovec parts[2] = {
	    {(void *)(uintptr_t)(r->data + at), first},
	    {(void *)(uintptr_t)r->data, len - first},
	};

	if (len && writev(r->file, parts, 2) != (ssize_t)len)
		die("writev");
	__atomic_store_n(&r->head->data_tail, head, __ATOMIC_RELEASE);
}

static void wait_and_drain(struct ring *rings, size_t nr, uint64_t end_ns)
{
	struct pollfd fds[MAX_RINGS];

	for (size_t i = 0; i < nr; i++)
		fds[i] = (struct pollfd){.fd = rings[i].event, .events = POLLIN};
	for (uint64_t now = now_ns(); now < end_ns; now = now_ns()) {
		uint64_t left_ms = (end_ns - now) / 1000000 + 1;

		if (poll(fds, nr, left_ms < WAIT_MS ? (int)left_ms : WAIT_MS) < 0 && errno != EINTR)
			die("poll");
		for (size_t i = 0; i < nr; i++)
			drain(&rings[i]);
	}
}

int main(int argc, char **argv)
{
	static struct ring rings[MAX_RINGS];
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t nr = 0;

	if (argc < 4 || nr_cpus * 2 > MAX_RINGS)
		return 2;
	for (long cpu = 0; cpu < nr_cpus; cpu++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s.%ld", argv[3], cpu);
		open_ring(&rings[nr++],
			  samples_attr(strtoull(argv[1], NULL, 10),
				       argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0),
			  cpu, ring_bytes[0], path);
		snprintf(path, sizeof(path), "%s.side.%ld", argv[3], cpu);
		open_ring(&rings[nr++], side_band_attr(), cpu, ring_bytes[1], path);
	}
	for (size_t i = 0; i < nr; i++)
		ioctl(rings[i].event, PERF_EVENT_IOC_ENABLE, 0);
	wait_and_drain(rings, nr, now_ns() + strtoull(argv[2], NULL, 10) * 1000000000);
	for (size_t i = 0; i < nr; i++)
		ioctl(rings[i].event, PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = 0; i < nr; i++)
		drain(&rings[i]);
	return 0;
}
