/*
 * The kernel's symbols: what is given of kallsyms; that the second session gives the same without
 * reading it; and that nothing that is kept is used but for the very same boot, kernel and modules,
 * from a file that only we can have written. Packing is done here by putting text into braces.
 */
#include "kit.h"
#include "test_survey.h"

#include "base/crc32c.h"
#include "survey/ops.h"
#include "survey/symbols.h"
#include "survey/symbols_cache.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* What a run gave. */
struct given {
	struct buf text;
	unsigned nr_pieces, nr_ragged; /* ragged: they do not end with a line */
	unsigned fail_at;              /* the piece, from 1, at which it returns fail_rc */
	int fail_rc;
	struct buf packed;           /* the last piece */
	unsigned nr_made, nr_packed; /* pieces that were packed; that were given so */
	unsigned cannot_at;          /* the piece, from 1, that cannot be packed */
};

static int take(const char *text, size_t len, void *arg)
{
	struct given *g = arg;

	assert_in_range(len, 1, SURVEY_SYMBOLS_PIECE_BYTES);
	assert_true(!g->fail_at || g->nr_pieces < g->fail_at); /* never again after it failed */
	buf_add(&g->text, text, len);
	g->nr_ragged += text[len - 1] != '\n';
	return ++g->nr_pieces == g->fail_at ? g->fail_rc : 0;
}

static bool pack(const char *text, size_t len, const void **piece, size_t *piece_len, void *arg)
{
	struct given *g = arg;

	assert_in_range(len, 1, SURVEY_SYMBOLS_PIECE_BYTES);
	if (++g->nr_made == g->cannot_at)
		return false;
	buf_reset(&g->packed);
	buf_addc(&g->packed, '{');
	buf_add(&g->packed, text, len);
	buf_addc(&g->packed, '}');
	*piece = g->packed.data;
	*piece_len = g->packed.len;
	return true;
}

static int take_packed(const void *piece, size_t len, void *arg)
{
	struct given *g = arg;
	const char *p = piece;

	assert_true(len > 2 && p[0] == '{' && p[len - 1] == '}');
	g->nr_packed++;
	return take(p + 1, len - 2, arg);
}

static void given_init(struct given *g)
{
	*g = (struct given){0};
	buf_init(&g->text, 128 << 20);
	buf_init(&g->packed, 2 * SURVEY_SYMBOLS_PIECE_BYTES);
}

static void given_fini(struct given *g)
{
	buf_fini(&g->text);
	buf_fini(&g->packed);
}

/* A made tree, and a folder in it for what is kept. */
struct place {
	struct root root;
	char folder[300], file[320];
};

static void change_to(const struct place *p, const char *path, const char *text)
{
	tree_put(&p->root, path, text, strlen(text));
}

/* More than is given at once, of two versions: so that it is seen whether it was read anew. The
 * first lines are the same. */
static const char *const versions[] = {"old", "new"};
static struct buf version_text[2];

HOOK(before_all)
{
	for (unsigned v = 0; v < 2; v++) {
		struct buf *b = &version_text[v];

		buf_init(b, 16 << 20);
		for (unsigned i = 0; i < 40000; i++)
			buf_printf(b, "ffffffff%08x T symbol_%u%s\n", i, i,
				   i < 1000 ? "" : versions[v]);
		buf_printf(b, "ffffffffc0000000 t init%s\t[mod]\n", versions[v]);
	}
}

HOOK(after_all)
{
	for (unsigned v = 0; v < 2; v++)
		buf_fini(&version_text[v]);
}

static const struct buf *find_version(const char *version)
{
	return &version_text[strcmp(version, "new") == 0];
}

static void put_kallsyms(const struct place *p, const char *version)
{
	const struct buf *lasting = find_version(version);
	struct buf text;

	buf_init(&text, 16 << 20);
	buf_add(&text, lasting->data, lasting->len);
	buf_printf(&text, "ffffffffc0001000 t bpf_prog_%s\t[bpf]\n", version);
	change_to(p, "/proc/kallsyms", buf_str(&text));
	buf_fini(&text);
}

#define BOOT    "/proc/sys/kernel/random/boot_id"
#define RELEASE "/proc/sys/kernel/osrelease"
#define MODULES "/proc/modules"
#define MOD_A   "mod_a 16384 2 mod_b,mod_c, Live 0xffffffffc0000000 (O)\n"
#define MOD_B   "mod_b 8192 0 - Live 0xffffffffc0010000\n"

