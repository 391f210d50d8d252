#include "pushing.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/library.h"
#include "base/log.h"
#include "export/openmetrics.h"
#include "options.h"
#include "plan/plan.h"
#include "program.h"
#include "push/target.h"
#include "rights.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MAX_ARGUMENTS = 24 + OPT_MAX_STRINGS,
	MAX_OUTPUT_BYTES = 64 << 10,
	MAX_ARGUMENTS_BYTES = 128 << 10,
	LOW_PRIORITY = 10, /* at the lowest it would get nothing on a busy machine */
	STEP_MS = 100,
	NS_PER_US = 1000,
	NS_PER_MS = 1000000,
	US_PER_S = 1000000,
	NS_PER_S = 1000000000,
	MIN_WAIT_NS = NS_PER_S, /* for a request in progress */
	NR_COUNTS = 11,         /* numbers in a row of cpuperf_print */
};

/* To the child. */
struct request {
	uint64_t nr; /* iterations below it have ended */
	uint64_t is_over;
};

/* From the child: what a run of cpuperf_print did. */
struct report {
	struct push_counts counts;
	uint64_t nr_broken, cpu_ns;
	char why[PUSHING_TEXT_BYTES / 2];
};

/* --- in the child: no heap of libc, no stdio ----------------------------------------------------
 */

struct start {
	char printer[PATH_MAX];
	char session[PATH_MAX + 32];
	char *arguments[MAX_ARGUMENTS]; /* those that each run has */
	size_t nr;
	uint64_t wait_ns; /* at the end */
	char *const *environment;
};

/* What was asked. */
struct asked {
	int fd;
	struct request newest;
	bool is_new;
	uint64_t over_ns; /* when the end was asked for; 0: not yet */
	bool is_late;     /* the wait at the end has passed without an answer */
};

/* Not fork, which would take libc's locks. */
static pid_t fork_plainly(void)
{
	return (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL, 0ul);
}

static void mask_end(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, PUSH_END_SIGNAL);
	sigprocmask(how, &set, NULL);
}

static _Noreturn void become_printer(const struct start *s, char *const argv[], bool has_wait,
				     int output)
{
	if (has_wait)
		mask_end(SIG_UNBLOCK);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0)
		execve(s->printer, argv, s->environment);
	_exit(EXIT_NOT_FOUND);
}

/* "1,0,0,2,…,why": numbers in the order of struct push_counts. */
static int parse_row(const char *row, struct report *out)
{
	struct push_counts *c = &out->counts;
	uint64_t *const numbers[NR_COUNTS] = {&c->made,       &c->empty,    &c->missing, &c->sent,
					      &c->sent_bytes, &c->refused,  &c->old,     &c->full,
					      &c->damaged,    &c->failures, &c->waiting};
	size_t len;

	for (size_t i = 0; i < NR_COUNTS; i++) {
		if (*row < '0' || *row > '9')
			return -EINVAL;
		for (*numbers[i] = 0; *row >= '0' && *row <= '9'; row++)
			*numbers[i] = 10 * *numbers[i] + (uint64_t)(*row - '0');
		if (*row++ != ',')
			return -EINVAL;
	}
	row += *row == '"';
	len = strcspn(row, "\"\n");
	memcpy(out->why, row, len < sizeof(out->why) ? len : sizeof(out->why) - 1);
	return 0;
}

/* The first row, or else the last line that is no hint, which says why there is none. */
static void parse_output(const char *text, struct report *out)
{
	const char *last = "";
	struct report r = {.nr_broken = 0};

	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");

		if (parse_row(line, &r) == 0) {
			*out = r;
			return;
		}
		last = *line == ' ' ? last : line;
		line += len + (line[len] != '\0');
	}
	out->nr_broken = 1;
	memcpy(out->why, last, strnlen(last, sizeof(out->why) - 1));
	out->why[strcspn(out->why, "\n")] = '\0';
}

/* The newest request; older ones say less. False: there is none. */
static bool receive(struct asked *a, int flags)
{
	bool is_new = false;

	for (; recv(a->fd, &a->newest, sizeof(a->newest), flags) == sizeof(a->newest);
	     flags = MSG_DONTWAIT)
		is_new = a->is_new = true;
	if (a->newest.is_over && !a->over_ns)
		a->over_ns = clock_monotonic_ns();
	return is_new;
}

/* What is left of the wait; -1: the end is not near. */
static int left_ms(const struct asked *a, uint64_t wait_ns)
{
	uint64_t spent_ns = clock_monotonic_ns() - a->over_ns;

	if (!a->over_ns)
		return -1;
	return spent_ns < wait_ns ? (int)((wait_ns - spent_ns) / NS_PER_MS) + 1 : 0;
}

