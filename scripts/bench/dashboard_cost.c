/*
 * What the dashboard costs: a synthetic session of so many CPUs and events, whose every number
 * changes in every iteration, through the dashboard and a terminal of our own that takes all at
 * once. For scripts/bench-dashboard.
 *
 *   dashboard_cost CPUS EVENTS WIDTH HEIGHT ITERATIONS MS
 *
 * Iterations are MS apart (below 40 some are not drawn). One line of numbers: CPU time in µs per
 * iteration of the copy that the measuring thread makes, of taking it into the model, of drawing
 * and sending it, of the plain table of the same, the bytes sent per drawn iteration, of the first
 * screen, of an iteration in which nothing changed, and how many of 100 iterations were drawn.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "dashboard/ui.h"
#include "screen/format.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, MAX_TABLE_BYTES = 64 << 20 };

static struct {
	size_t nr_cpus, nr_events;
	unsigned width, height, nr_iterations, ms;
} args;

struct sums {
	uint64_t copy_ns, model_ns, draw_ns, plain_ns;
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The person's end: takes everything. */
static void *drain(void *arg)
{
	char text[65536];

	while (read(*(int *)arg, text, sizeof(text)) > 0)
		;
	return NULL;
}

static int open_terminal(int *slave)
{
	const struct winsize size = {.ws_col = (unsigned short)args.width,
				     .ws_row = (unsigned short)args.height};
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	if (master < 0 || grantpt(master) || unlockpt(master))
		die("a terminal");
	*slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (*slave < 0 || ioctl(*slave, TIOCSWINSZ, &size))
		die("a terminal");
	return master;
}

static void make_columns(struct table_column *c, char names[][32])
{
	for (size_t i = 0; i < args.nr_events; i++) {
		snprintf(names[i], sizeof(names[i]), "event_number_%zu", i);
		c[i] = (struct table_column){.group = "model",
					     .name = names[i],
					     .label = names[i],
					     .unit = "",
					     .kind = EVENT_COUNT,
					     .scope = EVENT_SCOPE_CPU};
	}
}

static void fill(struct table *t, uint32_t iteration, bool changes)
{
	t->iteration = iteration;
	t->start_ns = 1000 + (uint64_t)iteration * NS_PER_S;
	t->end_ns = t->start_ns + NS_PER_S;
	for (size_t row = 0; row < t->nr_rows; row++) {
		t->row_cpu[row] = (uint32_t)row;
		for (size_t i = 0; i < args.nr_events; i++) {
			uint64_t n = 1000000 + (changes ? (uint64_t)rand() : 77) * (i + 1);

			*table_cell(t, row, i) = (struct cell){.state = CELL_OK,
							       .is_perf = true,
							       .count = n,
							       .value = (double)n,
							       .raw = n,
							       .enabled_ns = NS_PER_S,
							       .running_ns = NS_PER_S,
							       .span_ns = NS_PER_S};
		}
	}
	table_total(t);
}

/* Turns until the moment has come, and all is drawn and sent. */
static uint64_t turn(struct dashboard_ui *s, unsigned ms)
{
	struct timespec now, until;
	uint64_t start = cpu_ns();

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ms * 1000000;
	until.tv_sec += until.tv_nsec / NS_PER_S;
	until.tv_nsec %= NS_PER_S;
	for (;;) {
		long left;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left = (until.tv_sec - now.tv_sec) * 1000 + (until.tv_nsec - now.tv_nsec) / 1000000;
		if (left <= 0)
			return cpu_ns() - start;
		(void)dashboard_ui_turn(s, -1, (int)left);
	}
}

static void one(struct dashboard_ui *s, struct table **to, const struct table *from,
		struct sums *sum)
{
	uint64_t a = cpu_ns(), b, c;

	if (table_copy_events(*to, from))
		die("memory");
	b = cpu_ns();
	model_add(dashboard_ui_model(s), to);
	dashboard_ui_redraw(s);
	c = cpu_ns();
	sum->copy_ns += b - a;
	sum->model_ns += c - b;
	sum->draw_ns += turn(s, args.ms);
}

