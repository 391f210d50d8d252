/*
 * Text from options: help, man page section, shell completions.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/opt.h"

#include <string.h>

enum {
	HELP_INDENT = 6,
	HELP_MIN_WIDTH = 40,
	HELP_MAX_WIDTH = 100,
	MAX_CHOICE_BYTES = 1024,
	BRIEF_COLUMN = 30
};

/* Wraps text at width, with indent spaces before each line. */
static void add_wrapped(struct buf *out, const char *text, unsigned indent, unsigned width)
{
	unsigned column = 0;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (column && column + 1 + len > width) {
			buf_addc(out, '\n');
			column = 0;
		}
		if (column)
			buf_addc(out, ' ');
		else
			buf_fill(out, ' ', indent);
		column += (column ? 1 : indent) + (unsigned)len;
		buf_add(out, text, len);
		text += len + (text[len] == ' ');
	}
	buf_addc(out, '\n');
}

static void add_usage(struct buf *out, const struct opt_row *row)
{
	if (row->letter)
		buf_printf(out, "-%c, ", row->letter);
	buf_printf(out, "--%s", row->name);
	if (row->arg == OPT_REQUIRED)
		buf_printf(out, "=%s", row->metavar);
	else if (row->arg == OPT_OPTIONAL)
		buf_printf(out, "[=%s]", row->metavar);
}

/* The words to complete. */
static void add_words(struct buf *out, const struct opt_row *row)
{
	struct opt_choice c;

	if (row->complete != OPT_COMPLETE_CHOICES)
		buf_adds(out, row->words);
	for (size_t i = 0; row->complete == OPT_COMPLETE_CHOICES && row->choice(i, &c); i++)
		buf_printf(out, "%s%s", i ? " " : "", c.name);
}

static void add_help_choices(struct buf *out, const struct opt_row *row, unsigned width)
{
	struct opt_choice c;
	BUF_AUTO(text, MAX_CHOICE_BYTES);

	for (size_t i = 0; row->choice && row->choice(i, &c); i++) {
		buf_reset(&text);
		buf_printf(&text, "%s: %s", c.name, c.help);
		add_wrapped(out, buf_str(&text), HELP_INDENT + 2, width);
	}
}

static bool starts_section(const struct opt_table *t, size_t i)
{
	return i == 0 || strcmp(t->rows[i].section, t->rows[i - 1].section) != 0;
}

/* Which options have a variable. */
static void add_variables(const struct opt_table *t, struct buf *out)
{
	const char *separator = "";

	buf_printf(out,
		   "An option can also be set by an environment variable: --some-name by "
		   "%sSOME_NAME, an option without a value by 1. The command line overrides it; an "
		   "empty variable counts as unset. ",
		   t->variables);
	for (size_t i = 0; i < t->nr_rows; i++) {
		if (!t->rows[i].has_no_variable)
			continue;
		buf_printf(out, "%s--%s", separator, t->rows[i].name);
		separator = ", ";
	}
	buf_printf(out, " have none.");
}

void opt_help(const struct opt_table *t, unsigned width, struct buf *out)
{
	struct buf text;

	if (width < HELP_MIN_WIDTH)
		width = HELP_MIN_WIDTH;
	if (width > HELP_MAX_WIDTH)
		width = HELP_MAX_WIDTH;
	buf_printf(out, "%s: %s\n\nUsage:\n%s\n", t->program, t->summary, t->usage);
	for (size_t i = 0; i < t->nr_rows; i++) {
		if (starts_section(t, i))
			buf_printf(out, "\n%s:\n", t->rows[i].section);
		buf_adds(out, "  ");
		add_usage(out, &t->rows[i]);
		buf_addc(out, '\n');
		add_wrapped(out, t->rows[i].help, HELP_INDENT, width);
		add_help_choices(out, &t->rows[i], width);
	}
	if (t->variables) {
		buf_init(&text, MAX_CHOICE_BYTES);
		add_variables(t, &text);
		buf_addc(out, '\n');
		add_wrapped(out, buf_str(&text), 0, width);
		buf_fini(&text);
	}
	buf_printf(out, "\n%s\n", t->footer);
}

