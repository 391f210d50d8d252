/*
 * Options from rows: what is taken and refused, help, man section, and completion as bash and zsh
 * read it.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/opt.h"

#include <sys/wait.h>

struct target {
	const char *file, *format, *pattern;
	bool strict;
	struct opt_strings names;
};

static int refuse(const struct opt_row *row, const char *value, void *target, struct err *e)
{
	(void)target;
	return err_set(e, -ERANGE, "--%s=%s: out of range", row->name, value);
}

#define FIELD(f) .offset = offsetof(struct target, f)
static const struct opt_row rows[] = {
    {.name = "file",
     .letter = 'o',
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .section = "Input",
     .help = "Read FILE.",
     .set = opt_set_string,
     FIELD(file)},
    {.name = "folder",
     .arg = OPT_REQUIRED,
     .metavar = "DIR",
     .complete = OPT_COMPLETE_DIR,
     .section = "Input",
     .help = "Never good.",
     .set = refuse},
    {.name = "format",
     .arg = OPT_REQUIRED,
     .metavar = "NAME",
     .complete = OPT_COMPLETE_WORDS,
     .words = "text csv ndjson",
     .section = "Output",
     .help = "One of: text, csv, ndjson; it's [here] that a back\\slash and a colon stand. More.",
     .set = opt_set_string,
     FIELD(format)},
    {.name = "list",
     .arg = OPT_OPTIONAL,
     .metavar = "PATTERN",
     .section = "Output",
     .words = "all some",
     .help = ".hidden words of a help text that is long enough to be wrapped even on a wide screen,"
	     " because it says the same thing over and over, without-ever-saying-anything, so.",
     .set = opt_set_string,
     FIELD(pattern)},
    {.name = "strict",
     .arg = OPT_NONE,
     .section = "Output",
     .help = "Be strict.",
     .set = opt_set_flag,
     FIELD(strict)},
};
static const struct opt_choice foreign[] = {
    {"stat", "there is --strict"}, {"-a", "all is the default"}, {"--all", "all is the default"}};
static const struct opt_table table = {
    .program = "prog",
    .summary = "does things",
    .usage = "  prog --file=FILE",
    .rows = rows,
    .nr_rows = NR(rows),
    .footer = "Exit status: 0.",
    .foreign = foreign,
    .nr_foreign = NR(foreign),
};

static const struct {
	const char *args[3];
	int rc;
	const char *file, *format, *pattern;
	bool strict;
	const char *msg, *hint;
} cases[] = {
    {{NULL}, 0},
    {{"--file=a"}, 0, "a"},
    {{"--file", "a"}, 0, "a"},
    {{"--file="}, 0, ""},
    {{"-o", "a"}, 0, "a"},
    {{"-oa=b"}, 0, "a=b"},
    {{"-o=a"}, 0, "a"},
    {{"-o="}, 0, ""},
    {{"-o"}, -EINVAL, .msg = "--file needs a value", .hint = "--file=FILE"},
    {{"--file=a=b"}, 0, "a=b"},
    {{"--file", "--strict"}, 0, "--strict"}, /* what follows is the value, whatever it is */
    {{"--file=a", "--file=b"}, 0, "b"},
    {{"--format=csv", "--strict"}, 0, NULL, "csv", NULL, true},
    {{"--list=x*"}, 0, NULL, NULL, "x*"},
    {{"--list"}, 0},
    {{"--list="}, 0, NULL, NULL, ""},
    {{"--list", "x"},
     -EINVAL,
     .msg = "unexpected argument \"x\"",
     .hint = "prog accepts options only (--name=value); --help=all lists them"},
    {{"--list", "some"},
     -EINVAL,
     .msg = "unexpected argument \"some\"",
     .hint = "as the value of --list it follows an equals sign: --list=some"},
    {{"--list=all", "some"}, -EINVAL, .pattern = "all", .msg = "unexpected argument \"some\""},
    {{"stat"}, -EINVAL, .msg = "unexpected argument \"stat\"", .hint = "there is --strict"},
    {{"-a"}, -EINVAL, .msg = "unknown option -a", .hint = "all is the default"},
    {{"--all"}, -EINVAL, .msg = "unknown option --all", .hint = "all is the default"},
    {{"--strict=1"}, -EINVAL, .msg = "--strict does not take a value"},
    {{"--strict="}, -EINVAL, .msg = "--strict does not take a value"},
    {{"--file"}, -EINVAL, .msg = "--file needs a value", .hint = "--file=FILE"},
    {{"--strict", "--fil=a"},
     -EINVAL,
     .strict = true,
     .msg = "unknown option --fil",
     .hint = "did you mean --file? (--help=all lists all)"},
    {{"--strcit"},
     -EINVAL,
     .msg = "unknown option --strcit",
     .hint = "did you mean --strict? (--help=all lists all)"},
    {{"--nothing-like-it=1"},
     -EINVAL,
     .msg = "unknown option --nothing-like-it",
     .hint = "--help=all lists all options"},
    {{"--=x"}, -EINVAL, .msg = "unknown option --", .hint = "--help=all lists all options"},
    {{"--"}, -EINVAL, .msg = "unexpected argument \"--\""},
    {{"-f"}, -EINVAL, .msg = "unknown option -f", .hint = "--help=all lists all options"},
    {{"-"}, -EINVAL, .msg = "unexpected argument \"-\""},
    {{"file"}, -EINVAL, .msg = "unexpected argument \"file\""},
    {{""}, -EINVAL, .msg = "unexpected argument \"\""},
    {{"--folder=9", "--junk"}, -ERANGE, .msg = "--folder=9: out of range"},
};

