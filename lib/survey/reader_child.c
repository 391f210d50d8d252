/*
 * The child's side (base/child.h). Must not touch the session.
 */
#include "survey/reader_child.h"

#include "base/io.h"
#include "base/root.h"
#include "survey/known.h"
#include "survey/places.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(offsetof(struct survey_reader_message, at) == SURVEY_READER_HEAD_BYTES, "no holes");
_Static_assert(offsetof(struct survey_reader_question, bytes) == SURVEY_READER_HEAD_BYTES,
	       "nor here");

enum { PAUSE_MS = 100 };

struct child_side {
	const struct survey_reader *reader;
	int fd;
	struct survey_mounts mounts;
	struct survey_known known;
	struct survey_files stored; /* also by earlier children */
	struct survey_places places;
	struct survey_reader_message message;
	struct survey_reader_question question;
	struct survey_identify_question file;
	struct survey_identify_answer answers[SURVEY_READER_MAX_FILES];
};

/* Exits if the parent has gone or closed the socket. */
static void send_message(struct child_side *c, enum survey_reader_kind kind, size_t len)
{
	ssize_t n;

	c->message.kind = kind;
	do
		n = send(c->fd, &c->message, SURVEY_READER_HEAD_BYTES + len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		_exit(1);
}

static int send_records(const void *records, size_t len, void *arg)
{
	struct child_side *c = arg;

	if (len > SURVEY_READER_RECORDS_BYTES)
		return -EFBIG;
	memcpy(c->message.records, records, len);
	send_message(c, SURVEY_READER_RECORDS, len);
	return 0;
}

static int send_cmdline(const struct survey_cmdline *cmdline, void *arg)
{
	struct child_side *c = arg;

	memcpy(&c->message.cmdline, cmdline, survey_cmdline_bytes(cmdline));
	send_message(c, SURVEY_READER_CMDLINE, survey_cmdline_bytes(cmdline));
	return 0;
}

/* To read this file or process of the question. */
static void begin(struct child_side *c, uint32_t number)
{
	atomic_store(c->reader->nr_begun, number + 1);
}

/* nr_left: processes that have not been read. */
static void send_cmdlines(struct child_side *c, size_t len, uint32_t nr_left)
{
	c->message.nr_left = nr_left;
	send_message(c, SURVEY_READER_CMDLINES, len);
}

static void answer_cmdlines(struct child_side *c)
{
	static struct survey_cmdline one;
	size_t len = 0;

	for (uint32_t i = 0; i < c->question.nr; i++) {
		uint32_t pid;

		begin(c, i);
		memcpy(&pid, c->question.bytes + i * sizeof(pid), sizeof(pid));
		survey_cmdline_read(c->reader->config.root, pid, &one);
		if (!one.len)
			continue;
		if (survey_cmdline_step(&one) > sizeof(c->message.bytes) - len) {
			send_cmdlines(c, len, c->question.nr - i);
			len = 0;
		}
		memcpy(c->message.bytes + len, &one, survey_cmdline_bytes(&one));
		len += survey_cmdline_step(&one);
	}
	send_cmdlines(c, len, 0);
}

static void send_place(const struct survey_at *at, void *arg)
{
	struct child_side *c = arg;

	c->message.at = *at;
	send_message(c, SURVEY_READER_AT, sizeof(*at));
}

/* In pieces. False: it cannot be read; then the last piece is empty. */
static bool send_part(struct child_side *c, int fd, const struct range *part)
{
	size_t step = sizeof(c->message.bytes);

	for (uint64_t at = 0; at < part->len && step; at += step) {
		if (step > part->len - at)
			step = (size_t)(part->len - at);
		if (io_pread_full(fd, c->message.bytes, step, part->offset + at) != (ssize_t)step)
			step = 0;
		send_message(c, SURVEY_READER_BYTES, step);
	}
	return step;
}

/* fd: -EFBIG: there is no room for it. */
static void send_file(struct child_side *c, int fd, const struct survey_identify_question *q,
		      const struct elf_build_id *id, const struct elf_parts *parts)
{
	struct survey_reader_file *file = &c->message.file;

	survey_files_add(&c->stored, q, id, parts->bytes);
	memset(file, 0, sizeof(*file));
	file->id = *id;
	file->parts = *parts;
	file->what = *q;
	send_message(c, SURVEY_READER_FILE, sizeof(*file));
	for (size_t i = 0; i < parts->nr && send_part(c, fd, &parts->part[i]);)
		i++;
}

/* False: its path leads to it. */
static bool store(void *arg, const struct survey_identify_question *q,
		  const struct elf_build_id *id)
{
	struct child_side *c = arg;
	struct elf_parts parts = {.nr = 0};
	IO_AUTO_FD int fd = survey_files_open(&c->stored, &c->mounts, q, id, &parts);

	if (fd >= 0 || fd == -EFBIG)
		send_file(c, fd, q, id, &parts);
	return fd != -EEXIST;
}

static void store_or_watch(const struct survey_identify_question *q, const struct elf_build_id *id,
			   void *arg)
{
	struct child_side *c = arg;

	if (!store(c, q, id))
		survey_places_add(&c->places, q, id);
}

static void survey_tasks(struct child_side *c)
{
	const struct survey_reader *r = c->reader;
	const struct survey_config config = {
	    .root = r->config.root,
	    .wants_tasks = true,
	    .after = r->has_after ? &r->after : NULL,
	    .skipped = r->skipped,
	    .nr_skipped = r->nr_skipped,
	    .is_careful = r->nr_abandoned >= SURVEY_READER_MAX_CHILDREN / 2,
	    .max_tasks = r->config.max_tasks,
	    .pids = r->config.pids,
	    .nr_pids = r->config.nr_pids,
	    .has_no_ids = r->config.has_no_ids,
	    .max_bytes = SURVEY_READER_RECORDS_BYTES,
	    .records = send_records,
	    .cmdline = r->config.cmdlines ? send_cmdline : NULL,
	    .at = send_place,
	    .file = r->config.file ? store_or_watch : NULL,
	    .arg = c,
	};
	struct survey_result result = {0};

	c->message.error = survey_run(&config, &result);
	c->message.result = result;
	send_message(c, c->message.error ? SURVEY_READER_FAILED : SURVEY_READER_RESULT,
		     sizeof(result));
}

/* Meanwhile stores files that are deleted or replaced. */
static void wait_for_question(struct child_side *c)
{
	struct pollfd p[] = {{.fd = c->fd, .events = POLLIN},
			     {.fd = c->places.fd, .events = POLLIN}};

	for (;;) {
		(void)poll(p, 2, -1);
		if (p[0].revents || !p[1].revents)
			return;
		survey_places_changed(&c->places, store, c);
		(void)poll(p, 1, PAUSE_MS); /* folders of others may change all the time */
	}
}

static void identify(struct child_side *c, struct survey_identify_answer *out)
{
	const bool is_there = survey_known_identify(&c->known, &c->mounts, &c->file, out);

	if (c->reader->config.file && is_there)
		survey_places_add(&c->places, &c->file, &out->id);
	else if (c->reader->config.file)
		store_or_watch(&c->file, &out->id, c);
}

/* The bytes of the question for a file that begins at that place; 0: there is none. */
static size_t file_bytes(const uint8_t *p, size_t len)
{
	const size_t head = offsetof(struct survey_identify_question, path);
	const size_t most = len < SURVEY_READER_FILE_BYTES ? len : SURVEY_READER_FILE_BYTES;
	const uint8_t *end = most > head ? memchr(p + head, '\0', most - head) : NULL;

	return end ? (size_t)(end + 1 - p) : 0;
}

/* len: of the question's bytes. False: it is invalid. */
static bool answer_files(struct child_side *c, size_t len)
{
	const uint32_t nr = c->question.nr;
	size_t at = 0, size;

	for (uint32_t i = 0; i < nr; i++) {
		size = at < len ? file_bytes(c->question.bytes + at, len - at) : 0;
		if (!size)
			return false;
		memcpy(&c->file, c->question.bytes + at, size);
		at += (size + 7) / 8 * 8;
		begin(c, i);
		identify(c, &c->answers[i]);
	}
	memcpy(c->message.answers, c->answers, nr * sizeof(c->answers[0]));
	send_message(c, SURVEY_READER_ANSWERS, nr * sizeof(c->answers[0]));
	return true;
}

/* Looks once more at all files that were found at their paths. */
static void look_again(struct child_side *c)
{
	survey_places_each(&c->places, store, c);
	send_message(c, SURVEY_READER_LOOKED, 0);
}

/* len: of the question's bytes. False: it is invalid. */
static bool answer(struct child_side *c, size_t len)
{
	const struct survey_reader_question *q = &c->question;

	switch (q->kind) {
	case SURVEY_READER_ASK_FILES:
		return q->nr <= SURVEY_READER_MAX_FILES && answer_files(c, len);
	case SURVEY_READER_ASK_PIDS:
		if (q->nr > SURVEY_READER_MAX_PIDS || len != q->nr * sizeof(uint32_t))
			return false;
		answer_cmdlines(c);
		return true;
	case SURVEY_READER_ASK_LOOK:
		look_again(c);
		return true;
	default:
		return false;
	}
}

/* Until the parent closes the socket, or sends an invalid question. */
static void answer_all(struct child_side *c)
{
	for (;;) {
		ssize_t n;

		wait_for_question(c);
		n = recv(c->fd, &c->question, sizeof(c->question), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < SURVEY_READER_HEAD_BYTES ||
		    !answer(c, (size_t)n - SURVEY_READER_HEAD_BYTES))
			return;
	}
}

void survey_reader_child(int fd, const void *reader)
{
	static struct child_side c; /* static: large, and the only one in this process */
	const struct survey_reader *r = reader;

	if (r->config.root->dir[0] == '/' || !r->config.root->dir[0])
		(void)!chdir("/"); /* do not keep a file system from being unmounted */
	c.reader = r;
	c.fd = fd;
	c.stored = r->files->stored;
	survey_mounts_init(&c.mounts, r->config.root);
	survey_known_init(&c.known);
	survey_places_init(&c.places, r->config.root);
	if (!r->is_surveyed && !r->config.has_no_tasks)
		survey_tasks(&c);
	answer_all(&c);
}