static void place_init(struct place *p)
{
	*p = (struct place){.root = tree_make()};
	snprintf(p->folder, sizeof(p->folder), "%s/kept", p->root.dir);
	snprintf(p->file, sizeof(p->file), "%s/symbols", p->folder);
	change_to(p, BOOT, "7d3c\n");
	change_to(p, RELEASE, "6.1.0\n");
	change_to(p, MODULES, MOD_A MOD_B);
	tree_put(&p->root, "/sys/module/mod_a", NULL, 0);
	put_kallsyms(p, "old");
}

static void place_fini(struct place *p)
{
	tree_remove(&p->root);
}

static int run(const struct place *p, struct given *g, bool wants_changing)
{
	struct survey_symbols_config c = {.root = &p->root,
					  .folder = p->folder,
					  .wants_changing = wants_changing,
					  .pass_text = take,
					  .pack = pack,
					  .pass_packed = take_packed,
					  .arg = g};

	return survey_symbols_run(&c);
}

static bool is_version(const struct given *g, const char *version)
{
	return strcmp(buf_str(&g->text), buf_str(find_version(version))) == 0;
}

static bool was_kept; /* what run_whole gave last: one read of kallsyms shows that */

/* Runs it well, and tells whose symbols it gave, of which not one may be missing. */
static const char *run_whole(const struct place *p)
{
	const char *of;
	struct given g;

	given_init(&g);
	hook_start((struct hook){.part = "kallsyms"});
	assert_int_equal(run(p, &g, false), 0);
	hook_stop();
	assert_int_equal(g.nr_ragged, 0);
	was_kept = hook.nr_reads == 1;
	assert_int_equal(hook.nr_opens, 1);
	assert_int_equal(g.nr_made, was_kept || !g.nr_packed ? 0 : g.nr_pieces);
	of = is_version(&g, "old") ? "old" : is_version(&g, "new") ? "new" : "neither";
	given_fini(&g);
	return of;
}

#define CORE "ffffffff81000000 T _text\nffffffff81000010 t a\n"
#define MOD  "ffffffffc0000000 t x\t[mod]\n"

/* What is given of a text, but for what changes. */
static const struct {
	const char *what, *lasting, *changing;
} texts[] = {
    {"nothing", "", ""},
    {"no modules", CORE, ""},
    {"modules", CORE MOD, ""},
    {"no newline at the end", CORE MOD "ffffffffc0000010 t y\t[mod]", ""},
    {"programs", CORE MOD, "ffffffffc0200000 t bpf_prog_1\t[bpf]\n"},
    {"trampolines", CORE MOD, "ffffffffc0203000 t ftrace_trampoline\t[__builtin__ftrace]\n"},
    {"probes", CORE, "ffffffffc0203000 t kprobe_insn_page\t[__builtin__kprobes]\n"},
    {"all, and what is behind", CORE MOD,
     "ffffffffc0203000 t ftrace_trampoline\t[__builtin__ftrace]\n"
     "ffffffffc0200000 t bpf_prog_1\t[bpf]\nffffffffc0000020 t later\t[mod]\n"},
    {"nothing else", "", "ffffffffc0200000 t bpf_prog_1\t[bpf]\n"},
    {"names that are like it",
     CORE "ffffffff81000020 t [bpf]\nffffffffc0000000 t x\t[bpf2]\nffffffffc0000000 t x\t[abpf]\n"
	  "ffffffffc0000000 t bpf\t[mod]\nffffffffc0000000 t x\t[bpf] \n\t[bp\n",
     ""},
};

TEST(texts)
{
	struct place p;

	place_init(&p);
	for (size_t i = 0; i < NR(texts); i++)
		for (unsigned wants_changing = 0; wants_changing <= 1; wants_changing++) {
			char text[1000];
			struct given g;

			print_message("%s\n", texts[i].what);
			snprintf(text, sizeof(text), "%s%s", texts[i].lasting, texts[i].changing);
			change_to(&p, "/proc/kallsyms", text);
			(void)unlink(p.file);
			for (unsigned nth = 0; nth < 3; nth++) { /* read and kept, then as kept */
				given_init(&g);
				assert_int_equal(run(&p, &g, wants_changing), 0);
				assert_string_equal(buf_str(&g.text),
						    wants_changing ? text : texts[i].lasting);
				given_fini(&g);
			}
		}
	place_fini(&p);
}