static void expect_same(const char *got, const char *want)
{
	if (got && want)
		assert_string_equal(got, want);
	else
		assert_ptr_equal(got, want);
}

TEST(parse)
{
	for (size_t i = 0; i < NR(cases); i++) {
		char *argv[4] = {(char *)"prog"};
		struct target t = {0};
		struct err e = {0};
		int argc = 1;

		while (argc < 4 && cases[i].args[argc - 1]) {
			argv[argc] = (char *)cases[i].args[argc - 1];
			argc++;
		}
		assert_int_equal(opt_parse(&table, argc, argv, &t, &e), cases[i].rc);
		assert_int_equal(e.code, cases[i].rc);
		expect_same(t.file, cases[i].file);
		expect_same(t.format, cases[i].format);
		expect_same(t.pattern, cases[i].pattern);
		assert_int_equal(t.strict, cases[i].strict);
		assert_string_equal(e.msg, cases[i].msg ? cases[i].msg : "");
		if (cases[i].hint)
			assert_string_equal(e.hint, cases[i].hint);
	}
}

/* A value found before anything is parsed, and the words without what is left out. */
static bool is_input(const struct opt_row *row)
{
	return strcmp(row->section, "Input") == 0;
}

TEST(values_and_copies)
{
	char *argv[] = {(char *)"prog", (char *)"--file=a", (char *)"--format", (char *)"csv",
			(char *)"-o",   (char *)"b",        (char *)"--strict"};
	char *broken[] = {(char *)"prog", (char *)"--nope", (char *)"--file=a"};
	char *copy[NR(argv)] = {0};

	assert_string_equal(opt_value(&table, "file", NR(argv), argv), "b");
	assert_string_equal(opt_value(&table, "format", NR(argv), argv), "csv");
	assert_null(opt_value(&table, "folder", NR(argv), argv));
	assert_null(opt_value(&table, "file", NR(broken), broken));
	assert_string_equal(opt_first(&table, NR(argv), argv, is_input)->name, "file");
	assert_null(opt_first(&table, 1, argv, is_input));
	assert_int_equal(opt_copy(&table, NR(argv), argv, is_input, copy), 3);
	assert_string_equal(copy[0], "--format");
	assert_string_equal(copy[1], "csv");
	assert_string_equal(copy[2], "--strict");
}

