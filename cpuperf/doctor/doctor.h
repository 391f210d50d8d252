/*
 * --doctor: what this machine lets this user measure, what each missing thing costs, and how to get
 * it. Each check is a trial: an event is opened, programs are loaded into the kernel, a file is
 * read; a version number proves nothing. Nothing of the machine is changed by it.
 *
 * The reasons are those of the rooms that measure (event/support.c, kernel/ways.c, bpf/,
 * wire/loadable.h): a check is a row that asks them. The first page (first_page.c) asks the same
 * rows.
 *
 * What is printed is to be pasted into reports: it has no names of hosts, users or folders.
 */
#ifndef CPUPERF_DOCTOR_H
#define CPUPERF_DOCTOR_H

#include "api/works.h"
#include "machine.h"
#include "wire/loadable.h"

#include "elf/prologues.h"

#include <stdbool.h>

struct options;

enum doctor_state {
	DOCTOR_YES,
	DOCTOR_PARTLY,
	DOCTOR_NO,
	DOCTOR_UNKNOWN, /* there is nothing to try it with */
};

struct doctor_finding {
	enum doctor_state state;
	char found[512];
	char get[512]; /* how to get what is missing; "": by nothing that is known */
};

enum { DOCTOR_MAX_NAMES = 256 };

/* The files of a program. */
struct doctor_program {
	const char *name; /* as it was asked for; borrowed */
	struct loadable_judged judged;
	bool is_read, is_truncated, has_symbols, has_exports, has_lines, is_debug_apart;
	bool is_of_go; /* and has names and lines, as its runtime needs them */
	enum elf_pointers pointers;
	struct elf_prologues prologues;
	unsigned nr_libraries, nr_without; /* of these: without frame pointers */
	char without[DOCTOR_MAX_NAMES];    /* their names */
	unsigned nr_files, nr_truncated;   /* of these, with the program */
	char truncated[DOCTOR_MAX_NAMES];  /* their names */
};

struct doctor {
	struct machine m;
	struct api_works works;
	struct doctor_program program; /* name NULL: none was asked for */
};

struct doctor_check {
	const char *name;
	void (*try)(struct doctor *d, struct doctor_finding *out); /* NULL: event says all */
	const char *costs;                                         /* without it */
	bool is_extra; /* costs no answer: it makes measuring cheaper, or is asked for apart */
	const char *event, *yes; /* an event that must work, and what is said if it does */
};

enum doctor_id {
	DOCTOR_FILES,
	DOCTOR_AGENT,
	DOCTOR_OWN,
	DOCTOR_KERNEL,
	DOCTOR_CPUS,
	DOCTOR_PMU,
	DOCTOR_PROGRAMS,
	DOCTOR_LATENCIES,
	DOCTOR_TYPES,
	DOCTOR_KALLSYMS,
	DOCTOR_TRACEPOINTS,
	DOCTOR_ATTACH,
	DOCTOR_LIBRARIES,
	DOCTOR_DEBUGINFOD,
	DOCTOR_NR,
};
/* doctor_machine.c */
extern const struct doctor_check doctor_checks[DOCTOR_NR];
/* Runs the check, also one of the program. */
void doctor_try(struct doctor *d, const struct doctor_check *c, struct doctor_finding *out);

/* doctor_program.c: of the program. */
extern const struct doctor_check doctor_program_checks[];
extern const size_t doctor_nr_program_checks;
/* Reads the files of a program, as execvp looks for it. 0 or -errno. */
int doctor_read_program(const struct doctor *d, const char *name, struct doctor_program *out);

/* For checks: what was found, and how to get what is missing. */
void doctor_set(struct doctor_finding *out, enum doctor_state state, const char *found,
		const char *get);
/* Of the libraries of a program: whose, in words; get: if some have no frame pointers. */
void doctor_set_libraries(struct doctor_finding *out, const struct doctor_program *p,
			  const char *whose, const char *get);

/* ✓, ~, ✗ or ?; without UTF-8 +, ~, - or ?. */
const char *doctor_sign(enum doctor_state state);

/* 0 or -errno with *e. */
int doctor_init(struct doctor *d, struct err *e);
void doctor_fini(struct doctor *d);

/* Prints it; returns the exit status: 0: all that costs answers is there; 1: something is not; 2:
 * it could not be tried. */
int doctor(const struct options *o);

/* first_page.c: on a terminal, without options: a command for each question that people have, and
 * whether it works here. Returns the exit status. */
int first_page(void);

#endif
