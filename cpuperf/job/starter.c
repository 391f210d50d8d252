/*
 * The starter of a job: one loop over all hosts. A host that fails costs the others nothing but the
 * wait for its limit of time.
 */
#include "job/starter.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/self.h"
#include "base/str.h"
#include "hosts/address.h"
#include "job/starter_host.h"
#include "program.h"
#include "session/folder.h"
#include "session/lock.h"
#include "spec/cpsession.h"
#include "spec/spec.h"
#include "target/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { LOOK_MS = 100, START_NS = 100000000 };
static const uint64_t default_timeout_ns = 10000000000;

struct starter {
	const struct options *options;
	struct hosts_addresses addresses;
	struct hosts_run run; /* argv is owned */
	struct buf spec;      /* its text */
	struct hosts_send send;
	struct host_job job;
	struct lock lock;
	char beside[PATH_MAX]; /* the folder, while another session uses the default; and why */
	char why[256];
	struct host *hosts; /* owned */
	size_t nr;
	struct pollfd *polls;    /* owned; the first is of signals */
	uint64_t first_ready_ns; /* when the first host was; 0: none is */
	int64_t instant_ns;      /* to begin; 0: it is not known yet */
	unsigned nr_signals;
};

/* The request is the same for all. */
static int make_run(struct starter *s, char **args, size_t nr_args, struct err *e)
{
	static char program[] = "cpuperf", divider[] = "--";
	const struct options *o = s->options;
	char *const *command = o->command_argv;
	char path[PATH_MAX];
	size_t nr_command = 0;
	int rc;

	while (command && command[nr_command])
		nr_command++;
	s->run.argv = mem_calloc(nr_args + nr_command + 4, sizeof(*s->run.argv));
	if (!s->run.argv)
		return err_set(e, -ENOMEM, "out of memory");
	s->run.argv[s->run.nr_args++] = program;
	for (size_t i = 0; i < nr_args; i++)
		s->run.argv[s->run.nr_args++] = args[i];
	if (command)
		s->run.argv[s->run.nr_args++] = divider;
	for (size_t i = 0; i < nr_command; i++)
		s->run.argv[s->run.nr_args++] = command[i];
	if (o->spec_file) {
		IO_AUTO_FD int fd = open_spec(o->spec_file, path, e);

		rc = fd < 0 ? fd : io_load_fd(fd, &s->spec);
		if (rc)
			return err_set_at(e, rc, o->spec_file, 0, 0, "cannot be read: %s",
					  strerror(-rc));
		s->run.argv[s->run.nr_args++] = (char *)(uintptr_t)o->spec_file;
		s->run.spec_text = buf_str(&s->spec);
		s->run.spec_len = s->spec.len;
	}
	return 0;
}

/* Different hosts may have the same name of a folder. */
static void name_folder(const struct starter *s, size_t at)
{
	struct host *h = &s->hosts[at];
	char wanted[NAME_MAX + 1];

	hosts_part_folder(&h->part, wanted);
	snprintf(h->folder, sizeof(h->folder), "%s", wanted);
	for (unsigned i = 2; ARRAY_ANY(x, s->hosts, at, strcmp(x->folder, h->folder) == 0); i++)
		snprintf(h->folder, sizeof(h->folder), "%.240s-%u", wanted, i);
}

static int make_hosts(struct starter *s, struct err *e)
{
	struct rlimit limit;

	s->nr = s->addresses.nr;
	s->hosts = mem_calloc(s->nr, sizeof(*s->hosts));
	s->polls = mem_calloc(1 + s->nr * HOST_NR_FDS, sizeof(*s->polls));
	if (!s->hosts || !s->polls)
		return err_set(e, -ENOMEM, "out of memory");
	s->job.hosts = s->hosts;
	s->job.nr = s->nr;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	for (size_t i = 0; i < s->nr; i++) {
		struct host *h = &s->hosts[i];

		hosts_part_init(&h->part);
		snprintf(h->part.host, sizeof(h->part.host), "%s", s->addresses.item[i].name);
		name_folder(s, i);
	}
	return 0;
}

static int make_default_folder(struct starter *s, struct err *e)
{
	struct err why = {0};
	int rc = session_folder_make(CPSESSION_FOLDER, true, &s->job.dirfd, &why);

	s->job.path = CPSESSION_FOLDER;
	if (rc == -EBUSY) {
		session_folder_explain(CPSESSION_FOLDER, &why, s->why, sizeof(s->why));
		rc = session_folder_make_beside(CPSESSION_FOLDER, s->beside, &s->job.dirfd, &why);
		s->job.path = s->beside;
	}
	if (rc)
		*e = why;
	return rc;
}

