/*
 * The events of GPUs' PMUs, in trees that are made for it, from the kernel's sources (i915 of Linux
 * 4.16 and 6.19, xe of 6.14). None of them was captured. Names, what is opened and where, several
 * GPUs, what is refused; and every failure in turn.
 */
#include "kit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "collect/collect.h"
#include "event/catalogue.h"
#include "host/host.h"

#define PMU   "/sys/bus/event_source/devices/"
#define I915  PMU "i915/"
#define ARC   PMU "i915_0000_03_00.0/"
#define XE    PMU "xe_0000_04_00.0/"
#define CARDS "/sys/class/drm/"
#define ONLINE                                                                                     \
	{                                                                                          \
		"/sys/devices/system/cpu/online", "2-5\n"                                          \
	}

struct text {
	const char *path, *text; /* NULL: a folder */
};

#define I915_FILES(pmu, type_)                                                                     \
	{pmu "type", type_},                                                                       \
	{                                                                                          \
		pmu "format/i915_eventid", "config:0-20\n"                                         \
	}
#define ENGINE(pmu, name, config)                                                                  \
	{pmu "events/" name, "config=" config "\n"},                                               \
	{                                                                                          \
		pmu "events/" name ".unit", "ns\n"                                                 \
	}

static const struct text integrated[] = {
    ONLINE,
    I915_FILES(I915, "30\n"),
    {I915 "cpumask", "3\n"},
    ENGINE(I915, "rcs0-busy", "0x0"),
    ENGINE(I915, "rcs0-sema", "0x2"),
    ENGINE(I915, "rcs0-wait", "0x1"),
    ENGINE(I915, "vcs1-busy", "0x2010"),
    {I915 "events/actual-frequency", "config=0x100000\n"},
    {I915 "events/actual-frequency.unit", "M\n"},
    {I915 "events/requested-frequency", "config=0x100001\n"},
    {I915 "events/requested-frequency.unit", "MHz\n"}, /* of Linux 4.16 */
    {I915 "events/interrupts", "config=0x100002\n"},
    ENGINE(I915, "rc6-residency", "0x100003"),
    ENGINE(I915, "software-gt-awake-time", "0x100004"),
    {I915 "events/of-the-future", "config=0x100005\n"},
    {CARDS "card0/device/uevent", "DRIVER=i915\nPCI_CLASS=30000\nPCI_SLOT_NAME=0000:00:02.0\n"},
    {CARDS "card0-DP-1/device/uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n"},
    {CARDS "renderD128/device/uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n"},
};

/* The card without an address in its PMU's name is the one that no other PMU has. */
static const struct text two[] = {
    ONLINE,
    I915_FILES(I915, "30\n"),
    ENGINE(I915, "rcs0-busy", "0x0"),
    I915_FILES(ARC, "31\n"),
    {ARC "cpumask", "2\n"},
    ENGINE(ARC, "rcs0-busy", "0x0"),
    ENGINE(ARC, "ccs3-busy", "0x4030"),
    ENGINE(ARC, "rc6-residency-gt1", "0x1000000000100003"),
    {CARDS "card0/device/uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:03:00.0\n"},
    {CARDS "card1/device/uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n"},
    {CARDS "card2/device/uevent", "DRIVER=nouveau\nPCI_SLOT_NAME=0000:09:00.0\n"},
};

#define XE_FILES                                                                                   \
	{XE "type", "40\n"}, {XE "format/event", "config:0-11\n"},                                 \
	    {XE "format/engine_class", "config:20-27\n"},                                          \
	    {XE "format/engine_instance", "config:12-19\n"},                                       \
	    {XE "format/function", "config:44-59\n"}, {XE "format/gt", "config:60-63\n"},          \
	    {XE "events/gt-c6-residency", "event=0x01\n"},                                         \
	    {XE "events/gt-c6-residency.unit", "ms\n"},                                            \
	    {XE "events/engine-active-ticks", "event=0x02\n"},                                     \
	    {XE "events/engine-total-ticks", "event=0x03\n"},                                      \
	    {XE "events/gt-actual-frequency", "event=0x04\n"},                                     \
	{                                                                                          \
		XE "events/gt-actual-frequency.unit", "MHz\n"                                      \
	}
#define XE_GT(gt) CARDS "card1/device/tile0/" gt "/engines/"

