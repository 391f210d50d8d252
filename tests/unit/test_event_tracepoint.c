/*
 * Tracepoints of captured trees and, where tracefs is mounted, of this machine: every listed name
 * is found, names lead nowhere else, and what cannot be read is explained.
 */
#include "kit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "event/catalogue.h"
#include "host/host.h"

#include <linux/perf_event.h>

static const struct event_group *const groups[] = {&event_tracepoint_group};

struct machine {
	struct host host;
	struct arena arena;
	struct catalogue catalogue;
};

static int try_machine(struct machine *m, const struct root *r)
{
	struct err e = {0};
	int rc = host_load(r, &m->host, &e);

	arena_init(&m->arena, 64 << 20);
	m->catalogue = (struct catalogue){groups, 1, &m->host, &m->arena, NULL};
	return rc;
}

static void start(struct machine *m, const char *tree)
{
	struct root r = tree_captured(tree);

	assert_int_equal(try_machine(m, &r), 0);
}

static void stop(struct machine *m)
{
	arena_fini(&m->arena);
	host_fini(&m->host);
}

static int find(const struct machine *m, const char *name, struct event *ev, struct err *e)
{
	*e = (struct err){0};
	return catalogue_find(&m->catalogue, "tracepoint", name, ev, e);
}

static const struct {
	const char *tree, *name, *found;
	uint64_t id;
} found[] = {
    {"x86-vm", "sched:sched_switch", "sched:sched_switch", 372},
    {"x86-vm", "sched:sched_wakeup", "sched:sched_wakeup", 374},
    {"x86-vm", "syscalls:sys_enter_openat", "syscalls:sys_enter_openat", 700},
    {"x86-vm", "ftrace:function", "ftrace:function", 1},
    {"x86-vm", "SCHED:Sched_Switch", "sched:sched_switch", 372},
    {"x86-vm", "xen:xen_mc_Flush", "xen:xen_mc_Flush", 89},
    {"x86-vm", "Xen:xen_mc_flush", "xen:xen_mc_Flush", 89},
    {"linux-4.14", "sched:sched_switch", "sched:sched_switch", 309}, /* by way of debugfs */
};

TEST(found)
{
	for (size_t i = 0; i < NR(found); i++) {
		struct event_part part;
		struct machine m;
		struct event ev;
		struct err e;

		start(&m, found[i].tree);
		assert_int_equal(find(&m, found[i].name, &ev, &e), 0);
		assert_string_equal(ev.row->name, found[i].found);
		assert_string_equal(ev.row->source, found[i].found);
		assert_true(event_is_perf(&ev));
		assert_int_equal(event_nr_parts(&ev), 1);
		event_part(&ev, 0, &part);
		assert_int_equal(part.type, PERF_TYPE_TRACEPOINT);
		assert_int_equal(part.config, found[i].id);
		assert_null(part.cpus);
		assert_int_equal(ev.row->kind, EVENT_COUNT);
		assert_int_equal(ev.row->scope, EVENT_SCOPE_CPU);
		assert_int_equal(ev.row->alone, EVENT_ALONE_OS);
		assert_string_equal(ev.row->unit, "events");
		stop(&m);
	}
}

#define FORM "not of the form category:event"
static const struct {
	const char *tree, *name, *msg, *hint;
} unknown[] = {
    {"x86-vm", "sched:sched_swich", "", "did you mean tracepoint:sched:sched_switch?"},
    {"x86-vm", "sched:nothing_like_it", "", "--list-events"},
    {"x86-vm", "nowhere:sched_switch", "", ""},
    {"x86-vm", "sched:enable", "", "--list-events"}, /* a file */
    {"x86-vm", "header_page:id", "", "--list-events"},
    {"x86-vm", "ftrace:print", "", "--list-events"}, /* has no id */
    {"x86-vm", "sched_switch", FORM, "for example tracepoint:sched:sched_switch"},
    {"x86-vm", "", FORM, "for example"},
    {"x86-vm", ":", FORM, "for example"},
    {"x86-vm", "sched:", FORM, "for example"},
    {"x86-vm", ":sched_switch", FORM, "for example"},
    {"x86-vm", "sched:sched_switch:u", "\":u\" cannot be part of a name",
     "use flags for the privilege level: os, user"},
    {"x86-vm", "sched:sched_swich:u", FORM, "for example"},
    {"x86-vm", "..:sched", FORM, "for example"},
    {"x86-vm", "sched:..", FORM, "for example"},
    {"x86-vm", "sched:.", FORM, "for example"},
    {"x86-vm", "sched:/sched_switch", FORM, "for example"},
    {"x86-vm", "sched/../sched:sched_switch", FORM, "for example"},
    {"x86-vm", "sched:sched_switch ", FORM, "for example"},
    {"x86-vm", "sch*:sched_switch", FORM, "for example"},
    {"sparse-offline", "sched:sched_switch", "tracefs is not mounted", "mount -t tracefs"},
};

