/*
 * Survey, then build-ids.
 */
#include "session/surveyor.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/root.h"
#include "base/thread.h"
#include "plan/notes.h"
#include "plan/plan.h"
#include "proc/keys.h"
#include "proc/proc.h"
#include "session/common.h"
#include "survey/symbols.h"
#include "trace/file.h"
#include "whole/whole.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum {
	LAST_NS = 500000000, /* for files mapped near the end */
	LAST_PATIENCE_MS = 300,
	LAST_FILES_NS = 2000000000, /* for all that is read then, with files to be stored */
	NR_SURVEY_NOTES = 3,        /* the survey's notes; the last one is added later */
};

int surveyor_init(struct surveyor *s, const struct plan *plan, struct common *common,
		  struct notes *notes)
{
	s->plan = plan;
	s->common = common;
	s->notes = notes;
	buf_init(&s->silent, NOTES_TEXT_BYTES);
	buf_init(&s->late, NOTES_TEXT_BYTES);
	return mapped_init(&s->mapped);
}

void surveyor_fini(struct surveyor *s)
{
	if (s->has_reader)
		survey_reader_fini(&s->reader);
	buf_fini(&s->silent);
	buf_fini(&s->late);
	mapped_fini(&s->mapped);
}

static int add_records(const void *records, size_t len, void *arg)
{
	struct surveyor *s = arg;

	if (s->whole)
		whole_add_made(s->whole, records, len);
	return common_add_records(s->common, records, len);
}

static int add_cmdlines(const struct survey_cmdline *const *from, size_t nr, void *arg)
{
	struct trace_cmdline list[SURVEY_READER_MAX_PIDS];

	for (size_t i = 0; i < nr; i++)
		list[i] = (struct trace_cmdline){.pid = from[i]->pid,
						 .flags = from[i]->flags,
						 .from_ns = from[i]->from_ns,
						 .to_ns = from[i]->to_ns,
						 .text = from[i]->text,
						 .len = from[i]->len};
	return common_add_cmdlines(((struct surveyor *)arg)->common, list, nr);
}

static int add_kallsyms(const char *text, size_t len, void *arg)
{
	return common_add_kallsyms(((struct surveyor *)arg)->common, text, len);
}

static int add_packed(const void *piece, size_t len, void *arg)
{
	return common_add_packed(((struct surveyor *)arg)->common, piece, len);
}

/* Packed outside of the lock. Without memory it has no names. */
static int add_file(const struct trace_file_parts *parts, void *arg)
{
	struct surveyor *s = arg;
	const void *frame;
	size_t len;

	if (!s->files || !trace_packer_file_parts(s->files, parts, &frame, &len))
		return 0;
	return common_add_packed(s->common, frame, len);
}

static bool pack(const char *text, size_t len, const void **piece, size_t *piece_len, void *arg)
{
	struct trace_symbol_range r;
	const bool is_known = survey_symbols_range(text, len, &r.first, &r.last);

	return trace_packer_kallsyms(((struct surveyor *)arg)->symbols, is_known ? &r : NULL, text,
				     len, piece, piece_len);
}

static bool samples_kernel(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_events && !plan->target.is_user_only; i++) {
		const struct spec_event *e = plan->events[i].asked;

		if (spec_event_is_sampled(e) && (e->flags & (SPEC_OS | SPEC_USER)) != SPEC_USER)
			return true;
	}
	return false;
}

/* Surveys the kernel first, in this process: it does not wait for others. Not stopped, since a
 * command that ends before it has samples of the kernel, too. */
static int survey_kernel(struct surveyor *s)
{
	struct survey_config config = {.root = &s->plan->host->root,
				       .wants_kernel = samples_kernel(s->plan),
				       .records = add_records,
				       .kallsyms = add_kallsyms,
				       .packed = add_packed,
				       .arg = s};
	int rc;

	s->symbols = trace_packer_new(0);
	if (s->symbols)
		config.pack = pack;
	rc = survey_run(&config, &s->kernel);
	trace_packer_free(s->symbols);
	return rc;
}

