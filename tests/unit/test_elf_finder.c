/*
 * Which file is found for a path and a build-id, and which is not: separate debug files by build-id
 * and by debuglink, files that changed since, a sysroot.
 */
#include "elf/reader.h"
#include "kit.h"
#include "test_symbols.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>

static struct elf_wanted want(struct test_world *w, const char *name, char path[4096])
{
	struct profile_object o = test_object(w, name, 0, path);
	struct elf_wanted e = {.path = path, .build_id.len = o.build_id_len};

	memcpy(e.build_id.bytes, o.build_id, sizeof(e.build_id.bytes));
	return e;
}

/* p: stripped, in bin; its debug file p.debug is made but put nowhere; q is another program. */
static void make_programs(struct test_world *w)
{
	assert_true(test_shell(
	    w, "mkdir bin && echo 'int main(void) { return 0; }' >p.c && "
	       "cc -g -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 -o p p.c && "
	       "cc -g -DX -Wl,--build-id=0x1123456789abcdef0123456789abcdef01234567 -o q p.c && "
	       "cc -g -Wl,--build-id=none -o none p.c && "
	       "objcopy --only-keep-debug p p.debug && objcopy --only-keep-debug q q.debug && "
	       "strip -g -o stripped p && strip -s -o bin/p p"));
}

HOOK(before_each)
{
	test_world_setup();
}

HOOK(after_each)
{
	test_world_teardown();
}

TEST(own)
{
	struct test_world *w = &world;
	char path[4096];
	struct elf_wanted e;

	make_programs(w);
	test_world_open(w, NULL, NULL);
	e = want(w, "p", path);
	assert_non_null(elf_finder_code(w->finder, &e));
	assert_ptr_equal(elf_finder_debug(w->finder, &e), elf_finder_code(w->finder, &e));
	e = want(w, "bin/p", path);
	assert_non_null(elf_finder_code(w->finder, &e));
	assert_null(elf_finder_debug(w->finder, &e));
	/* a symbol table is better than nothing */
	e = want(w, "stripped", path);
	assert_ptr_equal(elf_finder_debug(w->finder, &e), elf_finder_code(w->finder, &e));
	assert_int_equal(w->nr_problems, 0);
}

TEST(changed)
{
	struct test_world *w = &world;
	char path[4096], dir[4096];
	const char *dirs[] = {dir};
	struct elf_wanted e;

	make_programs(w);
	test_world_open(w, NULL, NULL);
	e = want(w, "p", path);
	assert_true(test_shell(w, "cp q p"));
	for (int i = 0; i < 3; i++)
		assert_null(elf_finder_code(w->finder, &e));
	assert_null(elf_finder_debug(w->finder, &e));
	assert_int_equal(w->nr_problems, 1);
	assert_int_equal(w->last.code, -ESTALE);
	assert_non_null(strstr(w->last.msg, "0123456789abcdef0123456789abcdef01234567"));
	assert_non_null(strstr(w->last.msg, "1123456789abcdef0123456789abcdef01234567"));
	assert_non_null(strstr(w->last.hint, "--debug-dir"));
	test_world_close(w);
	/* a file without build-id is not it either */
	assert_true(test_shell(w, "cp none p"));
	test_world_open(w, NULL, NULL);
	assert_null(elf_finder_code(w->finder, &e));
	assert_int_equal(w->last.code, -ESTALE);
	test_world_close(w);
	/* but the version that ran may be elsewhere: then all is well */
	assert_true(test_shell(w, "mkdir -p d/.build-id/01 && cp bin/p "
				  "d/.build-id/01/23456789abcdef0123456789abcdef01234567"));
	snprintf(dir, sizeof(dir), "%s/d", w->tree.dir);
	test_world_open(w, &(struct elf_finder_config){.debug_dirs = dirs, .nr_debug_dirs = 1},
			NULL);
	assert_non_null(elf_finder_code(w->finder, &e));
	assert_int_equal(w->nr_problems, 0);
}

TEST(missing)
{
	static const char *const paths[] = {"/nowhere/p", "/dev/null", "/proc",
					    "//anon",     "[heap]",    ""};
	struct test_world *w = &world;

	test_world_open(w, NULL, NULL);
	for (size_t i = 0; i < NR(paths); i++) {
		struct elf_wanted e = {.path = paths[i], .build_id = {3, {1, 2, 3}}};

		assert_null(elf_finder_code(w->finder, &e));
		assert_null(elf_finder_debug(w->finder, &e));
		assert_int_equal(w->nr_problems, i < 3 ? i + 1 : 3);
	}
}