TEST(unknown)
{
	for (size_t i = 0; i < NR(unknown); i++) {
		struct machine m;
		struct event ev;
		struct err e;
		char msg[256];

		print_message("%s\n", unknown[i].name);
		start(&m, unknown[i].tree);
		assert_int_equal(find(&m, unknown[i].name, &ev, &e), -ENOENT);
		snprintf(msg, sizeof(msg), "Unknown event: tracepoint:%s%s%s", unknown[i].name,
			 unknown[i].msg[0] ? ": " : "", unknown[i].msg);
		assert_string_equal(e.msg, msg);
		assert_int_equal(strncmp(e.hint, unknown[i].hint, strlen(unknown[i].hint)), 0);
		stop(&m);
	}
}

TEST(long_names)
{
	char name[600];
	struct machine m;
	struct event ev;
	struct err e;

	start(&m, "x86-vm");
	for (size_t len = 1; len < sizeof(name) - 1; len++) {
		memset(name, 'a', len);
		name[len] = '\0';
		assert_int_equal(find(&m, name, &ev, &e), -ENOENT);
		for (size_t colon = 0; colon < len; colon += 37) {
			name[colon] = ':';
			assert_int_equal(find(&m, name, &ev, &e), -ENOENT);
			name[colon] = 'a';
		}
	}
	stop(&m);
}

static int add_line(const struct event *ev, void *arg)
{
	buf_printf(arg, "%s\n", ev->row->name);
	return 0;
}

TEST(list)
{
	static const struct {
		const char *tree, *list;
	} rows[] = {
	    {"x86-vm", "ftrace:function\nsched:sched_switch\nsched:sched_wakeup\n"
		       "syscalls:sys_enter_openat\nxen:xen_mc_Flush\nxen:xen_mc_batch\n"},
	    {"linux-4.14", "sched:sched_switch\n"},
	    {"sparse-offline", ""},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		struct machine m;
		struct buf b;

		buf_init(&b, 65536);
		start(&m, rows[i].tree);
		assert_int_equal(catalogue_each(&m.catalogue, add_line, &b), 0);
		assert_string_equal(buf_str(&b), rows[i].list);
		stop(&m);
		buf_fini(&b);
	}
}

/* What the caller says ends the list at once, whatever it says. */
struct answer {
	int result;
	unsigned nr_calls;
};

static int say(const struct event_row *row, void *arg)
{
	struct answer *a = arg;

	(void)row;
	a->nr_calls++;
	return a->result;
}

TEST(stopped)
{
	static const int results[] = {1, -1, -ENOENT, -ENOTDIR, -EACCES, -ENOMEM, -EINTR};
	struct machine m;

	start(&m, "x86-vm");
	for (size_t i = 0; i < NR(results); i++) {
		struct answer a = {.result = results[i]};

		assert_int_equal(event_tracepoint_group.makers[0]->each(&m.catalogue, say, &a),
				 results[i]);
		assert_int_equal(a.nr_calls, 1);
	}
	stop(&m);
}

/* tracefs that is no folder, or has no folders: a list of nothing, not an error. */
TEST(odd_trees)
{
	static const char *const files[] = {
	    "/sys/kernel/tracing/events", "/sys/kernel/tracing/events/sched",
	    "/sys/kernel/tracing/events/a b/c/id", "/sys/kernel/tracing/events/a/b c/id"};

	for (size_t i = 0; i < NR(files); i++) {
		struct root r = tree_make();
		struct answer a = {0};
		struct machine m;

		tree_put(&r, "/sys/devices/system/cpu/online", "0\n", 2);
		tree_put(&r, files[i], "5\n", 2);
		assert_int_equal(try_machine(&m, &r), 0);
		assert_int_equal(event_tracepoint_group.makers[0]->each(&m.catalogue, say, &a), 0);
		assert_int_equal(a.nr_calls, 0);
		stop(&m);
		tree_remove(&r);
	}
}

