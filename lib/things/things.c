/*
 * The list of things, the reading of their files, and notes, for any kind of things.
 */
#include "things/things.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "things/reread.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 16 << 20, MAX_NOTES_BYTES = 64 << 10 };

void things_init(struct things *t, const struct things_kind *kind, const struct root *root,
		 uint32_t wanted)
{
	*t = (struct things){.kind = kind, .root = *root, .wanted = wanted};
	buf_init(&t->text, MAX_TEXT_BYTES);
	buf_init(&t->notes, MAX_NOTES_BYTES);
}

static void close_files(int fds[THINGS_MAX_FILES])
{
	for (size_t i = 0; i < THINGS_MAX_FILES; i++)
		io_close(&fds[i]);
}

static void release(struct thing *thing)
{
	close_files(thing->fds);
	mem_free(thing->name);
}

void things_fini(struct things *t)
{
	for (size_t i = 0; i < t->nr; i++)
		release(&t->list[i]);
	mem_free(t->list);
	buf_fini(&t->text);
	buf_fini(&t->notes);
}

void things_begin(struct things *t)
{
	t->next = 0;
	for (size_t i = 0; i < t->nr; i++)
		t->list[i].is_seen = false;
}

bool things_is_missing(const struct things *t)
{
	return ARRAY_ANY(x, t->list, t->nr, !x->is_seen);
}

void things_end(struct things *t)
{
	for (size_t i = t->nr; i-- > 0;)
		if (!t->list[i].is_seen)
			things_drop(t, &t->list[i]);
}

struct thing *things_find(struct things *t, const char *name, size_t len)
{
	for (size_t k = 0; k < t->nr; k++) {
		size_t i = t->next + k < t->nr ? t->next + k : t->next + k - t->nr;
		const char *other = t->list[i].name;

		if (strncmp(other, name, len) != 0 || other[len] != '\0')
			continue;
		t->next = i + 1 < t->nr ? i + 1 : 0;
		t->list[i].is_seen = true;
		return &t->list[i];
	}
	return NULL;
}

int things_add(struct things *t, const char *name, size_t len, struct thing **out)
{
	struct thing new = {.is_seen = true}, *list;

	memset(new.fds, 0xff, sizeof(new.fds));
	if (t->nr == THINGS_MAX) {
		if (!t->is_full_noted)
			things_add_note(t,
					"there are more than %d of kind %s: the others are ignored",
					THINGS_MAX, t->kind->name);
		t->is_full_noted = true;
		return -E2BIG;
	}
	list = mem_grow(t->list, t->nr, &t->room, sizeof(*list));
	if (!list)
		return -ENOMEM;
	t->list = list;
	new.name = mem_zalloc(2 * (len + 1));
	if (!new.name)
		return -ENOMEM;
	new.shown = new.name + len + 1;
	memcpy(new.name, name, len);
	memcpy(new.shown, name, len);
	str_clean(new.shown, len);
	new.number = t->next_number++;
	new.born_ns = t->is_read ? clock_monotonic_ns() : 0;
	*out = &t->list[t->nr];
	t->list[t->nr++] = new;
	return 0;
}

void things_drop(struct things *t, struct thing *thing)
{
	size_t i = (size_t)(thing - t->list);

	release(thing);
	memmove(thing, thing + 1, (--t->nr - i) * sizeof(*thing));
	t->next = 0;
}

/* The first entry of a folder that fits. */
struct first_entry {
	const char *glob;
	char name[NAME_MAX + 1]; /* "": none */
};

static int keep_first(const char *name, void *arg)
{
	struct first_entry *f = arg;

	if (fnmatch(f->glob, name, 0) == 0 && (!*f->name || strcmp(name, f->name) < 0))
		snprintf(f->name, sizeof(f->name), "%s", name);
	return 0;
}

/* The descriptor of folder/name, in which one part may have a *, or -errno. */
static int open_first(const struct root *root, const char *folder, const char *name)
{
	const char *star = strchr(name, '*'), *part = star, *rest;
	char glob[NAME_MAX + 1], path[PATH_MAX];
	struct first_entry first = {.glob = glob};
	int len;

	if (!star) {
		len = snprintf(path, sizeof(path), "%s/%s", folder, name);
		return len < PATH_MAX ? root_open(root, path) : -ENAMETOOLONG;
	}
	while (part > name && part[-1] != '/')
		part--;
	rest = star + strcspn(star, "/");
	snprintf(glob, sizeof(glob), "%.*s", (int)(rest - part), part);
	len = snprintf(path, sizeof(path), "%s/%.*s", folder, (int)(part - name), name);
	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	if (root_each(root, path, keep_first, &first) || !*first.name)
		return -ENOENT;
	if (len + snprintf(path + len, sizeof(path) - (size_t)len, "%s%s", first.name, rest) >=
	    PATH_MAX)
		return -ENAMETOOLONG;
	return root_open(root, path);
}

