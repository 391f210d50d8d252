/*
 * Lengths and kinds of instructions: some by hand, and all that objdump finds in programs of this
 * machine, by stride.
 */
#include "kit.h"

#include "functions/x86.h"

#include <glob.h>
#include <limits.h>
#include <sys/stat.h>

#define CODE(bytes) (const uint8_t *)(bytes), sizeof(bytes) - 1

TEST(kinds)
{
	static const struct {
		const uint8_t *code;
		size_t len;
		enum functions_x86_kind kind;
		int64_t target; /* 0: none */
		bool is_unprobed;
	} cases[] = {
	    {CODE("\x55"), FUNCTIONS_X86_PUSH, 0, false},
	    {CODE("\x41\x57"), FUNCTIONS_X86_PUSH, 0, false},
	    {CODE("\x48\x55"), FUNCTIONS_X86_OTHER, 0, false}, /* not emulated */
	    {CODE("\x66\x55"), FUNCTIONS_X86_OTHER, 0, false},
	    {CODE("\x90"), FUNCTIONS_X86_NOP, 0, false},
	    {CODE("\x66\x90"), FUNCTIONS_X86_NOP, 0, false},
	    {CODE("\x41\x90"), FUNCTIONS_X86_OTHER, 0, false}, /* xchg %r8 */
	    {CODE("\x0f\x1f\x44\0\0"), FUNCTIONS_X86_NOP5, 0, false},
	    {CODE("\x0f\x1f\x44\0\1"), FUNCTIONS_X86_OTHER, 0, false},
	    {CODE("\x0f\x1f\x40\0"), FUNCTIONS_X86_OTHER, 0, false},
	    {CODE("\xf3\x0f\x1e\xfa"), FUNCTIONS_X86_ENDBR, 0, false},
	    {CODE("\xf3\x0f\x1e\xfb"), FUNCTIONS_X86_OTHER, 0, false}, /* endbr32 */
	    {CODE("\xeb\xfe"), FUNCTIONS_X86_JUMP, 0, false},
	    {CODE("\xe9\x10\0\0\0"), FUNCTIONS_X86_JUMP, 0x15, false},
	    {CODE("\x74\x02"), FUNCTIONS_X86_BRANCH, 4, false},
	    {CODE("\x0f\x84\xfa\xff\xff\xff"), FUNCTIONS_X86_BRANCH, 0, false},
	    {CODE("\xe2\x80"), FUNCTIONS_X86_LOOP, -126, false},
	    {CODE("\xe8\0\0\0\0"), FUNCTIONS_X86_CALL, 5, false},
	    {CODE("\xff\xd0"), FUNCTIONS_X86_CALL_ANY, 0, false},
	    {CODE("\xff\x15\0\0\0\0"), FUNCTIONS_X86_CALL_ANY, 0, false},
	    {CODE("\xff\xe0"), FUNCTIONS_X86_JUMP_ANY, 0, false},
	    {CODE("\x3e\xff\xe0"), FUNCTIONS_X86_JUMP_ANY, 0, true}, /* notrack */
	    {CODE("\xff\x30"), FUNCTIONS_X86_OTHER, 0, false},       /* push of memory */
	    {CODE("\xc3"), FUNCTIONS_X86_OTHER, 0, false},
	    {CODE("\xf0\x01\x00"), FUNCTIONS_X86_OTHER, 0, true}, /* lock */
	    {CODE("\x2e\x66\x90"), FUNCTIONS_X86_NOP, 0, true},
	    {CODE("\x64\x48\x8b\x04\x25\x28\0\0\0"), FUNCTIONS_X86_OTHER, 0, false},
	    {CODE("\xcc"), FUNCTIONS_X86_OTHER, 0, true},
	    {CODE("\xf4"), FUNCTIONS_X86_OTHER, 0, true},
	    /* as the kernel sees it, vmovdqa is outs */
	    {CODE("\xc5\xf9\x6f\x07"), FUNCTIONS_X86_OTHER, 0, true},
	    {CODE("\xc5\xf8\x10\x07"), FUNCTIONS_X86_OTHER, 0, false},
	    {CODE("\xc5\xf8\x57\xc0"), FUNCTIONS_X86_OTHER, 0, false}, /* vxorps: no push */
	    /* vpbroadcastb, vpcmpeqb, vzeroupper, kmovw, vpor: it emulates jumps, or NOP */
	    {CODE("\x62\xe2\x7d\x28\x7a\xc6"), FUNCTIONS_X86_OTHER, 0, true},
	    {CODE("\xc5\xfd\x74\xda"), FUNCTIONS_X86_OTHER, 0, true},
	    {CODE("\xc5\xf8\x77"), FUNCTIONS_X86_OTHER, 0, true},
	    {CODE("\xc5\xf8\x90\xc8"), FUNCTIONS_X86_OTHER, 0, true},
	    {CODE("\xc5\xed\xeb\xdb"), FUNCTIONS_X86_OTHER, 0, true},
	    {CODE("\x62\xf1\x7c\x48\x10\x07"), FUNCTIONS_X86_OTHER, 0, true},
	    {CODE("\xc5\xfb\x59\xc1"), FUNCTIONS_X86_OTHER, 0, false},    /* vmulsd */
	    {CODE("\xc4\xe2\xf9\x98\xc1"), FUNCTIONS_X86_OTHER, 0, true}, /* vfmadd132pd */
	    {CODE("\x48\xb8\1\2\3\4\5\6\7\x08"), FUNCTIONS_X86_OTHER, 0, false},
	    {CODE("\x48\x81\xec\0\1\0\0"), FUNCTIONS_X86_OTHER, 0, false},
	    {CODE("\xf7\x45\xfc\1\0\0\0"), FUNCTIONS_X86_OTHER, 0, false}, /* test */
	    {CODE("\xf7\x5d\xfc"), FUNCTIONS_X86_OTHER, 0, false},         /* neg */
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct functions_x86 found;
		uint8_t code[16] = {0};

		memcpy(code, cases[i].code, cases[i].len);
		if (!functions_x86_decode(code, sizeof(code), &found) ||
		    found.len != cases[i].len || found.kind != cases[i].kind ||
		    found.is_unprobed != cases[i].is_unprobed)
			fail_msg("row %zu: %u bytes, kind %d", i, found.len, found.kind);
		if (cases[i].target)
			assert_int_equal(found.target, cases[i].target);
		assert_false(functions_x86_decode(code, cases[i].len - 1, &found));
	}
}