/* What changes may begin anywhere, before or behind the end of a piece. */
TEST(edges)
{
	struct place p;

	place_init(&p);
	for (int shift = -60; shift <= 60; shift += 5) {
		struct buf text;
		struct given g;
		size_t len;

		buf_init(&text, 4 << 20);
		while (text.len < (size_t)(SURVEY_SYMBOLS_PIECE_BYTES + shift - 30))
			buf_printf(&text, "ffffffff81%06zx t symbol\n", text.len);
		len = text.len;
		buf_adds(&text, "ffffffffc0200000 t bpf_prog_1\t[bpf]\n");
		buf_fill(&text, 'x', 10000);
		change_to(&p, "/proc/kallsyms", buf_str(&text));
		(void)unlink(p.file);
		given_init(&g);
		assert_int_equal(run(&p, &g, false), 0);
		assert_int_equal(g.text.len, len);
		assert_memory_equal(g.text.data, text.data, len);
		given_fini(&g);
		buf_fini(&text);
	}
	place_fini(&p);
}

TEST(kept)
{
	struct place p;
	struct stat st;

	place_init(&p);
	assert_string_equal(run_whole(&p), "old");
	assert_false(was_kept);
	assert_int_equal(stat(p.folder, &st) | (st.st_mode ^ (S_IFDIR | 0700)), 0);
	assert_int_equal(stat(p.file, &st) | (st.st_mode ^ (S_IFREG | 0600)), 0);
	assert_int_equal(inject_entries(p.folder), 1);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(run_whole(&p), "old");
		assert_true(was_kept);
	}
	put_kallsyms(&p, "new"); /* which no kernel does: it is really not read */
	assert_string_equal(run_whole(&p), "old");
	place_fini(&p);
}

static void reload_module(const struct place *p)
{
	char path[300], other[300];

	snprintf(path, sizeof(path), "%s/sys/module/mod_a", p->root.dir);
	snprintf(other, sizeof(other), "%s/sys/module/mod_new", p->root.dir);
	assert_int_equal(mkdir(other, 0700) | rmdir(path) | rename(other, path), 0);
}

/* What changes between two sessions, and whether what was kept still holds. */
static const struct {
	const char *what, *path, *text;
	void (*change)(const struct place *p);
	bool is_kept;
} changes[] = {
    {"nothing", MODULES, MOD_A MOD_B, NULL, true},
    {"boot", BOOT, "7d3d\n", NULL, false},
    {"no boot id", BOOT, NULL, NULL, false},
    {"kernel", RELEASE, "6.1.1\n", NULL, false},
    {"one module less", MODULES, MOD_A, NULL, false},
    {"one more", MODULES, MOD_A MOD_B "mod_c 1 0 - Live 0xffffffffc0020000\n", NULL, false},
    {"in another order", MODULES, MOD_B MOD_A, NULL, false},
    {"no modules", MODULES, "", NULL, false},
    {"a kernel without", MODULES, NULL, NULL, false},
    {"another name", MODULES, MOD_A "mod_d 8192 0 - Live 0xffffffffc0010000\n", NULL, false},
    {"another size", MODULES, MOD_A "mod_b 8193 0 - Live 0xffffffffc0010000\n", NULL, false},
    {"another address", MODULES, MOD_A "mod_b 8192 0 - Live 0xffffffffc0011000\n", NULL, false},
    {"not yet there", MODULES, MOD_A "mod_b 8192 0 - Loading 0xffffffffc0010000\n", NULL, false},
    {"uses", MODULES, MOD_A "mod_b 8192 7 - Live 0xffffffffc0010000\n", NULL, true},
    {"users", MODULES, MOD_A "mod_b 8192 0 x, Live 0xffffffffc0010000\n", NULL, true},
    {"the same module anew", NULL, NULL, reload_module, false},
};