/* Opening a pipe would wait for who writes. */
TEST(pipe)
{
	struct test_world *w = &world;
	char path[4096];
	struct elf_wanted e;

	assert_true(test_shell(w, "mkfifo pipe && ln -s /proc/self/mem link"));
	test_world_open(w, NULL, NULL);
	snprintf(path, sizeof(path), "%s/pipe", w->tree.dir);
	e = (struct elf_wanted){.path = path};
	assert_null(elf_finder_code(w->finder, &e));
	snprintf(path, sizeof(path), "%s/link", w->tree.dir);
	assert_null(elf_finder_code(w->finder, &e));
	assert_int_equal(w->nr_problems, 2);
}

TEST(by_build_id)
{
	static const char debug[] = "d/.build-id/01/23456789abcdef0123456789abcdef01234567.debug";
	struct test_world *w = &world;
	char dir[4096], path[4096];
	const char *dirs[] = {"/nowhere", dir};
	const struct elf_finder_config config = {.debug_dirs = dirs, .nr_debug_dirs = 2};
	const struct elf_file *f;
	struct elf_wanted e;

	make_programs(w);
	snprintf(dir, sizeof(dir), "%s/d", w->tree.dir);
	assert_true(test_shell(w, "mkdir -p d/.build-id/01 && cp q.debug %s", debug));
	e = want(w, "bin/p", path);
	/* one of another program under this name is not it */
	test_world_open(w, &config, NULL);
	assert_null(elf_finder_debug(w->finder, &e));
	test_world_close(w);
	assert_true(test_shell(w, "cp p.debug %s", debug));
	test_world_open(w, &config, NULL);
	f = elf_finder_debug(w->finder, &e);
	assert_non_null(f);
	assert_non_null(strstr(elf_file_name(f), debug));
	assert_ptr_not_equal(f, elf_finder_code(w->finder, &e));
	assert_ptr_equal(f, elf_finder_debug(w->finder, &e));
	/* by itself, whatever it belongs to */
	assert_non_null(elf_finder_by_id(w->finder, &e.build_id, NULL));
	/* and where the program itself is gone */
	e.path = "/nowhere/p";
	assert_null(elf_finder_code(w->finder, &e));
	assert_non_null(elf_finder_debug(w->finder, &e));
	/* a program that has lines of its own needs none */
	e = want(w, "p", path);
	assert_ptr_equal(elf_finder_debug(w->finder, &e), elf_finder_code(w->finder, &e));
	e.build_id.bytes[0] ^= 1;
	assert_null(elf_finder_by_id(w->finder, &e.build_id, NULL));
}

/* From p.debug to bin/p, a link of its name and checksum; where says where it is put. */
TEST(by_link)
{
	static const char *const places[] = {"bin/p.debug", "bin/.debug/p.debug",
					     "d%s/bin/p.debug"};
	struct test_world *w = &world;
	char dir[4096], path[4096], place[8192];
	const char *dirs[] = {dir};
	const struct elf_finder_config config = {.debug_dirs = dirs, .nr_debug_dirs = 1};
	struct elf_wanted e;

	make_programs(w);
	assert_true(test_shell(w, "objcopy --add-gnu-debuglink=p.debug bin/p"));
	snprintf(dir, sizeof(dir), "%s/d", w->tree.dir);
	for (size_t i = 0; i < NR(places); i++) {
		snprintf(place, sizeof(place), "%s", places[i]);
		if (i == 2)
			snprintf(place, sizeof(place), "d%s/bin/p.debug", w->tree.dir);
		assert_true(test_shell(w, "mkdir -p $(dirname %s) && cp p.debug %s", place, place));
		e = want(w, "bin/p", path);
		test_world_open(w, &config, NULL);
		assert_non_null(elf_finder_debug(w->finder, &e));
		assert_non_null(strstr(elf_file_name(elf_finder_debug(w->finder, &e)), place));
		assert_int_equal(w->nr_problems, 0);
		test_world_close(w);
		/* one byte is another: the checksum tells */
		assert_true(test_shell(w, "printf x >>%s", place));
		test_world_open(w, &config, NULL);
		assert_null(elf_finder_debug(w->finder, &e));
		assert_int_equal(w->nr_problems, 1);
		assert_int_equal(w->last.code, -ESTALE);
		test_world_close(w);
		assert_true(test_shell(w, "rm %s", place));
	}
}

