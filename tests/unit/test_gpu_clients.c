/*
 * Engines and processes of GPUs in trees that are made for it, after the kernel's documents: i915,
 * xe, amdgpu, panfrost, msm. None of them was captured. Clients come and go, are shared, go back,
 * and are damaged; and every failure in turn.
 */
#include "kit.h"
#include "test_gpu_fdinfo.h"
#include "test_things_many.h"

#include "collect/collect.h"
#include "gpu/engine.h"
#include "gpu/process.h"
#include "inject.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define BIT(n) (1u << (n))

enum {
	ENGINES = BIT(GPU_ENGINE_NR_FIELDS) - 1,
	TIME = BIT(GPU_ENGINE_BUSY_TIME),
	PROCESSES = BIT(GPU_PROCESS_NR_FIELDS) - 1,
	USE = BIT(GPU_PROCESS_BUSY_TIME) | BIT(GPU_PROCESS_BUSY_CYCLES),
};

#define RENDER "/dev/dri/renderD128"

/* ---- a machine */

/* "/dri/card7": 7. False: no such path. */
static bool read_node(const char *target, const char *before, unsigned *minor)
{
	size_t len = strlen(before);
	char *end;

	if (strncmp(target, before, len) != 0)
		return false;
	*minor = (unsigned)strtoul(target + len, &end, 10);
	return end != target + len;
}

/* The link's node, which is not on this machine, is one of DRM. */
static int fake_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	char target[64] = "";
	ssize_t n = readlinkat(dirfd, path, target, sizeof(target) - 1);
	unsigned minor = 0;

	if (strncmp(target, "/srv/", 5) == 0)
		fail_msg("%s may be of a dead file system", target);
	if (n < 0 || (!read_node(target, "/dev/dri/renderD", &minor) &&
		      !read_node(target, "/mnt/dev/dri/renderD", &minor) &&
		      !read_node(target, "/dri/renderD", &minor) &&
		      !read_node(target, "/dev/dri/card", &minor)))
		return sys_kernel_ops.fstatat(dirfd, path, st, flags);
	memset(st, 0, sizeof(*st));
	st->st_mode = strstr(target, "folder") ? S_IFDIR : S_IFCHR;
	st->st_rdev = makedev(strstr(target, "sound") ? 116 : 226, minor);
	return 0;
}

static struct root made[8]; /* by this test */
static size_t nr_made;

static struct {
	const char *denied; /* paths that hold this cannot be opened */
	int error;
} machine;

static int fake_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	if (machine.denied && strstr(path, machine.denied))
		return machine.error;
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

HOOK(before_each)
{
	static struct sys_ops ops;

	ops = sys_kernel_ops;
	ops.fstatat = fake_fstatat;
	ops.openat = fake_openat;
	machine.denied = NULL;
	sys_set_ops(&ops);
}

HOOK(after_each)
{
	sys_set_ops(NULL);
	while (nr_made)
		tree_remove(&made[--nr_made]);
}