static const struct text xe[] = {
    ONLINE,
    XE_FILES,
    {XE_GT("gt0") "rcs/job_timeout_ms", "5000\n"},
    {XE_GT("gt0") "ccs/job_timeout_ms", "5000\n"},
    {XE_GT("gt0") "unknown/job_timeout_ms", "5000\n"},
    {XE_GT("gt1") "vcs/job_timeout_ms", "5000\n"},
    {CARDS "card1/device/tile0/gt16/engines/rcs", NULL},
    {CARDS "card1/device/tile0/gtx/engines/rcs", NULL},
    {CARDS "card1/device/uevent", "PCI_SLOT_NAME=0000:04:00.0\nDRIVER=xe\n"},
};

/* No card is to be seen, as in a container. */
static const struct text blind[] = {ONLINE, XE_FILES};

static const struct text odd[] = {
    ONLINE,
    I915_FILES(I915, "30\n"),
    {I915 "cpumask", "\n"}, /* none, so none can be opened */
    ENGINE(I915, "rcs0-busy", "0x0"),
    I915_FILES(ARC, "31\n"),
    {ARC "events/rcs0-busy", "config=0x0\n"},
    {ARC "events/rcs0-busy.unit", "us\n"},
    {ARC "events/bcs0-busy", "config=0x1000\n"},
    {ARC "events/rc6-residency", "damaged=7\n"},
    {ARC "events/rc6-residency.unit", "ns\n"},
    {CARDS "card0/device/uevent", ""},
    {PMU "i9150/type", "50\n"},
    {PMU "xe/type", "51\n"},
};

struct machine {
	struct root root;
	struct host host;
	struct arena arena;
	struct catalogue c;
};

static void open_machine(struct machine *m, const struct text *files, size_t nr)
{
	struct err e = {0};

	memset(m, 0, sizeof(*m));
	m->root = tree_make();
	for (size_t i = 0; i < nr; i++)
		if (files[i].text)
			tree_text(&m->root, files[i].path, files[i].text);
		else
			tree_put(&m->root, files[i].path, NULL, 0);
	assert_int_equal(host_load(&m->root, &m->host, &e), 0);
	arena_init(&m->arena, 4 << 20);
	m->c = (struct catalogue){.host = &m->host, .arena = &m->arena};
}

static void close_machine(struct machine *m)
{
	arena_fini(&m->arena);
	host_fini(&m->host);
	tree_remove(&m->root);
}

/* "SHARE %: xe_0000_04_00.0(40) 0x2 on 2; …" or the reason. */
static void spell(const struct event_row *r, struct buf *out)
{
	static const char *const kinds[] = {"?", "COUNT", "VALUE", "SHARE"};

	buf_printf(out, "%s: ", r->name);
	if (r->missing) {
		assert_int_equal(r->nr_parts, 0);
		buf_printf(out, "%s\n", r->missing);
		return;
	}
	assert_int_equal(r->scope, EVENT_SCOPE_PACKAGE);
	assert_int_equal(r->number, 0);
	assert_int_equal(r->alone, 0);
	assert_int_equal(r->description[strlen(r->description) - 1], '.');
	buf_printf(out, "%s %s %g", kinds[r->kind], r->unit, r->scale);
	for (uint32_t i = 0; i < r->nr_parts; i++) {
		const struct event_part *p = &r->parts[i];

		assert_true(p->config1 == 0 && p->config2 == 0);
		buf_printf(out, ", %s(%u) %#llx on ", p->pmu, p->type,
			   (unsigned long long)p->config);
		assert_non_null(p->cpus);
		cpuset_format(p->cpus, out);
	}
	buf_addc(out, '\n');
}

static int add_row(const struct event_row *r, void *arg)
{
	spell(r, arg);
	return 0;
}

#define NO_MEAN                                                                                    \
	"the kernel adds the frequency to the count at each read, so that it has no mean: use "    \
	"gpu:frequency and gpu:requested_frequency\n"