/* What the program of another user links to, or his session names, is opened as he could. */
TEST(of_others)
{
	static const struct {
		const char *how;
		uint32_t session; /* of whom it is */
		bool has_code, has_debug;
	} cases[] = {
	    {"chown 0 bin/p && chmod 600 bin/p.debug", 0, true, true},
	    {"chown 1234 bin/p", 0, true, false},
	    {"chmod 644 bin/p.debug", 0, true, true},
	    {"chown 0 bin/p && chmod 666 bin/p && chmod 600 bin/p.debug", 0, true, false},
	    {"chmod 755 bin/p", 1234, true, false},
	    {"chmod 700 bin/p && chmod 644 bin/p.debug", 1234, false, false},
	};
	struct test_world *w = &world;
	char path[4096];
	struct elf_wanted e;

	if (geteuid())
		SKIP("only root's rights are limited");
	make_programs(w);
	assert_true(test_shell(w, "chmod 755 . && cp p.debug bin && "
				  "objcopy --add-gnu-debuglink=p.debug bin/p"));
	for (size_t i = 0; i < NR(cases); i++) {
		const struct elf_finder_config config = {.rights =
							     elf_rights_of_user(cases[i].session)};

		assert_true(test_shell(w, "%s", cases[i].how));
		test_world_open(w, &config, NULL);
		e = want(w, "bin/p", path);
		assert_int_equal(elf_finder_code(w->finder, &e) != NULL, cases[i].has_code);
		assert_int_equal(elf_finder_debug(w->finder, &e) != NULL, cases[i].has_debug);
		test_world_close(w);
	}
}

/* By the build-id that another user's program has, or in a folder that another user owns, only what
 * that user may read is found; and which files share it is asked for each anew. */
TEST(by_build_id_of_others)
{
	static const struct {
		const char *how;
		bool has_debug, has_shared;
	} cases[] = {
	    {"chmod 600 d/.build-id/01/*", true, true},
	    {"chown 1234 bin/p", false, false},
	    {"chmod 644 d/.build-id/01/*", true, true},
	    {"chmod 600 d/.build-id/01/* && chown 0 bin/p && chown 1234 d", false, false},
	    {"chmod 644 d/.build-id/01/*", true, true},
	    {"chmod 600 d/.build-id/01/* && chown 0 d && chmod 777 d", false, false},
	    {"chmod 755 d && mv d/.build-id/01/*.debug secret && ln -s $PWD/secret "
	     "d/.build-id/01/23456789abcdef0123456789abcdef01234567.debug",
	     true, true},
	    {"chown -h 1234 d/.build-id/01/*", false, false},
	};
	struct test_world *w = &world;
	char dir[4096], path[4096];
	const char *dirs[] = {dir};
	const struct elf_finder_config config = {.debug_dirs = dirs, .nr_debug_dirs = 1};
	struct elf_wanted e;

	if (geteuid())
		SKIP("only root's rights are limited");
	make_programs(w);
	snprintf(dir, sizeof(dir), "%s/d", w->tree.dir);
	assert_true(test_shell(w, "chmod 755 . && mkdir -m 755 -p d/.build-id/01 && cp p.debug "
				  "d/.build-id/01/23456789abcdef0123456789abcdef01234567.debug"));
	for (size_t i = 0; i < NR(cases); i++) {
		const struct elf_file *code;

		assert_true(test_shell(w, "%s", cases[i].how));
		test_world_open(w, &config, NULL);
		e = want(w, "bin/p", path);
		code = elf_finder_code(w->finder, &e);
		assert_non_null(code);
		assert_int_equal(elf_finder_debug(w->finder, &e) != NULL, cases[i].has_debug);
		assert_int_equal(elf_finder_by_id(w->finder, &e.build_id, code) != NULL,
				 cases[i].has_shared);
		test_world_close(w);
	}
	/* the answer about one is not that about another */
	assert_true(
	    test_shell(w, "chown -h 0 d/.build-id/01/* && cp bin/p theirs && chown 1234 theirs"));
	test_world_open(w, &config, NULL);
	e = want(w, "bin/p", path);
	assert_non_null(elf_finder_by_id(w->finder, &e.build_id, elf_finder_code(w->finder, &e)));
	e = want(w, "theirs", path);
	assert_null(elf_finder_by_id(w->finder, &e.build_id, elf_finder_code(w->finder, &e)));
	assert_int_equal(w->nr_problems, 1);
	assert_int_equal(w->last.code, -EACCES);
	assert_non_null(strstr(w->last.hint, "user 1234"));
}