static void put(const struct root *r, const char *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put(const struct root *r, const char *text, const char *format, ...)
{
	char path[200];
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	tree_text(r, path, text);
}

static void put_process(const struct root *r, unsigned pid, const char *name, unsigned parent)
{
	char text[200];

	snprintf(text, sizeof(text), "%u (%s) S %u 1 1 0 -1 4194304 1 2 3 4 5 6 7 8\n", pid, name,
		 parent);
	put(r, text, "/proc/%u/stat", pid);
	snprintf(text, sizeof(text), "%s\n", name);
	put(r, text, "/proc/%u/comm", pid);
	put(r, "", "/proc/%u/fdinfo/.keep", pid);
	put(r, "", "/proc/%u/fd/.keep", pid);
}

static void open_file(const struct root *r, unsigned pid, unsigned fd, const char *target,
		      const char *text)
{
	char path[400];

	put(r, text, "/proc/%u/fdinfo/%u", pid, fd);
	snprintf(path, sizeof(path), "%s/proc/%u/fd/%u", r->dir, pid, fd);
	(void)unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

static void close_file(const struct root *r, unsigned pid, unsigned fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, fd);
	tree_drop(r, path);
	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", pid, fd);
	tree_drop(r, path);
}

static void put_card(const struct root *r, unsigned nr, const char *pdev, unsigned minor)
{
	char text[100];

	snprintf(text, sizeof(text), "DRIVER=x\nPCI_SLOT_NAME=%s\nMODALIAS=y\n", pdev);
	put(r, *pdev ? text : "DRIVER=x\n", "/sys/class/drm/card%u/device/uevent", nr);
	snprintf(text, sizeof(text), "226:%u\n", minor);
	put(r, text, "/sys/class/drm/card%u/device/drm/renderD%u/dev", nr, minor);
	put(r, "connected\n", "/sys/class/drm/card%u-DP-1/status", nr);
}

static struct root make_machine(void)
{
	struct root r = tree_make();

	assert_true(nr_made < NR(made));
	made[nr_made++] = r;
	put_card(&r, 0, "0000:00:02.0", 128);
	put_card(&r, 1, "0000:03:00.0", 129);
	put_card(&r, 2, "", 130);
	put_process(&r, 10, "compositor", 1);
	put_process(&r, 20, "game", 10);
	open_file(&r, 10, 0, "/dev/null", FDINFO_FILE);
	open_file(&r, 10, 1, "/srv/dri/file", FDINFO_FILE);
	open_file(&r, 10, 2, "/srv/dri/card0", FDINFO_FILE);
	return r;
}

/* ---- what drivers report */

static const struct {
	const char *driver, *link, *text, *engines, *process;
} drivers[] = {
    {"i915", RENDER, FDINFO_I915("7", "900", "35"),
     "0 card0 render 0=900 1=900 4=1 7=1\n1 card0 copy 0=0 1=0 4=1 7=1\n"
     "2 card0 video 0=35 1=35 4=2 7=1\n3 card0 video-enhance 0=0 1=0 4=1 7=1\n",
     "0 20 game 0=935 3=31457280 4=1\n"},
    {"xe", "/dev/dri/renderD129", FDINFO_XE("42", "300", "7655183225"),
     "0 card1 rcs 1=0 2=300 3=0 4=1 7=1\n1 card1 vcs 1=0 2=0 3=0 4=2 7=1\n",
     "0 20 game 1=300 2=24633344 3=196608 4=1\n"},
    {"amdgpu, of no card", RENDER, FDINFO_AMDGPU("8", "1146600"),
     "0 card0 gfx 0=1146600 1=1146600 4=1 7=1\n", "0 20 game 0=1146600 2=10485760 3=2097152 4=1\n"},
    {"amdgpu of an address that no card has", "/dev/dri/renderD140", FDINFO_AMDGPU("8", "5"),
     "0 0000:0c:00.0 gfx 0=5 1=5 4=1 7=1\n", "0 20 game 0=5 2=10485760 3=2097152 4=1\n"},
    {"panfrost", "/dev/dri/renderD130", FDINFO_PANFROST("9", "4819", "602"),
     "0 card2 fragment 0=4819 1=4819 2=602 4=1 5=799999987 6=799999987 7=1\n"
     "1 card2 vertex-tiler 0=500 1=500 2=40 4=1 5=799999987 6=799999987 7=1\n",
     "0 20 game 0=5319 1=642 3=4096000 4=1\n"},
    {"msm", "/dev/dri/renderD141", FDINFO_MSM("3", "77"),
     "0 msm gpu 0=77 1=77 2=24218 4=1 5=710000000 7=1\n",
     "0 20 game 0=77 1=24218 3=32505856 4=1\n"},
};

TEST(of_drivers)
{
	for (size_t i = 0; i < NR(drivers); i++) {
		struct root r = make_machine();
		struct many m;

		print_message("%s\n", drivers[i].driver);
		open_file(&r, 20, 5, drivers[i].link, drivers[i].text);
		many_open(&m, &gpu_engine_source, &r, "", ENGINES);
		many_read(&m);
		many_expect(&m, drivers[i].engines);
		many_expect_note(&m, NULL);
		many_close(&m);
		many_open(&m, &gpu_process_source, &r, "", PROCESSES);
		many_read(&m);
		many_expect(&m, drivers[i].process);
		many_expect_note(&m, NULL);
		many_close(&m);
	}
}

/* What a driver does not report is no failure. */
TEST(absent)
{
	struct root r = make_machine();
	struct many m;

	open_file(&r, 20, 5, RENDER,
		  "drm-driver:\tx\ndrm-client-id:\t1\ndrm-pdev:\t0000:00:02.0\n"
		  "drm-maxfreq-a:\t5\n");
	many_open(&m, &gpu_process_source, &r, "", PROCESSES);
	many_read(&m);
	many_expect_fields(&m, "20 game", BIT(GPU_PROCESS_CLIENTS), 0,
			   PROCESSES & ~BIT(GPU_PROCESS_CLIENTS), 0);
	many_close(&m);
	many_open(&m, &gpu_engine_source, &r, "", TIME | BIT(GPU_ENGINE_BUSY));
	many_read(&m);
	many_expect_fields(&m, "card0 a", 0, 0, TIME | BIT(GPU_ENGINE_BUSY), 0);
	many_close(&m);
}

/* Devices of another's folder of devices. */
TEST(elsewhere)
{
	struct root r = make_machine();
	struct many m;

	open_file(&r, 20, 5, "/mnt/dev/dri/renderD128", FDINFO_MSM("1", "7"));
	open_file(&r, 20, 6, "/dri/renderD128", FDINFO_MSM("2", "8"));
	many_open(&m, &gpu_engine_source, &r, "", TIME);
	many_read(&m);
	many_expect(&m, "0 card0 gpu 0=15\n");
	many_close(&m);
}

/* ---- clients */

static uint64_t value_of(const struct many *m, const char *name, unsigned field)
{
	struct things_one t = many_get(m, name);

	assert_true(t.has & 1u << field);
	return t.values[field];
}

static uint64_t missed_of(const struct many *m, const char *name, unsigned field)
{
	struct things_one t = many_get(m, name);

	assert_true(t.missed & 1u << field);
	return t.nr_missed;
}

/* A client that many descriptors and processes have is one, of the process with the lowest number;
 * when that closes it, the next has what it uses from then on. */
TEST(shared)
{
	struct root r = make_machine();
	struct many m, of;

	open_file(&r, 20, 5, RENDER, FDINFO_I915("7", "1000", "0"));
	open_file(&r, 20, 6, RENDER, FDINFO_I915("7", "1000", "0"));
	open_file(&r, 10, 4, RENDER, FDINFO_I915("7", "1000", "0"));
	open_file(&r, 10, 7, RENDER, FDINFO_I915("8", "50", "0"));
	/* another device has the same number */
	open_file(&r, 20, 9, "/dev/dri/renderD129", FDINFO_XE("7", "3", "4"));
	many_open(&m, &gpu_engine_source, &r, "card0", TIME | BIT(GPU_ENGINE_CLIENTS));
	many_open(&of, &gpu_process_source, &r, "", USE | BIT(GPU_PROCESS_CLIENTS));
	many_read(&m);
	many_read(&of);
	many_expect(&m, "0 card0 render 0=1050 7=2\n1 card0 copy 0=0 7=2\n2 card0 video 0=0 7=2\n"
			"3 card0 video-enhance 0=0 7=2\n");
	many_expect(&of, "0 10 compositor 0=1050 4=2\n1 20 game 1=3 4=1\n");
	close_file(&r, 10, 4);
	open_file(&r, 20, 5, RENDER, FDINFO_I915("7", "1300", "0"));
	open_file(&r, 20, 6, RENDER, FDINFO_I915("7", "1300", "0"));
	many_read(&m);
	many_read(&of);
	assert_int_equal(value_of(&m, "card0 render", GPU_ENGINE_BUSY_TIME), 1350);
	assert_int_equal(missed_of(&m, "card0 render", GPU_ENGINE_BUSY_TIME), 0);
	many_expect(&of, "0 10 compositor 0=1050 4=1\n1 20 game 0=300 1=3 4=2\n");
	many_close(&m);
	many_close(&of);
}

/* Those that end leave what was read of them; new ones count from 0. */
TEST(come_and_go)
{
	struct root r = make_machine();
	struct many m, of;

	open_file(&r, 10, 4, RENDER, FDINFO_I915("7", "1000", "0"));
	many_open(&m, &gpu_engine_source, &r, "", TIME);
	many_open(&of, &gpu_process_source, &r, "", USE);
	many_read(&m);
	many_read(&of);
	assert_int_equal(many_get(&m, "card0 render").born_ns, 0);
	open_file(&r, 20, 5, RENDER, FDINFO_I915("9", "400", "0"));
	many_read(&m);
	many_read(&of);
	assert_int_equal(value_of(&m, "card0 render", GPU_ENGINE_BUSY_TIME), 1400);
	assert_true(many_get(&of, "20 game").born_ns != 0);
	many_expect(&of, "0 10 compositor 0=1000\n1 20 game 0=400\n");
	close_file(&r, 20, 5);
	open_file(&r, 10, 4, RENDER, FDINFO_I915("7", "1001", "0"));
	many_read(&m);
	many_read(&of);
	assert_int_equal(value_of(&m, "card0 render", GPU_ENGINE_BUSY_TIME), 1401);
	assert_int_equal(missed_of(&m, "card0 render", GPU_ENGINE_BUSY_TIME), 1);
	assert_int_equal(missed_of(&of, "10 compositor", GPU_PROCESS_BUSY_TIME), 0);
	many_expect(&of, "0 10 compositor 0=1001\n");
	/* the process is back: a new thing, whose client is new, too */
	open_file(&r, 20, 5, RENDER, FDINFO_I915("10", "6", "0"));
	many_read(&of);
	many_expect(&of, "0 10 compositor 0=1001\n2 20 game 0=6\n");
	/* all its clients are others: so may the process be */
	open_file(&r, 20, 5, RENDER, FDINFO_I915("11", "8", "0"));
	many_read(&of);
	many_expect(&of, "0 10 compositor 0=1001\n3 20 game 0=8\n");
	/* one of two ends: what it used last is missed */
	open_file(&r, 20, 6, RENDER, FDINFO_I915("12", "30", "0"));
	many_read(&of);
	many_expect(&of, "0 10 compositor 0=1001\n3 20 game 0=38\n");
	close_file(&r, 20, 5);
	many_read(&of);
	many_expect(&of, "0 10 compositor 0=1001\n3 20 game 0=38\n");
	assert_int_equal(missed_of(&of, "20 game", GPU_PROCESS_BUSY_TIME), 1);
	/* the last of all ends: engines stay */
	close_file(&r, 20, 6);
	close_file(&r, 10, 4);
	many_read(&m);
	many_read(&of);
	many_expect(&of, "");
	assert_int_equal(value_of(&m, "card0 render", GPU_ENGINE_BUSY_TIME), 1401);
	many_close(&m);
	many_close(&of);
}

/* One that existed before it could be seen counts what it uses from then on, and says so. */
TEST(found_late)
{
	struct root r = make_machine();
	struct many m, of;

	open_file(&r, 10, 4, RENDER, FDINFO_I915("7", "1000", "0"));
	many_open(&m, &gpu_engine_source, &r, "", TIME);
	many_open(&of, &gpu_process_source, &r, "", USE);
	many_read(&m);
	many_read(&of);
	open_file(&r, 20, 5, RENDER, FDINFO_I915("6", "999999", "0"));
	many_read(&m);
	many_read(&of);
	assert_int_equal(value_of(&m, "card0 render", GPU_ENGINE_BUSY_TIME), 1000);
	assert_int_equal(missed_of(&m, "card0 render", GPU_ENGINE_BUSY_TIME), 1);
	many_expect(&of, "0 10 compositor 0=1000\n1 20 game 0=0\n");
	open_file(&r, 20, 5, RENDER, FDINFO_I915("6", "1000001", "0"));
	many_read(&m);
	assert_int_equal(value_of(&m, "card0 render", GPU_ENGINE_BUSY_TIME), 1002);
	many_close(&m);
	many_close(&of);
}

/* The documents allow a value to go back for a while: the larger one stays. */
TEST(goes_back)
{
	static const struct {
		const char *ns;
		uint64_t expected;
	} cases[] = {{"500", 1000},
		     {"1000", 1000},
		     {"0", 1000},
		     {"1200", 1200},
		     {"18446744073709551615", UINT64_MAX},
		     {"7", UINT64_MAX}};
	struct root r = make_machine();
	struct many m;

	open_file(&r, 10, 4, RENDER, FDINFO_MSM("7", "1000"));
	many_open(&m, &gpu_engine_source, &r, "", TIME);
	many_read(&m);
	for (size_t i = 0; i < NR(cases); i++) {
		char text[400];

		snprintf(text, sizeof(text),
			 "drm-driver:\tmsm\ndrm-client-id:\t7\ndrm-engine-gpu:\t%s ns\n",
			 cases[i].ns);
		open_file(&r, 10, 4, RENDER, text);
		many_read(&m);
		assert_true(value_of(&m, "card0 gpu", GPU_ENGINE_BUSY_TIME) == cases[i].expected);
	}
	/* two clients together have more than there can be */
	open_file(&r, 20, 4, RENDER, FDINFO_MSM("8", "1000"));
	many_read(&m);
	assert_true(value_of(&m, "card0 gpu", GPU_ENGINE_BUSY_TIME) == UINT64_MAX);
	many_close(&m);
}

/* An engine that a client begins to use later. */
TEST(new_engine)
{
	struct root r = make_machine();
	struct many m;

	open_file(&r, 10, 4, RENDER, FDINFO_AMDGPU("7", "10"));
	many_open(&m, &gpu_engine_source, &r, "", TIME);
	many_read(&m);
	open_file(&r, 10, 4, RENDER, FDINFO_AMDGPU("7", "10") "drm-engine-dec:\t33 ns\n");
	many_read(&m);
	many_expect(&m, "0 card0 gfx 0=10\n1 card0 dec 0=33\n");
	assert_true(many_get(&m, "card0 dec").born_ns != 0);
	many_close(&m);
}

/* ---- shares */

static void expect_share(const struct many *m, const char *name, uint64_t part, uint64_t whole)
{
	struct things_one t = many_get(m, name);

	assert_true(t.has & t.shares & BIT(GPU_ENGINE_BUSY));
	assert_int_equal(t.values[GPU_ENGINE_BUSY], part);
	assert_int_equal(t.wholes[GPU_ENGINE_BUSY], whole);
}

/* Of cycles: those of the clock, once for each alike engine; not while nobody reads the clock. */
TEST(share_of_cycles)
{
	struct root r = make_machine();
	struct many m;

	open_file(&r, 10, 4, RENDER, FDINFO_XE("7", "100", "1000"));
	open_file(&r, 20, 4, RENDER, FDINFO_XE("8", "7", "1001"));
	many_open(&m, &gpu_engine_source, &r, "", ENGINES);
	many_read(&m);
	expect_share(&m, "card1 rcs", 0, 0);
	open_file(&r, 10, 4, RENDER, FDINFO_XE("7", "600", "3000"));
	open_file(&r, 20, 4, RENDER, FDINFO_XE("8", "107", "3001"));
	many_read(&m);
	expect_share(&m, "card1 rcs", 600, 2000);
	expect_share(&m, "card1 vcs", 0, 4000);
	assert_int_equal(value_of(&m, "card1 rcs", GPU_ENGINE_BUSY_CYCLES), 707);
	assert_int_equal(value_of(&m, "card1 vcs", GPU_ENGINE_TOTAL_CYCLES), 2000);
	close_file(&r, 10, 4);
	close_file(&r, 20, 4);
	many_read(&m);
	expect_share(&m, "card1 rcs", 600, 2000);
	/* a client is back: since when the clock counts is not known */
	open_file(&r, 10, 4, RENDER, FDINFO_XE("9", "50", "900000"));
	many_read(&m);
	expect_share(&m, "card1 rcs", 600, 2000);
	assert_int_equal(value_of(&m, "card1 rcs", GPU_ENGINE_BUSY_CYCLES), 757);
	open_file(&r, 10, 4, RENDER, FDINFO_XE("9", "60", "900040"));
	many_read(&m);
	expect_share(&m, "card1 rcs", 610, 2040);
	/* the clock begins anew */
	open_file(&r, 10, 4, RENDER, FDINFO_XE("9", "61", "10"));
	many_read(&m);
	expect_share(&m, "card1 rcs", 610, 2040);
	many_close(&m);
}

/* Of time: what has passed, once for each alike engine. */
TEST(share_of_time)
{
	struct root r = make_machine();
	struct things_one render, video;
	uint64_t begin_ns;
	struct many m;

	open_file(&r, 10, 4, RENDER, FDINFO_I915("7", "1000", "10"));
	many_open(&m, &gpu_engine_source, &r, "", ENGINES);
	many_read(&m);
	expect_share(&m, "card0 render", 1000, 0);
	begin_ns = many_get(&m, "card0 render").time_ns;
	open_file(&r, 10, 4, RENDER, FDINFO_I915("7", "3000", "10"));
	many_read(&m);
	render = many_get(&m, "card0 render");
	expect_share(&m, "card0 render", 3000, render.time_ns - begin_ns);
	video = many_get(&m, "card0 video");
	assert_true(video.wholes[GPU_ENGINE_BUSY] == 2 * (render.time_ns - begin_ns));
	many_close(&m);
}

/* ---- choices, and both sources together */

TEST(chosen_processes)
{
	static const struct {
		const char *words, *expected;
	} cases[] = {{"", "0 10 compositor 0=1\n1 20 game 0=2\n"},
		     {"all", "0 10 compositor 0=1\n1 20 game 0=2\n"},
		     {"20", "1 20 game 0=2\n"},
		     {"name:comp*", "0 10 compositor 0=1\n"},
		     {"77", ""}};
	struct root r = make_machine();
	struct many m;

	open_file(&r, 10, 4, RENDER, FDINFO_MSM("1", "1"));
	open_file(&r, 20, 4, RENDER, FDINFO_MSM("2", "2"));
	for (size_t i = 0; i < NR(cases); i++) {
		many_open(&m, &gpu_process_source, &r, cases[i].words, BIT(GPU_PROCESS_BUSY_TIME));
		many_read(&m);
		many_expect(&m, cases[i].expected);
		many_close(&m);
	}
	assert_int_equal(many_try_open(&m, &gpu_process_source, &r, "name:", USE), -EINVAL);
	assert_int_equal(many_try_open(&m, &gpu_engine_source, &r, "a/b", TIME), -EINVAL);
	many_open(&m, &gpu_engine_source, &r, "card1", TIME);
	many_read(&m);
	many_expect(&m, "");
	many_close(&m);
	many_open(&m, &gpu_engine_source, &r, "card[0-9]", TIME);
	many_read(&m);
	many_expect(&m, "0 card0 gpu 0=3\n");
	many_close(&m);
}

/* The processes of a target, and theirs. */
TEST(of_a_tree)
{
	static const pid_t roots[] = {10};
	const pid_t *ids = roots;
	size_t nr = 1;
	struct things_tree tree = {.ids = &ids, .nr = &nr};
	struct root r = make_machine();
	struct many m = {.source = &gpu_process_source, .choice = {.tree = &tree}};

	put_process(&r, 30, "other", 1);
	open_file(&r, 10, 4, RENDER, FDINFO_MSM("1", "1"));
	open_file(&r, 20, 4, RENDER, FDINFO_MSM("2", "2"));
	open_file(&r, 30, 4, RENDER, FDINFO_MSM("3", "2"));
	for (int i = 0; i < 2; i++) {
		tree.has_children = i;
		assert_int_equal(m.source->open(&r, &m.choice, 1, &m.state, &m.e), 0);
		many_read(&m);
		many_expect(&m,
			    i ? "0 10 compositor 0=1\n1 20 game 0=2\n" : "0 10 compositor 0=1\n");
		many_close(&m);
	}
	/* one that has lost its parent stays */
	assert_int_equal(m.source->open(&r, &m.choice, 1, &m.state, &m.e), 0);
	many_read(&m);
	put_process(&r, 20, "game", 1);
	many_read(&m);
	many_expect(&m, "0 10 compositor 0=1\n1 20 game 0=2\n");
	many_close(&m);
}

/* ---- failures */

static void deny(const char *what, int error)
{
	machine.denied = what;
	machine.error = error;
}

/* Of a client that cannot be read any more the last values stay; another one is not missing. */
TEST(unreadable)
{
	static const struct {
		int error;
		const char *note;
	} cases[] = {{-EACCES, "20 game uses of GPUs cannot be read: Permission denied; needs its"},
		     {-EIO, "20 game uses of GPUs cannot be read: Input/output error"},
		     {-EMFILE, "20 game uses of GPUs cannot be read: Too many open files"}};

	for (size_t i = 0; i < NR(cases); i++) {
		uint32_t denied = i ? 0 : 1u << GPU_PROCESS_MEMORY;
		struct root r = make_machine();
		struct many m, of;

		open_file(&r, 10, 4, RENDER, FDINFO_AMDGPU("7", "10"));
		open_file(&r, 20, 5, RENDER, FDINFO_AMDGPU("8", "20"));
		many_open(&m, &gpu_engine_source, &r, "", TIME);
		many_open(&of, &gpu_process_source, &r, "", 1u << GPU_PROCESS_MEMORY);
		many_read(&m);
		many_read(&of);
		deny("20/fdinfo", cases[i].error);
		open_file(&r, 10, 4, RENDER, FDINFO_AMDGPU("7", "11"));
		many_read(&m);
		many_expect(&m, "0 card0 gfx 0=31\n");
		assert_int_equal(missed_of(&m, "card0 gfx", GPU_ENGINE_BUSY_TIME), 0);
		many_expect_note(&m, cases[i].note);
		many_read(&m);
		many_expect_note(&m, NULL); /* said once */
		many_read(&of);
		many_expect(&of, "0 10 compositor 2=10485760\n1 20 game\n");
		many_expect_fields(&of, "20 game", 0, denied, 0, denied ^ 1u << GPU_PROCESS_MEMORY);
		deny(NULL, 0);
		open_file(&r, 20, 5, RENDER, FDINFO_AMDGPU("8", "25"));
		many_read(&m);
		many_expect(&m, "0 card0 gfx 0=36\n");
		many_read(&of);
		many_expect(&of, "0 10 compositor 2=10485760\n1 20 game 2=10485760\n");
		many_close(&m);
		many_close(&of);
	}
}

/* Whose descriptors may not be listed: how many, said again when they have more than doubled. */
TEST(unlisted)
{
	struct root r = make_machine();
	struct many m;

	open_file(&r, 10, 4, RENDER, FDINFO_MSM("7", "10"));
	open_file(&r, 20, 4, RENDER, FDINFO_MSM("8", "10"));
	deny("20/fd", -EACCES);
	many_open(&m, &gpu_engine_source, &r, "", TIME);
	many_read(&m);
	many_expect(&m, "0 card0 gpu 0=10\n");
	many_expect_note(&m, "the open files of 1 processes cannot be read");
	many_read(&m);
	many_expect_note(&m, NULL);
	deny("0/fd", -EACCES);
	for (unsigned pid = 30; pid < 60; pid += 10)
		put_process(&r, pid, "more", 1);
	many_read(&m);
	many_expect_note(&m, "the open files of 5 processes cannot be read");
	deny("20/fd", -EIO);
	many_read(&m);
	many_expect_note(&m, "the open files of 1 processes could not be read: what they use of "
			     "GPUs is in no number: Input/output error");
	deny("20/fd", -ENOENT); /* it has just ended */
	many_read(&m);
	many_expect_note(&m, NULL);
	many_close(&m);
}

TEST(damaged)
{
	static const char *const texts[] = {
	    "drm-driver:\tx\ndrm-client-id:\t1\ndrm-engine-a:\t1 s\n",
	    "drm-driver:\tx\ndrm-client-id:\t99999999999999999999\n"};
	struct root r = make_machine();
	static char large[GPU_FDINFO_MAX_BYTES + 1];
	struct many m;

	for (size_t i = 0; i <= NR(texts); i++) {
		memset(large, 'x', sizeof(large) - 1);
		open_file(&r, 20, 5, RENDER, i < NR(texts) ? texts[i] : large);
		many_open(&m, &gpu_process_source, &r, "", USE);
		many_read(&m);
		many_expect_fields(&m, "20 game", 0, 0, 0, USE);
		many_expect_note(&m, i < NR(texts) ? "its fdinfo is damaged" : "File too large");
		many_close(&m);
	}
	/* a file of no GPU's client, and one that is gone */
	open_file(&r, 20, 5, RENDER, FDINFO_FILE);
	open_file(&r, 20, 6, RENDER, "");
	tree_drop(&r, "/proc/20/fdinfo/6");
	many_open(&m, &gpu_process_source, &r, "", USE);
	many_read(&m);
	many_expect(&m, "");
	many_expect_note(&m, NULL);
	many_close(&m);
}

/* Names are cleaned; what only looks like a GPU is none. */
TEST(hostile)
{
	struct root r = make_machine();
	struct many m;

	put_process(&r, 20, "a\nb\033[31m\xff", 1);
	open_file(&r, 20, 5, RENDER,
		  "drm-driver:\tx\xff\ndrm-client-id:\t1\ndrm-engine-\xfe/:\t3 ns\n");
	open_file(&r, 20, 6, "/dev/dri/card0folder", FDINFO_MSM("2", "5"));
	open_file(&r, 20, 7, "/dev/dri/card0sound", FDINFO_MSM("3", "5"));
	many_open(&m, &gpu_process_source, &r, "", 1);
	many_read(&m);
	many_expect(&m, "0 20 a b?[31m? 0=3\n");
	many_close(&m);
	many_open(&m, &gpu_engine_source, &r, "", 1);
	many_read(&m);
	many_expect(&m, "0 card0 ?/ 0=3\n");
	many_close(&m);
}

TEST(no_gpu)
{
	struct root r = tree_make();
	struct many m;

	made[nr_made++] = r;
	put_process(&r, 20, "game", 1);
	assert_int_equal(many_try_open(&m, &gpu_engine_source, &r, "", TIME), -ENOENT);
	assert_string_equal(m.e.msg, "there is no GPU with a driver of the kernel's (DRM)");
	tree_text(&r, "/sys/class/drm/version", "drm\n");
	assert_int_equal(many_try_open(&m, &gpu_process_source, &r, "", USE), -ENOENT);
	put_card(&r, 0, "", 128);
	many_open(&m, &gpu_process_source, &r, "", USE);
	many_read(&m);
	many_expect(&m, "");
	many_close(&m);
}

/* A card that is plugged in later. */
TEST(new_card)
{
	struct root r = make_machine();
	struct many m;

	many_open(&m, &gpu_engine_source, &r, "", TIME);
	many_read(&m);
	put_card(&r, 7, "0000:0c:00.0", 135);
	open_file(&r, 20, 5, "/dev/dri/renderD135", FDINFO_AMDGPU("8", "5"));
	many_read(&m);
	many_expect(&m, "0 card7 gfx 0=5\n");
	many_close(&m);
}

/* ---- events */

static struct event find_event(const char *name)
{
	struct event ev = {.group = &collect_gpu_group};

	for (size_t i = 0; i < collect_gpu_group.nr_rows; i++)
		if (strcmp(collect_gpu_group.rows[i].name, name) == 0)
			ev.row = &collect_gpu_group.rows[i];
	assert_non_null(ev.row);
	return ev;
}

static unsigned nr_fdinfo;

static int count_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	nr_fdinfo += strstr(path, "fdinfo/") != NULL;
	return fake_openat(dirfd, path, flags, mode);
}

