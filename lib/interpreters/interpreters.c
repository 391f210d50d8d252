/*
 * The thread that answers, and texts of interpreters as UTF-8.
 */
#include "interpreters/interpreters.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/thread.h"
#include "bpf/interpreted.h"
#include "interpreters/judge.h"
#include "interpreters/language.h"
#include "interpreters/v8.h"
#include "proc/proc.h"
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A process that is no interpreter may become one: it is asked again, each time later. */
enum { SOON_MS = 5, FIRST_RETRY_MS = 250, LAST_RETRY_MS = 60000 };

/* Of definitions: a program may make code for ever. What comes later has no name. */
enum { MAX_DEFINED_BYTES = 256 << 20 };

/* Between a question and its answer. */
enum { MIN_PAUSE_NS = 1000000, MAX_PAUSE_NS = 3000000 };

struct interpreters {
	struct interpreted *programs; /* owned, like the judge */
	struct interpreters_judge *judge;
	int stop_fd; /* owned; -1: none */
	bool is_running;
	pthread_t thread;
	void (*add)(void *arg, const struct trace_code *code);
	void *arg;
	uint64_t defined_bytes;
	struct trace_code code;                     /* in the making */
	uint8_t lines[BPF_INTERPRETED_LINES_BYTES]; /* of the same */
	struct bpf_interpreted_code far;
};

int interpreters_open(struct interpreters **out, struct err *e)
{
	struct interpreters *i = mem_zalloc(sizeof(*i));
	int rc;

	if (!i)
		return err_set(e, -ENOMEM, "out of memory");
	i->stop_fd = eventfd(0, EFD_CLOEXEC);
	rc = i->stop_fd < 0 ? err_set(e, -errno, "eventfd: %s", strerror(errno)) : 0;
	if (rc == 0 && interpreters_judge_new(&i->judge))
		rc = err_set(e, -ENOMEM, "out of memory");
	rc = rc ?: interpreted_open(&i->programs, e);
	if (rc)
		interpreters_close(i);
	else
		*out = i;
	return rc;
}

void interpreters_close(struct interpreters *i)
{
	if (!i)
		return;
	interpreters_stop(i);
	interpreted_close(i->programs);
	interpreters_judge_free(i->judge);
	if (i->stop_fd >= 0)
		close(i->stop_fd);
	mem_free(i);
}

int interpreters_program(struct interpreters *i)
{
	return interpreted_program(i->programs);
}

struct interpreted *interpreters_programs(const struct interpreters *i)
{
	return i->programs;
}

void interpreters_expect(struct interpreters *i, uint32_t languages)
{
	struct err e = {0};

	if (interpreted_begin(i->programs, languages, &e))
		log_verbose(1, "functions of interpreters have no names: %s", e.msg);
	else
		log_verbose(2, "interpreted languages are read: %#x", languages);
}

int interpreters_connect(struct interpreters *i, uint32_t cpu, int fd)
{
	return interpreted_connect(i->programs, cpu, fd);
}

/* --- definitions */

static uint32_t character_at(const uint8_t *text, uint32_t at, uint32_t width)
{
	uint32_t c = 0;

	for (uint32_t i = 0; i < width; i++)
		c |= (uint32_t)text[at + i] << 8 * i;
	return c;
}