TEST(changes)
{
	for (size_t i = 0; i < NR(changes); i++) {
		struct place p;
		char path[300];

		print_message("%s\n", changes[i].what);
		place_init(&p);
		assert_string_equal(run_whole(&p), "old");
		put_kallsyms(&p, "new");
		if (changes[i].text)
			change_to(&p, changes[i].path, changes[i].text);
		else if (changes[i].change)
			changes[i].change(&p);
		else {
			snprintf(path, sizeof(path), "%s%s", p.root.dir, changes[i].path);
			assert_int_equal(unlink(path), 0);
		}
		assert_string_equal(run_whole(&p), changes[i].is_kept ? "old" : "new");
		assert_int_equal(was_kept, changes[i].is_kept);
		assert_string_equal(run_whole(&p), changes[i].is_kept ? "old" : "new");
		assert_int_equal(was_kept, strcmp(changes[i].what, "no boot id") != 0);
		place_fini(&p);
	}
}

/* Other addresses than those that were kept: not even the same boot says that they are right. */
TEST(other_start)
{
	struct place p;
	struct given g;

	place_init(&p);
	assert_string_equal(run_whole(&p), "old");
	change_to(&p, "/proc/kallsyms", CORE MOD);
	given_init(&g);
	assert_int_equal(run(&p, &g, false), 0);
	assert_string_equal(buf_str(&g.text), CORE MOD);
	given_fini(&g);
	place_fini(&p);
}

/* Who may not see addresses does not get them from what was kept by whoever might. */
TEST(hidden)
{
	struct place p;
	struct given g;

	place_init(&p);
	assert_string_equal(run_whole(&p), "old");
	change_to(&p, "/proc/kallsyms", "0000000000000000 T _text\n0000000000000000 t x\t[mod]\n");
	given_init(&g);
	assert_int_equal(run(&p, &g, false), -EACCES);
	assert_int_equal(g.nr_pieces, 0);
	given_fini(&g);
	place_fini(&p);
}