/* A copy that servers gave, in a cache that is another user's: as that user could read it. */
TEST(copy)
{
	struct test_world *w = &world;
	struct elf_reader_file f;
	char path[4096];

	if (geteuid())
		SKIP("only root's rights are limited");
	assert_true(test_shell(w, "mkdir -p cache/id && echo >cache/id/debuginfo"));
	snprintf(path, sizeof(path), "%s/cache/id/debuginfo", w->tree.dir);
	f = elf_finder_copy(path);
	assert_false(f.rights.are_limited);
	assert_true(test_shell(w, "chown 1234 cache/id"));
	f = elf_finder_copy(path);
	assert_true(f.rights.are_limited);
	assert_int_equal(f.rights.uid, 1234);
}

/* The checksum matches, but the file that the link names is of another program. */
TEST(link_to_another)
{
	struct test_world *w = &world;
	char path[4096];
	struct elf_wanted e;

	make_programs(w);
	assert_true(test_shell(w, "cp q.debug bin && objcopy --add-gnu-debuglink=q.debug bin/p"));
	test_world_open(w, NULL, NULL);
	e = want(w, "bin/p", path);
	assert_non_null(elf_finder_code(w->finder, &e));
	assert_null(elf_finder_debug(w->finder, &e));
	assert_int_equal(w->nr_problems, 1);
	assert_int_equal(w->last.code, -ESTALE);
}

/* No build-id was recorded: the debug file is that of the program's own. */
TEST(own_build_id)
{
	struct test_world *w = &world;
	char dir[4096], path[4096];
	const char *dirs[] = {dir};
	struct elf_wanted e;

	make_programs(w);
	assert_true(test_shell(w, "mkdir -p d/.build-id/01 && cp p.debug "
				  "d/.build-id/01/23456789abcdef0123456789abcdef01234567.debug"));
	snprintf(dir, sizeof(dir), "%s/d", w->tree.dir);
	test_world_open(w, &(struct elf_finder_config){.debug_dirs = dirs, .nr_debug_dirs = 1},
			NULL);
	e = want(w, "bin/p", path);
	e.build_id.len = 0;
	assert_non_null(elf_finder_debug(w->finder, &e));
	assert_ptr_not_equal(elf_finder_debug(w->finder, &e), elf_finder_code(w->finder, &e));
}

/* The kernel marks the path of a removed file; the same file may be back. */
TEST(deleted)
{
	struct test_world *w = &world;
	char path[4096];
	struct elf_wanted e;

	make_programs(w);
	test_world_open(w, NULL, NULL);
	e = want(w, "p", path);
	strcat(path, " (deleted)");
	assert_non_null(elf_finder_code(w->finder, &e));
	e.build_id.bytes[0] ^= 1;
	assert_null(elf_finder_code(w->finder, &e));
	assert_int_equal(w->last.code, -ESTALE);
}

/* Two files that had the same path: the answer about one is not that about the other. */
TEST(same_path)
{
	struct test_world *w = &world;
	char path[4096];
	struct elf_wanted e;
	struct stat st;

	make_programs(w);
	test_world_open(w, NULL, NULL);
	e = want(w, "p", path);
	e.build_id.len = 0;
	assert_int_equal(stat(path, &st), 0);
	e.inode = st.st_ino;
	assert_non_null(elf_finder_code(w->finder, &e));
	e.inode++;
	assert_null(elf_finder_code(w->finder, &e));
	assert_int_equal(w->last.code, -ESTALE);
}