size_t interpreters_add_utf8(char *to, uint32_t c)
{
	static const struct {
		uint32_t below;
		uint8_t mark;
	} sizes[] = {{0x80, 0}, {0x800, 0xc0}, {0x10000, 0xe0}, {0x110000, 0xf0}};
	size_t n = 0;

	while (n < 3 && c >= sizes[n].below)
		n++;
	if (c >= sizes[n].below)
		return interpreters_add_utf8(to, 0xfffd);
	for (size_t i = n; i; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(sizes[n].mark | c);
	return n + 1;
}

/* Whether a character begins there that needs more than len bytes. */
static bool is_begun(const char *text, size_t len)
{
	const uint8_t first = len ? (uint8_t)*text : 0;
	const size_t needs = first < 0xc2 || first > 0xf4 ? 0
			     : first < 0xe0               ? 2
			     : first < 0xf0               ? 3
							  : 4;

	for (size_t i = 1; i < len; i++)
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return false;
	return len < needs;
}

size_t interpreters_whole(const char *text, size_t len)
{
	size_t at = 0, n;

	if (len < BPF_INTERPRETED_NAME_BYTES - 1)
		return len;
	while (at < len && (n = str_character(text + at, len - at)) != 0)
		at += n;
	return is_begun(text + at, len - at) ? at : len;
}

/* Up to a zero byte, behind which PHP has what nobody reads. */
static void copy_bytes(const struct bpf_interpreted_text *text, const uint8_t *from, char *to,
		       size_t size)
{
	const size_t len =
	    interpreters_whole((const char *)from, strnlen((const char *)from, text->bytes));
	const size_t bytes = len < size ? len : size - 1;

	memcpy(to, from, bytes);
	to[bytes] = '\0';
}

/* A character has at most 4 bytes. */
void interpreters_text(const struct bpf_interpreted_text *text, const uint8_t *from, char *to,
		       size_t size)
{
	const uint32_t width = text->width == 2 || text->width == 4 ? text->width : 1;
	size_t len = 0;

	if (text->width == BPF_INTERPRETED_UTF8) {
		copy_bytes(text, from, to, size);
		return;
	}
	for (uint32_t at = 0; at + width <= text->bytes && len + 4 < size; at += width)
		len += interpreters_add_utf8(to + len, character_at(from, at, width));
	to[len] = '\0';
}

/* The user that a process has, and 1; 0: it has ended. The folder has it also of one that may not
 * be dumped. */
static uint32_t find_owner(uint32_t pid)
{
	struct stat st;

	return proc_find(PROC(&root_live, pid), "", &st) ? 0 : st.st_uid + 1;
}

static void on_code(void *arg, const struct bpf_interpreted_code *c)
{
	const struct interpreters_language *l = interpreters_find_language(c->language);
	struct interpreters *i = arg;
	struct trace_code *code = &i->code;

	i->defined_bytes += sizeof(c->file) + c->file.bytes + c->name.bytes + c->lines_bytes;
	if (i->defined_bytes > MAX_DEFINED_BYTES)
		return;
	code->number = c->code;
	code->pid = c->process;
	code->language = c->language;
	code->first_line = c->first_line;
	code->table = c->line_table;
	interpreters_text(&c->name, c->name_text, code->name, sizeof(code->name));
	interpreters_text(&c->file, c->file_text, code->file, sizeof(code->file));
	code->lines = c->lines;
	code->lines_bytes = c->lines_bytes;
	code->owner = find_owner(c->process);
	if (l && l->name)
		l->name(code, i->lines);
	i->add(i->arg, code);
}

static void on_far(void *arg, const struct bpf_interpreted_far *far)
{
	struct bpf_interpreted_process is;
	struct interpreters *i = arg;
	const struct interpreters_language *l = NULL;

	if (interpreted_find(i->programs, far->process, &is) && is.state == BPF_INTERPRETED_IS &&
	    is.space == far->space)
		l = interpreters_find_language(is.language);
	if (l && l->far && l->far(far, &is, &i->far))
		on_code(i, &i->far);
}

/* --- processes */

static void on_who(void *arg, const struct bpf_interpreted_who *who)
{
	struct bpf_interpreted_process is = {.space = who->space};
	struct interpreters *i = arg;
	uint64_t pause_ms = interpreters_judge_process(i->judge, who->process, who->nr_asked, &is)
				? SOON_MS
				: FIRST_RETRY_MS;

	for (uint32_t n = 0; n < who->nr_asked && pause_ms < LAST_RETRY_MS; n++)
		pause_ms *= 2;
	if (is.state == BPF_INTERPRETED_IS)
		interpreters_expect(i, 1u << is.language);
	is.nr_asked = who->nr_asked + 1;
	is.until_ns = clock_monotonic_ns() + pause_ms * 1000000;
	if (interpreted_set(i->programs, who->process, &is) == 0 && /* else it is asked again */
	    is.state == BPF_INTERPRETED_IS)
		log_verbose(2, "process %" PRIu32 " is read: %s", who->process,
			    trace_language_name(is.language));
}

uint32_t interpreters_has(struct interpreters *i, uint32_t process)
{
	struct bpf_interpreted_process is = {0};

	interpreters_judge_process(i->judge, process, true, &is);
	return is.state == BPF_INTERPRETED_IS ? 1u << is.language : 0;
}

/* --- the thread */

/* A question is asked at a sample. If the answer followed at once, on the same CPU, the task would
 * run less up to its next sample than a sample stands for: of short ones 4 % too many. So it comes
 * at a time of chance: at 1 kHz between any two samples; at lower rates a millisecond or more after
 * the first. Ends early when the thread is to stop. */
static void pause_at_random(struct pollfd *stop)
{
	const uint64_t random = hash_mix(0, clock_monotonic_ns()) % (MAX_PAUSE_NS - MIN_PAUSE_NS);
	const struct timespec pause = {.tv_nsec = (long)(MIN_PAUSE_NS + random)};

	(void)ppoll(stop, 1, &pause, NULL);
}

static void *run(void *arg)
{
	struct interpreters *i = arg;
	const struct interpreted_receiver to = {
	    .who = on_who, .code = on_code, .far = on_far, .arg = i};
	struct pollfd fds[] = {{.fd = i->stop_fd, .events = POLLIN},
			       {.fd = interpreted_fd(i->programs), .events = POLLIN}};

	while (!fds[0].revents) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (!fds[0].revents)
			pause_at_random(fds);
		(void)interpreted_read(i->programs, &to);
	}
	return NULL;
}

int interpreters_start(struct interpreters *i,
		       void (*add)(void *arg, const struct trace_code *code), void *arg)
{
	int rc;

	if (i->is_running)
		return 0;
	i->add = add;
	i->arg = arg;
	rc = thread_start_blocked(&i->thread, run, i);
	i->is_running = rc == 0;
	return rc;
}

void interpreters_stop(struct interpreters *i)
{
	const uint64_t one = 1;

	if (!i->is_running)
		return;
	if (write(i->stop_fd, &one, sizeof(one)) != sizeof(one))
		return; /* cannot happen: the counter has room */
	pthread_join(i->thread, NULL);
	i->is_running = false;
}