void surveyor_add_programs(struct surveyor *s)
{
	const struct survey_config config = {
	    .root = &s->plan->host->root, .wants_programs = true, .records = add_records, .arg = s};
	struct survey_result ignored;

	if (samples_kernel(s->plan))
		(void)survey_run(&config, &ignored); /* without it some have no names */
}

/* Without build-ids: files are asked for like those that the kernel reports. */
static int add_files(const void *records, size_t len, void *arg)
{
	struct surveyor *s = arg;

	mapped_add(&s->mapped, records, len);
	return add_records(records, len, s);
}

void surveyor_add_process(struct surveyor *s, uint32_t pid)
{
	const struct survey_config config = {.root = &s->plan->host->root,
					     .wants_tasks = true,
					     .pids = &pid,
					     .nr_pids = 1,
					     .has_no_ids = true,
					     .records = add_files,
					     .arg = s};
	struct survey_result ignored;

	(void)survey_run(&config, &ignored); /* without it its functions have no names */
}

/* --- the target */

/* Processes that run already. Those of a cgroup are found among all. */
static bool names_processes(const struct plan_target *t)
{
	return t->nr_ids && !t->is_command && !t->is_cgroup;
}

/* Sets how many there are; a thread is that of its process. 0 or -ENOMEM. */
static int list_target(const struct surveyor *s, uint32_t **pid, size_t *nr)
{
	const struct plan_target *t = &s->plan->target;
	uint64_t process;

	*nr = 0;
	if (!names_processes(t))
		return 0;
	*pid = mem_alloc(t->nr_ids * sizeof(**pid));
	if (!*pid)
		return -ENOMEM;
	for (size_t i = 0; i < t->nr_ids; i++)
		if (proc_status_number(PROC(&s->plan->host->root, (uint32_t)t->ids[i]), "Tgid",
				       &process))
			(*pid)[(*nr)++] = (uint32_t)process;
	order_sort(*pid, *nr, sizeof(**pid), order_ids);
	return 0;
}

/* Not stopped: however short the session is, without its mappings nothing of the target has a name,
 * and files, and a busy machine's other processes, may take longer than that. */
static int survey_target(struct surveyor *s, const uint32_t *pid, size_t nr)
{
	const struct survey_reader_config config = {.root = &s->plan->host->root,
						    .pids = pid,
						    .nr_pids = nr,
						    .has_no_ids = true,
						    .records = add_files,
						    .cmdlines = add_cmdlines,
						    .arg = s};
	struct survey_reader reader;
	int rc = nr ? survey_reader_init(&reader, &config) : 0;

	if (rc || !nr)
		return rc;
	rc = survey_reader_survey(&reader, &s->target);
	(void)survey_reader_note(&reader, 0, &s->silent);
	survey_reader_fini(&reader);
	return rc;
}

/* --- files */

static struct trace_build_id build_id_of(const struct survey_identify_question *q,
					 const struct survey_identify_answer *a)
{
	return (struct trace_build_id){
	    .major = q->major,
	    .minor = q->minor,
	    .inode = q->inode,
	    .inode_generation = q->generation,
	    .from_ns = a->from_ns,
	    .to_ns = a->to_ns,
	    .id = a->id.bytes,
	    .id_len = a->id.len,
	    .path = q->path,
	    .path_len = (uint32_t)strlen(q->path),
	};
}

/* False: stop querying. */
static bool receive_files(struct surveyor *s, bool is_last)
{
	int rc = survey_reader_look(&s->reader, is_last);

	return rc == 0 || rc == -ETIMEDOUT;
}

/* Queries processes that exec'd. A short one may have ended: its command line is not stored. False:
 * stop querying. */