/* A link out of its folder is none. */
TEST(link_elsewhere)
{
	struct test_world *w = &world;
	char path[4096];
	struct elf_wanted e;

	make_programs(w);
	assert_true(test_shell(w, "objcopy --add-gnu-debuglink=p.debug bin/p && "
				  "objcopy --dump-section .gnu_debuglink=link bin/p && "
				  "{ printf '../p.debug\\0\\0'; tail -c 4 link; } >link2 && "
				  "objcopy --update-section .gnu_debuglink=link2 bin/p && "
				  "objdump -s -j .gnu_debuglink bin/p | grep -q p.deb"));
	test_world_open(w, NULL, NULL);
	e = want(w, "bin/p", path);
	assert_non_null(elf_finder_code(w->finder, &e));
	assert_null(elf_finder_debug(w->finder, &e));
	assert_int_equal(w->nr_problems, 0);
}

TEST(sysroot)
{
	struct test_world *w = &world;
	char root[4096], path[4096];
	struct elf_wanted e;

	make_programs(w);
	assert_true(test_shell(w,
			       "mkdir -p root/opt root/usr/lib/debug/.build-id/01 && "
			       "cp bin/p root/opt/p && cp p.debug root/usr/lib/debug/.build-id/01/"
			       "23456789abcdef0123456789abcdef01234567.debug"));
	e = want(w, "p", path);
	e.path = "/opt/p";
	snprintf(root, sizeof(root), "%s/root", w->tree.dir);
	test_world_open(w, &(struct elf_finder_config){.sysroot = root}, NULL);
	assert_non_null(elf_finder_code(w->finder, &e));
	assert_non_null(elf_finder_debug(w->finder, &e));
	assert_string_equal(elf_finder_sysroot(w->finder), root);
	assert_int_equal(w->nr_problems, 0);
	/* a copy has another inode */
	e.build_id.len = 0;
	e.inode = 1;
	assert_non_null(elf_finder_code(w->finder, &e));
	assert_int_equal(w->last.code, -ENODATA);
}

/* No build-id was recorded: what else tells. */
TEST(doubt)
{
	static const struct {
		bool has_inode, is_other_inode, is_recorded_before, has_device, is_changed_since;
		int code;
	} cases[] = {
	    {false, false, false, false, false, -ENODATA},
	    {true, false, false, false, false, -ENODATA},
	    {true, true, false, false, false, -ESTALE},
	    {false, false, true, false, false, -ESTALE},
	    {true, false, true, false, false, -ESTALE},
	    /* nothing of it changed: no doubt */
	    {true, false, false, true, false, 0},
	    {true, false, false, true, true, -ENODATA},
	    {false, false, false, true, false, -ENODATA},
	    {true, true, false, true, false, -ESTALE},
	};
	struct test_world *w = &world;
	char path[4096];
	struct elf_wanted e;
	struct stat st;

	make_programs(w);
	for (size_t i = 0; i < NR(cases); i++) {
		struct elf_finder_config config = {.recorded_ns = UINT64_MAX,
						   .begun_ns = UINT64_MAX};
		const struct elf_file *f;

		e = want(w, "p", path);
		e.build_id.len = 0;
		assert_int_equal(stat(path, &st), 0);
		if (cases[i].has_inode)
			e.inode = st.st_ino + cases[i].is_other_inode;
		if (cases[i].is_recorded_before)
			config.recorded_ns = (uint64_t)st.st_mtime * 1000000000u - 1;
		if (cases[i].has_device) {
			e.major = major(st.st_dev);
			e.minor = minor(st.st_dev);
		}
		if (cases[i].is_changed_since) { /* its name or mode */
			const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

			assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
			config.begun_ns = UINT64_C(2000000000000);
		}
		test_world_open(w, &config, NULL);
		f = elf_finder_code(w->finder, &e);
		assert_true((f != NULL) == (cases[i].code != -ESTALE));
		assert_int_equal(w->nr_problems, cases[i].code != 0);
		if (cases[i].code) {
			assert_int_equal(w->last.code, cases[i].code);
			assert_string_not_equal(w->last.hint, "");
		}
		test_world_close(w);
	}
}

TEST(no_server)
{
	struct test_world *w = &world;
	struct elf_wanted e = {.path = "/nowhere/p", .build_id = {3, {1, 2, 3}}};

	unsetenv("DEBUGINFOD_URLS");
	test_world_open(w, &(struct elf_finder_config){.use_debuginfod = true}, NULL);
	assert_null(elf_finder_debug(w->finder, &e));
	assert_null(elf_finder_debug(w->finder, &e));
	assert_int_equal(w->nr_problems, 2); /* no server; no file */
}