static const struct {
	const char *what;
	const struct text *files;
	size_t nr;
	const char *rows;
} machines[] = {
    {"i915, integrated", integrated, NR(integrated),
     "card0_actual_frequency: COUNT cycles 1e+06, i915(30) 0x100000 on 3\n"
     "card0_interrupts: COUNT interrupts 1, i915(30) 0x100002 on 3\n"
     "card0_rc6_residency: COUNT ns 1, i915(30) 0x100003 on 3\n"
     "card0_rcs0_busy: SHARE % 1, i915(30) 0 on 3\n"
     "card0_rcs0_sema: SHARE % 1, i915(30) 0x2 on 3\n"
     "card0_rcs0_wait: SHARE % 1, i915(30) 0x1 on 3\n"
     "card0_requested_frequency: COUNT cycles 1e+06, i915(30) 0x100001 on 3\n"
     "card0_software_gt_awake_time: COUNT ns 1, i915(30) 0x100004 on 3\n"
     "card0_vcs1_busy: SHARE % 1, i915(30) 0x2010 on 3\n"},
    {"i915, two", two, NR(two),
     "card1_rcs0_busy: SHARE % 1, i915(30) 0 on 2\n"
     "card0_ccs3_busy: SHARE % 1, i915_0000_03_00.0(31) 0x4030 on 2\n"
     "card0_rc6_residency_gt1: COUNT ns 1, i915_0000_03_00.0(31) 0x1000000000100003 on 2\n"
     "card0_rcs0_busy: SHARE % 1, i915_0000_03_00.0(31) 0 on 2\n"},
    {"xe", xe, NR(xe),
     "card1_gt0_c6_residency: COUNT ns 1e+06, xe_0000_04_00.0(40) 0x1 on 2\n"
     "card1_gt0_actual_frequency: " NO_MEAN
     "card1_gt0_ccs0_busy: SHARE % 1, xe_0000_04_00.0(40) 0x400002 on 2, "
     "xe_0000_04_00.0(40) 0x400003 on 2\n"
     "card1_gt0_rcs0_busy: SHARE % 1, xe_0000_04_00.0(40) 0x2 on 2, "
     "xe_0000_04_00.0(40) 0x3 on 2\n"
     "card1_gt1_c6_residency: COUNT ns 1e+06, xe_0000_04_00.0(40) 0x1000000000000001 on 2\n"
     "card1_gt1_actual_frequency: " NO_MEAN
     "card1_gt1_vcs0_busy: SHARE % 1, xe_0000_04_00.0(40) 0x1000000000200002 on 2, "
     "xe_0000_04_00.0(40) 0x1000000000200003 on 2\n"},
    {"xe without a card", blind, NR(blind),
     "xe_0000_04_00_0_gt0_c6_residency: COUNT ns 1e+06, xe_0000_04_00.0(40) 0x1 on 2\n"
     "xe_0000_04_00_0_gt0_actual_frequency: " NO_MEAN},
    {"damaged", odd, NR(odd),
     "i915_rcs0_busy: the cpumask of the PMU i915 is empty\n"
     "i915_0000_03_00_0_bcs0_busy: the kernel publishes it in no unit, not in ns\n"
     "i915_0000_03_00_0_rc6_residency: \"damaged\" is no term of the PMU i915_0000_03_00.0\n"
     "i915_0000_03_00_0_rcs0_busy: the kernel publishes it in us, not in ns\n"},
};

TEST(rows)
{
	struct buf b;

	buf_init(&b, 1 << 16);
	for (size_t i = 0; i < NR(machines); i++) {
		struct machine m;

		print_message("%s\n", machines[i].what);
		open_machine(&m, machines[i].files, machines[i].nr);
		buf_reset(&b);
		assert_int_equal(event_gpu_pmu_maker.each(&m.c, add_row, &b), 0);
		assert_string_equal(buf_str(&b), machines[i].rows);
		close_machine(&m);
	}
	buf_fini(&b);
}

/* What is listed is found by its name. */
static int find_again(const struct event_row *r, void *arg)
{
	const struct event_row *again = NULL;
	struct machine *m = arg;
	struct err e = {0};
	struct buf a, b;

	buf_init(&a, 4096);
	buf_init(&b, 4096);
	assert_int_equal(event_gpu_pmu_maker.find(&m->c, r->name, &again, &e), 0);
	spell(r, &a);
	spell(again, &b);
	assert_string_equal(buf_str(&a), buf_str(&b));
	buf_fini(&a);
	buf_fini(&b);
	return 0;
}

