/*
 * The table of all keys of a .cpspec and a .cpsession: the source of the reader, the schemas, the
 * man page section, the override options and the completions.
 */
#ifndef SPEC_KEYS_H
#define SPEC_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* KEY_SAMPLING: the defaults of sampled events, a struct spec_event too */
enum key_level {
	KEY_SPEC,
	KEY_EVENT,
	KEY_METRIC,
	KEY_SAMPLING,
	KEY_TARGET,
	KEY_FLIGHT,
	KEY_RETAIN,
	KEY_REGIONS,
	KEY_FUNCTIONS,
	KEY_SESSION,
	KEY_REMOVED,
	KEY_EXPERIMENTS,
	KEY_EXPERIMENT,
};
enum key_type {
	KEY_STRING,   /* any text; a const char * in the model */
	KEY_NAME,     /* text shown in tables: printable, one line */
	KEY_WORD,     /* one of words; a const char * in the model */
	KEY_HEX,      /* max lower-case hexadecimal digits; a const char * in the model */
	KEY_INTEGER,  /* a uint64_t in the model */
	KEY_SECONDS,  /* a number in a file, nanoseconds in the model; an option takes units */
	KEY_PERCENT,  /* a number in a file, times KEY_NS_PER_S in the model; an option takes "%" */
	KEY_REAL,     /* a struct metric_limit in the model */
	KEY_FLAGS,    /* an array of words; bit i of an unsigned is words[i] */
	KEY_CHOICE,   /* an array of names, with has_numbers also of integers; a struct spec_choice,
			 which holds one key of this type */
	KEY_LIST,     /* an array of strings, with has_numbers of integers; a struct spec_list */
	KEY_BOOL,     /* a bool in the model; written unless it is the default */
	KEY_DEFAULTS, /* the object of level KEY_SAMPLING; never written: the reader resolves it */
	KEY_OBJECT,   /* the object of the level inner; written unless it has only defaults */
	KEY_EVENTS,   /* the array of events */
	KEY_METRICS,  /* the array of metrics */
	KEY_OBJECTS,  /* an array of objects of the level inner; a struct key_objects */
};

/* Of KEY_OBJECTS: an array of the structs of the level inner. */
struct key_objects {
	void *item; /* in the model's arena */
	size_t nr;
};

enum { KEY_NS_PER_S = 1000000000 }; /* KEY_SECONDS, KEY_PERCENT */

struct key_row {
	enum key_level level;
	const char *name;
	enum key_type type;
	bool required;
	bool has_numbers;         /* KEY_CHOICE, KEY_LIST */
	uint64_t min, max;        /* of the number; of a string's bytes; of an array's items */
	const char *min_text;     /* KEY_SECONDS: the least, if it has decimals; min is 0 */
	uint64_t step;            /* of the number: it is a multiple of this; 0: any */
	const char *suffix;       /* KEY_STRING: the end of a text that is not empty; NULL: any */
	const char *default_text; /* without quotes: "16", "/tmp/cpuperf"; NULL: none */
	enum key_level inner;     /* KEY_OBJECT, KEY_OBJECTS */
	size_t item_bytes;        /* KEY_OBJECTS: of the struct of the level inner */
	const char *option_key;   /* KEY_OBJECT: its key that the override option sets */
	bool is_switch;           /* KEY_OBJECT: or true or false; its struct begins with that bool,
				     which is true of an object */
	bool has_units;           /* KEY_INTEGER: bytes; an option takes KiB, MiB, GiB */
	const char *const *words; /* KEY_WORD, KEY_FLAGS: the allowed ones, NULL-terminated */
	const char *form;         /* KEY_WORD: all of them, in short, for messages */
	const char *item;         /* KEY_FLAGS, KEY_CHOICE, KEY_LIST: the word for one of them */
	const char *unit;         /* for the man page: "seconds", "MiB"; or NULL */
	const char *groups;       /* the groups that accept it; NULL: all */
	const char *modes;        /* "tally", "sampling"; NULL: both */
	const char *description;  /* one or more sentences */
	const char *metavar;      /* of the override option; NULL: no such option */
	const char *option;       /* the key's name as an option, where it is another */
	char letter;              /* of the override option; 0: none */
	const char *excludes;     /* of the override option: as struct opt_row has it */
	size_t offset;            /* of the field in the struct of the level */
	size_t pos_offset;        /* of its struct spec_pos; 0: none */
};

extern const struct key_row key_rows[];
extern const size_t key_nr_rows;

/* The key of that name and level, or NULL. */
const struct key_row *key_find(enum key_level level, const char *name);

/* The key that an option of that name sets, of the spec or of an object in it; NULL: none. */
const struct key_row *key_find_option(const char *name);
/* The name of the row as an option, with underscores. */
const char *key_option(const struct key_row *row);

/* True if the text is empty or ends in the row's suffix. */
bool key_ends_well(const struct key_row *row, const char *text, size_t len);
/* True if the number may have decimals: the model has it times KEY_NS_PER_S. */
bool key_has_decimals(const struct key_row *row);
/* The word of the row that is text, or NULL. */
const char *key_word(const struct key_row *row, const char *text);
/* True if v is allowed; v is in 1/unit of the key's unit. */
bool key_fits(const struct key_row *row, uint64_t v, uint64_t unit);
/* The default of a number, in the model's unit; 0 without one. */
uint64_t key_default(const struct key_row *row);

/* Sets the fields of a struct spec (KEY_SPEC), spec_metric (KEY_METRIC), spec_target (KEY_TARGET),
 * spec_flight (KEY_FLIGHT), spec_retain (KEY_RETAIN), spec_regions (KEY_REGIONS), spec_functions
 * (KEY_FUNCTIONS), cpsession (KEY_SESSION), cpsession_removed (KEY_REMOVED), cpsession_experiments
 * (KEY_EXPERIMENTS) or cpsession_experiment (KEY_EXPERIMENT) to the defaults of the table; those
 * without one become "" and 0. Strings are static. */
void keys_set_defaults(enum key_level level, void *target);

/* The draft 2020-12 schema of a .cpspec (KEY_SPEC) or a .cpsession (KEY_SESSION). */
void keys_to_schema(enum key_level root, struct buf *out);
/* The key list of cpspec(5), in mdoc-free man(7) markup. */
void keys_to_man(struct buf *out);

#endif