/* That it cannot be reached is said once, however much it is asked for. */
TEST(dead_server)
{
	struct test_world *w = &world;
	struct elf_wanted e = {.path = "/nowhere/p", .build_id = {3, {1, 2, 3}}};
	char cache[4096];

	snprintf(cache, sizeof(cache), "%s/cache", w->tree.dir);
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1/", 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	test_world_open(w, &(struct elf_finder_config){.use_debuginfod = true}, NULL);
	assert_null(elf_finder_debug(w->finder, &e));
	assert_int_equal(w->nr_problems, 2); /* no answer; no file */
	e.build_id.bytes[0]++;
	assert_null(elf_finder_debug(w->finder, &e));
	assert_int_equal(w->nr_problems, 3);
	unsetenv("DEBUGINFOD_URLS");
}

TEST(folders)
{
	struct test_world *w = &world;
	const char *dirs[] = {w->tree.dir, "/nowhere"};
	struct elf_finder_config good = {.sysroot = w->tree.dir,
					 .debug_dirs = dirs,
					 .nr_debug_dirs = 1},
				 bad = {.debug_dirs = dirs, .nr_debug_dirs = 2},
				 file = {.sysroot = "/dev/null"};
	struct err e = {0};

	assert_int_equal(elf_finder_check(&(struct elf_finder_config){0}, &e), 0);
	assert_int_equal(elf_finder_check(&good, &e), 0);
	assert_int_equal(e.code, 0);
	assert_int_equal(elf_finder_check(&bad, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "--debug-dir=/nowhere: "));
	err_clear(&e);
	assert_int_equal(elf_finder_check(&file, &e), -ENOTDIR);
	assert_non_null(strstr(e.msg, "--sysroot=/dev/null: "));
}

/* From a folder in a server's place, if the library can do that. */
TEST(server)
{
	static const char id[] = "0123456789abcdef0123456789abcdef01234567";
	struct test_world *w = &world;
	char url[4096], path[4096], cache[4096];
	struct elf_wanted e;

	make_programs(w);
	assert_true(test_shell(w,
			       "mkdir -p srv/buildid/%s && cp p.debug srv/buildid/%s/debuginfo && "
			       "cp bin/p srv/buildid/%s/executable",
			       id, id, id));
	snprintf(url, sizeof(url), "file://%s/srv", w->tree.dir);
	snprintf(cache, sizeof(cache), "%s/cache", w->tree.dir);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	e = want(w, "p", path);
	e.path = "/nowhere/p";
	/* nobody asked for it */
	test_world_open(w, NULL, NULL);
	assert_null(elf_finder_debug(w->finder, &e));
	test_world_close(w);
	test_world_open(w, &(struct elf_finder_config){.use_debuginfod = true}, NULL);
	if (!elf_finder_code(w->finder, &e)) {
		unsetenv("DEBUGINFOD_URLS");
		SKIP("%s", w->last.msg);
	}
	assert_non_null(elf_finder_debug(w->finder, &e));
	assert_int_equal(w->nr_problems, 0);
	test_world_close(w);
	/* a server may give anything */
	assert_true(test_shell(w, "rm -r cache && cp q.debug srv/buildid/%s/debuginfo", id));
	test_world_open(w, &(struct elf_finder_config){.use_debuginfod = true}, NULL);
	assert_null(elf_finder_debug(w->finder, &e));
	unsetenv("DEBUGINFOD_URLS");
}

static int find_one(void *arg)
{
	const struct elf_wanted *e = arg;
	struct elf_finder *f;
	int rc = elf_finder_new(&(struct elf_finder_config){0}, &f);

	if (rc)
		return rc;
	elf_finder_code(f, e);
	elf_finder_debug(f, e);
	elf_finder_free(f);
	return 0;
}

static bool find_living(void *pid, const struct elf_wanted *w, size_t i, struct elf_mapped *out)
{
	(void)w;
	*out = (struct elf_mapped){.pid = i ? (uint32_t) * (pid_t *)pid : (uint32_t)getpid()};
	return i < 2;
}

static pid_t run_program(struct test_world *w, const char *name)
{
	char path[4096], exe[64], now[4096] = "";
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", w->tree.dir, name);
	pid = fork();
	if (pid == 0) {
		execl(path, path, NULL);
		_exit(1);
	}
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	do
		memset(now, 0, sizeof(now));
	while (readlink(exe, now, sizeof(now) - 1) > 0 && strcmp(now, path) != 0);
	assert_string_equal(now, path);
	return pid;
}

