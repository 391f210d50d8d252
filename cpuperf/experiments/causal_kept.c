/*
 * Experiments are kept in the manifest of a session, whose recording is a run of its own: this
 * program records it, as it does for --versus. cpuperf_print then prints both, so that what is
 * printed at once and what is printed later is made in one place.
 *
 * A recording that is not permitted, or not possible, costs nothing of what was found out: without
 * traces the manifest has the experiments alone.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "experiments/causal.h"
#include "options.h"
#include "program.h"
#include "screen/number.h"
#include "session/folder.h"
#include "spec/cpsession.h"
#include "versus/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 20, NUMBER_BYTES = 64 };

/* --- the folder */

static bool is_kept(const struct options *o)
{
	return !o->output || strcmp(o->output, "-") != 0;
}

static int make_temporary(char path[PATH_MAX], struct err *e)
{
	const char *folder = secure_getenv("TMPDIR");

	snprintf(path, PATH_MAX, "%.4000s/cpuperf-causal.XXXXXX",
		 folder && *folder ? folder : "/tmp");
	if (mkdtemp(path))
		return 0;
	err_set_at(e, -errno, path, 0, 0, "cannot be made: %s", strerror(errno));
	err_hint(e, "TMPDIR names another folder");
	*path = '\0';
	return e->code;
}

static int remove_file(const char *name, void *arg)
{
	if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		(void)unlinkat(*(const int *)arg, name, 0);
	return 0;
}

static void remove_temporary(const char *path)
{
	IO_AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		(void)io_each_name(fd, remove_file, &fd);
	(void)rmdir(path);
}

/* As a session's: one that is named may be refused, the default one is where it can be. */
static int make_folder(const struct options *o, char path[PATH_MAX], struct err *e)
{
	IO_AUTO_FD int fd = -1;
	struct err ignored = {0};

	if (!is_kept(o))
		return make_temporary(path, e);
	snprintf(path, PATH_MAX, "%s", o->output ?: CPSESSION_FOLDER);
	if (o->output)
		return session_folder_make(path, false, &fd, e);
	if (session_folder_make(path, true, &fd, &ignored) == 0 ||
	    session_folder_make_beside(CPSESSION_FOLDER, path, &fd, &ignored) == 0)
		return 0;
	return session_folder_make_private(path, &fd, e);
}

int causal_kept_check(const struct options *o, struct err *e)
{
	return o->output && is_kept(o) ? session_folder_check(o->output, e) : 0;
}

/* --- the recording */

/* 0, or -errno with *e: also if the command cannot be run. spec: NULL: that of commands. */
static int record_run(struct turns *t, const char *folder, const char *spec, bool with_regions,
		      struct err *e)
{
	char output[PATH_MAX + 16], named[64], nowhere[] = "--output-file=/dev/null",
					       quiet[] = "--quiet=2", regions[] = "--regions";
	char *const more[] = {spec ? named : NULL, with_regions ? regions : NULL};
	char *const options[] = {
	    output, nowhere, quiet, more[0] ?: more[1], more[0] ? more[1] : NULL, NULL};
	struct versus_run ended;
	int rc;

	snprintf(output, sizeof(output), "--output=%s", folder);
	snprintf(named, sizeof(named), "--spec-file=%s", spec ?: "");
	rc = t->prepare ? versus_runner_run(t->runner, t->prepare, false, &ended, e) : 0;
	return rc ?: turns_run_self(t, options, t->o->command_argv, &ended, e);
}

static int load(const char *folder, struct cpsession *s)
{
	ERR_AUTO_LIST *errs = err_list_new();
	char path[PATH_MAX + 32];
	int rc;

	snprintf(path, sizeof(path), "%s/" CPSESSION_FOLDER_MANIFEST, folder);
	rc = errs ? cpsession_load(path, s, errs) : -ENOMEM;
	return rc ?: *s->state ? -EIO : rc;
}

/* With who ended waits; where that is not permitted, as any command is recorded. False: neither
 * could be. */