static int make_folder(struct starter *s, struct err *e)
{
	const char *named = s->options->output;
	IO_AUTO_FD int turn = named ? -1 : session_folder_take_turn(CPSESSION_FOLDER);
	char path[PATH_MAX + 32];
	int rc;

	(void)turn; /* until the folder is locked */
	s->job.path = named;
	rc =
	    named ? session_folder_make(named, false, &s->job.dirfd, e) : make_default_folder(s, e);
	snprintf(path, sizeof(path), "%s/" CPSESSION_FOLDER_MANIFEST CPSESSION_LOCK, s->job.path);
	return rc
		   ?: lock_acquire(&s->lock, s->job.dirfd, CPSESSION_FOLDER_MANIFEST CPSESSION_LOCK,
				   path, e);
}

static int open_signals(struct err *e)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_NR(caught); i++)
		sigaddset(&set, caught[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_set(e, -errno, "signals cannot be received: %s", strerror(errno)) : fd;
}

/* The first is forwarded, and all sessions end; the second ends all that is started here. */
static void take_signal(struct starter *s)
{
	struct signalfd_siginfo info;

	if (read(s->polls[0].fd, &info, sizeof(info)) != sizeof(info))
		return;
	s->nr_signals++;
	for (size_t i = 0; i < s->nr; i++) {
		if (s->nr_signals == 1)
			host_signal(&s->hosts[i], (int)info.ssi_signo);
		else
			host_end(&s->hosts[i], s->hosts[i].nr_files ? HOSTS_PARTIAL : HOSTS_FAILED,
				 "the job was interrupted twice");
	}
}

static size_t count(const struct starter *s, enum host_state from, enum host_state to)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		nr += s->hosts[i].state >= from && s->hosts[i].state <= to;
	return nr;
}

/* Late enough for the slowest host to hear of it. */
static int64_t find_instant(const struct starter *s)
{
	int64_t longest_ns = 0;

	for (size_t i = 0; i < s->nr; i++)
		if (s->hosts[i].state == HOST_READY && s->hosts[i].part.clock_error_ns > longest_ns)
			longest_ns = s->hosts[i].part.clock_error_ns;
	return (int64_t)clock_realtime_ns() + START_NS + 4 * longest_ns;
}

/* All begin when the last one is ready, or its time is over; those that are ready later begin at
 * once, and are late. */
static void start_ready(struct starter *s)
{
	uint64_t now = clock_monotonic_ns();
	bool is_any = count(s, HOST_READY, HOST_READY);

	if (!is_any)
		return;
	if (!s->first_ready_ns)
		s->first_ready_ns = now;
	if (!s->instant_ns && count(s, HOST_CONNECTING, HOST_OPENING) &&
	    now - s->first_ready_ns < s->job.timeout_ns)
		return;
	if (!s->instant_ns)
		s->instant_ns = find_instant(s);
	for (size_t i = 0; i < s->nr; i++)
		if (s->hosts[i].state == HOST_READY)
			host_start(&s->hosts[i], s->instant_ns);
}

static void turn(struct starter *s)
{
	for (size_t i = 0; i < s->nr; i++)
		host_expect(&s->hosts[i], &s->polls[1 + i * HOST_NR_FDS]);
	if (poll(s->polls, 1 + s->nr * HOST_NR_FDS, LOOK_MS) < 0)
		return;
	for (size_t i = 0; i < s->nr; i++) {
		host_handle(&s->hosts[i], &s->polls[1 + i * HOST_NR_FDS]);
		host_look(&s->hosts[i]);
	}
	if (s->polls[0].revents)
		take_signal(s);
	start_ready(s);
}

/* ssh ends by itself when the host has ended. */
static bool has_ssh(const struct starter *s)
{
	return ARRAY_ANY(h, s->hosts, s->nr, h->pid);
}

static void log_parts(const struct starter *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		const struct hosts_part *p = &s->hosts[i].part;

		if (p->status != HOSTS_OK)
			log_line(p->status == HOSTS_LATE ? LOG_WARNING : LOG_ERROR, __FILE_NAME__,
				 __LINE__, "%s: %s: %s", p->host, hosts_status_name(p->status),
				 p->reason);
	}
}

/* The answer is that of all of them. */
static void print_end(const struct starter *s, size_t nr_whole)
{
	const struct options *o = s->options;
	const struct host *first = ARRAY_FIND(
	    h, s->hosts, s->nr, h->part.status == HOSTS_OK || h->part.status == HOSTS_LATE);
	const struct answer a = {.session = s->job.path,
				 .folder = *s->beside ? s->beside : o->output,
				 .why = *s->beside ? s->why : NULL,
				 .is_last = !o->output && !*s->beside,
				 .format = o->output_format,
				 .fd = o->command_argv ? STDERR_FILENO : STDOUT_FILENO,
				 .after = "",
				 .is_saved = true};

	if (!first) {
		log_info("no host was measured; the reasons are in %s", s->job.path);
		return;
	}
	log_info("%zu of %zu host(s) measured", nr_whole, s->nr);
	if (o->std.min_level <= LOG_INFO)
		(void)print_answer(&a);
}

