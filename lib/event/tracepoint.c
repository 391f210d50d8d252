/*
 * Trace events of the kernel, as tracefs lists them: "category:event". Listing reads folders only,
 * because reading 2,000 id files is slow; find reads the id and format. Source:
 * Documentation/trace/events.rst.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/perf_abi.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "event/catalogue.h"
#include "host/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	MAX_NAME = 128,
	MAX_PATH = 512,
	MAX_FILE_BYTES = 1 << 20,
	MAX_DETAIL_BYTES = 8192,
	MAX_FORMAT_BYTES = 16 << 10,
};

/* tracefs has its own mount point since Linux 4.1. */
static const char *const places[] = {"/sys/kernel/tracing/events",
				     "/sys/kernel/debug/tracing/events"};

/* Finds the folder of all events. -EACCES if one may exist behind a folder that this user cannot
 * enter; else -errno. */
static int find_place(const struct root *root, const char **out)
{
	int rc = -ENOENT;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int fd = root_open(root, places[i]);

		if (fd >= 0) {
			sys()->close(fd);
			*out = places[i];
			return 0;
		}
		if (rc == -ENOENT)
			rc = fd;
	}
	return rc;
}

/* A plain folder name: no slash, no leading dot. */
static bool is_word(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len < MAX_NAME &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == len;
}

/* The event to find. */
struct wanted {
	const struct root *root;
	const char *place;
	char category[MAX_NAME], event[MAX_NAME];
};

/* os may stand alone, user may not: exclude_kernel keeps only events with
 * registers of user mode (perf_tp_event_match() in kernel/events/core.c), which are uprobes and the
 * category syscalls; exclude_user has no effect. */
static struct event_row *new_row(struct arena *a, const struct wanted *w, uint64_t id)
{
	const char *name = arena_printf(a, "%s:%s", w->category, w->event);
	struct event_row *row = arena_alloc(a, sizeof(*row));

	if (!name || !row)
		return NULL;
	*row = (struct event_row){
	    .name = name,
	    .kind = EVENT_COUNT,
	    .scope = EVENT_SCOPE_CPU,
	    .alone = EVENT_ALONE_OS,
	    .unit = "events",
	    .source = name,
	    .description = "A trace event of the kernel.",
	    .perf_type = PERF_TYPE_TRACEPOINT,
	    .perf_config = id,
	};
	return row;
}

static int load_id(const struct wanted *w, uint64_t *id)
{
	char path[MAX_PATH];

	snprintf(path, sizeof(path), "%s/%s/%s/id", w->place, w->category, w->event);
	return root_load_u64(w->root, path, id)
		   ?: (*id ? 0 : -EINVAL); /* the kernel's ids begin at 1 */
}

/* arg: the name (MAX_NAME bytes), replaced by the folder's spelling. */
static int respell_word(const char *name, void *arg)
{
	char *word = arg;

	if (strcasecmp(name, word) != 0)
		return 0;
	memcpy(word, name, strlen(word)); /* same length: only case differs */
	return 1;
}

#define FIELD "\tfield:"

/* Shortens "\tfield:char prev_comm[16];\toffset:8;…" to "char prev_comm[16]". Skips the common_
 * fields, which every event has. */
static void add_detail(const char *line, const char *end, struct buf *out)
{
	char field[256];
	const char *stop;

	line += sizeof(FIELD) - 1;
	stop = memchr(line, ';', (size_t)(end - line));
	if (!stop || (size_t)(stop - line) >= sizeof(field))
		return;
	snprintf(field, sizeof(field), "%.*s", (int)(stop - line), line);
	if (strstr(field, " common_"))
		return;
	str_disarm(field);
	buf_printf(out, "%s  %s", out->len ? "\n" : "fields:\n", field);
}

/* Removes control characters other than tab and newline. */
static void disarm_lines(char *s)
{
	for (char *p = strpbrk(s, "\t\n"); p; p = strpbrk(s, "\t\n")) {
		char separator = *p;

		*p = '\0';
		str_disarm(s);
		*p = separator;
		s = p + 1;
	}
	str_disarm(s);
}

static char *copy_text(struct arena *a, const struct buf *text)
{
	return text->len ? arena_strndup(a, text->data, text->len) : NULL;
}

/* Reads the event's fields: detail for people, and the raw lines (whole lines, as many as fit).
 * Neither is set if there are none or the file cannot be read. */
static void load_fields(const struct wanted *w, struct arena *a, struct event_row *row)
{
	char path[MAX_PATH];
	BUF_AUTO(text, MAX_FILE_BYTES);
	BUF_AUTO(detail, MAX_DETAIL_BYTES);
	BUF_AUTO(format, MAX_FORMAT_BYTES);
	const char *at, *line, *stop;

	snprintf(path, sizeof(path), "%s/%s/%s/format", w->place, w->category, w->event);
	if (root_load(w->root, path, &text))
		buf_reset(&text);
	at = buf_str(&text);
	while ((line = str_next_line(&at, buf_str(&text) + text.len, &stop))) {
		if ((size_t)(stop - line) < sizeof(FIELD) - 1 ||
		    memcmp(line, FIELD, sizeof(FIELD) - 1) != 0)
			continue;
		add_detail(line, stop, &detail);
		buf_printf(&format, "%.*s\n", (int)(stop - line), line);
	}
	if (format.len)
		disarm_lines(format.data);
	row->detail = copy_text(a, &detail);
	row->format = copy_text(a, &format);
}

