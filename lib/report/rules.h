/*
 * The rules of the command line that merge, split, hide and select functions: POSIX extended
 * regular expressions, matched anywhere in a name.
 */
#ifndef REPORT_RULES_H
#define REPORT_RULES_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* A list of option arguments; borrowed. */
struct report_texts {
	const char *const *item;
	size_t nr;
};

enum { REPORT_MAX_RULES = 32 }; /* per kind */

/* "RE": a name that matches. */
struct report_pattern {
	regex_t re;
	bool is_there;
};
/* "s/RE/NAME/": replaces what RE matches in a name by NAME, with \1 … \9; any delimiter. */
struct report_merge {
	struct report_pattern pattern;
	char *name; /* owned */
};
/* "A>B/NAME": B is named NAME when A calls it. \> and \/ are literal. */
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

/* Each adds one rule. 0; -EINVAL with *e: what is wrong, and where; -E2BIG with *e: too many;
 * -ENOMEM. */
int report_rules_add_merge(struct report_rules *r, const char *text, struct err *e);
int report_rules_add_split(struct report_rules *r, const char *text, struct err *e);
int report_rules_add_hide(struct report_rules *r, const char *text, struct err *e);
int report_rules_add_only(struct report_rules *r, const char *text, struct err *e);

bool report_pattern_matches(const struct report_pattern *p, const char *name);
/* The name that the first matching merge rule makes, to be freed with mem_free; NULL: none matches.
 * -ENOMEM in *rc, else 0. */
char *report_rules_merged(const struct report_rules *r, const char *name, int *rc);

#endif