/* As the hosts' commands ended, if all were measured. */
static int find_status(const struct starter *s, size_t nr_whole)
{
	int64_t worst = 0;

	if (nr_whole < s->nr)
		return s->options->command_argv ? EXIT_NOT_MEASURED : EXIT_FAILED;
	for (size_t i = 0; i < s->nr; i++)
		if (s->hosts[i].part.exit_status > worst)
			worst = s->hosts[i].part.exit_status;
	return s->options->command_argv ? EXIT_COMMAND + (int)worst : EXIT_DONE;
}

static int run_hosts(struct starter *s)
{
	size_t nr_whole = 0;

	for (size_t i = 0; i < s->nr; i++)
		host_connect(&s->hosts[i], &s->job, &s->addresses.item[i]);
	while (count(s, HOST_CONNECTING, HOST_RUNNING) || (has_ssh(s) && s->nr_signals < 2))
		turn(s);
	for (size_t i = 0; i < s->nr; i++)
		nr_whole +=
		    s->hosts[i].part.status == HOSTS_OK || s->hosts[i].part.status == HOSTS_LATE;
	log_parts(s);
	print_end(s, nr_whole);
	return find_status(s, nr_whole);
}

static int check_output(const struct options *o, struct err *e)
{
	const char *output = o->output;

	if (o->output_file)
		return err_set(e, -EINVAL,
			       "--output-file: the answer of --hosts is printed; cpuperf_print has "
			       "the option, too");
	if (output && (!*output || strcmp(output, "-") == 0))
		return err_set(e, -EINVAL, "--output=%s: the sessions of --hosts require a folder",
			       output);
	return 0;
}

static int read_timeout(const char *text, uint64_t *out, struct err *e)
{
	*out = default_timeout_ns;
	if (text && (str_parse_duration_ns(text, out) || !*out))
		return err_set(e, -EINVAL, "--hosts-timeout=%s: not a time", text);
	return 0;
}

/* What an installation has of them. A static one is unpacked beside its file. */
static int find_sent(const char *wanted, struct hosts_send *out, struct err *e)
{
	char folder[PATH_MAX];
	int rc;

	if (*wanted)
		return hosts_send_add(out, wanted, e);
	rc = self_near(CPUPERF_STATIC_FROM_BIN, folder);
	if (rc)
		return err_set(e, rc, "--send: the folder of this program is not known: %s",
			       strerror(-rc));
	rc = hosts_send_add_folder(out, folder, e);
	if (rc == 0 && !out->nr) {
		rc = err_set(e, -ENOENT, "--send: there is no cpuperf-MACHINE-linux.tar.gz in %s",
			     folder);
		err_hint(e, "use --send=FILE; scripts/package tar makes such a file");
	}
	return rc;
}

int start_hosts(const struct options *o, char **args, size_t nr_args)
{
	struct starter s = {.options = o,
			    .job = {.program = o->hosts_program ? o->hosts_program : "cpuperf",
				    .run = &s.run,
				    .dirfd = -1},
			    .lock = {.fd = -1}};
	struct err e = {0};
	int status = EXIT_USAGE, signals = -1;

	buf_init(&s.spec, SPEC_MAX_TEXT_BYTES);
	s.job.send = o->send ? &s.send : NULL;
	if (check_output(o, &e) || (o->send && find_sent(o->send, &s.send, &e)) ||
	    read_timeout(o->hosts_timeout, &s.job.timeout_ns, &e) ||
	    hosts_address_list(o->hosts, &s.addresses, &e)) {
		log_err(LOG_ERROR, &e);
	} else if (make_run(&s, args, nr_args, &e) || make_hosts(&s, &e) || make_folder(&s, &e) ||
		   (signals = open_signals(&e)) < 0) {
		status = fail(EXIT_FAILED, &e);
	} else {
		s.job.has_prefix = s.nr > 1;
		s.polls[0] = (struct pollfd){.fd = signals, .events = POLLIN};
		status = run_hosts(&s);
	}
	for (size_t i = 0; s.hosts && i < s.nr; i++)
		if (s.hosts[i].job)
			host_close(&s.hosts[i]);
	lock_release(&s.lock);
	io_close(&s.job.dirfd);
	io_close(&signals);
	mem_free(s.hosts);
	mem_free(s.polls);
	mem_free(s.run.argv);
	hosts_address_free(&s.addresses);
	hosts_send_fini(&s.send);
	buf_fini(&s.spec);
	return status;
}