/* Reports why a name has no row; rc is the failure. */
static int refuse(int rc, struct err *e)
{
	if (rc == -ENOMEM)
		return rc;
	if (rc == -EACCES || rc == -EPERM) {
		err_set(e, -ENOENT, "tracefs may not be read");
		err_hint(e, "run as root, or make it readable: mount -o remount,mode=755 "
			    "/sys/kernel/tracing");
	} else {
		err_set(e, -ENOENT, "its id in tracefs cannot be read: %s", strerror(-rc));
	}
	return -ENOENT;
}

static int split(const char *name, struct wanted *w, struct err *e)
{
	const char *colon = strchr(name, ':');
	size_t len = colon ? (size_t)(colon - name) : 0;

	if (colon && len < MAX_NAME && strlen(colon + 1) < MAX_NAME) {
		snprintf(w->category, sizeof(w->category), "%.*s", (int)len, name);
		snprintf(w->event, sizeof(w->event), "%s", colon + 1);
		if (is_word(w->category) && is_word(w->event))
			return 0;
	}
	err_set(e, -ENOENT, "not of the form category:event");
	err_hint(e, "for example tracepoint:sched:sched_switch");
	return -ENOENT;
}

static int find(const struct catalogue *c, const char *name, const struct event_row **out,
		struct err *e)
{
	struct wanted w = {.root = &c->host->root};
	struct event_row *row;
	char path[MAX_PATH];
	uint64_t id;
	int rc = split(name, &w, e);

	if (rc)
		return rc;
	rc = find_place(w.root, &w.place);
	if (rc == -ENOENT) {
		err_set(e, -ENOENT, "tracefs is not mounted");
		err_hint(e, "mount -t tracefs tracefs /sys/kernel/tracing (a kernel with "
			    "CONFIG_EVENT_TRACING has it)");
		return -ENOENT;
	}
	if (rc)
		return refuse(rc, e);
	rc = load_id(&w, &id);
	if (rc == -ENOENT && root_each(w.root, w.place, respell_word, w.category) == 1) {
		snprintf(path, sizeof(path), "%s/%s", w.place, w.category);
		(void)root_each(w.root, path, respell_word, w.event);
		rc = load_id(&w, &id);
	}
	if (rc == -ENOENT || rc == -ENOTDIR)
		return -ENOENT; /* no such name: the catalogue suggests the nearest */
	if (rc)
		return refuse(rc, e);
	row = new_row(c->arena, &w, id);
	if (!row)
		return -ENOMEM;
	load_fields(&w, c->arena, row);
	*out = row;
	return 0;
}

/* State of a walk over all events. */
struct walk {
	const struct catalogue *c;
	struct wanted at;
	int (*fn)(const struct event_row *row, void *arg);
	void *arg;
	int stop; /* fn's result, or -ENOMEM: ends the walk */
};

static int walk_event(const char *event, void *arg)
{
	struct walk *walk = arg;
	struct wanted *w = &walk->at;
	const struct event_row *row;
	uint64_t id;

	if (!is_word(event) || strcmp(event, "enable") == 0 || strcmp(event, "filter") == 0)
		return 0; /* the category's own files */
	snprintf(w->event, sizeof(w->event), "%s", event);
	/* the category ftrace has the tracers' own records: most have no id, and do not count */
	if (strcmp(w->category, "ftrace") == 0 && load_id(w, &id))
		return 0;
	row = new_row(walk->c->arena, w, 0);
	walk->stop = row ? walk->fn(row, walk->arg) : -ENOMEM;
	return walk->stop;
}

static int walk_category(const char *category, void *arg)
{
	struct walk *walk = arg;
	char path[MAX_PATH];

	if (!is_word(category))
		return 0;
	snprintf(walk->at.category, sizeof(walk->at.category), "%s", category);
	snprintf(path, sizeof(path), "%s/%s", walk->at.place, category);
	/* a file beside the categories, or a category that was just removed */
	if (root_each(walk->at.root, path, walk_event, walk) == -ENOMEM)
		return -ENOMEM;
	return walk->stop;
}

/* without tracefs list nothing; find reports the reason */
static int each(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		void *arg)
{
	struct walk walk = {.c = c, .at.root = &c->host->root, .fn = fn, .arg = arg};
	int rc;

	if (find_place(walk.at.root, &walk.at.place))
		return 0;
	rc = root_each(walk.at.root, walk.at.place, walk_category, &walk);
	return rc == -ENOMEM ? rc : walk.stop;
}

static const struct event_maker tracefs_maker = {.find = find, .each = each};
static const struct event_maker *const makers[] = {&tracefs_maker};

const struct event_group event_tracepoint_group = {
    .name = "tracepoint",
    .description = "Trace events of the kernel, category:event; listed where tracefs is readable.",
    .id = EVENT_GROUP_TRACEPOINT,
    .is_perf = true,
    .makers = makers,
    .nr_makers = sizeof(makers) / sizeof(makers[0]),
};