TEST(found_again)
{
	for (size_t i = 0; i < NR(machines); i++) {
		struct machine m;

		open_machine(&m, machines[i].files, machines[i].nr);
		assert_int_equal(event_gpu_pmu_maker.each(&m.c, find_again, &m), 0);
		close_machine(&m);
	}
}

TEST(names)
{
	static const struct {
		const struct text *files;
		size_t nr;
		const char *asked, *row; /* NULL: unknown */
		const char *says;        /* why; NULL: nothing */
	} cases[] = {
	    {integrated, NR(integrated), "CARD0_rcs0_BUSY",
	     "card0_rcs0_busy: SHARE % 1, i915(30) 0 on 3\n", NULL},
	    {integrated, NR(integrated), "rcs0_busy",
	     "card0_rcs0_busy: SHARE % 1, i915(30) 0 on 3\n", NULL},
	    {integrated, NR(integrated), "card1_rcs0_busy", NULL, NULL},
	    {integrated, NR(integrated), "card0_of_the_future", NULL, NULL},
	    {integrated, NR(integrated), "card0", NULL, NULL},
	    {integrated, NR(integrated), "card0_", NULL, NULL},
	    {integrated, NR(integrated), "", NULL, NULL},
	    {integrated, NR(integrated), "card0_gt0_rcs0_busy", NULL, NULL},
	    {two, NR(two), "ccs3_busy",
	     "card0_ccs3_busy: SHARE % 1, i915_0000_03_00.0(31) 0x4030 on 2\n", NULL},
	    {two, NR(two), "rcs0_busy", NULL,
	     "several GPUs have it: card1_rcs0_busy and card0_rcs0_busy"},
	    /* of xe also what sysfs does not list */
	    {xe, NR(xe), "card1_gt1_vcs3_busy",
	     "card1_gt1_vcs3_busy: SHARE % 1, xe_0000_04_00.0(40) 0x1000000000203002 on 2, "
	     "xe_0000_04_00.0(40) 0x1000000000203003 on 2\n",
	     NULL},
	    {blind, NR(blind), "gt15_vecs255_busy",
	     "xe_0000_04_00_0_gt15_vecs255_busy: SHARE % 1, xe_0000_04_00.0(40) "
	     "0xf0000000003ff002 on 2, xe_0000_04_00.0(40) 0xf0000000003ff003 on 2\n",
	     NULL},
	    {xe, NR(xe), "card1_gt0_vecs256_busy", NULL, NULL},
	    {xe, NR(xe), "card1_gt16_vcs0_busy", NULL, NULL},
	    {xe, NR(xe), "card1_gt0_xcs0_busy", NULL, NULL},
	    {xe, NR(xe), "card1_gt0_vcs_busy", NULL, NULL},
	    {xe, NR(xe), "card1_gt0_vcs00_busy", NULL, NULL},
	    {xe, NR(xe), "card1_gt0_vcs0_idle", NULL, NULL},
	    {xe, NR(xe), "card1_gt_vcs0_busy", NULL, NULL},
	    {xe, NR(xe), "card1_gt99999999999999999999_vcs0_busy", NULL, NULL},
	    {xe, NR(xe), "card1_gt0", NULL, NULL},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		const struct event_row *row = NULL;
		struct machine m;
		struct err e = {0};
		struct buf b;

		print_message("\"%s\"\n", cases[i].asked);
		buf_init(&b, 4096);
		open_machine(&m, cases[i].files, cases[i].nr);
		assert_int_equal(event_gpu_pmu_maker.find(&m.c, cases[i].asked, &row, &e),
				 cases[i].row ? 0 : -ENOENT);
		if (cases[i].row) {
			spell(row, &b);
			assert_string_equal(buf_str(&b), cases[i].row);
		} else {
			assert_null(row);
		}
		assert_string_equal(e.msg, cases[i].says ? cases[i].says : "");
		close_machine(&m);
		buf_fini(&b);
	}
}