static const struct opt_row *find_row(const struct opt_table *t, const char *name)
{
	return ARRAY_FIND(row, t->rows, t->nr_rows, strcmp(row->name, name) == 0);
}

/* A row that is not there has no line: a test looks for it. */
static void add_brief(struct buf *out, const struct opt_table *t, const struct opt_brief *b)
{
	const struct opt_row *row = b->name ? find_row(t, b->name) : NULL;
	const size_t begin = out->len;
	size_t used;

	if (!b->name)
		buf_printf(out, "\n%s:\n", b->text);
	if (!row)
		return;
	buf_adds(out, "  ");
	add_usage(out, row);
	used = out->len - begin;
	buf_fill(out, ' ', used < BRIEF_COLUMN ? BRIEF_COLUMN - used : 1);
	buf_printf(out, "%s\n", b->text);
}

void opt_brief_help(const struct opt_table *t, struct buf *out)
{
	buf_printf(out, "%s: %s\n\nUsage:\n%s\n", t->program, t->summary, t->usage);
	for (size_t i = 0; i < t->nr_brief; i++)
		add_brief(out, t, &t->brief[i]);
	buf_printf(out, "\n%s\n", t->brief_footer);
}

/* man(7): a hyphen typed as "\-", a backslash as "\e"; a line must not start with a dot. */
void opt_man_text(struct buf *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		buf_adds(out, "\\&");
	for (; *text; text++) {
		if (*text == '-')
			buf_adds(out, "\\-");
		else if (*text == '\\')
			buf_adds(out, "\\e");
		else
			buf_addc(out, *text);
	}
}

static void add_man_usage(struct buf *out, const struct opt_row *row)
{
	buf_adds(out, ".TP\n");
	if (row->letter)
		buf_printf(out, "\\fB\\-%c\\fR, ", row->letter);
	buf_adds(out, "\\fB");
	opt_man_text(out, "--");
	opt_man_text(out, row->name);
	buf_adds(out, "\\fR");
	if (row->arg == OPT_REQUIRED)
		buf_printf(out, "=\\fI%s\\fR", row->metavar);
	else if (row->arg == OPT_OPTIONAL)
		buf_printf(out, "[=\\fI%s\\fR]", row->metavar);
	buf_addc(out, '\n');
}

static void add_man_choices(struct buf *out, const struct opt_row *row)
{
	struct opt_choice c;

	for (size_t i = 0; row->choice && row->choice(i, &c); i++) {
		buf_adds(out, ".br\n\\fB");
		opt_man_text(out, c.name);
		buf_adds(out, "\\fR: ");
		opt_man_text(out, c.help);
		buf_addc(out, '\n');
	}
}

void opt_man_section(const struct opt_table *t, struct buf *out)
{
	BUF_AUTO(text, MAX_CHOICE_BYTES);

	for (size_t i = 0; i < t->nr_rows; i++) {
		if (starts_section(t, i))
			buf_printf(out, ".SS %s\n", t->rows[i].section);
		add_man_usage(out, &t->rows[i]);
		opt_man_text(out, t->rows[i].help);
		buf_addc(out, '\n');
		add_man_choices(out, &t->rows[i]);
	}
	if (!t->variables)
		return;
	add_variables(t, &text);
	buf_adds(out, ".SS Variables\n");
	opt_man_text(out, buf_str(&text));
	buf_addc(out, '\n');
}

/* bash splits "--name=group:na" into the words "--name" "=" "group" ":" "na", because
 * COMP_WORDBREAKS contains '=' and ':', and replaces only the last one. So the option and its value
 * are taken from the whole line, and what precedes the last break is removed from the replies.
 * Values like group:name are completed up to the next colon first, because a group may have
 * thousands. */
