/*
 * cpuperf --sweep=NAME=VALUES -- COMMAND {NAME}: how long a command takes by the values of a
 * parameter. The commands of all values run in turns, as those of --versus do, with which there
 * are two of each value.
 *
 *   sweep_parameter.c  the values, and the commands that they make
 *   sweep.c            the runs
 *   sweep_result.c     what they say in numbers
 *   sweep_report.c     what is printed of it
 *
 * estimate/scaling.h has Amdahl's law.
 */
#ifndef CPUPERF_SWEEP_H
#define CPUPERF_SWEEP_H

#include "estimate/paired.h"
#include "estimate/scaling.h"
#include "versus/versus.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct options;
struct turns;

enum { SWEEP_MAX_VALUES = SCALING_MAX };

struct sweep_parameter {
	char *name; /* owned, as are the values */
	char *value[SWEEP_MAX_VALUES];
	double number[SWEEP_MAX_VALUES];
	size_t nr;
	bool has_numbers; /* each value is one above 0 */
};

/* NAME=VALUE,VALUE…, also FIRST..LAST and FIRST..LAST*FACTOR of whole numbers, which are different.
 * 0 or -errno with *e. */
int sweep_parameter_parse(const char *text, struct sweep_parameter *out, struct err *e);
void sweep_parameter_fini(struct sweep_parameter *p);
/* Words with {NAME} replaced by value i, and {{NAME}} by {NAME}, for mem_free; *nr grows by the
 * values put in. A parameter of another name is an error. 0 or -errno with *e. */
int sweep_parameter_fill(const struct sweep_parameter *p, size_t i, char *const *words, char ***out,
			 size_t *nr, struct err *e);

struct sweep_row {
	struct paired time;    /* logarithms of the measure; nr 0: too little to be measured */
	struct paired speedup; /* logarithms of the first value's by this one's */
	double cpu_time;       /* typical; 0: not measured */
};

struct sweep_result {
	const struct sweep_parameter *parameter;
	const char *command; /* with the parameter's name */
	struct versus_rule rule;
	struct sweep_row row[SWEEP_MAX_VALUES];
	struct scaling scaling;
	bool has_scaling; /* of wall time, by enough numbers */
	size_t nr_rounds;
	double seconds;
	bool is_known, is_cut;
};

/* The part of a value to which each is known where --until says nothing. */
#define SWEEP_CLOSE 0.01
double sweep_close(const struct sweep_result *r);
/* Sets the rows, the scaling and is_known by runs of an arm a value. 0 or -ENOMEM. */
int sweep_result_make(const struct turns *t, struct sweep_result *r);
/* For the terminal while it goes on: ": 5 of 8 known, n=4 within 2.1 %", with the value that is
 * known least. */
void sweep_result_status(const struct sweep_result *r, struct buf *out);
/* Half of the interval of a value, a part of it. */
double sweep_half(const struct paired *time);
/* In an output format. 0 or -errno. */
int sweep_result_write(const struct sweep_result *r, const char *format, unsigned width,
		       struct buf *out);

/* The whole, also with --versus. Returns the exit status. */
int sweep(struct options *o);

#endif