static bool read_more(int fd, struct buf *out)
{
	char data[1024];
	ssize_t len = read(fd, data, sizeof(data));

	if (len > 0)
		buf_add(out, data, (size_t)len);
	return len > 0 || (len < 0 && errno == EINTR);
}

/* Until its end. True: the run was broken off. */
static bool read_output(const struct start *s, struct asked *a, pid_t pid, int fd, bool has_wait,
			struct buf *out)
{
	struct pollfd p[] = {{.fd = fd, .events = POLLIN},
			     {.fd = has_wait ? -1 : a->fd, .events = POLLIN}};
	const uint64_t wait_ns = s->wait_ns > MIN_WAIT_NS ? s->wait_ns : MIN_WAIT_NS;
	bool is_told = has_wait; /* how long it may take */

	do {
		p[0].revents = p[1].revents = 0;
		(void)poll(p, ARRAY_NR(p), is_told ? -1 : left_ms(a, wait_ns));
		if (p[1].revents && !receive(a, MSG_DONTWAIT))
			p[1].fd = -1; /* the recorder has ended */
		if (!is_told && left_ms(a, wait_ns) == 0) {
			is_told = true;
			(void)kill(pid, PUSH_END_SIGNAL);
		}
	} while (!p[0].revents || read_more(fd, out));
	return is_told && !has_wait;
}

/* has_wait: by its option; else it is broken off when that at the end is over. */
static void run_printer(const struct start *s, struct asked *a, char *const argv[], bool has_wait,
			struct report *out)
{
	BUF_AUTO(text, MAX_OUTPUT_BYTES);
	struct rusage used = {0};
	bool is_broken_off = false;
	int ends[2];
	pid_t pid;

	*out = (struct report){.nr_broken = 1};
	if (pipe2(ends, O_CLOEXEC))
		return;
	pid = fork_plainly();
	if (pid == 0)
		become_printer(s, argv, has_wait, ends[1]);
	close(ends[1]);
	if (pid > 0)
		is_broken_off = read_output(s, a, pid, ends[0], has_wait, &text);
	parse_output(buf_str(&text), out);
	a->is_late |= is_broken_off && out->counts.failures;
	close(ends[0]);
	while (pid > 0 && wait4(pid, NULL, 0, &used) < 0 && errno == EINTR)
		;
	out->cpu_ns = ((uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * US_PER_S +
		       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec)) *
		      NS_PER_US;
}

/* Iterations first <= i < end; none: what waits alone. */
static void push_range(const struct start *s, struct asked *a, uint64_t first, uint64_t end,
		       bool is_last)
{
	BUF_AUTO(range, 64);
	BUF_AUTO(wait, 64);
	char *argv[MAX_ARGUMENTS + 4], waiting[] = "--push-waiting";
	struct report report;
	size_t nr = s->nr;

	memcpy(argv, s->arguments, nr * sizeof(*argv));
	buf_adds(&wait, "--push-wait=");
	buf_u64(&wait, is_last ? (uint64_t)left_ms(a, s->wait_ns) : 0);
	buf_adds(&wait, "ms");
	argv[nr++] = (char *)buf_str(&wait);
	buf_adds(&range, "--iteration=");
	buf_u64(&range, first);
	buf_addc(&range, '-');
	buf_u64(&range, end - 1);
	if (first < end) {
		argv[nr++] = (char *)s->session;
		argv[nr++] = range.data;
	} else {
		argv[nr++] = waiting;
	}
	argv[nr] = NULL;
	if (buf_error(&range) || buf_error(&wait))
		return;
	run_printer(s, a, argv, is_last && !a->is_late, &report);
	(void)send(a->fd, &report, sizeof(report), MSG_NOSIGNAL);
}

/* Descriptors 0 to 2, which a child lacks. */
static void open_nothing(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
		(void)fcntl(fd, F_SETFD, 0);
	io_close(&fd);
}

static void run_child(int fd, const void *arg)
{
	const struct start *s = arg;
	struct asked a = {.fd = fd};
	struct request r = {.nr = 0};
	uint64_t done = 0;

	open_nothing();
	mask_end(SIG_BLOCK); /* or it might come before a run blocks it */
	(void)setpriority(PRIO_PROCESS, 0, LOW_PRIORITY);
	while (!r.is_over && (a.is_new || receive(&a, 0))) {
		r = a.newest;
		a.is_new = false;
		if (done < r.nr || r.is_over)
			push_range(s, &a, done, r.nr, r.is_over);
		done = r.nr;
	}
}