/* Events of both sources read each client once; a share has its whole as the base of readings. */
TEST(joined)
{
	struct event events[] = {find_event("engine_busy"), find_event("engine_busy_time"),
				 find_event("process_gpu_time"), find_event("process_gpu_memory")};
	struct root r = make_machine();
	struct sys_ops ops = *sys();
	int states[NR(events)];
	struct things_one t;
	struct reading reading;
	struct collect *c;

	ops.openat = count_openat;
	sys_set_ops(&ops);
	open_file(&r, 20, 5, RENDER, FDINFO_AMDGPU("8", "5"));
	assert_int_equal(collect_open(&r, events, NULL, NR(events), &c, states), 0);
	assert_int_equal(collect_nr_sets(c), 2);
	nr_fdinfo = 0;
	for (int i = 0; i < 3; i++)
		collect_read(c);
	assert_int_equal(nr_fdinfo, 3);
	for (size_t i = 0; i < NR(events); i++)
		assert_int_equal(states[i] | collect_status(c, i), 0);
	assert_int_equal(collect_nr_things(c, 0), 1);
	collect_get_thing(c, 0, 0, &t);
	assert_true(collect_get_of_thing(c, 0, &t, &reading));
	assert_int_equal(reading.raw, 5);
	assert_true(reading.base && reading.base == t.wholes[GPU_ENGINE_BUSY]);
	assert_true(collect_get_of_thing(c, 1, &t, &reading));
	assert_int_equal(reading.base, 0);
	/* the client ends: events go on without things */
	close_file(&r, 20, 5);
	collect_read(c);
	assert_true(collect_get_of_thing(c, 1, &t, &reading));
	assert_int_equal(collect_nr_things(c, 1), 0);
	assert_int_equal(collect_status(c, 2), 0);
	collect_get_thing(c, 0, 0, &t);
	assert_true(collect_get_of_thing(c, 1, &t, &reading));
	assert_int_equal(reading.base, 1);
	collect_close(c);
}

