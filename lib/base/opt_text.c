/*
 * Text from options: help, man page section, shell completions.
 */
#include "base/buf.h"
#include "base/opt.h"

#include <string.h>

enum { HELP_INDENT = 6, HELP_MIN_WIDTH = 40, HELP_MAX_WIDTH = 100, MAX_CHOICE_BYTES = 1024 };

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

static void add_bash_values(const struct opt_table *t, struct buf *out)
{
	for (size_t i = 0; i < t->nr_rows; i++) {
		if (t->rows[i].complete != OPT_COMPLETE_COMMAND)
			continue;
		buf_printf(out, "# WORD VALUE PROGRAM ARGUMENT...: from what the program prints\n");
		buf_printf(out, "_%s_values() {\n%s", t->program, bash_values);
		return;
	}
}

static void add_bash_case(struct buf *out, const struct opt_table *t, const struct opt_row *row)
{
	if (row->complete == OPT_COMPLETE_NONE)
		return;
	buf_printf(out, "\t--%s)\n\t\t", row->name);
	if (row->complete == OPT_COMPLETE_COMMAND) {
		buf_printf(out, "_%s_values \"$word\" \"$value\" \"$1\" %s", t->program,
			   row->words);
	} else if (row->complete == OPT_COMPLETE_WORDS || row->complete == OPT_COMPLETE_CHOICES) {
		buf_adds(out, "COMPREPLY=($(compgen -W \"");
		add_words(out, row);
		buf_adds(out, "\" -- \"$cur\"))");
	} else {
		buf_printf(
		    out, "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -%c -- \"$cur\")",
		    row->complete == OPT_COMPLETE_DIR ? 'd' : 'f');
	}
	buf_adds(out, "\n\t\treturn\n\t\t;;\n");
}

void opt_complete_bash(const struct opt_table *t, struct buf *out)
{
	buf_printf(out, "# bash completion of %s; generated from its option table\n", t->program);
	add_bash_values(t, out);
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
	    "\t[[ $cur == \"=\" ]] && cur=\n"
	    "\tcase $prev in\n",
	    t->program);
	for (size_t i = 0; i < t->nr_rows; i++)
		add_bash_case(out, t, &t->rows[i]);
	buf_adds(out, "\tesac\n\tmapfile -t COMPREPLY < <(compgen -W \"");
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

static void add_zsh_argument(struct buf *out, const struct opt_row *row)
{
	if (row->arg == OPT_NONE)
		return;
	buf_adds(out, row->arg == OPT_OPTIONAL ? "::" : ":");
	add_zsh_text(out, row->metavar, strlen(row->metavar));
	buf_addc(out, ':');
	if (row->complete == OPT_COMPLETE_WORDS || row->complete == OPT_COMPLETE_CHOICES) {
		buf_addc(out, '(');
		add_words(out, row);
		buf_addc(out, ')');
	} else if (row->complete == OPT_COMPLETE_FILE) {
		buf_adds(out, "_files");
	} else if (row->complete == OPT_COMPLETE_DIR) {
		buf_adds(out, "_files -/");
	} else if (row->complete == OPT_COMPLETE_COMMAND) {
		buf_printf(out, "{compadd -- ${(f)\"$(_call_program values $words[1] %s)\"}}",
			   row->words);
	}
}

void opt_complete_zsh(const struct opt_table *t, struct buf *out)
{
	buf_printf(out, "#compdef %s\n# generated from its option table\n_arguments", t->program);
	for (size_t i = 0; i < t->nr_rows; i++) {
		const struct opt_row *row = &t->rows[i];
		const char *stop = strstr(row->help, ". ");
		size_t len = stop ? (size_t)(stop - row->help) : strlen(row->help);

		if (len && row->help[len - 1] == '.')
			len--;
		buf_printf(out, " \\\n  '--%s%s[", row->name,
			   row->arg == OPT_REQUIRED   ? "="
			   : row->arg == OPT_OPTIONAL ? "=-"
						      : "");
		add_zsh_text(out, row->help, len);
		buf_addc(out, ']');
		add_zsh_argument(out, row);
		buf_addc(out, '\'');
	}
	buf_addc(out, '\n');
}