static const char bash_values[] =
    "\tlocal word=$1 value=$2 line part\n"
    "\tlocal before=${word%\"$value\"} cut=${word%\"${word##*[\"$COMP_WORDBREAKS\"]}\"}\n"
    "\tlocal -A seen=()\n"
    "\twhile IFS= read -r line; do\n"
    "\t\t[[ $line == \"$value\"* ]] || continue\n"
    "\t\tpart=${line:${#value}}\n"
    "\t\t[[ $part == *:* ]] && part=${part%%:*}:\n"
    "\t\tpart=$before$value$part\n"
    "\t\t[[ ${seen[$part]-} ]] || COMPREPLY+=(\"${part#\"$cut\"}\")\n"
    "\t\tseen[$part]=1\n"
    "\tdone < <(\"${@:3}\" 2>/dev/null)\n"
    "\t[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace\n"
    "}\n";

static const char bash_files[] =
    "\tlocal glob\n"
    "\tcompopt -o filenames\n"
    "\tfor glob in \"${@:2}\"; do\n"
    "\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -X \"!$glob\" -- \"$1\")\n"
    "\tdone\n"
    "\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"$1\")\n"
    "}\n";

/* The kernel's threads have no command line. Names are shown beside the numbers where there are
 * several: what these have in common is all that is inserted then, but for menu-complete (37). */
static const char bash_pids[] =
    "\tlocal last=${1##*,} dir pid comm command shown=()\n"
    "\tfor dir in /proc/[0-9]*; do\n"
    "\t\tpid=${dir##*/}\n"
    "\t\t[[ $pid == \"$last\"* ]] || continue\n"
    "\t\tIFS= read -r -d '' command <\"$dir/cmdline\" || continue\n"
    "\t\tIFS= read -r comm <\"$dir/comm\" || continue\n"
    "\t\tCOMPREPLY+=(\"${1%\"$last\"}$pid\")\n"
    "\t\tshown+=(\"${1%\"$last\"}$pid  ($comm)\")\n"
    "\tdone 2>/dev/null\n"
    "\t((${#shown[@]} < 2 || ${COMP_TYPE:-0} == 37)) || COMPREPLY=(\"${shown[@]}\")\n"
    "}\n";

static const char bash_comms[] =
    "\tlocal dir comm command\n"
    "\tfor dir in /proc/[0-9]*; do\n"
    "\t\tIFS= read -r -d '' command <\"$dir/cmdline\" || continue\n"
    "\t\tIFS= read -r comm <\"$dir/comm\" || continue\n"
    "\t\t[[ $comm != \"$1\"* || $comm == *[!A-Za-z0-9_.+-]* ]] || COMPREPLY+=(\"$comm\")\n"
    "\tdone 2>/dev/null\n"
    "}\n";

static bool has_printed(const struct opt_row *row)
{
	return row->complete == OPT_COMPLETE_COMMAND || row->printed;
}

static bool has_globs(const struct opt_row *row)
{
	return row->complete == OPT_COMPLETE_FILE && row->words;
}

static bool has_pids(const struct opt_row *row)
{
	return row->complete == OPT_COMPLETE_PIDS;
}

static bool has_comms(const struct opt_row *row)
{
	return row->complete == OPT_COMPLETE_COMMS;
}

/* Functions of the completion, for the rows that need them. */
static const struct {
	const char *name, *arguments, *bash;
	bool (*is_needed)(const struct opt_row *row);
} helpers[] = {
    {"values", "WORD VALUE PROGRAM ARGUMENT...: what the program prints", bash_values, has_printed},
    {"files", "VALUE GLOB...: files that match one of them, and folders", bash_files, has_globs},
    {"pids", "VALUE: processes, after the last comma", bash_pids, has_pids},
    {"comms", "VALUE: names of processes", bash_comms, has_comms},
};

