/*
 * The code of this machine's programs and libraries, by our decoder and by capstone: the same
 * lengths, flows and targets; and what is moved of each function that can be patched, at its begin
 * and at its ends, means the same where it was moved to. Prints how many functions can be.
 * PATCH_FILE: only this file.
 */
#include "test_patch.h"

#include "same_code.h"

#include <dirent.h>
#include <sys/stat.h>

enum { MAX_FILES = 8000, FAR = 1 << 30, MOST_FILES = 8, MOST_FUNCTIONS = 200 };

static struct same_code same;

struct counts {
	size_t files, functions, refused[PATCH_NR_REFUSALS];
	size_t redirected, entered, not_scanned;
	size_t untimed[PATCH_NR_UNTIMED], exits;
};

static size_t accepted(const struct counts *c)
{
	return c->refused[PATCH_ACCEPTED] - c->entered;
}

HOOK(before_all)
{
	assert_true(same_code_open(&same));
}

HOOK(after_all)
{
	same_code_close(&same);
}

static void fail_at(const char *what, const uint8_t *bytes, size_t len, uint64_t address)
{
	char text[3 * PATCH_MAX_INSTRUCTION + 1] = "";

	for (size_t i = 0; i < len && i < PATCH_MAX_INSTRUCTION; i++)
		snprintf(text + 3 * i, 4, "%02x ", bytes[i]);
	fail_msg("%s at %lx: %s(capstone: %s %s)", what, (unsigned long)address, text,
		 same.theirs->mnemonic, same.theirs->op_str);
}

static void check_code(const struct patch_code *code)
{
	struct patch_instruction ours;

	for (size_t at = 0; at < code->len; at += ours.len) {
		const uint8_t *p = code->bytes + at;
		const char *what;

		if (!patch_decode(p, code->len - at, &ours))
			return;
		what = same_code_compare(&same, &ours, p, code->len - at, code->address + at);
		if (what)
			fail_at(what, p, code->len - at, code->address + at);
	}
}

static void check_plan(const struct patch_plan *p)
{
	const struct patch_counter counter = {.number = 7, .block = -16, .shared = p->address};
	struct patch_trampoline t;
	const char *what;

	assert_int_equal(patch_move(p, &counter, p->address + FAR, &t), 0);
	what = same_code_plan(&same, p, &t);
	if (what)
		fail_at(what, p->old, sizeof(p->old), p->address);
}

/* Whether the last instruction is one that leaves. */
static void check_leaves(const struct patch_plan *p)
{
	struct patch_instruction i = {0};

	for (size_t at = 0; at < p->moved_len; at += i.len)
		assert_true(patch_decode(p->old + at, p->moved_len - at, &i));
	assert_true(patch_ends(&i) && i.flow != PATCH_STOPS);
}

/* Each instruction that returns is one of the ends. */
static void check_each_return(const struct patch_code *code, const struct patch_plan *exits,
			      size_t nr)
{
	struct patch_instruction i;
	size_t k = 0;

	for (size_t at = 0; at < code->len && patch_decode(code->bytes + at, code->len - at, &i);
	     at += i.len) {
		if (i.flow != PATCH_RETURNS)
			continue;
		while (k < nr && exits[k].address + exits[k].moved_len < code->address + at + i.len)
			k++;
		assert_true(k < nr &&
			    exits[k].address + exits[k].moved_len == code->address + at + i.len);
	}
}

static void check_exits(const struct patch_function *f, struct patch_plan *begin, struct counts *c)
{
	struct patch_plan exits[PATCH_MAX_EXITS];
	size_t nr = 0;
	enum patch_untimed untimed = patch_exits(f, begin, exits, &nr);

	c->untimed[untimed]++;
	if (untimed != PATCH_TIMED)
		return;
	check_plan(begin);
	check_each_return(&f->code, exits, nr);
	for (size_t i = 0; i < nr; i++) {
		check_plan(&exits[i]);
		check_leaves(&exits[i]);
		assert_true(exits[i].address >= begin->span.to);
		assert_true(i == 0 || exits[i].address >= exits[i - 1].span.to);
		assert_true(exits[i].span.to <= f->code.address + f->code.len + f->padding_len);
	}
	c->exits += nr;
}

/* --- files */