TEST(detail)
{
	struct machine m;
	struct event ev;
	struct err e;

	start(&m, "x86-vm");
	assert_int_equal(find(&m, "sched:sched_switch", &ev, &e), 0);
	assert_string_equal(ev.row->detail, "fields:\n  char prev_comm[16]\n  pid_t prev_pid\n"
					    "  int prev_prio\n  long prev_state\n"
					    "  char next_comm[16]\n  pid_t next_pid\n"
					    "  int next_prio");
	assert_string_equal(ev.row->format,
			    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
			    "\tfield:unsigned char common_preempt_count;"
			    "\toffset:3;\tsize:1;\tsigned:0;\n"
			    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
			    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
			    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
			    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
			    "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
			    "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n");
	assert_int_equal(find(&m, "sched:sched_wakeup", &ev, &e), 0);
	assert_null(ev.row->detail);
	assert_null(ev.row->format);
	stop(&m);
}

static const char EVENT[] = "/sys/kernel/tracing/events/a/b";

static struct root event_tree(const char *id, const char *format, size_t format_len)
{
	struct root r = tree_make();
	char path[128];

	tree_put(&r, "/sys/devices/system/cpu/online", "0\n", 2);
	snprintf(path, sizeof(path), "%s/id", EVENT);
	tree_put(&r, path, id, strlen(id));
	snprintf(path, sizeof(path), "%s/format", EVENT);
	tree_put(&r, path, format, format_len);
	return r;
}

#define L64  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define L256 L64 L64 L64 L64
static const struct {
	const char *text, *detail, *format;
} formats[] = {
    {"", NULL, NULL},
    {"\tfield:int a;\n", "fields:\n  int a", "\tfield:int a;\n"},
    {"\tfield:int a;", "fields:\n  int a", "\tfield:int a;\n"},
    {"\tfield:int a", NULL, "\tfield:int a\n"},
    {"\tfield:;\n\tfield:int b;\n", "fields:\n  \n  int b", "\tfield:;\n\tfield:int b;\n"},
    {"\tfield:int common_a;\n", NULL, "\tfield:int common_a;\n"},
    {"field:int a;\n \tfield:int b;\n", NULL, NULL},
    {"\tfield:int \033[2J\t%s%n;\n", "fields:\n  int ?[2J?%s%n", "\tfield:int ?[2J\t%s%n;\n"},
    {"\tfield:int a;\toffset:0;\r\n\tfield:\302\233b\177;\n", "fields:\n  int a\n  ??b?",
     "\tfield:int a;\toffset:0;?\n\tfield:??b?;\n"},
    {"\n\n\tfield:\n;\n\tfield", NULL, "\tfield:\n"},
    {"\tfield:" L256 ";\n\tfield:int a;\n", "fields:\n  int a", /* no type is that long */
     "\tfield:" L256 ";\n\tfield:int a;\n"},
};

TEST(formats)
{
	for (size_t i = 0; i < NR(formats); i++) {
		const char *text = formats[i].text;
		struct root r = event_tree("5\n", text, strlen(text));
		struct machine m;
		struct event ev;
		struct err e;

		print_message("%zu\n", i);
		assert_int_equal(try_machine(&m, &r), 0);
		assert_int_equal(find(&m, "a:b", &ev, &e), 0);
		if (formats[i].detail)
			assert_string_equal(ev.row->detail, formats[i].detail);
		else
			assert_null(ev.row->detail);
		if (formats[i].format)
			assert_string_equal(ev.row->format, formats[i].format);
		else
			assert_null(ev.row->format);
		stop(&m);
		tree_remove(&r);
	}
}

