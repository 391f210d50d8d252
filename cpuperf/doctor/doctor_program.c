/*
 * What is tried with a program: its files are read, it is not executed.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "doctor/doctor.h"
#include "elf/file.h"
#include "elf/finder.h"
#include "elf/pclntab.h"
#include "event/usdt.h"
#include "event/usdt_files.h"
#include "parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_section(const struct elf_file *f, const char *name)
{
	struct elf_section s;

	return f && elf_file_find_section(f, name, &s) && s.is_held && s.size;
}

/* A separate file that has what was stripped, as distributions have in packages of their own. */
static void look_at_debug(const struct elf_file *f, const char *path, struct doctor_program *out)
{
	const struct elf_finder_config config = {.sysroot = NULL};
	const struct elf_wanted wanted = {.path = path, .build_id = *elf_file_build_id(f)};
	struct elf_finder *finder;
	const struct elf_file *debug;

	if (!wanted.build_id.len || elf_finder_new(&config, &finder))
		return;
	debug = elf_finder_debug(finder, &wanted);
	out->is_debug_apart = !out->has_symbols && has_section(debug, ".symtab");
	out->has_symbols |= has_section(debug, ".symtab");
	out->has_lines |= has_section(debug, ".debug_line");
	elf_finder_free(finder);
}

static void look_at_program(const struct elf_file *f, const char *path, struct doctor_program *out)
{
	struct elf_pclntab table;

	out->is_read = true;
	out->is_truncated = elf_file_is_truncated(f);
	out->has_symbols = has_section(f, ".symtab") || has_section(f, ".gnu_debugdata");
	out->has_exports = has_section(f, ".dynsym");
	out->has_lines = has_section(f, ".debug_line");
	out->is_of_go = elf_pclntab_open(f, &table);
	out->pointers = elf_prologues_count(f, &out->prologues);
	if (!out->has_symbols || !out->has_lines)
		look_at_debug(f, path, out);
}

/* The text is cut between two names. */
static void add_name(char text[DOCTOR_MAX_NAMES], const char *path)
{
	const size_t len = strlen(text);
	char name[64];

	snprintf(name, sizeof(name), "%.60s", str_base_name(path));
	str_disarm(name);
	if (len + strlen(name) + 8 < DOCTOR_MAX_NAMES)
		snprintf(text + len, DOCTOR_MAX_NAMES - len, "%s%s", len ? ", " : "", name);
	else if (len + 6 < DOCTOR_MAX_NAMES && !strstr(text, "…"))
		snprintf(text + len, DOCTOR_MAX_NAMES - len, ", …");
}

static void look_at_library(const struct elf_file *f, const char *path, struct doctor_program *out)
{
	struct elf_prologues prologues;
	enum elf_pointers pointers = elf_prologues_count(f, &prologues);

	if (pointers == ELF_POINTERS_UNKNOWN) /* too small to matter */
		return;
	out->nr_libraries++;
	if (pointers != ELF_POINTERS_ALL) {
		out->nr_without++;
		add_name(out->without, path);
	}
}

/* The program's own file, or that of a script's interpreter, is the first. */
static int look_at(const struct elf_file *f, const char *path, void *arg)
{
	struct doctor_program *out = arg;

	out->nr_files++;
	if (elf_file_is_truncated(f)) {
		out->nr_truncated++;
		add_name(out->truncated, path);
	}
	if (out->is_read)
		look_at_library(f, path, out);
	else
		look_at_program(f, path, out);
	return 0;
}

int doctor_read_program(const struct doctor *d, const char *name, struct doctor_program *out)
{
	const struct event_objects objects = {.command = name};

	*out = (struct doctor_program){.name = name};
	loadable_judge_named(getenv("PATH"), name, &out->judged);
	return usdt_files_each(&d->m.host, &objects, look_at, out);
}

static void try_agent(struct doctor *d, struct doctor_finding *out)
{
	const struct loadable_judged *judged = &d->program.judged;
	const bool is_loadable = judged->answer == LOADABLE_YES || judged->answer == LOADABLE_OTHER;
	char path[PATH_MAX];
	struct err e = {0};

	if (is_loadable &&
	    part_check_preload(judged->answer == LOADABLE_OTHER ? PART_AGENT_I386 : PART_AGENT,
			       path, &e)) {
		doctor_set(out, DOCTOR_NO, e.msg, e.hint);
		return;
	}
	doctor_set(out, is_loadable ? DOCTOR_YES : DOCTOR_NO, "",
		   judged->answer == LOADABLE_STATIC      ? "link it dynamically"
		   : judged->answer == LOADABLE_SANITIZER ? "build it without the sanitizer"
		   : judged->answer == LOADABLE_RIGHTS    ? "measure a copy without these rights"
							  : "");
	snprintf(out->found, sizeof(out->found), "%s %s", judged->name,
		 loadable_reason(judged->answer == LOADABLE_OTHER ? LOADABLE_YES : judged->answer));
}