static void scan_all(const struct patch_file *f, struct patch_span *spans, size_t nr,
		     struct counts *c)
{
	const void *arg[2];
	struct patch_function function;

	for (size_t i = 0; i < f->nr; i++)
		if (patch_file_function(f, i, arg, &function))
			c->not_scanned += !patch_scan(&function.code, spans, nr);
	for (size_t i = 0; i < nr; i++)
		c->entered += spans[i].is_entered;
}

static void check_file(const char *path, struct counts *c)
{
	struct patch_file f;
	const void *arg[2];
	struct patch_function function;
	struct patch_plan plan;
	struct patch_span *spans;
	size_t nr = 0;

	if (!patch_file_open(&f, path))
		return;
	c->files++;
	spans = calloc(f.nr + 1, sizeof(*spans));
	STRIDE_EACH(i, f.nr, MOST_FUNCTIONS) {
		enum patch_refusal refusal;

		if (!patch_file_function(&f, i, arg, &function) ||
		    function.code.len < PATCH_JUMP_BYTES)
			continue;
		c->functions++;
		check_code(&function.code);
		refusal = patch_plan(&function, &plan);
		c->refused[refusal]++;
		if (refusal != PATCH_ACCEPTED)
			continue;
		check_plan(&plan);
		c->redirected += plan.moved_len == 0;
		spans[nr++] = plan.span;
		check_exits(&function, &plan, c);
	}
	if (stride_by(f.nr, MOST_FUNCTIONS) < 100)
		scan_all(&f, spans, nr, c);
	free(spans);
	patch_file_close(&f);
}

static void show(const char *what, const struct counts *c)
{
	if (!c->functions)
		return;
	print_message("%s: %zu functions, %.1f %% can be patched (%zu by their first call), %zu "
		      "instructions, %zu unknown to capstone, %zu functions not scanned\n",
		      what, c->functions, 100. * (double)accepted(c) / (double)c->functions,
		      c->redirected, same.nr, same.nr_unknown, c->not_scanned);
	for (int i = 1; i < PATCH_NR_REFUSALS; i++)
		if (c->refused[i])
			print_message("  %5.2f %% %s\n",
				      100. * (double)c->refused[i] / (double)c->functions,
				      patch_refusal_text((enum patch_refusal)i));
	print_message("  %5.2f %% %s\n", 100. * (double)c->entered / (double)c->functions,
		      "other code leads into its first instructions");
	print_message("%5.1f %% can have times (%zu ends)\n",
		      100. * (double)c->untimed[PATCH_TIMED] / (double)c->functions, c->exits);
	for (int i = 1; i < PATCH_NR_UNTIMED; i++)
		if (c->untimed[i])
			print_message("  %5.2f %% %s\n",
				      100. * (double)c->untimed[i] / (double)c->functions,
				      patch_untimed_text((enum patch_untimed)i));
}

static size_t list_files(char *paths[MAX_FILES])
{
	static const char *const folders[] = {"/usr/bin", "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/gcc/x86_64-linux-gnu/12",
					      "/usr/lib/git-core", "/usr/sbin"};
	size_t nr = 0;

	for (size_t i = 0; i < NR(folders); i++) {
		DIR *folder = opendir(folders[i]);
		struct dirent *entry;

		while (folder && nr < MAX_FILES && (entry = readdir(folder))) {
			char path[PATH_MAX];
			struct stat st;

			snprintf(path, sizeof(path), "%s/%s", folders[i], entry->d_name);
			if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
				paths[nr++] = strdup(path);
		}
		if (folder)
			closedir(folder);
	}
	return nr;
}

TEST(text)
{
	static char *paths[MAX_FILES];
	const char *only = getenv("PATCH_FILE");
	struct counts c = {0};
	size_t nr;

	if (only) {
		check_file(only, &c);
		show(only, &c);
		return;
	}
	nr = list_files(paths);
	STRIDE_EACH(i, nr, MOST_FILES) {
		check_file(paths[i], &c);
	}
	show("this machine", &c);
	for (size_t i = 0; i < nr; i++)
		free(paths[i]);
}

/* Whatever is on this machine, the C library is. */
TEST(c_library)
{
	struct counts c = {0};

	check_file("/usr/lib/x86_64-linux-gnu/libc.so.6", &c);
	show("libc", &c);
	assert_true(c.functions > 0);
	assert_true(2 * accepted(&c) > c.functions);
}