/* What is no instruction in 64 bits, or not known. */
TEST(refused)
{
	static const struct {
		const uint8_t *code;
		size_t len;
	} cases[] = {
	    {CODE("\x06")},
	    {CODE("\x62\xf9\x7c\x48\x10\x07")},
	    {CODE("\xd5\0\x50")},
	    {CODE("\x0f\x0a")},
	    {CODE("\x8f\xe8\x78\xc2\xec")},
	    {CODE("\x66\xe9\0\0")},
	    {CODE("\x66\xc5\xf8\x10\x07")},
	    {CODE("\xc7\xf8\0\0\0\0")},
	    {CODE("\x9a")},
	    {CODE("\x0f\x3b")},
	};
	struct functions_x86 found;

	for (size_t i = 0; i < NR(cases); i++) {
		uint8_t code[16] = {0};

		memcpy(code, cases[i].code, cases[i].len);
		if (functions_x86_decode(code, sizeof(code), &found))
			fail_msg("row %zu: %u bytes", i, found.len);
	}
}

/* A line of objdump: "  1139:\t55 \tpush %rbp", with all bytes. The number of bytes; 0: none. */
static size_t parse_line(char *line, uint8_t code[16])
{
	char *at = strchr(line, '\t'), *end;
	size_t nr = 0;

	if (!at || !strchr(at + 1, '\t') || strstr(line, "(bad)"))
		return 0;
	for (at++; nr < 15; at = end) {
		unsigned long byte = strtoul(at, &end, 16);

		if (end != at + 2 || *at == '\t') /* the words begin */
			break;
		code[nr++] = (uint8_t)byte;
		end += *end == ' ';
	}
	return nr;
}

/* Data in code is also shown as prefixes alone, and what is damaged as bytes. */
static bool is_odd(const char *line)
{
	const char *words = strrchr(line, '\t') + 1;

	return strncmp(words, "rex", 3) == 0 || *words == '.' || strstr(words, "vprot");
}

static void compare(const char *path, size_t *nr, size_t *nr_wrong, size_t *nr_unknown)
{
	char command[PATH_MAX + 64], line[512];
	char resolved[PATH_MAX];
	FILE *p;

	assert_non_null(realpath(path, resolved)); /* this program: not objdump */
	snprintf(command, sizeof(command), "objdump -d --wide -j .text '%s' 2>/dev/null", resolved);
	p = popen(command, "r");
	assert_non_null(p);
	while (fgets(line, sizeof(line), p)) {
		struct functions_x86 found;
		uint8_t code[16] = {0};
		size_t len = parse_line(line, code);

		if (!len || is_odd(line) || code[0] == 0x9b) /* fwait is shown with the next one */
			continue;
		(*nr)++;
		if (!functions_x86_decode(code, sizeof(code), &found))
			(*nr_unknown)++;
		else if (found.len != len && (*nr_wrong)++ < 5)
			print_message("%s: %u bytes: %s", path, found.len, line);
	}
	pclose(p);
}

TEST(objdump)
{
	enum { MAX_FILES = 12, MIN_BYTES = 20000, MAX_BYTES = 200000 };
	size_t nr = 0, nr_wrong = 0, nr_unknown = 0;
	struct stat st;
	glob_t files;

#if !defined(__x86_64__)
	SKIP("objdump: of another machine");
#endif
	if (system("objdump --version >/dev/null 2>&1"))
		SKIP("objdump: it is not installed");
	assert_int_equal(glob("/usr/bin/*", 0, NULL, &files), 0);
	STRIDE_EACH(i, files.gl_pathc, MAX_FILES)
		if (stat(files.gl_pathv[i], &st) == 0 && st.st_size > MIN_BYTES &&
		    st.st_size < MAX_BYTES)
			compare(files.gl_pathv[i], &nr, &nr_wrong, &nr_unknown);
	compare("/proc/self/exe", &nr, &nr_wrong, &nr_unknown);
	globfree(&files);
	assert_true(nr > 1000);
	assert_int_equal(nr_wrong, 0);
	assert_true(nr_unknown * 1000 <= nr);
}