/* The loader refuses one only if a part that it maps is missing. */
static void try_whole(struct doctor *d, struct doctor_finding *out)
{
	const struct doctor_program *p = &d->program;

	if (!p->nr_files) {
		doctor_set(out, DOCTOR_UNKNOWN, "none of its files can be read", "");
		return;
	}
	doctor_set(out, p->nr_truncated ? DOCTOR_NO : DOCTOR_YES, "",
		   p->nr_truncated ? "install or build them again" : "");
	if (p->nr_truncated)
		snprintf(out->found, sizeof(out->found),
			 "%u of %u are truncated, shorter than their headers say: %s",
			 p->nr_truncated, p->nr_files, p->truncated);
	else
		snprintf(out->found, sizeof(out->found), "%u are whole", p->nr_files);
}

static void try_symbols(struct doctor *d, struct doctor_finding *out)
{
	static const char get[] =
	    "build it without -s and strip, or install its debug package (Debian: NAME-dbgsym), or "
	    "cpuperf_print --debuginfod";
	const struct doctor_program *p = &d->program;

	if (p->has_symbols)
		doctor_set(out, DOCTOR_YES,
			   p->is_debug_apart ? "its table of symbols is in a debug file of its own"
					     : "it has its table of symbols",
			   "");
	else if (p->is_of_go)
		doctor_set(out, DOCTOR_YES, "it is stripped, but has what Go's runtime needs", "");
	else if (p->has_exports)
		doctor_set(out, DOCTOR_PARTLY, "it is stripped: it names only what it exports",
			   get);
	else
		doctor_set(out, DOCTOR_NO, "it is stripped", get);
}

static void try_lines(struct doctor *d, struct doctor_finding *out)
{
	if (d->program.has_lines)
		doctor_set(out, DOCTOR_YES, "it has DWARF with lines", "");
	else if (d->program.is_of_go)
		doctor_set(out, DOCTOR_YES, "it has no DWARF, but what Go's runtime needs", "");
	else
		doctor_set(out, DOCTOR_NO, "it has no DWARF, nor a debug file",
			   "build it with -g, or install its debug package");
}

static void try_pointers(struct doctor *d, struct doctor_finding *out)
{
	static const enum doctor_state states[] = {
	    [ELF_POINTERS_UNKNOWN] = DOCTOR_UNKNOWN,
	    [ELF_POINTERS_NONE] = DOCTOR_NO,
	    [ELF_POINTERS_SOME] = DOCTOR_PARTLY,
	    [ELF_POINTERS_ALL] = DOCTOR_YES,
	};
	const struct doctor_program *p = &d->program;

	doctor_set(out, states[p->pointers], "too few functions to judge by",
		   p->pointers < ELF_POINTERS_ALL ? "build it with -fno-omit-frame-pointer" : "");
	if (p->pointers != ELF_POINTERS_UNKNOWN)
		snprintf(out->found, sizeof(out->found),
			 "%u of %u functions that were looked at set a frame pointer",
			 p->prologues.nr_with_pointer, p->prologues.nr_looked_at);
}

static void try_libraries(struct doctor *d, struct doctor_finding *out)
{
	const struct doctor_program *p = &d->program;

	if (!p->nr_libraries) {
		doctor_set(out, DOCTOR_UNKNOWN, "it loads none at its start", "");
		return;
	}
	doctor_set_libraries(out, p, "", "-g (the default of commands) and -g=hybrid need none");
}

#define OF_POINTERS "with -g=fp and -g=aggregate its callers are missing"

const struct doctor_check doctor_program_checks[] = {
    {"the agent in it", try_agent, "no events of the groups heap and resource of it", false},
    {"its files", try_whole, "functions of a truncated file have no names", false},
    {"its symbols", try_symbols, "its functions have no names of their own", false},
    {"its lines", try_lines, "no source lines, and no inlined functions", true},
    {"its frame pointers", try_pointers, OF_POINTERS, true},
    {"its libraries", try_libraries, OF_POINTERS, true},
};
const size_t doctor_nr_program_checks = ARRAY_NR(doctor_program_checks);
