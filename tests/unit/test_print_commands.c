/* How processes are called by their command lines. */
#include "kit.h"

#include "commands.h"

#include <string.h>

TEST(labels)
{
	static const struct {
		const char *cmdline, *program, *expected;
	} list[] = {
	    {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus -quiet -imultiarch x86_64-linux-gnu -o "
	     "/tmp/ccA.s src/parser.cc -dumpbase parser.cc -dumpbase-ext .cc -mtune=generic",
	     "cc1plus", "cc1plus parser.cc"},
	    {"cc -O2 -o a.c b.c", "cc", "cc b.c"},
	    {"as --64 -o parser.o /tmp/ccA.s", "as", "as"},
	    {"/usr/bin/ld -o prog crt1.o libc.so lib.a main.o", "ld", "ld"},
	    {"python3 tests/test_a.py -v", "python3", "python3 test_a.py"},
	    {"sh -c true", "sh", "sh"},
	    {"sh -c for i in 1; do sh work$i.sh & done", "sh", "sh"},
	    {"./prog", "prog", "prog"},
	    {"prog 1.5 x.2 .cc", "prog", "prog"},
	    {"ends/", "ends/", "ends/"},
	    {"  ", "[unknown]", "[unknown]"},
	    {"", "[unknown]", "[unknown]"},
	    {"g++ x.c++", "g++", "g++ x.c++"},
	};

	for (size_t i = 0; i < NR(list); i++) {
		char label[COMMANDS_LABEL_BYTES];

		commands_label(list[i].cmdline, false, label);
		assert_string_equal(label, list[i].program);
		commands_label(list[i].cmdline, true, label);
		assert_string_equal(label, list[i].expected);
	}
}

TEST(cut)
{
	char long_name[4 * COMMANDS_LABEL_BYTES], label[COMMANDS_LABEL_BYTES];

	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	commands_label(long_name, true, label);
	assert_int_equal(strlen(label), sizeof(label) - 1);
}