/* What things_open finds of each file. */
struct opened {
	int fds[THINGS_MAX_FILES], errors[THINGS_MAX_FILES];
	uint32_t fields[THINGS_MAX_FILES];
};

/* 0, or -ENOENT if none of the wanted files exists. */
static int open_files(const struct things *t, const char *folder, struct opened *o)
{
	uint32_t left = t->wanted | t->kind->always;
	int rc = -ENOENT;

	for (size_t i = 0; i < t->kind->nr_files; i++) {
		const struct things_file *f = &t->kind->files[i];

		if (!(f->fields & left))
			continue;
		o->fields[i] = f->fields & left;
		o->fds[i] = open_first(&t->root, folder, f->name);
		o->errors[i] = o->fds[i] < 0 ? o->fds[i] : 0;
		if (o->errors[i] == -ENOENT || o->errors[i] == -ENODEV)
			continue;
		left &= ~f->fields;
		rc = 0;
	}
	return rc;
}

_Static_assert(THINGS_MAX_FILES <= 64, "a bit of thing.noted for each file");

/* Once for each file of a thing. */
static void note_file(struct things *t, struct thing *thing, size_t i, const char *what, int error)
{
	const struct things_file *f = &t->kind->files[i];

	if (f->without && !(thing->noted & UINT64_C(1) << i))
		things_add_note(t, "%s %s: %s %s: %s", t->kind->name, thing->name, f->name, what,
				error && error != -ENOENT ? strerror(-error) : f->without);
	thing->noted |= UINT64_C(1) << i;
}

int things_open(struct things *t, const char *folder, const char *name, struct thing **out)
{
	struct opened o = {.errors = {0}};
	struct thing *thing;
	int rc;

	memset(o.fds, 0xff, sizeof(o.fds));
	rc = open_files(t, folder, &o) ?: things_add(t, name, strlen(name), &thing);
	if (rc) {
		close_files(o.fds);
		return rc;
	}
	memcpy(thing->fds, o.fds, sizeof(o.fds));
	memcpy(thing->errors, o.errors, sizeof(o.errors));
	memcpy(thing->fields, o.fields, sizeof(o.fields));
	for (size_t i = 0; i < t->kind->nr_files; i++)
		if (o.errors[i])
			note_file(t, thing, i, "cannot be opened", o.errors[i]);
	*out = thing;
	return 0;
}

/* Records why these fields have no values. */
static void set_missing(struct thing *thing, uint32_t fields, int error)
{
	if (error == -EACCES || error == -EPERM)
		thing->denied |= fields;
	else if (!error || error == -ENOENT || error == -ENODEV)
		thing->absent |= fields;
	else
		thing->failed |= fields;
}

/* The file's one number. */
static int parse_number(const struct things_file *f, const char *text, size_t len, uint64_t *values,
			uint32_t *has)
{
	const char *end = text + len;
	bool is_negative = text != end && *text == '-';
	uint64_t value;
	int rc;

	text += is_negative;
	rc = str_scan_u64(&text, end, &value);
	if (rc || (text != end && *text != '\n'))
		return rc ? rc : -EINVAL;
	if (__builtin_mul_overflow(value, f->scale, &value) || (is_negative && value > INT64_MAX))
		return -ERANGE;
	values[f->field] = is_negative ? -value : value;
	*has |= f->fields;
	return 0;
}

/* As things_file.parse, but only for those of its fields that no file before has. */
static int parse_file(const struct things *t, size_t i, struct thing *thing, uint32_t *has)
{
	const struct things_file *f = &t->kind->files[i];
	uint64_t values[THINGS_MAX_FIELDS] = {0};
	const char *text = buf_str(&t->text);
	int rc = f->parse ? f->parse(text, t->text.len, values, has)
			  : parse_number(f, text, t->text.len, values, has);

	*has &= thing->fields[i];
	for (size_t k = 0; k < THINGS_MAX_FIELDS; k++)
		if (*has >> k & 1)
			thing->values[k] = values[k];
	return rc;
}

/* Once for each file of a thing, as note_file. */
static void note_nothing(struct things *t, struct thing *thing, size_t i)
{
	const struct things_file *f = &t->kind->files[i];
	BUF_AUTO(why, 256);

	if (thing->noted & UINT64_C(1) << i)
		return;
	f->explain(buf_str(&t->text), t->text.len, &why);
	if (why.len)
		things_add_note(t, "%s %s: %s: %s", t->kind->name, thing->name, f->name,
				buf_str(&why));
	thing->noted |= UINT64_C(1) << i;
}