static void flip(const struct place *p, off_t at)
{
	int fd = open(p->file, O_RDWR | O_CLOEXEC);
	char c;

	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static off_t file_size(const struct place *p)
{
	struct stat st;

	assert_int_equal(stat(p->file, &st), 0);
	return st.st_size;
}

static void flip_text(const struct place *p)
{
	flip(p, file_size(p) / 2);
}

static void flip_end(const struct place *p)
{
	flip(p, file_size(p) - 1);
}

static void flip_key(const struct place *p)
{
	flip(p, 20);
}

static void flip_blank(const struct place *p)
{
	flip(p, SURVEY_SYMBOLS_HEAD_BYTES - 2);
}

static void cut_short(const struct place *p)
{
	assert_int_equal(truncate(p->file, file_size(p) - 100), 0);
}

static void cut_text(const struct place *p)
{
	assert_int_equal(truncate(p->file, SURVEY_SYMBOLS_HEAD_BYTES), 0);
}

static void empty(const struct place *p)
{
	assert_int_equal(truncate(p->file, 0), 0);
}

static void make_longer(const struct place *p)
{
	assert_int_equal(truncate(p->file, file_size(p) + 1), 0);
}

static void make_huge(const struct place *p)
{
	assert_int_equal(truncate(p->file, (off_t)1 << 40), 0);
}

static void open_to_others(const struct place *p)
{
	assert_int_equal(chmod(p->file, 0604), 0);
}

static void open_to_group(const struct place *p)
{
	assert_int_equal(chmod(p->file, 0620), 0);
}

static void add_name(const struct place *p)
{
	char other[400];

	snprintf(other, sizeof(other), "%s/other", p->root.dir);
	assert_int_equal(link(p->file, other), 0);
}

/* The same file, somewhere else. */
static void make_link(const struct place *p)
{
	char other[400];

	snprintf(other, sizeof(other), "%s/other", p->root.dir);
	assert_int_equal(rename(p->file, other) | symlink(other, p->file), 0);
}

static void make_fifo(const struct place *p)
{
	assert_int_equal(unlink(p->file) | mkfifo(p->file, 0600), 0);
}

static void give_away(const struct place *p)
{
	assert_int_equal(chown(p->file, 12345, (gid_t)-1), 0);
}

static void remove_file(const struct place *p)
{
	assert_int_equal(unlink(p->file), 0);
}

static void make_directory(const struct place *p)
{
	assert_int_equal(unlink(p->file) | mkdir(p->file, 0700), 0);
}

static void open_folder(const struct place *p)
{
	assert_int_equal(chmod(p->folder, 0711), 0);
}

static void open_folder_to_group(const struct place *p)
{
	assert_int_equal(chmod(p->folder, 0720), 0);
}

static void give_folder_away(const struct place *p)
{
	assert_int_equal(chown(p->folder, 12345, (gid_t)-1), 0);
}

static void link_folder(const struct place *p)
{
	char other[400];

	snprintf(other, sizeof(other), "%s/other", p->root.dir);
	assert_int_equal(rename(p->folder, other) | symlink(other, p->folder), 0);
}

static void make_folder_file(const struct place *p)
{
	assert_int_equal(unlink(p->file) | rmdir(p->folder), 0);
	change_to(p, "/kept", "");
}

static void remove_folder(const struct place *p)
{
	assert_int_equal(unlink(p->file) | rmdir(p->folder), 0);
}

/* What may be wrong with what was kept: it is not used, and a sound one takes its place, if it may.
 */
static const struct {
	const char *what;
	void (*spoil)(const struct place *p);
	bool is_mended, for_root;
} oddities[] = {
    {"a bit of the text", flip_text, true},
    {"its last bit", flip_end, true},
    {"a bit of the key", flip_key, true},
    {"a bit of nothing", flip_blank, true},
    {"cut", cut_short, true},
    {"no text", cut_text, true},
    {"empty", empty, true},
    {"a byte more", make_longer, true},
    {"beyond the ceiling", make_huge, true},
    {"others may read it", open_to_others, true},
    {"others may write it", open_to_group, true},
    {"it has another name", add_name, true},
    {"it is a link", make_link, true},
    {"it is a FIFO", make_fifo, true},
    {"it is of somebody else", give_away, true, true},
    {"it is not there", remove_file, true},
    {"it is a folder", make_directory, false},
    {"others may enter", open_folder, false},
    {"others may write into the folder", open_folder_to_group, false},
    {"the folder is of somebody else", give_folder_away, false, true},
    {"the folder is a link", link_folder, false},
    {"the folder is a file", make_folder_file, false},
    {"there is no folder", remove_folder, true},
};

TEST(oddities)
{
	for (size_t i = 0; i < NR(oddities); i++) {
		size_t nr_fds = inject_open_fds();
		struct place p;

		if (oddities[i].for_root && geteuid() != 0) {
			print_message("skip: %s: only root can give a file away\n",
				      oddities[i].what);
			continue;
		}
		print_message("%s\n", oddities[i].what);
		place_init(&p);
		assert_string_equal(run_whole(&p), "old");
		put_kallsyms(&p, "new");
		oddities[i].spoil(&p);
		assert_string_equal(run_whole(&p), "new");
		assert_false(was_kept);
		assert_string_equal(run_whole(&p), "new");
		assert_int_equal(was_kept, oddities[i].is_mended);
		assert_int_equal(inject_open_fds(), nr_fds);
		place_fini(&p);
	}
}

/* Nothing is written into a place that is not ours. */
TEST(not_written)
{
	struct place p;
	char other[400];

	place_init(&p);
	snprintf(other, sizeof(other), "%s/other", p.root.dir);
	assert_int_equal(mkdir(other, 0700) | symlink(other, p.folder), 0);
	run_whole(&p);
	assert_int_equal(inject_entries(other), 0);
	assert_int_equal(unlink(p.folder) | mkdir(p.folder, 0777) | chmod(p.folder, 0777), 0);
	run_whole(&p);
	assert_int_equal(inject_entries(p.folder), 0);
	place_fini(&p);
}

static struct place *meanwhile; /* where a module is loaded by the second read of kallsyms */

static ssize_t read_meanwhile(int fd, void *buf, size_t len)
{
	ssize_t n = hook_read(fd, buf, len);

	if (fd == hook.fd && hook.nr_reads == 2)
		change_to(meanwhile, MODULES, MOD_A);
	return n;
}

TEST(module_meanwhile)
{
	struct sys_ops ops;
	struct place p;
	struct given g;

	place_init(&p);
	meanwhile = &p;
	given_init(&g);
	hook_start((struct hook){.part = "kallsyms"});
	ops = *sys();
	ops.read = read_meanwhile;
	sys_set_ops(&ops);
	assert_int_equal(run(&p, &g, false), 0);
	hook_stop();
	assert_int_equal(inject_entries(p.folder), 0);
	given_fini(&g);
	place_fini(&p);
}

/* Who wants lines that change gets all of them, and leaves nothing that the others might take. */
TEST(changing_wanted)
{
	struct place p;

	place_init(&p);
	for (unsigned is_kept = 0; is_kept <= 1; is_kept++) {
		struct given g;

		put_kallsyms(&p, is_kept ? "new" : "old");
		given_init(&g);
		assert_int_equal(run(&p, &g, true), 0);
		assert_non_null(
		    strstr(buf_str(&g.text), is_kept ? "bpf_prog_new" : "bpf_prog_old"));
		given_fini(&g);
		assert_int_equal(access(p.file, F_OK) == 0, is_kept);
		if (!is_kept)
			run_whole(&p);
	}
	assert_string_equal(run_whole(&p), "old");
	place_fini(&p);
}

TEST(callback_fails)
{
	static const int codes[] = {-EIO, -ENOENT, 1};

	for (unsigned is_kept = 0; is_kept <= 1; is_kept++)
		for (size_t i = 0; i < NR(codes); i++) {
			struct place p;
			struct given g;

			place_init(&p);
			if (is_kept)
				run_whole(&p);
			given_init(&g);
			g.fail_at = 1;
			g.fail_rc = codes[i];
			assert_int_equal(run(&p, &g, false), codes[i]);
			assert_int_equal(g.nr_pieces, 1);
			assert_int_equal(access(p.file, F_OK) == 0, is_kept);
			given_fini(&g);
			place_fini(&p);
		}
}

static int stop_at_piece(const void *piece, size_t len, void *arg)
{
	(void)piece;
	(void)len;
	atomic_store((atomic_bool *)arg, true);
	return 0;
}

static int stop_at_text(const char *text, size_t len, void *arg)
{
	return stop_at_piece(text, len, arg);
}

static bool keep_text(const char *text, size_t len, const void **piece, size_t *piece_len,
		      void *arg)
{
	(void)arg;
	*piece = text;
	*piece_len = len;
	return true;
}

/* Stopped before it, or between two pieces. */
TEST(stop)
{
	atomic_bool stop;
	struct place p;
	struct survey_symbols_config c = {.root = &p.root,
					  .folder = p.folder,
					  .pass_text = stop_at_text,
					  .pack = keep_text,
					  .pass_packed = stop_at_piece,
					  .arg = &stop,
					  .stop = &stop};

	place_init(&p);
	atomic_init(&stop, true);
	assert_int_equal(survey_symbols_run(&c), -ECANCELED);
	assert_int_equal(access(p.file, F_OK), -1);
	run_whole(&p);
	atomic_store(&stop, false);
	assert_int_equal(survey_symbols_run(&c), -ECANCELED);
	place_fini(&p);
}

/* What was read before is given, and nothing is kept. */
TEST(read_fails)
{
	struct place p;
	struct given g;

	place_init(&p);
	given_init(&g);
	hook_start((struct hook){.part = "kallsyms", .read_at = 3, .read_error = -EIO});
	assert_int_equal(run(&p, &g, false), -EIO);
	hook_stop();
	assert_in_range(g.text.len, 8000, 8192);
	assert_int_equal(g.nr_ragged, 0);
	assert_int_equal(inject_entries(p.folder), 0);
	given_fini(&g);
	place_fini(&p);
}

/* What cannot be packed is given as text from there on, and nothing is kept. */
TEST(cannot_pack)
{
	for (unsigned at = 1; at <= 2; at++) {
		struct place p;
		struct given g;

		place_init(&p);
		given_init(&g);
		g.cannot_at = at;
		assert_int_equal(run(&p, &g, false), 0);
		assert_true(is_version(&g, "old"));
		assert_int_equal(g.nr_made, at);
		assert_int_equal(g.nr_packed, at - 1);
		assert_int_equal(inject_entries(p.folder), 0);
		given_fini(&g);
		place_fini(&p);
	}
}

/* Lengths of pieces that lie, in a file that is right otherwise. */
TEST(lengths)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
	} cases[] = {
	    {"longer than the file", "\7\0\0\0{abcd}", 10},
	    {"much longer", "\377\377\377\377{abcd}", 10},
	    {"shorter", "\5\0\0\0{abc}{", 10},
	    {"no length", "\0\0", 2},
	};
	struct place p;

	place_init(&p);
	run_whole(&p);
	for (size_t i = 0; i < NR(cases); i++) {
		struct survey_symbols_key key;
		struct buf file, start;
		int fd = open(p.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		print_message("%s\n", cases[i].what);
		buf_init(&start, 1 << 23);
		assert_int_equal(root_load(&p.root, "/proc/kallsyms", &start), 0);
		assert_int_equal(
		    survey_symbols_key_init(&key, &p.root, crc32c(0, start.data, 4096)), 0);
		buf_init(&file, 4096);
		buf_reset(&start);
		assert_int_equal(survey_symbols_cache_load(fd, &key, &start),
				 0); /* the key is right */
		buf_fill(&file, ' ', SURVEY_SYMBOLS_HEAD_BYTES);
		buf_add(&file, cases[i].bytes, cases[i].len);
		assert_int_equal(survey_symbols_cache_store(fd, &key, &file), 0);
		buf_reset(&start);
		assert_int_equal(survey_symbols_cache_load(fd, &key, &start), -EINVAL);
		close(fd);
		assert_string_equal(run_whole(&p), "old");
		assert_false(was_kept);
		buf_fini(&start);
		buf_fini(&file);
	}
	place_fini(&p);
}