TEST(endless_option)
{
	static char arg[100000] = "--";
	char *argv[] = {(char *)"prog", arg};
	struct target t = {0};
	struct err e = {0};

	memset(arg + 2, 'x', sizeof(arg) - 3);
	assert_int_equal(opt_parse(&table, 2, argv, &t, &e), -EINVAL);
	assert_string_equal(e.hint, "--help=all lists all options");
}

/* Given several times: in that order, up to the ceiling. */
TEST(strings)
{
	static const struct opt_row row = {.name = "name",
					   .arg = OPT_REQUIRED,
					   .metavar = "NAME",
					   .section = "Input",
					   .help = "A name.",
					   .set = opt_add_string,
					   FIELD(names)};
	const struct opt_table names = {.program = "prog", .rows = &row, .nr_rows = 1};
	char *argv[OPT_MAX_STRINGS + 2] = {(char *)"prog"};
	char text[OPT_MAX_STRINGS + 1][16];
	struct target t = {.strict = true};
	struct err e = {0};

	for (int i = 0; i <= OPT_MAX_STRINGS; i++) {
		snprintf(text[i], sizeof(text[i]), "--name=%d", i);
		argv[i + 1] = text[i];
	}
	assert_int_equal(opt_parse(&names, OPT_MAX_STRINGS + 1, argv, &t, &e), 0);
	assert_int_equal(t.names.nr, OPT_MAX_STRINGS);
	for (int i = 0; i < OPT_MAX_STRINGS; i++)
		assert_ptr_equal(t.names.item[i], text[i] + strlen("--name="));
	t.names.nr = 0;
	assert_int_equal(opt_parse(&names, OPT_MAX_STRINGS + 2, argv, &t, &e), -E2BIG);
	assert_string_equal(e.msg, "--name: used more than 64 times");
	assert_int_equal(t.names.nr, OPT_MAX_STRINGS);
	assert_true(t.strict);
}

/* The longest line of the text. */
static size_t widest(const char *text)
{
	size_t max = 0;

	for (; *text; text += *text == '\n') {
		size_t len = strcspn(text, "\n");

		max = len > max ? len : max;
		text += len;
	}
	return max;
}

TEST(help)
{
	static const unsigned widths[][2] = {/* asked, at most */
					     {0, 40},  {1, 40},    {40, 40},   {60, 60},
					     {80, 80}, {100, 100}, {500, 100}, {UINT32_MAX, 100}};
	struct buf b;

	buf_init(&b, 10000);
	for (size_t i = 0; i < NR(widths); i++) {
		buf_reset(&b);
		opt_help(&table, widths[i][0], &b);
		assert_true(widest(buf_str(&b)) <= widths[i][1]);
		assert_true(widest(buf_str(&b)) > widths[i][1] - 15); /* and not wrapped too soon */
	}
	buf_fini(&b);
}

TEST(help_text)
{
	static const struct opt_table small = {"p", "does", "  p", rows, 3, "end"};
	static const char want[] = "p: does\n\nUsage:\n  p\n"
				   "\nInput:\n"
				   "  -o, --file=FILE\n"
				   "      Read FILE.\n"
				   "  --folder=DIR\n"
				   "      Never good.\n"
				   "\nOutput:\n"
				   "  --format=NAME\n"
				   "      One of: text, csv, ndjson; it's\n"
				   "      [here] that a back\\slash and a\n"
				   "      colon stand. More.\n"
				   "\nend\n";
	struct buf b;

	buf_init(&b, 10000);
	opt_help(&small, 40, &b);
	assert_string_equal(buf_str(&b), want);
	buf_reset(&b);
	opt_help(&table, 40, &b);
	assert_non_null(strstr(buf_str(&b), "\n  --list[=PATTERN]\n"));
	assert_non_null(strstr(buf_str(&b), "\n  --strict\n"));
	buf_fini(&b);
}