/* --- in the recorder ----------------------------------------------------------------------------
 */

int pushing_open(struct pushing *p, const struct options *o, const struct plan *plan, struct err *e)
{
	struct push_target target;
	char printer[PATH_MAX];
	int rc;

	*p = (struct pushing){.child = CHILD_NONE, .options = o};
	rc = push_options_check(&o->push, e);
	if (rc || !o->push.url)
		return rc;
#ifdef CPUPERF_STATIC /* rather than after the measurement */
	err_set(e, -ENOTSUP, "--push: the static cpuperf loads no libraries");
	err_hint(e, LIBRARY_HINT("libcurl"));
	return -ENOTSUP;
#endif
	if (!plan->is_sampling) {
		err_set(e, -EINVAL, "--push sends profiles, and no event is sampled");
		err_hint(e, "use --frequency=99, or events with a rate");
		return -EINVAL;
	}
	rc = push_target_parse(o->push.url, &target, e) ?: require_printer("--push: ", printer, e);
	snprintf(p->place, sizeof(p->place), "%s", rc ? "" : target.place);
	return rc;
}

/* "--name=value", in out, which has room; nothing without a value. */
static void add_argument(struct start *s, struct buf *out, const char *name, const char *value)
{
	size_t at = out->len;

	if (!value || s->nr >= MAX_ARGUMENTS)
		return;
	buf_printf(out, "--%s=%s", name, value);
	buf_addc(out, '\0');
	s->arguments[s->nr++] = out->data + at;
}

static int add_arguments(struct start *s, struct buf *out, const struct push_options *o)
{
	const struct {
		const char *name, *value;
	} all[] = {
	    {"push", o->url},
	    {"push-name", o->name},
	    {"push-credentials", o->credentials},
	    {"push-ca", o->ca},
	    {"push-spool", o->spool},
	    {"push-limit", o->limits},
	    {"output-format", "csv"},
	    {"quiet", "2"},
	    {"threads", "1"},
	};

	if (!buf_reserve(out, MAX_ARGUMENTS_BYTES)) /* so that texts do not move */
		return buf_error(out);
	for (size_t i = 0; i < ARRAY_NR(all); i++)
		add_argument(s, out, all[i].name, all[i].value);
	for (size_t i = 0; i < o->labels.nr; i++)
		add_argument(s, out, "push-label", o->labels.item[i]);
	return buf_error(out);
}

int pushing_start(struct pushing *p, const char *manifest, struct err *e)
{
	struct start s = {.nr = 0};
	BUF_AUTO(texts, MAX_ARGUMENTS_BYTES);
	int rc;

	if (!p->options->push.url || p->child.fd >= 0)
		return 0;
	rc = find_printer(s.printer);
	if (rc)
		return err_set(e, rc, "--push: cpuperf_print is not found: %s", strerror(-rc));
	s.arguments[s.nr++] = s.printer;
	s.environment = rights_environment();
	snprintf(s.session, sizeof(s.session), "--session=%s", manifest);
	rc = push_wait_parse(p->options->push.wait, &s.wait_ns, e);
	if (rc)
		return rc;
	rc = add_arguments(&s, &texts, &p->options->push);
	if (rc)
		return err_set(e, rc, "--push: the options are too long");
	rc = child_start(&p->child, SOCK_SEQPACKET, "cpuperf_push", run_child, &s);
	return rc ? err_set(e, rc, "--push: no child can be made: %s", strerror(-rc)) : 0;
}

static void add_report(struct pushing *p, const struct report *r)
{
	const struct push_counts *from = &r->counts;
	struct push_counts *to = &p->counts;

	to->made += from->made;
	to->empty += from->empty;
	to->missing += from->missing;
	to->sent += from->sent;
	to->sent_bytes += from->sent_bytes;
	to->refused += from->refused;
	to->old += from->old;
	to->full += from->full;
	to->damaged += from->damaged;
	to->failures += from->failures;
	if (!r->nr_broken)
		to->waiting = from->waiting;
	p->nr_broken += r->nr_broken;
	p->cpu_ns += r->cpu_ns;
	if (*r->why)
		snprintf(p->why, sizeof(p->why), "%s", r->why);
}

/* True: a failure of a kind that was not said yet. */
static bool take_reports(struct pushing *p)
{
	bool is_news = false;
	struct report r;

	while (p->child.fd >= 0 && recv(p->child.fd, &r, sizeof(r), MSG_DONTWAIT) == sizeof(r)) {
		const bool is_failing = *r.why != '\0';

		r.why[sizeof(r.why) - 1] = '\0';
		add_report(p, &r);
		is_news |= is_failing && !p->is_failing;
		if (is_failing || r.counts.sent) /* else it was not the time to try */
			p->is_failing = is_failing;
	}
	return is_news;
}