static void add_bash_helpers(const struct opt_table *t, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_NR(helpers); i++)
		if (ARRAY_ANY(row, t->rows, t->nr_rows, helpers[i].is_needed(row)))
			buf_printf(out, "# %s\n_%s_%s() {\n%s", helpers[i].arguments, t->program,
				   helpers[i].name, helpers[i].bash);
}

/* Calls fn for each word of the row. */
static void each_word(const char *words, struct buf *out,
		      void (*fn)(struct buf *out, const char *word, size_t len, bool is_first))
{
	for (const char *at = words; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");

		fn(out, at, len, at == words);
		at += len;
	}
}

static void add_bash_glob(struct buf *out, const char *word, size_t len, bool is_first)
{
	(void)is_first;
	buf_printf(out, " '%.*s'", (int)len, word);
}

static void add_bash_offers(struct buf *out, const struct opt_table *t, const struct opt_row *row)
{
	const char *printed = row->complete == OPT_COMPLETE_COMMAND ? row->words : row->printed;

	if (row->complete == OPT_COMPLETE_WORDS || row->complete == OPT_COMPLETE_CHOICES) {
		buf_adds(out, "COMPREPLY=($(compgen -W \"");
		add_words(out, row);
		buf_adds(out, "\" -- \"$cur\"))");
	} else if (has_globs(row)) {
		buf_printf(out, "_%s_files \"$cur\"", t->program);
		each_word(row->words, out, add_bash_glob);
	} else if (row->complete == OPT_COMPLETE_FILE || row->complete == OPT_COMPLETE_DIR) {
		buf_printf(
		    out, "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -%c -- \"$cur\")",
		    row->complete == OPT_COMPLETE_DIR ? 'd' : 'f');
	} else if (has_pids(row) || has_comms(row)) {
		buf_printf(out, "_%s_%s \"$cur\"", t->program, has_pids(row) ? "pids" : "comms");
	}
	if (printed)
		buf_printf(out, "%s_%s_values \"$word\" \"$value\" \"$1\" %s",
			   row->printed ? "\n\t\t" : "", t->program, printed);
}

/* Options that take a value of which nothing is known end here too: no option follows. */
static void add_bash_case(struct buf *out, const struct opt_table *t, const struct opt_row *row)
{
	if (row->complete == OPT_COMPLETE_NONE && row->arg != OPT_REQUIRED)
		return;
	buf_printf(out, "\t--%s", row->name);
	if (row->letter)
		buf_printf(out, " | -%c", row->letter);
	buf_adds(out, ")\n\t\t");
	add_bash_offers(out, t, row);
	if (row->complete != OPT_COMPLETE_NONE)
		buf_adds(out, "\n\t\t");
	buf_adds(out, "return\n\t\t;;\n");
}

static const struct opt_row *plain_row(const struct opt_table *t)
{
	return t->plain ? ARRAY_FIND(row, t->rows, t->nr_rows, strcmp(row->name, t->plain) == 0)
			: NULL;
}

/* Completes words that are neither an option nor its value. */
static void add_bash_plain(struct buf *out, const struct opt_table *t)
{
	const struct opt_row *row = plain_row(t);

	if (row) {
		buf_adds(out, "\tif [[ $word != -* ]]; then\n\t\t");
		add_bash_offers(out, t, row);
		buf_adds(out, "\n\t\treturn\n\tfi\n");
	}
}

/* Behind "--" the words are a command and its own arguments. */
static void add_bash_command(struct buf *out, const struct opt_table *t)
{
	if (t->plain_hint)
		buf_adds(
		    out,
		    "\tif [[ \" $line \" == *' -- '* ]]; then\n"
		    "\t\tcompopt -o default\n"
		    "\t\t[[ $prev != -- ]] || mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
		    "\t\treturn\n"
		    "\tfi\n");
}

