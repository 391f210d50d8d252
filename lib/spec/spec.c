/*
 * The model of a spec: initialised, read from a text or a file, and freed.
 */
#include "spec/spec.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/str.h"
#include "spec/check.h"
#include "spec/diag.h"
#include "spec/doc.h"
#include "spec/metrics.h"

#include <errno.h>
#include <string.h>

enum {
	ARENA_BYTES = 16 << 20,
	ZSTD_LEVEL = 3, /* "zstd": zstd's own default */
};

void spec_init(struct spec *s)
{
	*s = (struct spec){.source = ""};
	arena_init(&s->arena, ARENA_BYTES);
	keys_set_defaults(KEY_SPEC, s);
	keys_set_defaults(KEY_TARGET, &s->target);
	keys_set_defaults(KEY_FLIGHT, &s->flight);
	keys_set_defaults(KEY_RETAIN, &s->retain);
	keys_set_defaults(KEY_REGIONS, &s->regions);
	keys_set_defaults(KEY_FUNCTIONS, &s->functions);
}

void spec_fini(struct spec *s)
{
	arena_fini(&s->arena);
	spec_init(s);
}

static int read_text(struct doc *d, const char *text, size_t len, struct spec *s)
{
	size_t errors = diag_count(d->errs);
	int rc;

	s->source = arena_strdup(&s->arena, d->source);
	if (!s->source)
		return diag_no_memory(d->errs, d->source);
	rc = doc_open(d, text, len, KEY_SPEC) ?: doc_read(d, d->root, 0, KEY_SPEC, s);
	doc_close(d);
	doc_complete_events(s);
	rc = rc ? rc : metrics_make(s, d->errs);
	if (rc)
		return rc;
	check_events(s, d->errs);
	return diag_count(d->errs) == errors ? 0 : -EINVAL;
}

static int parse(const char *text, size_t len, const char *source, bool is_stored, struct spec *s,
		 struct err_list *errs)
{
	struct spec fresh;
	struct doc d = {
	    .source = source, .is_stored = is_stored, .errs = errs, .arena = &fresh.arena};
	int rc;

	spec_init(&fresh);
	rc = read_text(&d, text, len, &fresh);
	spec_fini(s);
	if (rc && rc != -EINVAL)
		spec_fini(&fresh);
	else
		*s = fresh;
	return rc;
}

int spec_parse(const char *text, size_t len, const char *source, struct spec *s,
	       struct err_list *errs)
{
	return parse(text, len, source, false, s, errs);
}

int spec_parse_stored(const char *json, size_t nr_events, struct spec *s, struct err_list *errs)
{
	static const char source[] = "the spec in the trace";
	int rc;

	if (!strstr(json, "\"metrics\":[") && !strstr(json, "\"target\":{"))
		return 0;
	rc = parse(json, strlen(json), source, true, s, errs);
	if (rc == 0 && s->nr_metrics && s->nr_events != nr_events) {
		diag_at(errs, source, s->events_pos,
			"it has %zu events and the trace has %zu: no metrics are computed",
			s->nr_events, nr_events);
		rc = -EINVAL;
	}
	if (rc)
		spec_fini(s);
	return rc;
}

/* fd -1: opens path. */
static int load(int fd, const char *path, struct spec *s, struct err_list *errs)
{
	BUF_AUTO(text, SPEC_MAX_TEXT_BYTES);

	return (fd < 0 ? doc_load(path, &text, errs) : doc_load_fd(fd, path, &text, errs))
		   ?: spec_parse(buf_str(&text), text.len, path, s, errs);
}

int spec_load(const char *path, struct spec *s, struct err_list *errs)
{
	return load(-1, path, s, errs);
}

int spec_load_fd(int fd, const char *path, struct spec *s, struct err_list *errs)
{
	return load(fd, path, s, errs);
}

bool spec_event_is_sampled(const struct spec_event *e)
{
	return e->rate || e->frequency;
}

uint64_t spec_event_max_stack(const struct spec_event *e)
{
	const bool is_unsized = e->flags & SPEC_USER_STACK && !e->stack_bytes;

	return is_unsized ? SPEC_MAX_UNSIZED_STACK : e->stack_bytes;
}

bool spec_has_samples(const struct spec *s)
{
	return ARRAY_ANY(ev, s->events, s->nr_events,
			 spec_event_is_sampled(ev) || ev->flags & SPEC_TIMEBASE);
}

bool spec_is_sampling(const struct spec *s)
{
	return s->regions.is_wanted || spec_has_samples(s);
}

static bool is_default(const char *key, const char *text)
{
	return !*text || strcmp(text, key_find(KEY_SPEC, key)->default_text) == 0;
}

bool spec_has_default_manifest(const struct spec *s)
{
	return is_default("session_result_spec_path", s->session_result_spec_path);
}

bool spec_has_default_paths(const struct spec *s)
{
	return is_default("output_path_prefix", s->output_path_prefix) &&
	       spec_has_default_manifest(s);
}

uint64_t spec_max_iterations(const struct spec *s)
{
	return s->num_iterations ? s->num_iterations : SPEC_MAX_ITERATIONS;
}

bool spec_has_retain(const struct spec *s)
{
	return s->retain.iterations || s->retain.span_ns || s->retain.bytes;
}

bool spec_has_target(const struct spec *s)
{
	const struct spec_target *t = &s->target;

	return t->command.nr || t->pids.nr || t->comms.nr || t->cgroups.nr;
}

bool spec_has_pattern(const struct spec *s)
{
	return strcmp(s->untouched, "pattern") == 0;
}

bool spec_has_strict_manifest(const struct spec *s)
{
	return strcmp(s->manifest, "strict") == 0;
}

int spec_zstd_level(const struct spec *s)
{
	const char *colon = strchr(s->compression, ':');
	uint64_t level = ZSTD_LEVEL;

	if (strcmp(s->compression, "none") == 0)
		return 0;
	if (colon)
		str_parse_u64(colon + 1, &level); /* the words of the key table: 1 to 19 */
	return (int)level;
}

const char *spec_flag_name(enum spec_flag f)
{
	const struct key_row *row = key_find(KEY_EVENT, "flags");

	for (unsigned i = 0; row->words[i]; i++)
		if (f == 1u << i)
			return row->words[i];
	return "?";
}

bool spec_event_is_of_ended(const struct spec_event *e)
{
	return e->longer_ns || e->when;
}

struct spec_pos spec_when_pos(const struct spec_event *e, size_t offset)
{
	struct spec_pos of_option = {1, e->when_column};

	if (!e->when_source)
		return e->when_pos.line
			   ? diag_within(e->when_pos, e->when, e->when_has_escapes, offset)
			   : e->when_pos;
	for (size_t i = 0; i < offset; i++)
		of_option.column += ((unsigned char)e->when[i] & 0xc0) != 0x80;
	return of_option;
}

const char *spec_event_column(const struct spec_event *e)
{
	return e->label ? e->label : e->event_name;
}
