/*
 * Fields of tracepoints: lines as tracefs has them and bytes as the kernel writes them, and such as
 * neither would.
 */
#include "kit.h"

#include "profile/fields.h"

#define LINE(decl, at, n, neg)                                                                     \
	"\tfield:" decl ";\toffset:" #at ";\tsize:" #n ";\tsigned:" #neg ";\n"

static const struct {
	const char *format;
	const char *name;
	uint64_t offset, size;
	bool is_signed, is_array, is_char, is_placed, is_relative;
} lines[] = {
    {LINE("unsigned short common_type", 0, 2, 0), "common_type", 0, 2, .is_signed = false},
    {LINE("int common_pid", 4, 4, 1), "common_pid", 4, 4, .is_signed = true},
    {LINE("char prev_comm[16]", 8, 16, 0), "prev_comm", 8, 16, .is_array = true, .is_char = true},
    {LINE("u8 mac[6]", 8, 6, 0), "mac", 8, 6, .is_array = true},
    {LINE("unsigned char mac[6]", 8, 6, 0), "mac", 8, 6, .is_array = true},
    {LINE("char state", 8, 1, 1), "state", 8, 1, .is_signed = true, .is_char = true},
    {LINE("const char * path", 8, 8, 0), "path", 8, 8, .is_signed = false},
    {LINE("__data_loc char[] name", 8, 4, 0), "name", 8, 4, .is_char = true, .is_placed = true},
    {LINE("__rel_loc char[] name", 8, 4, 0), "name", 8, 4, .is_char = true, .is_relative = true},
    {LINE("__data_loc u32[] list", 8, 4, 0), "list", 8, 4, .is_placed = true},
    {LINE("unsigned long args[6]", 16, 48, 0), "args", 16, 48, .is_array = true},
    {"\tfield:int x;\toffset:8;\tsize:4;\n", "x", 8, 4, .is_signed = false}, /* before 2.6.33 */
    {"name: x\nID: 3\nformat:\n\n" LINE("int x", 8, 4, 1) "\nprint fmt: \"%d\"\n", "x", 8, 4,
     .is_signed = true},
    {LINE("int x", 18446744073709551615, 4, 1), "x", UINT64_MAX, 4, .is_signed = true},
};

TEST(lines_are_read)
{
	for (size_t i = 0; i < NR(lines); i++) {
		const char *format = lines[i].format;
		struct profile_field f;

		if (!profile_field_next(&format, &f) || f.name_len != strlen(lines[i].name) ||
		    memcmp(f.name, lines[i].name, f.name_len) != 0 || f.offset != lines[i].offset ||
		    f.size != lines[i].size || f.is_signed != lines[i].is_signed ||
		    f.is_array != lines[i].is_array || f.is_char != lines[i].is_char ||
		    f.is_placed != lines[i].is_placed || f.is_relative != lines[i].is_relative)
			fail_msg("%s", lines[i].format);
		assert_false(profile_field_next(&format, &f));
	}
}

TEST(other_lines_are_passed_over)
{
	static const char *const formats[] = {
	    "",
	    "\n\n",
	    "field:int x;\toffset:8;\tsize:4;\tsigned:1;\n",
	    "\tfield:int x",
	    "\tfield:;\toffset:8;\tsize:4;\tsigned:1;\n",
	    "\tfield:int *;\toffset:8;\tsize:4;\tsigned:1;\n",
	    "\tfield:[16];\toffset:8;\tsize:4;\tsigned:1;\n",
	    "\tfield:]];\toffset:8;\tsize:4;\tsigned:1;\n",
	    "\tfield:int x;\tsize:4;\tsigned:1;\n",
	    "\tfield:int x;\toffset:8;\tsigned:1;\n",
	    "\tfield:int x;\toffset:-8;\tsize:4;\tsigned:1;\n",
	    "\tfield:int x;\toffset:8;\tsize:99999999999999999999;\tsigned:1;\n",
	    "\tfield:int x;\toffset:8;\n\tsize:4;\n",
	};
	struct profile_field f;

	for (size_t i = 0; i < NR(formats); i++) {
		const char *format = formats[i];

		if (profile_field_next(&format, &f))
			fail_msg("format %zu: %.*s", i, (int)f.name_len, f.name);
		assert_string_equal(format, "");
	}
}