/* Deleted, or replaced: from the process that runs it, which must be of the program. */
TEST(living)
{
	static const char *const changes[] = {"rm s", "rm s && cp q s"};
	struct test_world *w = &world;

	make_programs(w);
	for (size_t i = 0; i < NR(changes); i++) {
		struct elf_living living = {.find = find_living};
		const struct elf_file *file;
		char path[4096];
		struct elf_wanted e;
		pid_t pid;

		assert_true(test_shell(w,
				       "echo 'int pause(void); int main(void) { return pause(); }' "
				       ">s.c && cc -Wl,--build-id -o s s.c"));
		e = want(w, "s", path);
		pid = run_program(w, "s");
		assert_true(test_shell(w, "%s", changes[i]));
		test_world_open(w, NULL, NULL);
		assert_null(elf_finder_code(w->finder, &e));
		test_world_close(w);
		test_world_open(w, NULL, NULL);
		living.finder = w->finder;
		living.arg = &pid;
		elf_finder_add_living(&living);
		file = elf_finder_code(w->finder, &e);
		assert_non_null(file);
		assert_true(elf_build_id_equal(elf_file_build_id(file), &e.build_id));
		assert_int_equal(w->nr_problems, 0);
		test_world_close(w);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
}

/* Without it only one's own rights open the root of one's own process. */
static void set_may_trace(bool may)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	if (may)
		data[0].effective |= 1u << CAP_SYS_PTRACE;
	else
		data[0].effective &= ~(1u << CAP_SYS_PTRACE);
	assert_int_equal(syscall(SYS_capset, &head, data), 0);
}

static pid_t run_in_root(const char *root)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (chroot(root) == 0 && prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE) == 0)
			execl("/app/s", "s", NULL);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0); /* it has its program */
	close(ends[0]);
	return pid;
}

/* The debug file of a program in another root is there, too, and is what everybody may read. */
TEST(debug_in_root)
{
	static const char *const places[] = {
	    "usr/lib/debug/.build-id/01/23456789abcdef0123456789abcdef01234567.debug",
	    "app/.debug/s.debug"};
	struct test_world *w = &world;
	struct elf_living living = {.find = find_living};
	struct elf_wanted e;
	char path[4096], root[4096];
	pid_t pid;

	if (geteuid())
		SKIP("only root may change its root");
	assert_true(test_shell(
	    w, "mkdir -p root/app/.debug root/usr/lib/debug/.build-id/01 && "
	       "echo 'int pause(void); int main(void) { return pause(); }' >s.c && cc -static -g "
	       "-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 -o s s.c && "
	       "objcopy --only-keep-debug s s.debug && strip -s -o root/app/s s && "
	       "objcopy --add-gnu-debuglink=s.debug root/app/s"));
	e = want(w, "root/app/s", path);
	e.path = "/app/s";
	snprintf(root, sizeof(root), "%s/root", w->tree.dir);
	pid = run_in_root(root);
	set_may_trace(false);
	for (size_t i = 0; i < 2 * NR(places); i++) {
		const bool may_read = i % 2;

		assert_true(test_shell(w, "cp s.debug root/%s && chmod %s root/%s", places[i / 2],
				       may_read ? "644" : "600", places[i / 2]));
		test_world_open(w, NULL, NULL);
		living = (struct elf_living){.finder = w->finder, .find = find_living, .arg = &pid};
		elf_finder_add_living(&living);
		assert_non_null(elf_finder_code(w->finder, &e));
		assert_int_equal(elf_finder_debug(w->finder, &e) != NULL, may_read);
		test_world_close(w);
		if (may_read)
			assert_true(test_shell(w, "rm root/%s", places[i / 2]));
	}
	set_may_trace(true);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(failures)
{
	struct test_world *w = &world;
	char path[4096];
	struct elf_wanted e;

	make_programs(w);
	assert_true(test_shell(w, "cp p.debug bin && objcopy --add-gnu-debuglink=p.debug bin/p"));
	e = want(w, "bin/p", path);
	inject_every(find_one, &e, 5, 0);
	for (unsigned n = 1; n < 60;
	     n++) { /* calls of the child's, which cannot tell that it was */
		inject_sys(n, n % 2 ? -EIO : -ENOSPC);
		assert_int_equal(find_one(&e), 0);
		inject_stop();
	}
}