TEST(man)
{
	static const char want[] =
	    ".SS Input\n"
	    ".TP\n\\fB\\-o\\fR, \\fB\\-\\-file\\fR=\\fIFILE\\fR\nRead FILE.\n"
	    ".TP\n\\fB\\-\\-folder\\fR=\\fIDIR\\fR\nNever good.\n"
	    ".SS Output\n"
	    ".TP\n\\fB\\-\\-format\\fR=\\fINAME\\fR\n"
	    "One of: text, csv, ndjson; it's [here] that a back\\eslash and a colon stand. More.\n"
	    ".TP\n\\fB\\-\\-list\\fR[=\\fIPATTERN\\fR]\n\\&.hidden words ";
	struct buf b;

	buf_init(&b, 10000);
	opt_man_section(&table, &b);
	assert_memory_equal(buf_str(&b), want, sizeof(want) - 1);
	assert_non_null(strstr(buf_str(&b), "without\\-ever\\-saying\\-anything"));
	assert_non_null(strstr(buf_str(&b), ".TP\n\\fB\\-\\-strict\\fR\nBe strict.\n"));
	buf_fini(&b);
}

/* The words as bash splits them ('=' stands alone), the last one being completed; what it offers,
 * joined with '|'. */
struct completion {
	const char *words, *offers;
};
static const struct completion completions[] = {
    {"''", "--file=|--folder=|--format=|--list|--strict|"},
    {"--", "--file=|--folder=|--format=|--list|--strict|"},
    {"--fo", "--folder=|--format=|"},
    {"--st", "--strict|"},
    {"--zz", ""},
    {"--format =", "text|csv|ndjson|"},
    {"--format = c", "csv|"},
    {"--format te", "text|"},
    {"--strict --format = nd", "ndjson|"},
    {"--file = ", "a b.cpspec|a.cpspec|sub|"},
    {"--file = a", "a b.cpspec|a.cpspec|"},
    {"--file a.", "a.cpspec|"},
    {"--folder =", "sub|"},
    {"--folder = s", "sub|"},
    {"--list =", "--file=|--folder=|--format=|--list|--strict|"},
};

static const char driver[] =
    "set -eu\n"
    "compopt() { :; }\n" /* only there while a person completes */
    "source ../completion\n"
    "eval \"COMP_WORDS=(prog $1)\"\n"
    "[[ $1 != *' ' ]] || COMP_WORDS+=('')\n"
    "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
    "COMP_LINE=\"prog $1\"\n" /* the breaks stand in it without spaces */
    "COMP_LINE=${COMP_LINE// =/=} COMP_LINE=${COMP_LINE// :/:}\n"
    "COMP_LINE=${COMP_LINE//= /=} COMP_LINE=${COMP_LINE//: /:}\n"
    "COMP_POINT=${#COMP_LINE}\n"
    "prog() { [[ $* == '--all --short' ]] && printf '%s\\n' a:x:1 a:x:2 a:y b ab:; }\n"
    "complete -p prog | grep -q -- '-F _prog prog'\n"
    "_prog prog \"${COMP_WORDS[COMP_CWORD]}\" '' || true\n"
    "((!${#COMPREPLY[@]})) || printf '%s\\n' \"${COMPREPLY[@]}\" | LC_ALL=C sort -u >../offers\n";