TEST(described)
{
	const struct event_row *row;
	struct machine m;

	open_machine(&m, xe, NR(xe));
	assert_int_equal(event_gpu_pmu_maker.find(&m.c, "card1_gt0_ccs0_busy", &row, NULL), 0);
	assert_string_equal(
	    row->description,
	    "Share of time in which the engine worked (card1: engine ccs0, compute).");
	assert_string_equal(row->source, "xe_0000_04_00.0/engine-active-ticks,gt=0,engine_class=4,"
					 "engine_instance=0/");
	assert_non_null(strstr(row->detail, "does not sleep"));
	close_machine(&m);
	open_machine(&m, integrated, NR(integrated));
	assert_int_equal(event_gpu_pmu_maker.find(&m.c, "interrupts", &row, NULL), 0);
	assert_string_equal(row->description, "Interrupts of the GPU (card0).");
	assert_null(row->detail);
	close_machine(&m);
}

/* In the group gpu, also without its name; misc has the event as the kernel publishes it. */
TEST(in_catalogue)
{
	static const struct event_group *const groups[] = {&collect_misc_group, &collect_gpu_group};
	struct catalogue c;
	struct machine m;
	struct event ev;
	struct err e = {0};

	open_machine(&m, integrated, NR(integrated));
	c = m.c;
	c.groups = groups;
	c.nr_groups = NR(groups);
	assert_int_equal(catalogue_find_spelled(&c, "gpu:rcs0_busy", &ev, &e), 0);
	assert_string_equal(ev.row->name, "card0_rcs0_busy");
	assert_true(event_is_perf(&ev));
	assert_int_equal(catalogue_find_bare(&c, "card0_vcs1_busy", &ev, &e), 0);
	assert_int_equal(ev.group->id, EVENT_GROUP_GPU);
	assert_int_equal(ev.row->parts[0].config, 0x2010);
	assert_int_equal(catalogue_find_spelled(&c, "misc:i915/vcs1-busy/", &ev, &e), 0);
	assert_int_equal(ev.row->kind, EVENT_COUNT);
	assert_string_equal(ev.row->unit, "ns");
	assert_int_equal(ev.row->parts[0].config, 0x2010);
	/* a row of the table comes first */
	assert_int_equal(catalogue_find_spelled(&c, "gpu:requested_frequency", &ev, &e), 0);
	assert_false(event_is_perf(&ev));
	close_machine(&m);
}

static int stop(const struct event_row *row, void *arg)
{
	(void)row;
	return --*(int *)arg ? 0 : -ENOENT; /* as a folder that is not there */
}

TEST(stops)
{
	struct machine m;

	open_machine(&m, xe, NR(xe));
	for (int n = 1; n <= 7; n++) {
		int left = n;

		assert_int_equal(event_gpu_pmu_maker.each(&m.c, stop, &left), -ENOENT);
		assert_int_equal(left, 0);
	}
	close_machine(&m);
}

static int count(const struct event_row *row, void *arg)
{
	assert_non_null(row->description);
	++*(int *)arg;
	return 0;
}

/* Without memory there are no rows; a file that cannot be read makes fewer of them. */
static int make_all(void *arg)
{
	struct machine *m = arg;
	const struct event_row *row = NULL;
	struct err e = {0};
	int nr = 0, rc;

	arena_init(&m->arena, 4 << 20);
	rc = event_gpu_pmu_maker.each(&m->c, count, &nr);
	if (rc == 0)
		rc = event_gpu_pmu_maker.find(&m->c, "card1_gt0_rcs0_busy", &row, &e);
	assert_int_equal(!rc, row != NULL);
	arena_fini(&m->arena);
	if (rc == -ENOMEM || (rc == 0 && nr == 7))
		return rc;
	return inject.fired && inject.error ? inject.error : -EDOM;
}

TEST(failures)
{
	struct machine m;

	open_machine(&m, xe, NR(xe));
	arena_fini(&m.arena);
	inject_every(make_all, &m, 2, 20);
	arena_init(&m.arena, 4096);
	close_machine(&m);
}

/* An arena that is full at any place. */
TEST(little_memory)
{
	struct machine m;
	bool is_enough = false;

	open_machine(&m, two, NR(two));
	for (size_t bytes = 1; !is_enough; bytes += 256) {
		int nr = 0, rc;

		arena_fini(&m.arena);
		arena_init(&m.arena, bytes);
		rc = event_gpu_pmu_maker.each(&m.c, count, &nr);
		assert_true(rc == 0 || rc == -ENOMEM);
		is_enough = rc == 0;
		assert_true(!is_enough || nr == 4);
	}
	close_machine(&m);
}