static int read_file(struct things *t, struct thing *thing, size_t i)
{
	const struct things_file *f = &t->kind->files[i];
	uint32_t has = 0;
	int rc = reread(thing->fds[i], true, &t->text) ?: parse_file(t, i, thing, &has);

	if (rc == -ENODEV || rc == -ENOMEM)
		return rc;
	if (rc == THINGS_NOT_NOW) {
		thing->has |= has & t->wanted;
		set_missing(thing, t->wanted & ~thing->has, 0);
		return rc;
	}
	if (rc)
		note_file(t, thing, i, "cannot be read", rc);
	else if (f->explain && !has)
		note_nothing(t, thing, i);
	else if (thing->fields[i] & t->wanted & ~has)
		note_file(t, thing, i, "does not have all requested fields", 0);
	thing->has |= rc ? 0 : has & t->wanted;
	set_missing(thing, thing->fields[i] & t->wanted & ~thing->has, rc);
	return 0;
}

/* A step back by more than half the range is a wrap; a smaller one is the kernel's, and stays. */
static void unwrap(const struct things_kind *kind, struct thing *thing)
{
	for (size_t f = 0; f < THINGS_MAX_FIELDS; f++) {
		uint64_t value = thing->values[f];

		if (!(kind->wrapping & thing->has & 1u << f))
			continue;
		if (value < thing->last[f] && thing->last[f] - value > kind->wrap / 2)
			thing->past[f] += kind->wrap;
		thing->last[f] = value;
		thing->values[f] += thing->past[f];
	}
}

int things_read(struct things *t, struct thing *thing)
{
	int rc = 0;

	thing->has = thing->denied = thing->absent = thing->failed = 0;
	memset(thing->values, 0, sizeof(thing->values));
	for (size_t i = 0; i < t->kind->nr_files && rc == 0; i++)
		if (thing->fds[i] >= 0)
			rc = read_file(t, thing, i);
		else
			set_missing(thing, t->kind->files[i].fields & t->wanted, thing->errors[i]);
	thing->is_asleep = rc == THINGS_NOT_NOW;
	rc = thing->is_asleep ? 0 : rc;
	/* another of its files has the field, or says more of why it is not there */
	thing->denied &= ~thing->has;
	thing->failed &= ~(thing->has | thing->denied);
	/* no file of this kind has the field, or one says that it is not there */
	thing->absent = t->wanted & ~(thing->has | thing->denied | thing->failed);
	unwrap(t->kind, thing);
	thing->time_ns = clock_monotonic_ns();
	return rc;
}

int things_check_words(const struct things *t, const struct things_choice *choice, struct err *e)
{
	for (size_t i = 0; i < choice->nr; i++) {
		const char *word = choice->words[i];

		if (*word && !strchr(word, '/'))
			continue;
		err_set(e, -EINVAL, "\"%s\" cannot be the name of a %s", word, t->kind->name);
		err_hint(e, "use the kernel's name for it, a glob (\"nvme*\") or \"all\"");
		return -EINVAL;
	}
	return 0;
}

static bool match_word(const char *word, const char *name)
{
	return strcmp(word, "all") == 0 || fnmatch(word, name, 0) == 0;
}

bool things_match(const struct things_choice *choice, const char *name)
{
	return ARRAY_ANY(word, choice->words, choice->nr, match_word(*word, name));
}

void things_note_unmatched(struct things *t, const struct things_choice *choice)
{
	for (size_t i = 0; i < choice->nr; i++)
		if (!ARRAY_ANY(x, t->list, t->nr, match_word(choice->words[i], x->name)))
			things_add_note(t, "there is no %s \"%s\": it is read once it appears",
					t->kind->name, choice->words[i]);
}

void things_add_note(struct things *t, const char *fmt, ...)
{
	size_t start = t->notes.len;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&t->notes, fmt, ap);
	va_end(ap);
	if (t->notes.len > start)
		str_disarm(t->notes.data + start);
	buf_addc(&t->notes, '\0');
}

int things_done(struct things *t, int rc)
{
	t->is_read = rc == 0;
	return rc;
}

size_t things_nr(const void *state)
{
	const struct things *t = state;

	return t->is_read ? t->nr : 0;
}

void things_get(const void *state, size_t i, struct things_one *out)
{
	const struct things *t = state;
	const struct thing *thing = &t->list[i];

	*out = (struct things_one){
	    .number = thing->number,
	    .name = thing->shown,
	    .time_ns = thing->time_ns,
	    .born_ns = thing->born_ns,
	    .has = thing->has,
	    .values = thing->values,
	    .denied = thing->denied,
	    .absent = thing->absent,
	    .failed = thing->failed,
	};
}

const char *things_note(void *state)
{
	struct things *t = state;
	const char *note;

	if (t->note_at >= t->notes.len) {
		buf_reset(&t->notes);
		t->note_at = 0;
		return NULL;
	}
	note = t->notes.data + t->note_at;
	t->note_at += strlen(note) + 1;
	return note;
}
