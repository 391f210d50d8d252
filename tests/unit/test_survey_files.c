/*
 * Which mapped files are stored: those that their path does not lead to, each once, within limits;
 * and those that it led to until they were deleted or replaced.
 */
#include "kit.h"
#include "test_survey.h"

#include "survey/files.h"
#include "survey/mounts.h"
#include "survey/places.h"
#include "survey/reader_child.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

static struct survey_files files;
static struct survey_mounts mounts;
static char folder[] = "/tmp/cpuperf-test-files-XXXXXX", path[64];
static const struct elf_build_id id = {2, {1, 2}}, other_id = {2, {1, 3}}, no_id;

static void copy_self(const char *to)
{
	char command[256];

	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", getpid(), to);
	assert_int_equal(system(command), 0);
}

HOOK(before_each)
{
	memset(&files, 0, sizeof(files));
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/p", folder);
	copy_self(path);
	survey_mounts_init(&mounts, &root_live);
}

HOOK(after_each)
{
	char command[256];

	survey_mounts_fini(&mounts);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/* The program maps it as a process would. */
struct mapping {
	void *at;
	size_t len;
	struct survey_identify_question q;
};

static struct mapping map(const char *name, int fd)
{
	struct mapping m = {.len = 4096, .q = {.pid = (uint32_t)getpid()}};
	struct stat st;

	m.at = mmap(NULL, m.len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(m.at, MAP_FAILED);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	m.q.start = (uint64_t)m.at;
	m.q.end = m.q.start + m.len;
	m.q.inode = st.st_ino;
	m.q.major = major(st.st_dev);
	m.q.minor = minor(st.st_dev);
	snprintf(m.q.path, sizeof(m.q.path), "%s", name);
	return m;
}

static struct mapping map_path(void)
{
	return map(path, open(path, O_RDONLY | O_CLOEXEC));
}

static int try_id(const struct survey_identify_question *q, const struct elf_build_id *of)
{
	struct elf_parts parts = {.nr = 0};
	int fd = survey_files_open(&files, &mounts, q, of, &parts);

	if (fd < 0)
		return fd;
	assert_in_range(parts.nr, 1, ELF_MAX_PARTS);
	close(fd);
	return 0;
}

static int try(const struct survey_identify_question *q)
{
	return try_id(q, &id);
}

/* A path of a made root, as mappings show it with device 0:9; how it is mounted there. */
static int try_in_root(const char *name, const char *mount)
{
	struct root r = tree_make();
	struct survey_mounts of_root;
	struct survey_identify_question q = {.major = 0, .minor = 9, .pid = 7};
	struct elf_parts parts;
	char file[512];
	struct stat st;
	int rc;

	tree_text(&r, "/proc/self/mountinfo", mount);
	tree_text(&r, "/bin/p", "x");
	snprintf(file, sizeof(file), "%s/bin/link", r.dir);
	assert_int_equal(symlink("p", file), 0);
	assert_int_equal(stat(file, &st), 0);
	snprintf(q.path, sizeof(q.path), "%s", name);
	q.inode = st.st_ino;
	survey_mounts_init(&of_root, &r);
	rc = survey_files_open(&files, &of_root, &q, &id, &parts);
	survey_mounts_fini(&of_root);
	tree_remove(&r);
	return rc;
}

/* Links are not followed; file systems that may not answer are not asked, unknown ones neither. */
TEST(mounts)
{
	static const char ext4[] = "1 0 0:5 / / rw - ext4 none rw\n",
			  overlay[] = "1 0 0:5 / / rw - overlay none rw\n",
			  hidden[] = "1 0 0:5 / / rw - overlay none rw\n"
				     "2 1 0:6 / /bin rw - fuse.x none rw\n"
				     "3 1 0:9 / /net rw - nfs4 none rw\n";

	assert_int_equal(try_in_root("/bin/p", overlay), -EEXIST);
	assert_int_equal(try_in_root("/bin/p", ext4), -ENODEV);
	assert_int_equal(try_in_root("/bin/link", overlay), -ENODEV);
	assert_int_equal(try_in_root("bin/p", overlay), -ENODEV);
	assert_int_equal(try_in_root("/bin/p", hidden), -EREMOTE);
}

static void skip_unless_root(void)
{
	if (geteuid())
		SKIP("only root may open what other names lead to");
}

TEST(at_path)
{
	struct mapping m = map_path();

	assert_int_equal(try(&m.q), -EEXIST);
	munmap(m.at, m.len);
}

TEST(deleted)
{
	struct mapping m = map_path();

	skip_unless_root();
	assert_int_equal(unlink(path), 0);
	assert_int_equal(try(&m.q), 0);
	copy_self(path); /* another file */
	assert_int_equal(try(&m.q), 0);
	munmap(m.at, m.len);
	assert_int_equal(try(&m.q), -ENOENT);
}

TEST(memory)
{
	char name[64];
	int fd = memfd_create("x", MFD_CLOEXEC), from = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	struct mapping m;

	skip_unless_root();
	for (ssize_t n; (n = read(from, bytes, sizeof(bytes))) > 0;)
		assert_int_equal(write(fd, bytes, (size_t)n), n);
	close(from);
	snprintf(name, sizeof(name), "/memfd:x (deleted)");
	m = map(name, fd);
	assert_int_equal(try(&m.q), 0);
	munmap(m.at, m.len);
}

/* A build-id is the file's wherever it is; without one device and inode are. */
TEST(once)
{
	struct mapping m = map_path();
	struct survey_identify_question elsewhere = m.q;

	skip_unless_root();
	assert_int_equal(unlink(path), 0);
	survey_files_add(&files, &m.q, &id, 100);
	assert_int_equal(try_id(&m.q, &id), -EALREADY);
	assert_int_equal(try_id(&m.q, &other_id), 0);
	assert_int_equal(try_id(&m.q, &no_id), 0);
	elsewhere.inode++;
	assert_int_equal(try_id(&elsewhere, &id), -EALREADY);
	survey_files_add(&files, &m.q, &no_id, 100);
	assert_int_equal(try_id(&m.q, &no_id), -EALREADY);
	survey_files_add(&files, &m.q, &no_id, 100);
	assert_int_equal(files.nr, 2);
	assert_int_equal(files.bytes, 200);
	munmap(m.at, m.len);
}

/* What lacks room is not asked for again, and counted. */
TEST(limits)
{
	struct mapping m = map_path();

	skip_unless_root();
	assert_int_equal(unlink(path), 0);
	files.bytes = SURVEY_FILES_ALL_BYTES - 4 * 1000; /* of which a file may have a quarter */
	assert_int_equal(try(&m.q), -EFBIG);
	survey_files_add(&files, &m.q, &id, 0);
	assert_int_equal(try(&m.q), -EALREADY);
	assert_int_equal(files.nr_left_out, 1);
	files = (struct survey_files){.nr = SURVEY_FILES_MAX - 1};
	assert_int_equal(try(&m.q), -EFBIG);
	survey_files_add(&files, &m.q, &id, 0);
	assert_int_equal(try_id(&m.q, &other_id), -EALREADY);
	survey_files_add(&files, &m.q, &other_id, 0);
	assert_int_equal(files.nr, SURVEY_FILES_MAX);
	assert_int_equal(files.nr_left_out, 1);
	munmap(m.at, m.len);
}

/* --- files that are watched --- */

struct seen {
	unsigned nr;
	uint32_t pids[4];
	bool is_moved;
};

static bool see(void *arg, const struct survey_identify_question *q, const struct elf_build_id *of)
{
	struct seen *s = arg;

	assert_string_equal(q->path, path);
	assert_int_equal(of->len, id.len);
	s->pids[s->nr++ % NR(s->pids)] = q->pid;
	return s->is_moved;
}

static void expect_seen(struct survey_places *p, unsigned nr, bool is_moved)
{
	struct seen s = {.is_moved = is_moved};

	survey_places_changed(p, see, &s);
	assert_int_equal(s.nr, nr);
}

static void in_folder(const char *command)
{
	char text[256];

	snprintf(text, sizeof(text), "cd %s && %s", folder, command);
	assert_int_equal(system(text), 0);
}

/* Of another name nothing is said; of its own, as long as it is in the list. */
TEST(changes)
{
	static const char *const changes[] = {"rm p", "mv p q", "cp p q && mv q p",
					      "cp p q && mv p r && mv q p"};
	struct survey_identify_question q = {.inode = 1, .pid = 7};

	snprintf(q.path, sizeof(q.path), "%s", path);
	for (size_t i = 0; i < NR(changes); i++) {
		struct survey_places p;

		copy_self(path);
		survey_places_init(&p, &root_live);
		survey_places_add(&p, &q, &id);
		expect_seen(&p, 0, true);
		in_folder("cp p another && mv another pp && rm pp");
		expect_seen(&p, 0, true);
		in_folder(changes[i]);
		expect_seen(&p, 1, true);
		assert_int_equal(p.nr, 0);
		in_folder("touch p && rm -f p q");
		expect_seen(&p, 0, true);
		survey_places_fini(&p);
	}
}

/* It remains if its path still leads to it; its first and its last process are asked for. */
TEST(processes)
{
	struct survey_identify_question q = {.inode = 1};
	struct seen s = {.is_moved = false};
	struct survey_places p;

	snprintf(q.path, sizeof(q.path), "%s", path);
	survey_places_init(&p, &root_live);
	for (q.pid = 7; q.pid < 10; q.pid++)
		survey_places_add(&p, &q, &id);
	assert_int_equal(p.nr, 1);
	survey_places_each(&p, see, &s);
	assert_int_equal(s.nr, 1);
	assert_int_equal(p.nr, 1);
	s.is_moved = true;
	survey_places_each(&p, see, &s);
	assert_int_equal(s.nr, 3);
	assert_int_equal(s.pids[1], 7);
	assert_int_equal(s.pids[2], 9);
	assert_int_equal(p.nr, 0);
	survey_places_fini(&p);
}

TEST(too_many)
{
	struct survey_identify_question q = {.inode = 1, .pid = 7};
	struct survey_places p;

	snprintf(q.path, sizeof(q.path), "%s", path);
	survey_places_init(&p, &root_live);
	p.nr = SURVEY_MAX_PLACES;
	p.item = mem_calloc(p.nr, sizeof(*p.item));
	for (size_t i = 0; i < p.nr; i++)
		p.item[i].path = "";
	survey_places_add(&p, &q, &id);
	assert_int_equal(p.nr, SURVEY_MAX_PLACES);
	survey_places_fini(&p);
}

/* --- by the child, whole --- */

struct got {
	unsigned nr;
	char path[128];
	size_t len;
};

static int take(const struct trace_file_parts *parts, void *arg)
{
	struct got *g = arg;
	uint64_t bytes = 0;

	g->nr++;
	snprintf(g->path, sizeof(g->path), "%.*s", (int)parts->path_len, parts->path);
	for (size_t i = 0; i < parts->nr; i++)
		bytes += parts->part[i].len;
	assert_int_equal(bytes, parts->len);
	assert_memory_equal(parts->bytes, "\177ELF", 4);
	g->len = parts->len;
	return 0;
}

static int drop(const void *records, size_t len, void *arg)
{
	(void)records;
	(void)len;
	(void)arg;
	return 0;
}

/* In pieces; once, though it is asked for twice, by two children; what was watched until then comes
 * when it is looked for. */
TEST(child)
{
	struct got g = {0};
	const struct survey_reader_config config = {
	    .root = &root_live, .records = drop, .file = take, .arg = &g};
	struct survey_identify_question both[2];
	struct survey_identify_answer a, two[2];
	struct survey_reader r;
	struct mapping m, gone;
	char kept[64];

	skip_unless_root();
	snprintf(kept, sizeof(kept), "%s/kept", folder);
	copy_self(kept);
	gone = map_path();
	assert_int_equal(unlink(path), 0);
	strcpy(path, kept);
	m = map_path();
	assert_int_equal(survey_reader_init(&r, &config), 0);
	r.is_surveyed = true;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(survey_reader_ask(&r, &gone.q, 1, &a), 0);
		assert_int_equal(g.nr, 1);
		if (i == 1)
			child_end(&r.child, 100);
	}
	assert_string_equal(g.path, gone.q.path);
	assert_true(g.len > SURVEY_READER_RECORDS_BYTES);
	r.files->stored.nr = 0; /* the two have one build-id */
	child_end(&r.child, 100);
	both[0] = gone.q; /* its bytes come between the question and the answers */
	both[1] = m.q;
	assert_int_equal(survey_reader_ask(&r, both, 2, two), 0);
	assert_int_equal(g.nr, 2);
	assert_int_equal(r.nr_abandoned, 0);
	r.files->stored.nr = 0;
	child_end(&r.child, 100);
	assert_int_equal(survey_reader_ask(&r, &m.q, 1, &a), 0);
	assert_int_equal(survey_reader_look(&r, true), 0);
	assert_int_equal(g.nr, 2);
	assert_int_equal(unlink(kept), 0);
	assert_int_equal(survey_reader_look(&r, true), 0);
	assert_int_equal(g.nr, 3);
	assert_string_equal(g.path, kept);
	survey_reader_fini(&r);
	munmap(gone.at, gone.len);
	munmap(m.at, m.len);
}

/* The header alone can be read, as of a file that is truncated when its parts were found: these
 * begin with the header, too. */
static ssize_t truncated_pread(int fd, void *buf, size_t len, off_t at)
{
	return at == 0 && len > sizeof(Elf64_Ehdr) ? 0 : sys_kernel_ops.pread(fd, buf, len, at);
}

/* It is not stored, and the child answers as before. */
TEST(truncated)
{
	struct got g = {0};
	const struct survey_reader_config config = {
	    .root = &root_live, .records = drop, .file = take, .arg = &g};
	static struct sys_ops ops;
	struct survey_identify_answer a;
	struct survey_reader r;
	struct mapping m;

	skip_unless_root();
	m = map_path();
	assert_int_equal(unlink(path), 0);
	assert_int_equal(survey_reader_init(&r, &config), 0);
	r.is_surveyed = true;
	ops = sys_kernel_ops;
	ops.pread = truncated_pread;
	sys_set_ops(&ops);
	for (int i = 0; i < 2; i++)
		assert_int_equal(survey_reader_ask(&r, &m.q, 1, &a), 0);
	assert_int_equal(g.nr, 0);
	assert_int_equal(r.nr_abandoned, 0);
	assert_int_equal(r.files->stored.nr, 1);
	survey_reader_fini(&r);
	sys_set_ops(NULL);
	munmap(m.at, m.len);
}

/* What is not answered in time is described. */
TEST(too_late)
{
	const struct survey_reader_config config = {.root = &root_live, .records = drop};
	struct survey_identify_answer a;
	struct survey_reader r;
	struct mapping m = map_path();
	struct buf note;

	buf_init(&note, SURVEY_NOTE_BYTES);
	assert_int_equal(survey_reader_init(&r, &config), 0);
	r.is_surveyed = true;
	assert_int_equal(survey_reader_look(&r, true), 0); /* nothing is watched */
	assert_int_equal(survey_reader_ask(&r, &m.q, 1, &a), 0);
	r.config.until_ns = 1;
	assert_int_equal(survey_reader_look(&r, true), -ETIMEDOUT);
	assert_int_equal(survey_reader_note(&r, 0, &note), 1);
	assert_string_equal(buf_str(&note), "not surveyed, because they do not answer: "
					    "files that were deleted or replaced");
	survey_reader_fini(&r);
	buf_fini(&note);
	munmap(m.at, m.len);
}
