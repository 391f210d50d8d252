/*
 * The code of a function, of this machine's and of arm64's programs: each instruction as objdump
 * has it, and each sampled address in one row.
 */
#include "kit.h"
#include "test_symbols.h"

#include "annotate/code.h"
#include "annotate/slots.h"

#include <elf.h>
#include <inttypes.h>

static const char source[] =
    "__attribute__((noinline)) unsigned long other(unsigned long n) { return n * 3 + 1; }\n"
    "static inline __attribute__((always_inline)) unsigned long inlined(unsigned long n)\n"
    "{\n"
    "	return n ^ n >> 7;\n" /* 4 */
    "}\n"
    "__attribute__((noinline)) unsigned long looped(unsigned long n)\n"
    "{\n"
    "	unsigned long sum = 0;\n"
    "	for (unsigned long i = 0; i < n; i++)\n"
    "		sum += inlined(i) + other(sum);\n" /* 10 */
    "	return sum;\n"
    "}\n"
    "int main(int nr, char **args) { return (int)looped((unsigned long)nr); }\n";

enum { MAX_ADDRESSES = 256 };

struct listing {
	uint64_t address[MAX_ADDRESSES]; /* of instructions, in the file */
	size_t nr;
};

static void compile(struct test_world *w, const char *cc, const char *objdump)
{
	tree_put(&w->tree, "/p.c", source, sizeof(source) - 1);
	assert_true(
	    test_shell(w,
		       "%s -O2 -g -fno-pie -no-pie -o p p.c -Wl,--build-id=0x0123456789abcdef && "
		       "%s -d --disassemble=looped p | "
		       "awk '$1 ~ /^[0-9a-f]+:$/ {sub(\":\", \"\", $1); print $1}' >listing",
		       cc, objdump));
}