static bool record_any(struct turns *t, const char *folder, bool with_regions, struct cpsession *s)
{
	static const char *const specs[] = {"wall", NULL};
	BUF_AUTO(line, MAX_TEXT);

	for (size_t i = 0; i < ARRAY_NR(specs) && !turns_caught(); i++) {
		struct err e = {0};

		if (turns_show_progress(t))
			dprintf(STDERR_FILENO, TURNS_ERASE "recording a run");
		(void)record_run(t, folder, specs[i], with_regions, &e);
		if (turns_show_progress(t))
			dprintf(STDERR_FILENO, TURNS_ERASE);
		if (load(folder, s) == 0)
			return true;
	}
	versus_runner_last_line(t->runner, &line);
	if (!turns_caught())
		log_warning("no run was recorded, so the experiments stand alone%s%s",
			    line.len ? ": " : "", buf_str(&line));
	return false;
}

/* --- the manifest */

/* As it can be stored, and read. NULL: no memory. */
static const char *store_name(struct cpsession *s, const char *text, size_t most)
{
	char *name = arena_strndup(&s->arena, text ?: "", strnlen(text ?: "", most));

	if (name)
		str_clean(name, strlen(name));
	return name;
}

static struct metric_limit store_real(struct cpsession *s, double x)
{
	BUF_AUTO(text, NUMBER_BYTES);

	if (!isfinite(x))
		return (struct metric_limit){.text = NULL};
	screen_real(&text, x);
	return (struct metric_limit){arena_strdup(&s->arena, buf_str(&text)), x};
}

static int store_row(struct cpsession *s, const struct causal_result *r,
		     const struct causal_row *row, struct cpsession_experiment *to)
{
	static const char *const quantities[] = {[CAUSAL_OF_WALL] = CPSESSION_WALL,
						 [CAUSAL_OF_THROUGHPUT] = CPSESSION_THROUGHPUT,
						 [CAUSAL_OF_LATENCY] = CPSESSION_LATENCY};

	*to = (struct cpsession_experiment){
	    .function = store_name(s, row->name, CPSESSION_MAX_NAME),
	    .region = store_name(s, row->region, CPSESSION_MAX_NAME),
	    .linkage_name = store_name(s, row->linkage_name, CPSESSION_MAX_NAME),
	    .object = store_name(s, row->object, PATH_MAX - 1),
	    .source = store_name(s, row->source, CPSESSION_MAX_NAME),
	    .line = row->line,
	    .quantity = quantities[row->of],
	    .point = store_name(s, r->point, CPSESSION_MAX_NAME),
	    .speedup = row->percent,
	    .on_cpu = store_real(s, 100 * row->on_cpu),
	    .saves = store_real(s, row->saved.nr ? 100 * row->saved.mean : NAN),
	    .low = store_real(s, row->saved.nr ? 100 * row->saved.low : NAN),
	    .high = store_real(s, row->saved.nr ? 100 * row->saved.high : NAN),
	    .rounds = row->saved.nr,
	};
	return to->function && to->region && to->linkage_name && to->object && to->source &&
		       to->point
		   ? 0
		   : -ENOMEM;
}

static uint64_t ns_of(double seconds)
{
	return (uint64_t)(fmax(seconds, 0) * 1e9 + 0.5);
}