static void expect_process(struct collect *c, size_t i, size_t nr, size_t k, const char *name,
			   struct things_one *out)
{
	assert_int_equal(collect_nr_things(c, collect_set(c, i)), nr);
	collect_get_thing(c, collect_set(c, i), k, out);
	assert_string_equal(out->name, name);
}

/* Joined sources at paces of their own: one that is not read keeps what it read; of one moment all
 * have the same reading. */
TEST(paces)
{
	struct event events[] = {find_event("process_gpu_time"), find_event("process_gpu_memory"),
				 find_event("engine_busy_time")};
	static const char *const words[] = {"20"};
	const struct things_choice choices[] = {{.words = words, .nr = 1}, {.nr = 0}, {.nr = 0}};
	const bool second[] = {false, true, false};
	struct root r = make_machine();
	struct things_one t, all, engine;
	int states[NR(events)];
	struct collect *c;

	open_file(&r, 10, 4, RENDER, FDINFO_AMDGPU("7", "10"));
	open_file(&r, 20, 5, RENDER, FDINFO_AMDGPU("8", "5"));
	put_process(&r, 30, "other", 1);
	open_file(&r, 30, 5, RENDER, FDINFO_AMDGPU("9", "1"));
	assert_int_equal(collect_open(&r, events, choices, NR(events), &c, states), 0);
	collect_read(c);
	expect_process(c, 0, 1, 0, "20 game", &t);
	for (int i = 0; i < 2; i++)
		collect_read_some(c, second);
	expect_process(c, 1, 3, 1, "20 game", &all);
	close_file(&r, 10, 4);
	collect_read(c);
	expect_process(c, 0, 1, 0, "20 game", &t);
	expect_process(c, 1, 2, 0, "20 game", &all);
	collect_get_thing(c, collect_set(c, 2), 0, &engine);
	assert_true(t.time_ns == all.time_ns && t.time_ns == engine.time_ns);
	/* all end, and only one looks */
	close_file(&r, 20, 5);
	close_file(&r, 30, 5);
	collect_read_some(c, second);
	assert_int_equal(collect_nr_things(c, collect_set(c, 1)), 0);
	expect_process(c, 0, 1, 0, "20 game", &all);
	assert_true(t.time_ns == all.time_ns);
	collect_close(c);
}

