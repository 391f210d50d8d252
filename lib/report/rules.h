/*
 * The rules by which a user shapes a report, read from the command line: regular expressions, POSIX
 * extended, sought anywhere in a name. Knows nothing of functions and stacks.
 */
#ifndef REPORT_RULES_H
#define REPORT_RULES_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* A list as it is on the command line; borrowed. */
struct report_texts {
	const char *const *item;
	size_t nr;
};

enum { REPORT_MAX_RULES = 32 }; /* of each kind */

/* "RE": a name that has it. */
struct report_pattern {
	regex_t re;
	bool is_there;
};
/* "s/RE/NAME/": what RE matches in a name becomes NAME, with \1 … \9; any delimiter. */
struct report_merge {
	struct report_pattern pattern;
	char *name; /* owned */
};
/* "A>B/NAME": B, when called by A, is NAME. \> and \/ stand for themselves. */
struct report_split {
	struct report_pattern caller, callee;
	char *name; /* owned */
};

/* Zero-initialise; report_rules_fini frees, also after failure. */
struct report_rules {
	struct report_merge merge[REPORT_MAX_RULES];
	struct report_split split[REPORT_MAX_RULES];
	struct report_pattern hide[REPORT_MAX_RULES], only[REPORT_MAX_RULES];
	size_t nr_merge, nr_split, nr_hide, nr_only;
	bool merge_object;
};
void report_rules_fini(struct report_rules *r);

/* Each adds one; option is how errors call it. -EINVAL with *e: what makes no sense, and where;
 * -E2BIG; -ENOMEM. */
int report_rules_add_merge(struct report_rules *r, const char *text, struct err *e);
int report_rules_add_split(struct report_rules *r, const char *text, struct err *e);
int report_rules_add_hide(struct report_rules *r, const char *text, struct err *e);
int report_rules_add_only(struct report_rules *r, const char *text, struct err *e);

bool report_pattern_matches(const struct report_pattern *p, const char *name);
/* The name as the first rule of merge that matches makes it, to be freed with mem_free; NULL: none
 * does. -ENOMEM in *rc, else 0. */
char *report_rules_merged(const struct report_rules *r, const char *name, int *rc);

#endif