static bool read_cmdlines(struct surveyor *s)
{
	return survey_reader_ask_cmdlines(&s->reader, s->due.pid, s->due.nr_pids) == 0;
}

static bool identify_files(struct surveyor *s)
{
	struct survey_identify_answer answer[SURVEY_READER_MAX_FILES];
	struct trace_build_id found[SURVEY_READER_MAX_FILES];
	const struct mapped_due *due = &s->due;
	int rc = survey_reader_ask(&s->reader, due->file, due->nr_files, answer);
	size_t nr = 0;

	for (size_t i = 0; i < due->nr_files; i++) {
		mapped_answered(&s->mapped, due->number[i], &answer[i]);
		if (answer[i].state == SURVEY_IDENTIFY_FOUND)
			found[nr++] = build_id_of(&due->file[i], &answer[i]);
	}
	if (nr)
		rc = common_add_build_ids(s->common, found, nr) ?: rc;
	return rc == 0;
}

static bool query(struct surveyor *s)
{
	bool has_cmdlines;

	if (!s->due.nr_pids && !s->due.nr_files)
		return receive_files(s, false);
	has_cmdlines = read_cmdlines(s);
	return identify_files(s) && has_cmdlines; /* files: also if they can only be named */
}

static void note_late(struct surveyor *s)
{
	const unsigned nr_left_out = survey_reader_left_out(&s->reader);

	survey_reader_note(&s->reader, s->nr_silent, &s->late);
	if (s->mapped.nr_foreign)
		buf_printf(&s->late,
			   "%sno build-ids of %u mapped files: their file systems may not answer",
			   s->late.len ? "; " : "", s->mapped.nr_foreign);
	if (nr_left_out)
		buf_printf(&s->late,
			   "%sno names of %u files that their paths do not lead to: they are too "
			   "large or too many to be stored",
			   s->late.len ? "; " : "", nr_left_out);
	if (s->mapped.is_full)
		buf_printf(&s->late, "%sno build-ids of files beyond the limit",
			   s->late.len ? "; " : "");
}

/* Returns until when files are asked for. */
static uint64_t begin_last(struct surveyor *s)
{
	const uint64_t now_ns = clock_monotonic_ns();

	s->reader.config.patience_ms = LAST_PATIENCE_MS;
	s->reader.config.until_ns = now_ns + LAST_FILES_NS;
	return now_ns + LAST_NS;
}

/* Runs until the session ends, and then at most LAST_NS longer for the remaining files. */
static void identify_mapped(struct surveyor *s)
{
	uint64_t until_ns = 0;

	s->reader.config.stop = NULL;
	while (mapped_next(&s->mapped, &s->due)) {
		if (!until_ns && mapped_is_ending(&s->mapped))
			until_ns = begin_last(s);
		if (!query(s) || (until_ns && clock_monotonic_ns() > until_ns))
			break;
	}
	if (!until_ns)
		(void)begin_last(s);
	(void)receive_files(s, true);
	note_late(s);
}

static void note_failure(struct survey_result *r, int rc, const char *what)
{
	if (rc && !r->note[0])
		snprintf(r->note, sizeof(r->note), "%s from before the start are missing: %s", what,
			 rc == -ECANCELED ? "stopped" : strerror(-rc));
}

/* Whether anything has a name by other tasks than those of the target: who wakes them. */
static bool needs_others(const struct plan *plan)
{
	bool needs = !plan->target.nr_ids || plan->target.is_cgroup;

	for (size_t i = 0; i < plan->nr_events && !needs; i++)
		needs = plan->events[i].asked->flags & SPEC_WAKER;
	return needs;
}