/* Fields without end: some of them, whole, and no more than a person would read. */
TEST(long_format)
{
	static const char line[] = "\tfield:int a;\n";
	enum { BYTES = 2 << 20, LINES = 5000 };
	char *text = malloc(BYTES);

	memset(text, '\n', BYTES);
	for (size_t i = 0; i < LINES; i++)
		memcpy(text + i * (sizeof(line) - 1), line, sizeof(line) - 1);
	for (int whole = 0; whole < 2; whole++) {
		size_t len = whole ? BYTES : LINES * (sizeof(line) - 1);
		struct root r = event_tree("5\n", text, len);
		struct machine m;
		struct event ev;
		struct err e;

		assert_int_equal(try_machine(&m, &r), 0);
		assert_int_equal(find(&m, "a:b", &ev, &e), 0);
		assert_int_equal(ev.row->detail != NULL, !whole); /* 2 MiB is no format */
		if (ev.row->detail)
			assert_in_range(strlen(ev.row->detail), 4000, 8192);
		assert_int_equal(ev.row->format != NULL, !whole);
		if (ev.row->format) {
			size_t bytes = strlen(ev.row->format);

			assert_in_range(bytes, (16 << 10) - sizeof(line), 16 << 10);
			assert_int_equal(bytes % (sizeof(line) - 1), 0);
		}
		stop(&m);
		tree_remove(&r);
	}
	free(text);
}

TEST(ids)
{
	static const char *const wrong[] = {
	    "", "0\n", "-1\n", "x\n", "5 \n", "0x5\n", "18446744073709551616\n"};

	for (size_t i = 0; i < NR(wrong); i++) {
		struct root r = event_tree(wrong[i], "", 0);
		struct machine m;
		struct event ev;
		struct err e;

		assert_int_equal(try_machine(&m, &r), 0);
		assert_int_equal(find(&m, "a:b", &ev, &e), -ENOENT);
		assert_non_null(strstr(e.msg, "its id in tracefs cannot be read"));
		stop(&m);
		tree_remove(&r);
	}
}

/* The nth call from now on is refused: the folder, then the id. */
TEST(no_permission)
{
	static const unsigned nth[] = {1, 3};
	struct machine m;

	start(&m, "x86-vm");
	for (size_t i = 0; i < NR(nth); i++) {
		const struct event_row *row = NULL;
		struct err e = {0};
		int rc;

		inject_sys(nth[i], -EACCES);
		rc = event_tracepoint_group.makers[0]->find(&m.catalogue, "sched:sched_switch",
							    &row, &e);
		inject_stop();
		assert_null(row);
		assert_int_equal(rc, -ENOENT);
		assert_string_equal(e.msg, "tracefs may not be read");
		assert_non_null(strstr(e.hint, "as root"));
	}
	stop(&m);
}

static int find_again(const struct event *ev, void *arg)
{
	const struct machine *m = arg;
	struct event again;
	struct err e;

	if (find(m, ev->row->name, &again, &e))
		fail_msg("%s: %s", ev->row->name, e.msg);
	assert_string_equal(again.row->name, ev->row->name);
	assert_true(again.row->perf_config > 0 && again.row->perf_config <= UINT16_MAX);
	return 0;
}

static int count(const struct event *ev, void *arg)
{
	(void)ev;
	++*(size_t *)arg;
	return 0;
}

/* All there are here (none, where tracefs is not mounted or not ours to read). */
TEST(this_machine)
{
	struct machine m;
	uint64_t start_ns;
	size_t nr = 0;

	assert_int_equal(try_machine(&m, &root_live), 0);
	start_ns = clock_monotonic_ns();
	assert_int_equal(catalogue_each(&m.catalogue, count, &nr), 0);
	print_message("%zu tracepoints in %llu us\n", nr,
		      (unsigned long long)(clock_monotonic_ns() - start_ns) / 1000);
	assert_int_equal(catalogue_each(&m.catalogue, find_again, &m), 0);
	stop(&m);
	start(&m, "x86-vm");
	assert_int_equal(catalogue_each(&m.catalogue, find_again, &m), 0);
	stop(&m);
}

/* Lists and finds; whatever fails, a name is found right, or not at all. */
static int all(void *arg)
{
	struct machine m;
	const struct event_row *row = NULL;
	struct err e = {0};
	size_t nr = 0;
	int rc = try_machine(&m, arg);
	bool is_open = rc == 0;

	if (rc == 0)
		rc = catalogue_each(&m.catalogue, count, &nr);
	if (rc == 0)
		rc = event_tracepoint_group.makers[0]->find(&m.catalogue, "Sched:sched_switch",
							    &row, &e);
	assert_int_equal(row != NULL, rc == 0);
	if (row)
		assert_int_equal(row->perf_config, 372);
	if (rc == -ENOENT && inject.fired) /* told as such, with the reason */
		rc = inject.error;
	if (is_open)
		stop(&m);
	return rc;
}

TEST(failures)
{
	struct root r = tree_captured("x86-vm");

	inject_every(all, &r, 5, 15);
}