/* While another session writes, this one lets it. */
TEST(lock)
{
	struct place p;
	int fd;

	place_init(&p);
	assert_int_equal(mkdir(p.folder, 0700), 0);
	fd = open(p.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	run_whole(&p);
	assert_int_equal(inject_entries(p.folder), 0);
	close(fd);
	run_whole(&p);
	assert_int_equal(inject_entries(p.folder), 1);
	place_fini(&p);
}

/* Sessions of two boots, so that each makes the other's useless, at once. */
TEST(at_once)
{
	enum { NR_CHILDREN = 4, NR_RUNS = 10 };
	struct place p[2];
	pid_t child[NR_CHILDREN];
	int status;

	for (unsigned i = 0; i < 2; i++) {
		place_init(&p[i]);
		put_kallsyms(&p[i], versions[i]);
		change_to(&p[i], BOOT, versions[i]);
	}
	memcpy(p[1].folder, p[0].folder, sizeof(p[0].folder));
	for (unsigned i = 0; i < NR_CHILDREN; i++) {
		child[i] = fork();
		for (unsigned k = 0; child[i] == 0 && k < NR_RUNS; k++)
			if (strcmp(run_whole(&p[i % 2]), versions[i % 2]))
				_exit(2);
		if (child[i] == 0)
			_exit(0);
	}
	for (unsigned i = 0; i < NR_CHILDREN; i++) {
		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(inject_entries(p[0].folder), 1);
	place_fini(&p[1]);
	place_fini(&p[0]);
}

/* Too much to keep: it is given all the same. */
TEST(too_long)
{
	enum { LINE_BYTES = 4000 };
	struct place p;
	struct buf text;
	struct given g;

	place_init(&p);
	buf_init(&text, 128 << 20);
	while (text.len <= SURVEY_SYMBOLS_MAX_BYTES + 3 * SURVEY_SYMBOLS_PIECE_BYTES) {
		buf_printf(&text, "ffffffff%08zx T ", text.len);
		buf_fill(&text, 'x', LINE_BYTES);
		buf_addc(&text, '\n');
	}
	tree_put(&p.root, "/proc/kallsyms", text.data, text.len);
	for (unsigned wants_changing = 0; wants_changing <= 1; wants_changing++) {
		given_init(&g);
		assert_int_equal(run(&p, &g, wants_changing), 0);
		assert_int_equal(g.text.len, text.len);
		assert_memory_equal(g.text.data, text.data, text.len);
		assert_int_equal(inject_entries(p.folder), 0);
		given_fini(&g);
	}
	buf_fini(&text);
	place_fini(&p);
}

static size_t nr_given_bytes; /* by a run that may fail */

static int count_piece(const void *piece, size_t len, void *arg)
{
	(void)piece;
	(void)arg;
	nr_given_bytes += len;
	return 0;
}

static int count_text(const char *text, size_t len, void *arg)
{
	return count_piece(text, len, arg);
}

/* That it cannot be kept is no failure; but what is said to be given is given. */
static int run_once(void *arg)
{
	const struct place *p = arg;
	struct survey_symbols_config c = {.root = &p->root,
					  .folder = p->folder,
					  .pass_text = count_text,
					  .pack = keep_text,
					  .pass_packed = count_piece};
	int rc;

	nr_given_bytes = 0;
	rc = survey_symbols_run(&c);
	if (rc == 0)
		assert_int_equal(nr_given_bytes, strlen(CORE MOD));
	return rc;
}

static int run_first(void *arg)
{
	const struct place *p = arg;

	(void)unlink(p->file);
	return run_once(arg);
}

TEST(failures)
{
	struct place p;

	place_init(&p);
	change_to(&p, "/proc/kallsyms", CORE MOD);
	inject_every(run_first, &p, 2, 20);
	assert_int_equal(inject_entries(p.folder), 1);
	inject_every(run_once, &p, 2, 15);
	assert_int_equal(inject_entries(p.folder), 1);
	place_fini(&p);
}

/* In any order; with a module's, and without an end of line. */
TEST(range)
{
	static const char text[] = "ffffffff81000000 T a\nffffffffc0000fa9 t b\t[m]\n"
				   "fffffffeabcdef01 t c\nffffffff81000010 T d";
	uint64_t first, last;

	assert_true(survey_symbols_range(text, sizeof(text) - 1, &first, &last));
	assert_true(first == 0xfffffffeabcdef01 && last == 0xffffffffc0000fa9);
	assert_true(survey_symbols_range(text, 20, &first, &last));
	assert_true(first == 0xffffffff81000000 && last == first);
	assert_false(survey_symbols_range(text, 0, &first, &last));
}

TEST(folder)
{
	uid_t uid = geteuid();
	char path[64];

	if (uid == 0) {
		assert_int_equal(setenv("XDG_RUNTIME_DIR", "/other", 1), 0);
		assert_true(survey_symbols_folder(path, sizeof(path)));
		assert_string_equal(path, "/run/cpuperf");
		assert_int_equal(seteuid(12345), 0);
	}
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "/run/user/7", 1), 0);
	assert_true(survey_symbols_folder(path, sizeof(path)));
	assert_string_equal(path, "/run/user/7/cpuperf");
	assert_false(survey_symbols_folder(path, strlen(path)));
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "relative", 1), 0);
	assert_false(survey_symbols_folder(path, sizeof(path)));
	assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
	assert_false(survey_symbols_folder(path, sizeof(path)));
	assert_int_equal(seteuid(uid), 0);
}

