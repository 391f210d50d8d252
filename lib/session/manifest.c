/*
 * The manifest.
 */
#include "session/manifest.h"

#include "base/io.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { MAX_MANIFEST_BYTES = 1 << 20 };

static const char hint[] = "--session-result-spec-path=PATH (or session_result_spec_path in the "
			   "spec) changes it; an empty path saves no manifest";

void manifest_init(struct manifest *m)
{
	*m = (struct manifest){.place = PLACE_NONE};
	cpsession_init(&m->content);
	buf_init(&m->text, MAX_MANIFEST_BYTES);
}

static void drop_draft(struct manifest *m)
{
	if (*m->draft)
		sys()->unlinkat(m->place.dirfd, m->draft, 0);
	*m->draft = '\0';
}

void manifest_fini(struct manifest *m)
{
	manifest_close(m);
	cpsession_fini(&m->content);
	buf_fini(&m->text);
}

/* An io_may_replace_fn: 1 if the file is a manifest. */
static int is_manifest(int fd)
{
	ERR_AUTO_LIST *errs = err_list_new();
	struct cpsession s;
	BUF_AUTO(text, MAX_MANIFEST_BYTES);
	bool is_ours;
	ssize_t n;
	char *p;
	int rc;

	p = errs ? buf_reserve(&text, MAX_MANIFEST_BYTES) : NULL;
	n = p ? io_read_full(fd, p, MAX_MANIFEST_BYTES) : -ENOMEM;
	if (n < 0)
		return (int)n;
	cpsession_init(&s);
	rc = cpsession_parse(p, (size_t)n, "", &s, errs);
	/* every manifest of cpuperf has both, but that of experiments without a recording */
	is_ours = (s.num_iterations && s.num_traces) || cpsession_is_causal(&s);
	cpsession_fini(&s);
	return rc == -ENOMEM ? rc : rc == 0 && is_ours;
}

/* A manifest must not have the name of a trace. */
static int check_name(const struct place *p, struct err *e)
{
	static const char suffix[] = ".cpuperf";
	size_t len = strlen(p->name), tail = sizeof(suffix) - 1;

	if (len < tail || strcmp(p->name + len - tail, suffix) != 0)
		return 0;
	return err_set(e, -EINVAL, "%s: a manifest must not have the name of a trace (%s)", p->path,
		       suffix);
}

int manifest_open(struct manifest *m, const char *path, struct err *e)
{
	/* not the suffix of traces: a prefix and a manifest may have the same name */
	int rc = place_open(&m->place, path, CPSESSION_LOCK, e);

	if (rc == 0 && m->place.dirfd >= 0) {
		rc = check_name(&m->place, e)
			 ?: io_check_replaceable(m->place.dirfd, m->place.name, path, is_manifest,
						 e);
	}
	if (rc) {
		manifest_close(m);
		err_hint(e, "%s", hint);
	}
	return rc;
}

void manifest_close(struct manifest *m)
{
	drop_draft(m);
	place_close(&m->place);
}

static const char *format_time(uint64_t ns, char text[32])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(text, 32, "%Y-%m-%d %H:%M:%S UTC", &tm))
		*text = '\0';
	return text;
}

void manifest_set_removed(struct manifest *m, const struct retain_removed *removed)
{
	if (!removed->iterations)
		return;
	m->content.removed =
	    (struct cpsession_removed){.iterations = removed->iterations,
				       .begin = format_time(removed->begin_ns, m->removed_begin),
				       .end = format_time(removed->end_ns, m->removed_end)};
}

static void format_content(struct manifest *m)
{
	struct cpsession written = m->content;

	if (m->is_strict)
		written.model_name = written.session_id = written.state = "";
	buf_reset(&m->text);
	cpsession_to_json(&written, &m->text);
}

int manifest_draft(struct manifest *m, uint64_t num_iterations, bool is_end, struct err *e)
{
	const struct place *p = &m->place;
	int rc;

	if (p->dirfd < 0)
		return 0;
	m->content.num_iterations = num_iterations;
	m->content.state = is_end ? "" : CPSESSION_RECORDING;
	format_content(m);
	rc = buf_error(&m->text);
	if (rc)
		err_set(e, rc, "%s: cannot be created", p->path);
	else
		rc = io_write_temporary(p->dirfd, p->name, p->path, m->text.data, m->text.len,
					m->is_synced, m->draft, e);
	if (rc) {
		*m->draft = '\0';
		err_hint(e, "%s", hint);
	}
	return rc;
}

int manifest_write(struct manifest *m, uint64_t num_iterations, bool is_end, struct err *e)
{
	const struct place *p = &m->place;
	int rc = 0;

	if (p->dirfd < 0 ||
	    (m->written_iterations == num_iterations && m->is_end_written == is_end &&
	     m->written_removed == m->content.removed.iterations))
		return 0;
	if (!*m->draft)
		rc = manifest_draft(m, num_iterations, is_end, e);
	if (rc)
		return rc;
	rc = io_publish(p->dirfd, m->draft, p->name, p->path,
			m->written_iterations ? NULL : is_manifest, e);
	if (rc) {
		drop_draft(m);
		m->is_end_written = false;
		err_hint(e, "%s", hint);
		return rc;
	}
	m->written_iterations = m->content.num_iterations;
	m->is_end_written = !*m->content.state;
	m->written_removed = m->content.removed.iterations;
	*m->draft = '\0';
	return 0;
}