static bool ask(const struct pushing *p, uint64_t nr, bool is_over)
{
	const struct request r = {.nr = nr, .is_over = is_over};

	return send(p->child.fd, &r, sizeof(r), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	       errno != EAGAIN;
}

bool pushing_add(struct pushing *p, uint64_t nr, bool has_names, char text[PUSHING_TEXT_BYTES])
{
	bool is_news;

	if (p->child.fd < 0)
		return false;
	is_news = take_reports(p);
	if (is_news)
		snprintf(text, PUSHING_TEXT_BYTES, "--push: %.200s: %.250s", p->place, p->why);
	p->nr = nr;
	if (has_names)
		(void)ask(p, nr, false); /* if there is no room for it, a later one says it */
	return is_news;
}

static void log_result(const struct pushing *p)
{
	const struct push_counts *c = &p->counts;
	const struct {
		uint64_t nr;
		const char *what;
	} rest[] = {
	    {c->waiting, "wait for the next session to this URL, or cpuperf_print --push-waiting"},
	    {c->refused, "refused by the receiver, and dropped"},
	    {c->old, "dropped: they waited too long"},
	    {c->full, "dropped: too many waited"},
	    {c->damaged, "dropped: they cannot be stored or read"},
	    {c->missing, "iterations were removed before they were read"},
	    {p->nr_broken, "times cpuperf_print failed"},
	};
	BUF_AUTO(text, MAX_OUTPUT_BYTES);

	for (size_t i = 0; i < ARRAY_NR(rest); i++)
		if (rest[i].nr)
			buf_printf(&text, ", %" PRIu64 " %s", rest[i].nr, rest[i].what);
	if (text.len)
		log_warning("--push: %s: %" PRIu64 " sent%s%s%s", p->place, c->sent, buf_str(&text),
			    *p->why ? ": " : "", p->why);
	else
		log_info("%" PRIu64 " profile(s) sent to %s", c->sent, p->place);
}

void pushing_finish(struct pushing *p)
{
	struct pollfd end = {.fd = p->child.fd, .events = POLLIN};

	if (p->child.fd < 0)
		return;
	while (!ask(p, p->nr, true))
		(void)poll(&end, 1, STEP_MS);
	do {
		end.revents = 0;
		(void)poll(&end, 1, STEP_MS);
		(void)take_reports(p);
	} while (!(end.revents & (POLLHUP | POLLERR)));
	child_end(&p->child, STEP_MS);
	log_result(p);
}

static void put_count(struct openmetrics *m, const char *result, uint64_t nr)
{
	openmetrics_begin(m);
	if (result)
		openmetrics_label(m, "result", result);
	openmetrics_value(m);
	buf_u64(m->out, nr);
	openmetrics_end(m, 0);
}

void pushing_put_metrics(const struct pushing *p, struct openmetrics *m)
{
	const struct push_counts *c = &p->counts;
	const struct {
		const char *result;
		uint64_t nr;
	} rows[] = {{"sent", c->sent},       {"refused", c->refused},
		    {"too_old", c->old},     {"too_many", c->full},
		    {"damaged", c->damaged}, {"not_read", c->missing + p->nr_broken}};

	if (p->child.fd < 0)
		return;
	openmetrics_family(
	    m, OPENMETRICS_COUNTER, "cpuperf_push_profiles", "profiles",
	    "Profiles of iterations, by what became of them: all but sent are dropped.");
	for (size_t i = 0; i < ARRAY_NR(rows); i++)
		put_count(m, rows[i].result, rows[i].nr);
	openmetrics_family(m, OPENMETRICS_COUNTER, "cpuperf_push_failures", "",
			   "Requests that failed, and are repeated.");
	put_count(m, NULL, c->failures);
	openmetrics_family(m, OPENMETRICS_GAUGE, "cpuperf_push_waiting_profiles", "profiles",
			   "Profiles that wait for their receiver.");
	put_count(m, NULL, c->waiting);
	openmetrics_family(m, OPENMETRICS_COUNTER, "cpuperf_push_cpu_seconds", "seconds",
			   "CPU time of pushing.");
	openmetrics_begin(m);
	openmetrics_value(m);
	buf_printf(m->out, "%.6f", (double)p->cpu_ns / NS_PER_S);
	openmetrics_end(m, 0);
}