/* Raw bytes of 32: what they hold as which field. */
TEST(values_are_taken)
{
	static const uint8_t raw[32] =
	    "\x01\x02\xff\xff\xfe\xff\xff\xff" /* 0 */
	    "bash\0xyz"                        /* 8 */
	    "\x18\0\x05\0\x04\0\x04\0"         /* 16: at 24, 5 long; 4 behind, 4 long */
	    "placed\x1b";                      /* 24, and a NUL */
	static const struct {
		struct profile_field f;
		bool is_there;
		int kind;
		uint64_t number;
		const char *text; /* or bytes */
		size_t len;
	} rows[] = {
	    {{.offset = 0, .size = 1}, true, PROFILE_NUMBER, 1, NULL, 1},
	    {{.offset = 0, .size = 2}, true, PROFILE_NUMBER, 0x201, NULL, 2},
	    {{.offset = 2, .size = 2}, true, PROFILE_NUMBER, 0xffff, NULL, 2},
	    {{.offset = 2, .size = 2, .is_signed = true},
	     true,
	     PROFILE_NUMBER,
	     (uint64_t)-1,
	     NULL,
	     2},
	    {{.offset = 4, .size = 4, .is_signed = true},
	     true,
	     PROFILE_NUMBER,
	     (uint64_t)-2,
	     NULL,
	     4},
	    {{.offset = 0, .size = 8, .is_signed = true},
	     true,
	     PROFILE_NUMBER,
	     0xfffffffeffff0201,
	     NULL,
	     8},
	    {{.offset = 0, .size = 3}, true, PROFILE_BYTES, 0, "\x01\x02\xff", 3},
	    {{.offset = 0, .size = 4, .is_array = true},
	     true,
	     PROFILE_BYTES,
	     0,
	     "\x01\x02\xff\xff",
	     4},
	    {{.offset = 8, .size = 8, .is_array = true, .is_char = true},
	     true,
	     PROFILE_TEXT,
	     0,
	     "bash",
	     4},
	    {{.offset = 8, .size = 3, .is_array = true, .is_char = true},
	     true,
	     PROFILE_TEXT,
	     0,
	     "bas",
	     3},
	    {{.offset = 16, .size = 4, .is_placed = true, .is_char = true},
	     true,
	     PROFILE_TEXT,
	     0,
	     "place",
	     5},
	    {{.offset = 20, .size = 4, .is_relative = true, .is_char = true},
	     true,
	     PROFILE_TEXT,
	     0,
	     "ed\x1b",
	     3},
	    {{.offset = 16, .size = 4, .is_placed = true}, true, PROFILE_BYTES, 0, "place", 5},
	    {{.offset = 24, .size = 8, .is_array = true, .is_char = true},
	     true,
	     PROFILE_TEXT,
	     0,
	     "placed\x1b",
	     7},
	    {{.offset = 25, .size = 8}, .is_there = false},
	    {{.offset = 32, .size = 1}, .is_there = false},
	    {{.offset = UINT64_MAX, .size = 4}, .is_there = false},
	    {{.offset = UINT64_MAX, .size = 1}, .is_there = false},
	    {{.offset = 8, .size = UINT64_MAX, .is_array = true}, .is_there = false},
	    {{.offset = 30, .size = 4, .is_placed = true}, .is_there = false},
	    {{.offset = 8, .size = 4, .is_placed = true, .is_char = true}, .is_there = false},
	    {{.offset = 8, .size = 4, .is_relative = true, .is_char = true}, .is_there = false},
	    {{.offset = 20, .size = UINT64_MAX - 19, .is_relative = true}, .is_there = false},
	};

	for (size_t i = 0; i < NR(rows); i++) {
		uint8_t *copy = malloc(sizeof(raw)); /* so that a read behind it is found */
		struct profile_value v = {.len = 4711};

		assert_non_null(copy);
		memcpy(copy, raw, sizeof(raw));
		if (profile_field_value(&rows[i].f, copy, sizeof(raw), &v) != rows[i].is_there)
			fail_msg("row %zu", i);
		if (!rows[i].is_there)
			assert_int_equal(v.len, 4711);
		else if ((int)v.kind != rows[i].kind || v.number != rows[i].number ||
			 v.len != rows[i].len ||
			 (rows[i].text && memcmp(v.bytes, rows[i].text, v.len) != 0))
			fail_msg("row %zu: kind %d, number %#lx, %zu bytes", i, (int)v.kind,
				 (unsigned long)v.number, v.len);
		assert_false(profile_field_value(&rows[i].f, copy, 0, &v));
		free(copy);
	}
}

/* Longer than what is left, and at an offset of more than a byte. */
TEST(placed_values)
{
	const struct profile_field f = {.offset = 0, .size = 4, .is_placed = true, .is_char = true};
	static const uint8_t where[] = {0x40, 0x02, 24, 0}; /* at 576, 24 long */
	enum { LEN = 600 };
	uint8_t *raw = calloc(1, LEN);
	struct profile_value v;

	assert_non_null(raw);
	memcpy(raw, where, sizeof(where));
	memcpy(raw + 576, "far", sizeof("far"));
	assert_true(profile_field_value(&f, raw, LEN, &v));
	assert_true(v.len == 3 && v.bytes == raw + 576);
	raw[2]++;
	assert_false(profile_field_value(&f, raw, LEN, &v));
	free(raw);
}