/* Runs the driver in the tree's folder files; the exit status. */
static int run_bash(const struct root *r, const char *words)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (chdir(r->dir) == 0 && chdir("files") == 0)
			execlp("bash", "bash", "--norc", "../driver", words, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* The offers, sorted, as one text. */
static void sorted(const char *offers, struct buf *out)
{
	char *names[16], *copy = strdup(offers), *save;
	size_t nr = 0;

	for (char *p = strtok_r(copy, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
		size_t at = nr++;

		for (; at && strcmp(names[at - 1], p) > 0; at--)
			names[at] = names[at - 1];
		names[at] = p;
	}
	buf_reset(out);
	for (size_t i = 0; i < nr; i++)
		buf_printf(out, "%s\n", names[i]);
	free(copy);
}

static const struct opt_row value_rows[] = {
    {.name = "event",
     .arg = OPT_REQUIRED,
     .metavar = "EVENT",
     .complete = OPT_COMPLETE_COMMAND,
     .words = "--all --short",
     .section = "S",
     .help = "One."},
    {.name = "spec",
     .letter = 's',
     .arg = OPT_REQUIRED,
     .metavar = "FILE",
     .complete = OPT_COMPLETE_FILE,
     .words = "*.cpspec *.none",
     .printed = "--all --short",
     .section = "S",
     .set = opt_add_string,
     .help = "Two."},
    {.name = "pid",
     .arg = OPT_REQUIRED,
     .metavar = "LIST",
     .complete = OPT_COMPLETE_PIDS,
     .section = "S",
     .help = "Three."},
    {.name = "nothing", .arg = OPT_REQUIRED, .metavar = "N", .section = "S", .help = "Four."},
    {.name = "name",
     .arg = OPT_REQUIRED,
     .metavar = "GLOB",
     .complete = OPT_COMPLETE_COMMS,
     .section = "S",
     .help = "Five."},
};
static const struct opt_table value_table = {.program = "prog",
					     .summary = "s",
					     .usage = "u",
					     .rows = value_rows,
					     .nr_rows = NR(value_rows),
					     .plain = "spec",
					     .footer = ""};
static const struct opt_table command_table = {.program = "prog",
					       .summary = "s",
					       .usage = "u",
					       .rows = value_rows,
					       .nr_rows = NR(value_rows),
					       .plain_hint = "-- COMMAND",
					       .footer = ""};

/* Where a command may begin: behind options and their values. */
TEST(end)
{
	static const struct {
		const char *words[6];
		int end; /* 0: argc */
	} lines[] = {
	    {{"ls", "-l"}, 1},
	    {{"--event=a", "./prog", "--event=b"}, 2},
	    {{"--event", "a", "-s", "b", "prog"}, 5},
	    {{"-sb", "prog"}, 2},
	    {{"--event", "a"}, 0}, /* none */
	    {{"--unknown", "prog"}, 0},
	    {{"--event"}, 0},
	    {{"-", "prog"}, 0},
	    {{NULL}, 0},
	};

	for (size_t i = 0; i < NR(lines); i++) {
		char *argv[8] = {(char[]){"prog"}};
		int argc = 1;

		for (; argc <= 6 && lines[i].words[argc - 1]; argc++)
			argv[argc] = (char *)(uintptr_t)lines[i].words[argc - 1];
		assert_int_equal(opt_end(&command_table, argc, argv), lines[i].end ?: argc);
	}
}

/* Values that the program prints, part by part; of each, what is behind the last break. */
static const struct completion values[] = {
    {"--ev", "--event=|"},
    {"--event =", "a:|ab:|b|"},
    {"--event = ", "a:|ab:|b|"},
    {"--event = a", "a:|ab:|"},
    {"--event = a :", "x:|y|"},
    {"--event = a : x", "x:|"},
    {"--event = a : x :", "1|2|"},
    {"--event = a : x : 2", "2|"},
    {"--event = c", ""},
    {"--event a : y", "y|"},
    {"--event ", "a:|ab:|b|"},
    {"--spec = a", "a b.cpspec|a.cpspec|a:|ab:|"},
    {"-s su", "sub|"},
    {"--spec = x", ""},
    {"a b", "b|"}, /* an argument that is no option */
    {"--nothing ", ""},
    {"--nothing 1 s", "sub|"},
    {"--pid = 999999999", ""},
    {"--name = no-such-name-", ""},
    {"--p", "--pid=|"},
};
static const struct completion of_commands[] = {
    {"-- prin", "printenv|printf|"},
    {"-- printf --sp", ""},
    {"--sp", "--spec=|"},
};

/* has_others: what the machine has may begin with the same letters. */
static void expect_completions(const struct opt_table *t, const struct completion *c, size_t nr,
			       bool has_others)
{
	struct root r = tree_make();
	struct buf b, want;

	buf_init(&b, 10000);
	buf_init(&want, 10000);
	opt_complete_bash(t, &b);
	assert_int_equal(buf_error(&b), 0);
	tree_put(&r, "/completion", b.data, b.len);
	tree_put(&r, "/driver", driver, sizeof(driver) - 1);
	tree_put(&r, "/files/a.cpspec", "", 0);
	tree_put(&r, "/files/a b.cpspec", "", 0);
	tree_put(&r, "/files/sub", NULL, 0);
	for (size_t i = 0; i < nr; i++) {
		tree_put(&r, "/offers", "", 0);
		assert_int_equal(run_bash(&r, c[i].words), 0);
		buf_reset(&b);
		assert_int_equal(root_load(&r, "/offers", &b), 0);
		sorted(c[i].offers, &want);
		if (!has_others) {
			assert_string_equal(buf_str(&b), buf_str(&want));
			continue;
		}
		want.data[want.len - 1] = '\0'; /* of several, each has more in its line */
		assert_non_null(strstr(buf_str(&b), want.data));
	}
	buf_fini(&want);
	buf_fini(&b);
	tree_remove(&r);
}

/* The calling process is among those offered, by number and by name. */
TEST(bash_processes)
{
	struct completion c[2];
	char words[2][64], offers[2][64], comm[32];
	FILE *file = fopen("/proc/self/comm", "r");

	assert_non_null(file);
	assert_non_null(fgets(comm, sizeof(comm), file));
	fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
	snprintf(words[0], sizeof(words[0]), "--pid = 1,%d", getpid());
	snprintf(offers[0], sizeof(offers[0]), "1,%d|", getpid());
	snprintf(words[1], sizeof(words[1]), "--name = %s", comm);
	snprintf(offers[1], sizeof(offers[1]), "%s|", comm);
	for (size_t i = 0; i < 2; i++)
		c[i] = (struct completion){words[i], offers[i]};
	expect_completions(&value_table, c, 2, true);
}

TEST(bash)
{
	expect_completions(&table, completions, NR(completions), false);
	expect_completions(&value_table, values, NR(values), false);
	expect_completions(&command_table, of_commands, NR(of_commands), false);
}

TEST(zsh)
{
	static const char *const lines[] = {
	    "#compdef prog\n",
	    "\n  '(-o --file)'{-o+,--file=}'[Read FILE]:FILE:_files' \\\n",
	    "\n  '--folder=[Never good]:DIR:_files -/' \\\n",
	    /* the first sentence, with brackets, colon and quote escaped */
	    "\n  '--format=[One of\\: text, csv, ndjson; it'\\''s \\[here\\] that a back",
	    "back\\\\slash and a colon stand]:NAME:(text csv ndjson)' \\\n",
	    "\n  '--strict[Be strict]'\n",
	};
	struct buf b;

	buf_init(&b, 10000);
	opt_complete_zsh(&table, &b);
	for (size_t i = 0; i < NR(lines); i++)
		assert_non_null(strstr(buf_str(&b), lines[i]));
	buf_reset(&b);
	opt_complete_zsh(&value_table, &b);
	assert_non_null(strstr(buf_str(&b), "'*'{-s+,--spec=}'[Two]:FILE:_prog_spec' \\\n"));
	assert_non_null(strstr(buf_str(&b), "_files -g \"(*.cpspec|*.none)\"'\n}\n"));
	assert_non_null(strstr(buf_str(&b), "'--pid=[Three]:LIST:_sequence _prog_pids' \\\n"));
	assert_non_null(strstr(buf_str(&b), "  '*:FILE:_prog_spec'\n"));
	assert_non_null(strstr(buf_str(&b), "\n_arguments \\\n"));
	assert_non_null(strstr(buf_str(&b), "[One]:EVENT:{compadd -- ${(f)\"$(_call_program values "
					    "$words[1] --all --short)\"}}' \\\n"));
	buf_fini(&b);
}

static const struct opt_row variable_rows[] = {
    {.name = "file",
     .arg = OPT_REQUIRED,
     .metavar = "F",
     .set = opt_set_string,
     FIELD(file),
     .section = "S",
     .help = "File."},
    {.name = "out-format",
     .arg = OPT_REQUIRED,
     .metavar = "F",
     .set = opt_set_string,
     FIELD(format),
     .section = "S",
     .help = "Format.",
     .excludes = "other file"},
    {.name = "pattern",
     .arg = OPT_OPTIONAL,
     .metavar = "F",
     .set = opt_set_string,
     FIELD(pattern),
     .section = "S",
     .help = "Pattern.",
     .has_no_variable = true},
    {.name = "strict",
     .arg = OPT_NONE,
     .set = opt_set_flag,
     FIELD(strict),
     .section = "S",
     .help = "Strict."},
    {.name = "folder",
     .arg = OPT_REQUIRED,
     .metavar = "F",
     .set = refuse,
     .section = "S",
     .help = "Never good."},
    {.name = "names",
     .arg = OPT_REQUIRED,
     .metavar = "F",
     .set = opt_add_string,
     FIELD(names),
     .section = "S",
     .help = "Names."},
};
static const struct opt_table with_variables = {
    .program = "prog",
    .summary = "does things",
    .usage = "",
    .rows = variable_rows,
    .nr_rows = NR(variable_rows),
    .footer = "",
    .variables = "OPT_TEST_",
};

static const struct {
	const char *variables[5], *args[3];
	int rc;
	const char *file, *format, *pattern;
	bool strict;
	const char *source;
} from_environment[] = {
    {{"OPT_TEST_FILE=a", "OPT_TEST_STRICT=1"}, {NULL}, 0, "a", NULL, NULL, true, ""},
    {{"OPT_TEST_OUT_FORMAT=a=b"}, {NULL}, 0, NULL, "a=b", NULL, false, ""},
    {{"OPT_TEST_out_format=a", "OPT_TEST_OUT-FORMAT=a"}, {NULL}, 0, NULL, NULL, NULL, false, ""},
    {{"OPT_TEST_FILE=a"}, {"--file=b"}, 0, "b", NULL, NULL, false, ""},
    {{"OPT_TEST_FILE=", "OPT_TEST_STRICT="}, {NULL}, 0, NULL, NULL, NULL, false, ""},
    {{"OPT_TEST_STRICT=0"}, {NULL}, 0, NULL, NULL, NULL, false, ""},
    {{"OPT_TEST_STRICT=yes"}, {NULL}, -EINVAL, NULL, NULL, NULL, false, "OPT_TEST_STRICT"},
    {{"OPT_TEST_PATTERN=a"}, {NULL}, 0, NULL, NULL, NULL, false, ""},
    {{"OPT_TEST_FOLDER=a"}, {NULL}, -ERANGE, NULL, NULL, NULL, false, "OPT_TEST_FOLDER"},
    /* nothing of a variable is looked at that the command line replaces, or excludes */
    {{"OPT_TEST_STRICT=yes"}, {"--strict"}, 0, NULL, NULL, NULL, true, ""},
    {{"OPT_TEST_OUT_FORMAT=a"}, {"--file", "b"}, 0, "b", NULL, NULL, false, ""},
    {{"OPT_TEST_FILE=a"}, {"--out-format=b"}, 0, NULL, "b", NULL, false, ""},
    {{"OPT_TEST_FOLDER=a"}, {"--nope"}, -EINVAL, NULL, NULL, NULL, false, ""},
    /* what excludes each other, from one source */
    {{NULL}, {"--out-format=a", "--file=b"}, -EINVAL, NULL, NULL, NULL, false, ""},
    {{"OPT_TEST_FILE=a", "OPT_TEST_OUT_FORMAT=b"}, {NULL}, -EINVAL, NULL, NULL, NULL, false, ""},
};

TEST(variables)
{
	for (size_t i = 0; i < NR(from_environment); i++) {
		char *argv[4] = {(char *)"prog"};
		struct target target = {0};
		struct err e = {0};
		int argc = 1;

		for (size_t k = 0; from_environment[i].variables[k]; k++)
			putenv((char *)from_environment[i].variables[k]);
		while (argc < 4 && from_environment[i].args[argc - 1]) {
			argv[argc] = (char *)from_environment[i].args[argc - 1];
			argc++;
		}
		assert_int_equal(opt_parse(&with_variables, argc, argv, &target, &e),
				 from_environment[i].rc);
		assert_string_equal(e.source, from_environment[i].source);
		if (e.code == 0) {
			assert_true(target.strict == from_environment[i].strict);
			assert_string_equal(target.file ? target.file : "-",
					    from_environment[i].file ? from_environment[i].file
								     : "-");
			assert_string_equal(target.format ? target.format : "-",
					    from_environment[i].format ? from_environment[i].format
								       : "-");
			assert_null(target.pattern);
		}
		for (size_t k = 0; from_environment[i].variables[k]; k++) {
			char name[64];

			snprintf(name, sizeof(name), "%s", from_environment[i].variables[k]);
			*strchr(name, '=') = '\0';
			unsetenv(name);
		}
	}
}

/* A list of the command line replaces that of the variable. */
TEST(list_of_variable)
{
	char *argv[] = {(char *)"prog", (char *)"--names=a", (char *)"--names=b", NULL};
	struct target target = {0};
	char origin[OPT_MAX_ORIGIN];

	setenv("OPT_TEST_NAMES", "c", 1);
	assert_int_equal(opt_parse(&with_variables, 1, argv, &target, NULL), 0);
	assert_int_equal(target.names.nr, 1);
	assert_string_equal(opt_origin(&with_variables, "names", target.names.item[0], origin),
			    "OPT_TEST_NAMES");
	assert_string_equal(opt_origin(&with_variables, "names", "c", origin), "--names");
	assert_string_equal(opt_origin(&table, "names", target.names.item[0], origin), "--names");
	target.names.nr = 0;
	assert_int_equal(opt_parse(&with_variables, 3, argv, &target, NULL), 0);
	assert_int_equal(target.names.nr, 2);
	assert_string_equal(target.names.item[0], "a");
	target.names.nr = 0;
	assert_int_equal(opt_parse(&table, 1, argv, &target, NULL), 0);
	assert_int_equal(target.names.nr, 0);
	unsetenv("OPT_TEST_NAMES");
}

TEST(variables_in_texts)
{
	struct buf out;

	buf_init(&out, 1 << 16);
	opt_help(&with_variables, 80, &out);
	assert_non_null(strstr(buf_str(&out), "OPT_TEST_SOME_NAME"));
	assert_non_null(strstr(buf_str(&out), "--pattern have none."));
	buf_reset(&out);
	opt_man_section(&with_variables, &out);
	assert_non_null(strstr(buf_str(&out), "OPT_TEST_SOME_NAME"));
	buf_reset(&out);
	opt_man_section(&table, &out);
	assert_null(strstr(buf_str(&out), "environment"));
	buf_fini(&out);
}