static int run_live(const struct place *p, struct given *g)
{
	struct place here = *p;

	here.root = root_live;
	given_init(g);
	return run(&here, g, false);
}

/* Nothing but what changes is behind it. */
static void check_rest(const char *rest)
{
	const char *tab = strchr(rest, '\t');

	if (!*rest)
		return;
	assert_non_null(tab);
	assert_true(strncmp(tab, "\t[__builtin__", 13) == 0 || strncmp(tab, "\t[bpf]", 6) == 0);
}

/* This machine's symbols: the same twice, and those of kallsyms up to what changes. */
TEST(live)
{
	struct place p;
	struct given g[2];
	struct buf all;
	int rc;

	place_init(&p);
	buf_init(&all, 128 << 20);
	rc = run_live(&p, &g[0]);
	if (rc == 0) {
		assert_int_equal(run_live(&p, &g[1]), 0);
		assert_int_equal(root_load(&root_live, "/proc/kallsyms", &all), 0);
		assert_true(g[0].text.len > 100000);
		assert_int_equal(g[0].text.len, g[1].text.len);
		assert_memory_equal(g[0].text.data, g[1].text.data, g[0].text.len);
		assert_memory_equal(g[0].text.data, all.data, g[0].text.len);
		check_rest(all.data + g[0].text.len);
		given_fini(&g[1]);
	}
	given_fini(&g[0]);
	buf_fini(&all);
	place_fini(&p);
	if (rc)
		SKIP("/proc/kallsyms: %s", strerror(-rc));
}