static int store(const struct causal_result *r, struct cpsession *s)
{
	struct cpsession_experiment *row = arena_calloc(&s->arena, r->nr + 1, sizeof(*row));
	struct cpsession_experiments *x = &s->experiments;
	size_t nr = 0;
	int rc = row ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->nr && rc == 0; i++)
		if (r->row[i].saved.nr || !r->point) /* the recorded run may say it */
			rc = store_row(s, r, &r->row[i], &row[nr++]);
	*x = (struct cpsession_experiments){
	    .command = store_name(s, r->command, PATH_MAX - 1),
	    .why_none = store_name(s, r->why_none, CPSESSION_MAX_NAME),
	    .wall_ns = ns_of(r->wall),
	    .spent_ns = ns_of(r->seconds),
	    .rounds = r->nr_rounds,
	    .functions = r->nr_ran,
	    .until = store_real(s, 100 * causal_close(r)),
	    .confidence = store_real(s, 100 * (1 - CAUSAL_ERROR)),
	    .queued = store_real(s, 100 * r->queued),
	    .rate = store_real(s, r->point ? r->rate : NAN),
	    .latency_ns = ns_of(r->latency),
	    .unused = r->nr_unused,
	    .untimed = r->nr_late,
	    .has_fixed_rounds = r->rule.nr_pairs,
	    .is_known = r->is_known,
	    .is_cut = r->is_cut,
	    .is_by_looks = r->is_by_looks,
	    .unslowed = r->nr_unsampled,
	    .seed = r->seed,
	    .row = {row, nr},
	};
	return rc ?: x->command && x->why_none ? 0 : -ENOMEM;
}

static int write_manifest(const char *folder, const struct cpsession *s, struct err *e)
{
	IO_AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	BUF_AUTO(text, MAX_TEXT);

	if (fd < 0)
		return err_set_at(e, -errno, folder, 0, 0, "%s", strerror(errno));
	cpsession_to_json(s, &text);
	if (buf_error(&text))
		return err_set_at(e, buf_error(&text), folder, 0, 0, "%s",
				  strerror(-buf_error(&text)));
	return io_write_atomic(fd, CPSESSION_FOLDER_MANIFEST, folder, buf_str(&text), text.len,
			       NULL, e);
}

static int keep(const struct causal_result *r, struct turns *t, const char *folder, struct err *e)
{
	struct cpsession s;
	int rc;

	cpsession_init(&s);
	if (r->point ||
	    !record_any(t, folder, r->is_of_regions, &s)) { /* what runs for ever is not recorded */
		cpsession_fini(&s);
		s.output_path_prefix = CPSESSION_FOLDER_PREFIX;
	}
	rc = store(r, &s);
	rc = rc ? err_set(e, rc, "out of memory") : write_manifest(folder, &s, e);
	cpsession_fini(&s);
	return rc;
}

/* --- what is printed */

static int print(const struct options *o, const char *folder)
{
	char printer[PATH_MAX], session[PATH_MAX + 32], how[64];
	char report[] = "--report=causal", quiet[] = "--quiet", no_pager[] = "--no-pager";
	const bool is_page = strcmp(o->output_format, "html") == 0;
	char *const options[] = {session, how, quiet, no_pager, is_page ? NULL : report, NULL};
	struct err e = {0};
	int status = EXIT_FAILED, rc = require_printer("", printer, &e);

	snprintf(session, sizeof(session), "--session=%s", folder);
	snprintf(how, sizeof(how), "--output-format=%s", o->output_format);
	if (rc)
		log_err(LOG_ERROR, &e);
	else
		status = ask_printer(printer, options, STDOUT_FILENO, -1);
	if (is_kept(o)) {
		BUF_AUTO(quoted, 8 * PATH_MAX);
		BUF_AUTO(shown, 8 * PATH_MAX);

		buf_shell_word(&quoted, folder);
		buf_shown(&shown, buf_str(&quoted), quoted.len);
		dprintf(STDERR_FILENO,
			"\nSaved in %s. More: cpuperf_print %s --report=causal (--help)\n",
			buf_str(&shown), buf_str(&shown));
	}
	return status == EXIT_DONE ? EXIT_DONE : EXIT_FAILED;
}

int causal_kept_print(const struct causal_result *r, struct turns *t)
{
	char folder[PATH_MAX] = "";
	struct err e = {0};
	int status = EXIT_FAILED;

	if (make_folder(t->o, folder, &e) || keep(r, t, folder, &e))
		log_err(LOG_ERROR, &e);
	else
		status = print(t->o, folder);
	if (!is_kept(t->o) && *folder)
		remove_temporary(folder);
	return status;
}