void opt_complete_bash(const struct opt_table *t, struct buf *out)
{
	buf_printf(out, "# bash completion of %s; generated from its option table\n", t->program);
	add_bash_helpers(t, out);
	buf_printf(
	    out,
	    "_%s() {\n"
	    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} word value prev\n"
	    "\tCOMPREPLY=()\n"
	    "\tword=${line##*[[:space:]]}\n"
	    "\tline=${line%%\"$word\"}\n"
	    "\tline=${line%%\"${line##*[![:space:]]}\"}\n"
	    "\tvalue=$word prev=${line##*[[:space:]]}\n"
	    "\t[[ $word == --*=* ]] && value=${word#*=} prev=${word%%%%=*}\n"
	    "\t[[ $cur == \"=\" ]] && cur=\n",
	    t->program);
	add_bash_command(out, t);
	buf_adds(out, "\tcase $prev in\n");
	for (size_t i = 0; i < t->nr_rows; i++)
		add_bash_case(out, t, &t->rows[i]);
	buf_adds(out, "\tesac\n");
	add_bash_plain(out, t);
	buf_adds(out, "\tmapfile -t COMPREPLY < <(compgen -W \"");
	for (size_t i = 0; i < t->nr_rows; i++)
		buf_printf(out, "%s--%s%s", i ? " " : "", t->rows[i].name,
			   t->rows[i].arg == OPT_REQUIRED ? "=" : "");
	buf_printf(out,
		   "\" -- \"$cur\")\n"
		   "\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
		   "}\n"
		   "complete -F _%s %s\n",
		   t->program, t->program);
}

/* In brackets and single quotes, which the text must not end. */
static void add_zsh_text(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'')
			buf_adds(out, "'\\''");
		else if (strchr("[]:\\", text[i]))
			buf_printf(out, "\\%c", text[i]);
		else
			buf_addc(out, text[i]);
	}
}

static void add_zsh_glob(struct buf *out, const char *word, size_t len, bool is_first)
{
	buf_printf(out, "%s%.*s", is_first ? "" : "|", (int)len, word);
}

static void add_zsh_files(struct buf *out, const struct opt_row *row)
{
	buf_adds(out, row->complete == OPT_COMPLETE_DIR ? "_files -/" : "_files");
	if (!has_globs(row))
		return;
	/* in parentheses one alone would be qualifiers */
	buf_adds(out, strchr(row->words, ' ') ? " -g \"(" : " -g \"");
	each_word(row->words, out, add_zsh_glob);
	buf_adds(out, strchr(row->words, ' ') ? ")\"" : "\"");
}

static void add_zsh_offers(struct buf *out, const struct opt_table *t, const struct opt_row *row)
{
	if (row->complete == OPT_COMPLETE_WORDS || row->complete == OPT_COMPLETE_CHOICES) {
		buf_addc(out, '(');
		add_words(out, row);
		buf_addc(out, ')');
	} else if (row->printed) {
		buf_printf(out, "_%s_%s", t->program, row->name);
	} else if (row->complete == OPT_COMPLETE_FILE || row->complete == OPT_COMPLETE_DIR) {
		add_zsh_files(out, row);
	} else if (row->complete == OPT_COMPLETE_COMMAND) {
		buf_printf(out, "{compadd -- ${(f)\"$(_call_program values $words[1] %s)\"}}",
			   row->words);
	} else if (has_pids(row)) {
		buf_printf(out, "_sequence _%s_pids", t->program);
	} else if (has_comms(row)) {
		buf_printf(out, "_%s_comms", t->program);
	}
}

static void add_zsh_argument(struct buf *out, const struct opt_table *t, const struct opt_row *row)
{
	if (row->arg == OPT_NONE)
		return;
	buf_adds(out, row->arg == OPT_OPTIONAL ? "::" : ":");
	add_zsh_text(out, row->metavar, strlen(row->metavar));
	buf_addc(out, ':');
	add_zsh_offers(out, t, row);
}