static void *run(void *arg)
{
	struct surveyor *s = arg;
	struct survey_reader_config config = {.root = &s->plan->host->root,
					      .records = add_records,
					      .cmdlines = add_cmdlines,
					      .file = add_file,
					      .arg = s,
					      .stop = &s->stop};
	const bool has_others = needs_others(s->plan);
	MEM_AUTO uint32_t *pid = NULL;
	int rc, init;
	size_t nr;

	(void)setpriority(PRIO_PROCESS, 0, s->nice);
	note_failure(&s->kernel, survey_kernel(s), "symbols");
	rc = list_target(s, &pid, &nr);
	note_failure(&s->target, rc ? rc : survey_target(s, pid, nr), "tasks");
	config.has_no_tasks = !has_others && !nr; /* a command's begin after the session */
	config.pids = pid;
	config.nr_pids = has_others ? 0 : nr;
	s->files = trace_packer_new(0);
	init = rc = survey_reader_init(&s->reader, &config);
	if (rc == 0 && !config.has_no_tasks)
		rc = survey_reader_survey(&s->reader, &s->tasks);
	if (rc == 0 && !config.has_no_tasks) {
		buf_reset(&s->silent); /* those of before are among these */
		s->nr_silent = survey_reader_note(&s->reader, 0, &s->silent);
	}
	s->has_reader = init == 0;
	note_failure(&s->tasks, rc, "tasks");
	atomic_store(&s->is_surveyed, true);
	if (init == 0) {
		identify_mapped(s);
		survey_reader_stop(&s->reader); /* its end need not be waited for now */
	}
	trace_packer_free(s->files);
	return NULL;
}

void surveyor_add_command(const struct surveyor *s)
{
	const struct spec_list *argv = &s->plan->spec->target.command;
	const struct plan_target *target = &s->plan->target;
	char text[TRACE_CMDLINE_BYTES];
	struct trace_cmdline c = {.flags = TRACE_CMDLINE_IS_COMMAND, .text = text};

	if (!target->is_command)
		return;
	c.pid = (uint32_t)target->ids[0];
	for (size_t i = 0; i < argv->nr; i++) {
		size_t len = strlen(argv->item[i]) + 1, room = sizeof(text) - c.len;

		if (len > room) {
			c.flags |= TRACE_CMDLINE_IS_CUT;
			len = room;
		}
		memcpy(text + c.len, argv->item[i], len);
		c.len += (uint32_t)len;
	}
	if (c.len)
		(void)common_add_cmdlines(s->common, &c, 1); /* the error sticks in common */
}

int surveyor_start(struct surveyor *s, int nice)
{
	int rc;

	s->nice = nice;
	rc = thread_start_blocked(&s->thread, run, s);
	s->is_running = rc == 0;
	return rc;
}

void surveyor_stop(struct surveyor *s)
{
	atomic_store(&s->stop, true);
}

void surveyor_notes(const struct surveyor *s, const char *notes[SURVEYOR_NR_NOTES])
{
	const struct plan_target *t = &s->plan->target;

	notes[0] = s->kernel.note;
	/* not others' processes */
	notes[1] = t->nr_ids && !t->is_cgroup ? s->target.note : s->tasks.note;
	notes[2] = buf_str(&s->silent);
	notes[3] = buf_str(&s->late);
}

bool surveyor_is_done(const struct surveyor *s)
{
	return !s->is_running || atomic_load(&s->is_surveyed);
}

void surveyor_report(struct surveyor *s)
{
	const char *notes[SURVEYOR_NR_NOTES];

	if (s->is_reported || !atomic_load(&s->is_surveyed))
		return;
	s->is_reported = true;
	surveyor_notes(s, notes);
	for (int i = 0; i < NR_SURVEY_NOTES; i++)
		if (*notes[i])
			notes_add(s->notes, 0, "%s", notes[i]);
}

void surveyor_end(struct surveyor *s)
{
	if (!s->is_running)
		return;
	mapped_end(&s->mapped);
	pthread_join(s->thread, NULL);
	s->is_running = false;
	surveyor_report(s);
	if (s->late.len)
		notes_add(s->notes, 0, "%s", buf_str(&s->late));
}