static int failing_fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return inject_fails() ? inject.error ?: -ENOMEM : fake_fstatat(dirfd, path, st, flags);
}

static bool has_note(struct many *m)
{
	bool has = false;

	while (m->source->note(m->state))
		has = true;
	return has;
}

/* What is reported is right, or something says that it is not all. */
static int read_twice(void *arg)
{
	struct sys_ops ops = *sys();
	struct many m, of;
	int rc;

	ops.fstatat = failing_fstatat;
	sys_set_ops(&ops);
	rc = many_try_open(&m, &gpu_engine_source, arg, "", ENGINES);
	if (rc)
		return rc;
	rc = many_try_open(&of, &gpu_process_source, arg, "20", USE);
	if (rc) {
		many_close(&m);
		return rc;
	}
	m.source->join(of.state, m.state);
	for (int i = 0; i < 2 && rc == 0; i++) {
		rc = m.source->read(m.state) ?: of.source->read(of.state);
		assert_true(rc == 0 || m.source->nr(m.state) == 0 || of.source->nr(of.state) == 0);
	}
	if (rc == 0 && !has_note(&m)) {
		uint64_t sum = 0;
		struct things_one t;

		for (size_t i = 0; i < m.source->nr(m.state); i++) {
			m.source->get(m.state, i, &t);
			assert_int_equal(t.failed | t.denied, 0);
			sum += t.values[GPU_ENGINE_BUSY_TIME];
		}
		assert_int_equal(sum, 1010);
		assert_int_equal(of.source->nr(of.state), 1);
		of.source->get(of.state, 0, &t);
		assert_int_equal(t.values[GPU_PROCESS_BUSY_TIME], 1000);
	}
	many_close(&m);
	many_close(&of);
	return rc;
}

TEST(failures)
{
	struct root r = make_machine();

	open_file(&r, 10, 4, RENDER, FDINFO_AMDGPU("7", "10"));
	open_file(&r, 20, 5, "/dev/dri/renderD129", FDINFO_XE("8", "25", "100"));
	open_file(&r, 20, 6, RENDER, FDINFO_I915("9", "1000", "0"));
	inject_every(read_twice, &r, 20, 20);
}