/* "'(-p --pid)'{-p+,--pid=}'[" or "'--pid=["; "*" before what may be repeated. */
static void add_zsh_name(struct buf *out, const struct opt_row *row)
{
	static const struct {
		const char *letter, *name;
	} ends[] = {
	    [OPT_NONE] = {"", ""}, [OPT_REQUIRED] = {"+", "="}, [OPT_OPTIONAL] = {"-", "=-"}};
	const char *name = ends[row->arg].name;
	bool is_repeated = row->set == opt_add_string;

	if (!row->letter) {
		buf_printf(out, "'%s--%s%s[", is_repeated ? "*" : "", row->name, name);
		return;
	}
	if (is_repeated)
		buf_adds(out, "'*'");
	else
		buf_printf(out, "'(-%c --%s)'", row->letter, row->name);
	buf_printf(out, "{-%c%s,--%s%s}'[", row->letter, ends[row->arg].letter, row->name, name);
}

static const char zsh_pids[] =
    "\tlocal -a found\n"
    "\tlocal dir comm\n"
    "\tfor dir in /proc/[0-9]*(N); do\n"
    "\t\t{ [[ -n \"$(<$dir/cmdline)\" ]] && comm=$(<$dir/comm) } 2>/dev/null || continue\n"
    "\t\tfound+=(\"${dir:t}:${comm//:/\\\\:}\")\n"
    "\tdone\n"
    "\t_describe -t processes process found \"$@\"\n"
    "}\n";

static const char zsh_comms[] = "\tlocal -aU found\n"
				"\tfound=(${(f)\"$(cat /proc/[0-9]*/comm 2>/dev/null)\"})\n"
				"\tcompadd -a \"$@\" found\n"
				"}\n";

static void add_zsh_helpers(struct buf *out, const struct opt_table *t)
{
	if (ARRAY_ANY(row, t->rows, t->nr_rows, has_pids(row)))
		buf_printf(out, "_%s_pids() {\n%s", t->program, zsh_pids);
	if (ARRAY_ANY(row, t->rows, t->nr_rows, has_comms(row)))
		buf_printf(out, "_%s_comms() {\n%s", t->program, zsh_comms);
	for (size_t i = 0; i < t->nr_rows; i++) {
		const struct opt_row *row = &t->rows[i];

		if (!row->printed)
			continue;
		buf_printf(out,
			   "_%s_%s() {\n"
			   "\tlocal -a found\n"
			   "\tfound=(${(f)\"$(_call_program values $words[1] %s)\"})\n"
			   "\t_alternative 'values:value:compadd -a found' 'files:file:",
			   t->program, row->name, row->printed);
		add_zsh_files(out, row);
		buf_adds(out, "'\n}\n");
	}
}

/* What is neither an option nor its value; a command follows "--". */
static void add_zsh_plain(struct buf *out, const struct opt_table *t)
{
	const struct opt_row *row = plain_row(t);

	if (row) {
		buf_printf(out, " \\\n  '*:%s:", row->metavar);
		add_zsh_offers(out, t, row);
		buf_addc(out, '\'');
	} else if (t->plain_hint) {
		buf_adds(out, " \\\n  '(-)1:COMMAND:_command_names -e'"
			      " \\\n  '*::ARGUMENT:_normal'");
	}
}

void opt_complete_zsh(const struct opt_table *t, struct buf *out)
{
	buf_printf(out, "#compdef %s\n# generated from its option table\n", t->program);
	add_zsh_helpers(out, t);
	buf_printf(out, "_arguments%s", t->plain_hint ? " -S" : "");
	for (size_t i = 0; i < t->nr_rows; i++) {
		const struct opt_row *row = &t->rows[i];
		const char *stop = strstr(row->help, ". ");
		size_t len = stop ? (size_t)(stop - row->help) : strlen(row->help);

		if (len && row->help[len - 1] == '.')
			len--;
		buf_adds(out, " \\\n  ");
		add_zsh_name(out, row);
		add_zsh_text(out, row->help, len);
		buf_addc(out, ']');
		add_zsh_argument(out, t, row);
		buf_addc(out, '\'');
	}
	add_zsh_plain(out, t);
	buf_addc(out, '\n');
}