static void read_listing(const struct test_world *w, struct listing *l)
{
	char path[4096], line[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/listing", w->tree.dir);
	f = fopen(path, "r");
	assert_non_null(f);
	l->nr = 0;
	while (fgets(line, sizeof(line), f) && l->nr < MAX_ADDRESSES)
		l->address[l->nr++] = strtoull(line, NULL, 16);
	fclose(f);
	assert_true(l->nr > 8);
}

static const struct annotate_row *find(const struct annotate_code *c, const char *text)
{
	for (size_t i = 0; i < c->nr; i++)
		if (c->row[i].text && strstr(c->row[i].text, text))
			return &c->row[i];
	return NULL;
}

static void check_rows(const struct annotate_code *c, const struct listing *l)
{
	size_t nr_inlined = 0, nr_back = 0, nr_targets = 0;

	assert_int_equal(c->nr, l->nr);
	for (size_t i = 0; i < c->nr; i++) {
		const struct annotate_row *row = &c->row[i];

		assert_int_equal(row->address, l->address[i]);
		assert_non_null(row->text);
		assert_true(row->at.file && strstr(row->at.file, "/p.c"));
		assert_int_equal(row->sample, i % 2 ? ANNOTATE_NO_SAMPLE : 100 + i / 2);
		nr_targets += row->nr_from > 0;
		nr_back +=
		    row->flow == ANNOTATE_JUMP && row->is_inside && row->target < row->address;
		if (!row->inlined)
			continue;
		assert_string_equal(row->inlined, "inlined");
		assert_int_equal(row->at.line, 4);
		assert_int_equal(row->own.line, 10);
		nr_inlined++;
	}
	assert_true(nr_inlined && nr_back && nr_targets);
	assert_non_null(find(c, "<other>"));
	assert_int_equal(find(c, "<other>")->flow, ANNOTATE_CALL);
	assert_false(find(c, "<other>")->is_inside);
	assert_int_equal(find(c, "ret")->flow, ANNOTATE_RETURN);
}

HOOK(before_each)
{
	test_world_setup();
}

HOOK(after_each)
{
	test_world_teardown();
}

/* At each second instruction a sample. */
static void check_program(const char *cc, const char *objdump)
{
	static struct listing l;
	static uint64_t offset[MAX_ADDRESSES];
	struct annotate_code code = {.nr = 0};
	struct annotate_wanted w = {.first = 100};
	struct profile_object o;
	struct err e = {0};
	struct elf_file *f;
	char path[4096];

	compile(&world, cc, objdump);
	read_listing(&world, &l);
	test_world_open(&world, NULL, NULL);
	o = test_object(&world, "p", 0, path);
	f = test_open_elf(path);
	for (; w.nr < (l.nr + 1) / 2; w.nr++)
		offset[w.nr] = test_offset(f, l.address[2 * w.nr]);
	w.symbols = world.symbols;
	w.object = &o;
	w.address = offset;
	assert_int_equal(annotate_code_add(&code, &w, &e), 0);
	assert_int_equal(e.code, 0);
	check_rows(&code, &l);

	/* again, within instructions: rows of their own, without text */
	annotate_code_reset(&code);
	offset[0] = test_offset(f, l.address[1]) + 1;
	offset[1] = offset[0] + 1;
	w.nr = 2;
	assert_int_equal(annotate_code_add(&code, &w, &e), 0);
	for (size_t i = 0, nr = 0; i < code.nr; i++) {
		assert_non_null(code.row[i].at.file);
		if (code.row[i].sample == ANNOTATE_NO_SAMPLE)
			continue;
		assert_true(!code.row[i].text || code.row[i].address == l.address[2]);
		assert_int_equal(code.row[i].sample, 100 + nr++);
		assert_true(nr <= 2);
	}

	/* what is in no file */
	annotate_code_reset(&code);
	w.object = NULL;
	assert_int_equal(annotate_code_add(&code, &w, &e), 0);
	assert_int_equal(code.nr, 2);
	assert_int_equal(code.row[1].address, offset[1]);
	assert_int_equal(code.row[1].sample, 101);
	assert_null(code.row[1].text);
	annotate_code_fini(&code);
	elf_file_close(f);
}

TEST(this_machine)
{
	check_program("cc", "objdump");
}

TEST(arm64)
{
	TEST_NEEDS(&world, "aarch64-linux-gnu-gcc");
	check_program("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump");
}

/* Bytes that are no instruction: nothing is skipped, nothing read beyond the end. */
TEST(data)
{
	static const uint8_t bytes[] = {0x06, 0xff, 0xff, 0x48, 0x8d, 0x05, 0x00};
	static const struct {
		uint16_t machine;
		const char *first;
	} cases[] = {{EM_X86_64, ".byte 0x06"}, {EM_AARCH64, ".word 0x48ffff06"}};

	for (size_t i = 0; i < NR(cases); i++) {
		struct annotate_decoder *d;
		struct annotate_instruction in;
		struct err e = {0};

		assert_int_equal(annotate_decoder_open(cases[i].machine, &d, &e), 0);
		annotate_decode(d, bytes, sizeof(bytes), 0x1000, &in);
		assert_true(in.is_data);
		assert_string_equal(in.text, cases[i].first);
		for (size_t at = 0; at < sizeof(bytes); at += in.len) {
			annotate_decode(d, bytes + at, sizeof(bytes) - at, 0x1000 + at, &in);
			assert_true(in.len >= 1 && in.len <= sizeof(bytes) - at);
		}
		annotate_decoder_close(d);
	}
	{
		struct annotate_decoder *d;
		struct err e = {0};

		assert_int_equal(annotate_decoder_open(EM_S390, &d, &e), -ENOTSUP);
		assert_non_null(strstr(e.msg, "not of x86 or arm64"));
	}
}

/* What is called through slots, beside what objdump says of them: instructions that read a slot,
 * and, of arm64, the jump to what was read. */
static const char caller[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "__attribute__((noinline)) unsigned long looped(char *text)\n"
    "{\n"
    "	char *end;\n"
    "	unsigned long n = strtoul(text, &end, 0) + strlen(end);\n"
    "	return puts(text) < 0 ? n : (unsigned long)abs(rand());\n"
    "}\n"
    "int main(int nr, char **args) { return (int)looped(args[nr - 1]); }\n";

/* The texts of the function at an address of the file, one a line. */
static void read_texts(const char *path, const struct profile_object *o, uint64_t address,
		       struct annotate_code *code, char *out, size_t room)
{
	struct elf_file *f = test_open_elf(path);
	const uint64_t offset = test_offset(f, address);
	struct annotate_wanted w = {
	    .symbols = world.symbols, .object = o, .address = &offset, .nr = 1};
	struct err e = {0};
	size_t len = 0;

	annotate_code_reset(code);
	assert_int_equal(annotate_code_add(code, &w, &e), 0);
	*out = '\0';
	for (size_t i = 0; i < code->nr; i++)
		len += (size_t)snprintf(out + len, room - len, "%s\n",
					code->row[i].text ? code->row[i].text : "?");
	assert_true(len && len < room);
	elf_file_close(f);
}

static uint64_t address_of(const struct test_world *w, const char *command)
{
	char line[64] = "", path[4096];
	FILE *f;

	assert_true(test_shell(w, "%s >address", command));
	snprintf(path, sizeof(path), "%s/address", w->tree.dir);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	return strtoull(line, NULL, 16);
}

TEST(called_through_slots)
{
	static const struct {
		const char *cc, *flags, *objdump;
		const char *of_looped, *of_stub; /* NULL: there is no stub */
	} cases[] = {
	    {"cc", "-no-pie -fno-pie -Wl,-z,lazy", "objdump", " <strtoul@plt>", " <strtoul@got>"},
	    {"cc", "-pie -fPIE -Wl,-z,now", "objdump", " <strtoul@plt>", " <strtoul@got>"},
	    {"cc", "-fcf-protection=full -Wl,-z,ibtplt", "objdump", " <strtoul@plt>",
	     " <strtoul@got>"},
	    {"cc", "-fno-plt", "objdump", "(%rip) <strtoul@got>", NULL},
	    {"clang", "-fno-plt", "objdump", "(%rip) <strtoul@got>", NULL},
	    {"clang", "-Wl,-z,now", "objdump", " <strtoul@plt>", " <strtoul@got>"},
	    {"aarch64-linux-gnu-gcc", "-Wl,-z,lazy", "aarch64-linux-gnu-objdump", " <strtoul@plt>",
	     "br x17 <strtoul@got>"},
	    {"aarch64-linux-gnu-gcc", "-mbranch-protection=standard -Wl,-z,force-bti,-z,now",
	     "aarch64-linux-gnu-objdump", " <strtoul@plt>", "br x17 <strtoul@got>"},
	    {"aarch64-linux-gnu-gcc", "-fno-plt", "aarch64-linux-gnu-objdump", "] <strtoul@got>",
	     NULL},
	};
	static char text[1 << 16], path[4096], command[512];
	struct test_world *w = &world;
	struct annotate_code code = {.nr = 0};
	unsigned nr = 0;

	for (size_t i = 0; i < NR(cases); i++) {
		struct profile_object o;

		tree_put(&w->tree, "/p.c", caller, sizeof(caller) - 1);
		if (!test_shell(w, "%s -O2 -fno-builtin %s -o p p.c 2>errors && %s -d p >/dev/null",
				cases[i].cc, cases[i].flags, cases[i].objdump)) {
			print_message("skip: no %s %s\n", cases[i].cc, cases[i].flags);
			continue;
		}
		if (strcmp(cases[i].objdump, "objdump") == 0 &&
		    !test_shell(w, "objdump -f p | grep -q x86-64"))
			continue;
		nr++;
		test_world_open(w, NULL, NULL);
		o = test_object(w, "p", 0, path);
		read_texts(path, &o, address_of(w, "nm p | awk '$3 == \"looped\" {print $1}'"),
			   &code, text, sizeof(text));
		if (!strstr(text, cases[i].of_looped) ||
		    (!cases[i].of_stub && !strstr(text, " <strlen@got>")))
			fail_msg("%s %s: %s", cases[i].cc, cases[i].flags, text);
		snprintf(command, sizeof(command),
			 "%s -d p | sed -n 's/^\\([0-9a-f]*\\) <strtoul@plt>:.*/\\1/p'",
			 cases[i].objdump);
		if (cases[i].of_stub) {
			read_texts(path, &o, address_of(w, command), &code, text, sizeof(text));
			if (!strstr(text, cases[i].of_stub))
				fail_msg("%s %s: %s", cases[i].cc, cases[i].flags, text);
		}
		test_world_close(w);
	}
	assert_true(nr > 0);
	annotate_code_fini(&code);
}

/* Registers of arm64: words as the assembler of binutils makes them. */
TEST(slots_followed)
{
	enum { ADRP_0 = 0x90000080, LDR_1_0 = 0xf947f001, BLR_1 = 0xd63f0020, BR_1 = 0xd61f0020 };
	static const struct {
		const char *what;
		uint32_t word[4];
		uint64_t slot; /* of the last one; 0: none */
	} cases[] = {
	    {"load", {ADRP_0, LDR_1_0}, 0x15fe0},
	    {"call", {ADRP_0, LDR_1_0, BLR_1}, 0x15fe0},
	    {"jump", {ADRP_0, LDR_1_0, BR_1}, 0x15fe0},
	    {"braa x1, x2", {ADRP_0, LDR_1_0, 0xd71f0822}, 0x15fe0},
	    {"ret x1", {ADRP_0, LDR_1_0, 0xd65f0020}, 0},
	    {"mov x0, x19", {ADRP_0, LDR_1_0, 0xaa1303e0, BLR_1}, 0x15fe0},
	    {"mov x1, x19", {ADRP_0, LDR_1_0, 0xaa1303e1, BLR_1}, 0},
	    {"autia1716", {ADRP_0, LDR_1_0, 0xd503219f, BLR_1}, 0x15fe0},
	    {"ldp x2, x1, [sp]", {ADRP_0, LDR_1_0, 0xa94007e2, BLR_1}, 0},
	    {"ldr x2, [x1], 8", {ADRP_0, LDR_1_0, 0xf8408422, BLR_1}, 0},
	    {"stxr w1, x2, [x3]", {ADRP_0, LDR_1_0, 0xc8017c62, BLR_1}, 0},
	    {"b .+8", {ADRP_0, LDR_1_0, 0x14000002, BLR_1}, 0},
	    {"cbz x3, .+8", {ADRP_0, LDR_1_0, 0xb4000043, BLR_1}, 0},
	    {"ldr x1, [x2]", {ADRP_0, 0xf9400041, BLR_1}, 0},
	    {"adrp x1 back", {0xf0ffffe1, 0xf9400020}, 0x4000},
	    {"ldr x1, [sp]", {ADRP_0, 0xf94003e1}, 0},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct annotate_slots s = {.has_page = 0};
		uint64_t slot = 0;

		for (size_t at = 0; at < 4 && cases[i].word[at]; at++) {
			slot = 0;
			annotate_slots_follow(&s, cases[i].word[at], 0x5008 + 4 * at, &slot);
		}
		if (slot != cases[i].slot)
			fail_msg("%s: %" PRIx64, cases[i].what, slot);
	}
}
