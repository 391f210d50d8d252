/*
 * What serving metrics costs: a synthetic session of so many CPUs, events and processes, whose
 * every number changes in every iteration, as texts in both forms, and these over HTTP on a socket.
 * For scripts/bench-metrics.
 *
 *   metrics_cost CPUS EVENTS PROCESSES ITERATIONS SOCKET
 *
 * One line of numbers: CPU time in µs per iteration of adding it up, of the texts, of passing them
 * on; of a scrape, without the reader's; and the bytes of the classic text and of OpenMetrics.
 */
#include "base/buf.h"
#include "base/err.h"
#include "expose/exposition.h"
#include "serve/serve.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, MAX_TEXT_BYTES = 64 << 20 };

static struct {
	size_t nr_cpus, nr_events, nr_processes, nr_iterations;
	const char *socket;
} args;

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void make_columns(struct table_column *c, struct trace_event *events, char names[][32])
{
	for (size_t i = 0; i <= args.nr_events; i++) {
		bool is_last = i == args.nr_events;

		snprintf(names[i], sizeof(names[i]), is_last ? "process_time" : "event_%zu", i);
		c[i] =
		    (struct table_column){.group = is_last ? "misc" : "model",
					  .name = names[i],
					  .label = names[i],
					  .unit = "",
					  .kind = EVENT_COUNT,
					  .scope = is_last ? EVENT_SCOPE_THINGS : EVENT_SCOPE_CPU};
		events[i] = (struct trace_event){.group = c[i].group,
						 .name = names[i],
						 .unit = "",
						 .description = "",
						 .source = "",
						 .reason = ""};
	}
}

static struct cell make_cell(size_t i)
{
	uint64_t n = 1000000 + (uint64_t)rand() * (i + 1);

	return (struct cell){.state = CELL_OK,
			     .is_perf = true,
			     .count = n,
			     .value = (double)n,
			     .raw = n,
			     .enabled_ns = NS_PER_S,
			     .running_ns = NS_PER_S,
			     .span_ns = NS_PER_S};
}

static void fill(struct table *t, uint32_t iteration, struct table_thing *things, char names[][32])
{
	t->iteration = iteration;
	t->start_ns = 1000 + (uint64_t)iteration * NS_PER_S;
	t->realtime_ns = t->end_ns = t->start_ns + NS_PER_S;
	for (size_t row = 0; row < t->nr_rows; row++) {
		t->row_cpu[row] = (uint32_t)row;
		for (size_t i = 0; i < args.nr_events; i++)
			*table_cell(t, row, i) = make_cell(i);
	}
	for (size_t i = 0; i < args.nr_processes; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu process", 1000 + i);
		things[i] = (struct table_thing){.column = args.nr_events,
						 .number = (uint32_t)i,
						 .name = names[i],
						 .cell = make_cell(i)};
	}
	table_total(t);
	t->things = things;
	t->nr_things = args.nr_processes;
}

/* The reader; its own CPU time is subtracted. */
static uint64_t scrape(void)
{
	static const char request[] =
	    "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	uint64_t all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID), own = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static char text[1 << 20];

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", args.socket);
	if (fd < 0 || connect(fd, (const void *)&to, sizeof(to)) ||
	    write(fd, request, sizeof(request) - 1) < 0)
		die(args.socket);
	while (read(fd, text, sizeof(text)) > 0)
		;
	close(fd);
	own = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - own;
	return cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all - own;
}

static void measure(struct exposition *x, struct table *t, struct serve *serve)
{
	struct table_thing *things = calloc(args.nr_processes + 1, sizeof(*things)),
			   *own = t->things;
	char(*names)[32] = calloc(args.nr_processes + 1, 32);
	struct buf text[SERVE_NR_FORMS];
	uint64_t add_ns = 0, put_ns = 0, set_ns = 0, scrape_ns = 0;

	for (int i = 0; i < SERVE_NR_FORMS; i++)
		buf_init(&text[i], MAX_TEXT_BYTES);
	if (!things || !names)
		die("memory");
	for (size_t i = 0; i < args.nr_iterations; i++) {
		uint64_t at[4];

		fill(t, (uint32_t)i, things, names);
		at[0] = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		if (exposition_add(x, t))
			die("memory");
		at[1] = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		for (int k = 0; k < SERVE_NR_FORMS; k++)
			buf_reset(&text[k]);
		if (exposition_put(x, t, &text[SERVE_OPENMETRICS], false, NULL))
			die("memory");
		openmetrics_to_classic(&text[SERVE_OPENMETRICS], &text[SERVE_CLASSIC]);
		at[2] = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		if (serve_set(serve, text))
			die("memory");
		at[3] = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		add_ns += at[1] - at[0];
		put_ns += at[2] - at[1];
		set_ns += at[3] - at[2];
		scrape_ns += scrape();
	}
	printf("%.1f %.1f %.1f %.1f %zu %zu\n", (double)add_ns / 1e3 / (double)args.nr_iterations,
	       (double)put_ns / 1e3 / (double)args.nr_iterations,
	       (double)set_ns / 1e3 / (double)args.nr_iterations,
	       (double)scrape_ns / 1e3 / (double)args.nr_iterations, text[SERVE_CLASSIC].len,
	       text[SERVE_OPENMETRICS].len);
	for (int i = 0; i < SERVE_NR_FORMS; i++)
		buf_fini(&text[i]);
	t->things = own;
	t->nr_things = 0;
	free(things);
	free(names);
}

int main(int argc, char **argv)
{
	struct exposition_config config = {
	    .has_no_times = true, .is_of_iterations = true, .max_things = 100};
	struct exposition x;
	struct trace_event *events;
	struct serve *serve;
	struct err e = {0};
	struct table *t;
	char(*names)[32], address[128];

	if (argc != 6) {
		fprintf(stderr, "usage: metrics_cost CPUS EVENTS PROCESSES ITERATIONS SOCKET\n");
		return 2;
	}
	args.nr_cpus = strtoul(argv[1], NULL, 10);
	args.nr_events = strtoul(argv[2], NULL, 10);
	args.nr_processes = strtoul(argv[3], NULL, 10);
	args.nr_iterations = strtoul(argv[4], NULL, 10);
	args.socket = argv[5];
	t = table_new(args.nr_events + 1, args.nr_cpus);
	events = calloc(args.nr_events + 1, sizeof(*events));
	names = calloc(args.nr_events + 1, 32);
	if (!t || !events || !names)
		die("memory");
	make_columns(t->columns, events, names);
	config.events = events;
	snprintf(address, sizeof(address), "unix:%s", args.socket);
	if (exposition_init(&x, &config, t) || serve_open(address, &serve, &e)) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	measure(&x, t, serve);
	serve_close(serve);
	exposition_fini(&x);
	table_free(t);
	free(events);
	free(names);
	return 0;
}