static uint64_t plain(const struct table *t)
{
	const struct screen_options options = {.width = args.width};
	struct screen_state *state = screen_state_new(t->nr_columns, &options);
	uint64_t start;
	struct buf out;

	buf_init(&out, MAX_TABLE_BYTES);
	screen_format_find("text")->iteration(state, t, &out);
	buf_reset(&out);
	start = cpu_ns();
	screen_format_find("text")->iteration(state, t, &out);
	start = cpu_ns() - start;
	buf_fini(&out);
	screen_state_free(state);
	return start;
}

static double per(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

static void run(struct dashboard_ui *s, struct table *from)
{
	struct table *to = model_new_table(dashboard_ui_model(s));
	struct sums warm = {0}, sum = {0}, still = {0};
	uint64_t bytes, first, drawn, nr = args.nr_iterations;
	uint32_t i = 0;

	fill(from, i++, true);
	one(s, &to, from, &warm);
	first = dashboard_ui_nr_bytes(s);
	for (unsigned k = 0; k < 10; k++) {
		fill(from, i++, true);
		one(s, &to, from, &warm);
	}
	bytes = dashboard_ui_nr_bytes(s);
	drawn = dashboard_ui_nr_drawn(s);
	for (unsigned k = 0; k < nr; k++) {
		fill(from, i++, true);
		sum.plain_ns += plain(from);
		one(s, &to, from, &sum);
	}
	bytes = dashboard_ui_nr_bytes(s) - bytes;
	drawn = dashboard_ui_nr_drawn(s) - drawn;
	printf("%.1f %.1f %.1f %.1f %.0f %" PRIu64 " ", per(sum.copy_ns, nr) / 1e3,
	       per(sum.model_ns, nr) / 1e3, per(sum.draw_ns, nr) / 1e3, per(sum.plain_ns, nr) / 1e3,
	       per(bytes, drawn), first);
	for (unsigned k = 0; k < 40; k++) { /* until the lines of what was before are level */
		fill(from, i++, false);
		one(s, &to, from, &still);
	}
	bytes = dashboard_ui_nr_bytes(s);
	fill(from, i++, false);
	one(s, &to, from, &still);
	printf("%" PRIu64 " %.0f\n", dashboard_ui_nr_bytes(s) - bytes, 100 * per(drawn, nr));
	table_free(to);
}

static struct model_cpu *make_cpus(void)
{
	struct model_cpu *cpus = mem_calloc(args.nr_cpus, sizeof(*cpus));

	for (uint32_t i = 0; cpus && i < args.nr_cpus; i++)
		cpus[i] = (struct model_cpu){.cpu = i,
					     .package = (int32_t)(2 * i / args.nr_cpus),
					     .node = (int32_t)(4 * i / args.nr_cpus)};
	return cpus;
}

/* A number from 1 on, or the end. */
static unsigned long number_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!n || *end || n > 1000000)
		die(text);
	return n;
}

int main(int argc, char **argv)
{
	struct table *t;
	struct model_facts facts = {.name = "bench",
				    .host = "bench",
				    .cpu_model = "none",
				    .nr_iterations = 1000000,
				    .duration_ns = NS_PER_S};
	struct dashboard_ui_config config = {.facts = &facts};
	struct dashboard_ui *s;
	struct err e = {0};
	pthread_t thread;
	char(*names)[32];
	int master;

	if (argc != 7) {
		fprintf(stderr, "usage: dashboard_cost CPUS EVENTS WIDTH HEIGHT ITERATIONS MS\n");
		return 2;
	}
	args.nr_cpus = (size_t)number_of(argv[1]);
	args.nr_events = (size_t)number_of(argv[2]);
	args.width = (unsigned)number_of(argv[3]);
	args.height = (unsigned)number_of(argv[4]);
	args.nr_iterations = (unsigned)number_of(argv[5]);
	args.ms = (unsigned)number_of(argv[6]);
	names = mem_calloc(args.nr_events, sizeof(*names));
	t = table_new(args.nr_events, args.nr_cpus);
	if (!names || !t)
		die("memory");
	make_columns(t->columns, names);
	facts.events = t->columns;
	facts.nr_events = args.nr_events;
	facts.cpus = make_cpus();
	facts.nr_cpus = args.nr_cpus;
	master = open_terminal(&config.fd);
	pthread_create(&thread, NULL, drain, &master);
	if (dashboard_ui_open(&config, &s, &e)) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	run(s, t);
	(void)dashboard_ui_close(s, 1000);
	return 0;
}
