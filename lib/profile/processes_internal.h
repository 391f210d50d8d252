/*
 * The tables behind processes.h, and the steps that build them. Private to their files and tests.
 *
 * Records are collected in any order and sorted by time. Then the records of each pid become lives
 * (lives.c), the mappings of each life a space (spaces.c), the names of each thread a list
 * (comms.c), and threads get their numbers (threads.c). Surveyed records (is_made) apply from the
 * beginning of the life that was surveyed, unless a record of the kernel, whose time is exact,
 * contradicts them.
 */
#ifndef PROFILE_PROCESSES_INTERNAL_H
#define PROFILE_PROCESSES_INTERNAL_H

#include "base/arena.h"
#include "base/cover.h"
#include "base/dict.h"
#include "profile/codes.h"
#include "profile/compiled.h"
#include "profile/faults.h"
#include "profile/processes.h"
#include "profile/spans.h"

#include <pthread.h>

struct trace_build_id;
struct trace_cmdline;
struct trace_file_parts;
struct trace_mark_name;
struct trace_marks;
struct trace_reader;
struct trace_record;

enum {
	PROFILE_MAX_SYMBOL_PARTS = 4096,
	PROFILE_MAX_CHANGES = 16 << 20, /* forks, names, exits, mappings */
	PROFILE_MAX_MAPPINGS = 8 << 20,
	PROFILE_MAX_SPACE_MAPPINGS = 1 << 20, /* per process */
	PROFILE_MAX_TREE_MAPPINGS = 2 << 20,  /* that overlap too much for a short list */
	PROFILE_MAX_COPIED = 1 << 20, /* copied from ancestors beyond PROFILE_MAX_FORKS_DEEP */
	PROFILE_MAX_OBJECTS = 1 << 20,
	PROFILE_MAX_BUILD_IDS = 1 << 20,
	PROFILE_MAX_COMMS = 1 << 20,
	PROFILE_MAX_KSYMBOLS = 1 << 20,
	PROFILE_MAX_CMDLINES = 1 << 20,
	PROFILE_MAX_STRANGERS = 1 << 16,
	PROFILE_MAX_STORED = 4096,
	PROFILE_STORED_MAX_BYTES = 160 << 20, /* of files */
	PROFILE_TEXT_MAX_BYTES = 256 << 20,   /* each: of objects, comms, ksymbols */
	PROFILE_MAX_FORKS_DEEP = 8, /* a space with more ancestors gets copies of their mappings */
};

enum { PROFILE_NONE = UINT32_MAX };

/* Mapped objects; pointers to them stay valid. */
struct profile_objects {
	struct arena arena;
	struct dict paths; /* const char * */
	struct dict items; /* private to objects.c */
	bool is_full;
};
void profile_objects_init(struct profile_objects *o);
void profile_objects_fini(struct profile_objects *o);
/* Finds or adds the object of an MMAP or MMAP2 record. 0; -EFBIG: skipped; -ENOMEM. */
int profile_objects_add(struct profile_objects *o, const struct trace_record *r,
			const struct profile_object **out);

struct profile_object *profile_objects_at(const struct profile_objects *o, uint32_t number);

/* Removes objects without a mapping, and renumbers the others; no more may be added. 0 or
 * -ENOMEM. */
struct profile_gathered;
int profile_objects_compact(struct profile_objects *o, struct profile_gathered *g);

struct profile_comms {
	struct dict items; /* struct profile_comm */
	bool is_full;
};
enum { PROFILE_COMM_UNKNOWN, PROFILE_COMM_IDLE, PROFILE_COMM_ENDED };
int profile_comms_init(struct profile_comms *c); /* 0 or -ENOMEM; then nothing is owned */
void profile_comms_fini(struct profile_comms *c);
/* Finds or adds a name. 0; -EFBIG: skipped; -ENOMEM. */
int profile_comms_add(struct profile_comms *c, const char *name, uint32_t *out);

/* Command lines: each text once, at first as items of profile_gathered. */
struct profile_cmdline_record {
	uint64_t from_ns, to_ns;
	uint32_t pid, text;
	bool is_command; /* of the first exec of the pid */
};
int profile_cmdlines_init(struct dict *texts); /* 0 or -ENOMEM; then nothing is owned */
/* 0; -EFBIG: skipped; -ENOMEM. */
struct profile_gathered;
int profile_cmdlines_add(struct dict *texts, struct profile_gathered *g,
			 const struct trace_cmdline *c);

enum profile_change_kind {
	PROFILE_FORK, /* what: the parent's pid, other: its tid */
	PROFILE_COMM, /* what: a comm */
	PROFILE_EXEC, /* the same */
	PROFILE_EXIT,
	PROFILE_MAP, /* what: a mapping */
};
struct profile_change {
	uint64_t time_ns;
	uint32_t pid, tid;
	uint32_t what, other;
	uint32_t place; /* in the order of the file */
	uint8_t kind;   /* enum profile_change_kind */
	bool is_made;
};

/* A mapping as recorded, with its time in from_ns. */
struct profile_mapping_record {
	struct profile_mapping mapping;
	bool is_made, is_dropped;
};

/* A process and its space. */
struct profile_life {
	struct profile_process process;
	uint32_t parent;     /* a life, or PROFILE_NONE */
	uint64_t parent_ns;  /* of the fork */
	uint32_t parent_pid; /* valid until the parent is found */
	/* The life that made this one: the parent's, or before an exec that of the same process;
	 * PROFILE_NONE: not known. Unlike parent it does not say that mappings were copied. */
	uint32_t origin;
	uint64_t surveyed_ns; /* when the survey read parent_pid; 0: it did not */
	uint32_t depth;
	/* Of its tasks: threads created and tasks that ended, and the sums of when, since from_ns.
	 */
	uint64_t nr_begun, nr_ended, begun_ns, ended_ns;
	uint64_t nr_surveyed;        /* threads other than the main one that the survey read */
	uint32_t first_map, nr_maps; /* as recorded: a range of profile_gathered.of_lives */
	/* The space. Its mappings lie side by side, from that of the first cluster on. */
	uint32_t first_cluster, nr_clusters, nr_mappings;
	bool is_forked;   /* a fork recorded its beginning */
	bool is_exec;     /* an exec began it, after a life of the same pid */
	bool has_mapped;  /* a mapping was recorded, not read by the survey */
	bool has_cmdline; /* its parent's, if that is known */
	bool has_command; /* the first of its pid: the command's program was searched for */
	/* For an exec: when all was mapped, and when the new program mapped its first file;
	 * UINT64_MAX: no record says so. Before ready_ns, registers are the calling program's;
	 * before settled_ns they may be. */
	uint64_t ready_ns, settled_ns;
};

/* Mappings that overlap each other and no others: in order of time, in a short list or a tree. */
struct profile_cluster {
	uint64_t start, end;
	uint32_t first, nr; /* mappings */
	uint32_t tree;      /* index, or PROFILE_NONE */
};

/* The name of a thread from a time on. By tid, then time. */
struct profile_naming {
	uint64_t from_ns;
	uint32_t tid, comm;
};

/* A thread other than the main one, and its number in the process. By tid, then time. */
struct profile_thread {
	uint64_t from_ns;
	uint32_t pid, tid, number;
};

/* Processes without records: created on demand, by any thread. */
struct profile_strangers {
	pthread_mutex_t lock;
	struct arena arena;           /* processes, which do not move */
	struct dict items;            /* private to strangers.c */
	struct profile_process other; /* without memory, or beyond the limit */
};
struct profile_strangers *profile_strangers_new(void); /* NULL without memory */
void profile_strangers_free(struct profile_strangers *s);
/* The entry of a pid; all have the same number. Lives as long as the strangers. */
const struct profile_process *profile_stranger(struct profile_strangers *s, uint32_t pid,
					       uint32_t number);

/* regions.c */
struct profile_regions *profile_regions_new(void); /* NULL without memory */
void profile_regions_free(struct profile_regions *r);
/* Each: 0 or -ENOMEM. */
int profile_regions_name(struct profile_regions *r, const struct trace_mark_name *name);
/* A note of the common file; ignored if it is of something else. */
int profile_regions_note(struct profile_regions *r, const char *text);
int profile_regions_add(struct profile_regions *r, const struct trace_marks *marks);
/* A definition of labels; others are ignored. */
int profile_regions_add_labels(struct profile_regions *r, const struct trace_code *code);
/* The name with that number, as profile_regions_name added it; NULL: there is none. */
const char *profile_regions_find_name(const struct profile_regions *r, uint32_t number);

/* Parts of files; pointers to them stay valid. */
struct profile_stored {
	const struct profile_file_parts **item; /* owned, as each is */
	size_t nr, room;
	uint64_t bytes;
};
void profile_stored_fini(struct profile_stored *s);
/* 0; -EFBIG: skipped; -ENOMEM. */
int profile_stored_add(struct profile_stored *s, const struct trace_file_parts *t);

struct profile_processes {
	struct profile_regions *regions; /* owned */
	struct profile_spans spans;      /* of a session with regions */
	struct profile_objects objects;
	struct profile_stored stored;
	struct profile_comms comms;
	struct dict cmdlines;       /* const char * */
	struct profile_life *lives; /* owned; by pid, then time */
	size_t nr_lives, lives_room;
	struct profile_mapping *mappings; /* owned */
	uint64_t *begins;                 /* owned; as mappings: when those of each life began */
	size_t nr_mappings, mappings_room;
	struct profile_cluster *clusters; /* owned */
	size_t nr_clusters, clusters_room;
	struct cover *trees; /* owned */
	size_t nr_trees, trees_room, nr_tree_mappings;
	struct profile_naming *namings; /* owned */
	size_t nr_namings, namings_room;
	struct profile_thread *threads; /* owned */
	size_t nr_threads;
	struct profile_ksymbol *ksymbols; /* owned */
	size_t nr_ksymbols, ksymbols_room;
	struct arena ksymbol_names;
	struct profile_codes codes;
	struct profile_compiled_table compiled;
	struct profile_symbol_part *symbol_parts; /* owned */
	size_t nr_symbol_parts, symbol_parts_room;
	struct profile_strangers *strangers; /* owned; the only part that changes */
	bool has_left_out;                   /* because of a limit */
};

/* Build-ids of files that are recorded beside their mappings; each is found by its file. */
struct profile_build_ids {
	struct profile_build_id *item; /* owned; in the order of the file */
	size_t nr, room;
	struct dict paths; /* const char * */
	struct dict files; /* private to build_ids.c */
};
void profile_build_ids_init(struct profile_build_ids *all);
void profile_build_ids_fini(struct profile_build_ids *all);
/* 0; -EFBIG: skipped; -ENOMEM. */
int profile_build_ids_add(struct profile_build_ids *all, const struct trace_build_id *t);

/* Data collected from the records. */
struct profile_gathered {
	struct profile_change *changes; /* owned; by pid, then time, after the gathering */
	size_t nr_changes, changes_room;
	struct profile_mapping_record *maps; /* owned */
	size_t nr_maps, maps_room;
	struct profile_ksymbol_record *ksymbols; /* owned */
	size_t nr_ksymbols, ksymbols_room;
	uint64_t *looked_ns; /* owned; sorted times at which the survey read a process */
	size_t nr_looked, looked_room;
	struct profile_build_ids build_ids;
	struct profile_cmdline_record *cmdlines; /* owned; in the order of the file */
	size_t nr_cmdlines, cmdlines_room;
	struct profile_span_switches switches;
	uint32_t *of_lives; /* owned; indexes of maps, life by life */
	uint32_t nr_of_lives;
	uint32_t place;        /* of the next change */
	bool has_marks;        /* of programs */
	bool grows;            /* more will be added after the tables were made */
	uint64_t read_bytes;   /* of the file */
	uint64_t nr_senseless; /* records */
};
void profile_gathered_fini(struct profile_gathered *g);

/* A kernel symbol as recorded. */
struct profile_ksymbol_record {
	uint64_t start, time_ns;
	const char *name;
	uint32_t len, place;
	bool is_made, is_gone;
};

struct profile_processes *profile_processes_new(void); /* NULL without memory */
/* Reports damage of the file, and what was skipped. */
void profile_gathered_report(const struct profile_processes *p, const struct profile_gathered *g,
			     struct profile_faults *faults, const struct trace_reader *r);
/* Appends the records of the file from where the reader is. 0; -ENOMEM; or the result of kallsyms.
 */
int profile_gather(struct profile_processes *p, struct profile_gathered *g, struct trace_reader *r,
		   struct profile_faults *faults, profile_kallsyms_fn *kallsyms, void *arg);
/* Makes all tables of what was gathered. session: as profile_processes_read. 0 or -ENOMEM. */
int profile_processes_make(struct profile_processes *p, struct profile_gathered *g,
			   const struct profile_session *session);
/* Frees what was made, so that it can be made again; without regions. */
void profile_processes_unmake(struct profile_processes *p);

/* The end of the survey's reading that began at time_ns: the start of the next one. */
uint64_t profile_looked_until(const struct profile_gathered *g, uint64_t time_ns);

/* The steps; 0 or -ENOMEM. The first assigns build-ids to mappings. */
int profile_build_ids_resolve(struct profile_processes *p, struct profile_gathered *g);
int profile_lives_make(struct profile_processes *p, struct profile_gathered *g);
void profile_cmdlines_assign(struct profile_processes *p, const struct profile_gathered *g);
int profile_spaces_make(struct profile_processes *p, struct profile_gathered *g);
int profile_begins_make(struct profile_processes *p);
int profile_namings_make(struct profile_processes *p, const struct profile_gathered *g);
int profile_threads_make(struct profile_processes *p, const struct profile_gathered *g);
int profile_regions_make(struct profile_processes *p, const struct profile_gathered *g,
			 const struct profile_session *session);
int profile_ksymbols_make(struct profile_processes *p, struct profile_gathered *g);
void profile_trees_fini(struct profile_processes *p);

/* The number of mappings of a life that began until time_ns. */
uint32_t profile_begins_until(const struct profile_processes *p, uint32_t life, uint64_t time_ns);

/* The index after the last entry of the pid (tid) that began until the time, or its insertion
 * point: the entry before it may be another pid's. */
size_t profile_lives_until(const struct profile_processes *p, uint32_t pid, uint64_t time_ns);
/* The life of the pid at that time, or PROFILE_NONE. */
uint32_t profile_life_at(const struct profile_processes *p, uint32_t pid, uint64_t time_ns);
size_t profile_namings_until(const struct profile_processes *p, uint32_t tid, uint64_t time_ns);
size_t profile_threads_until(const struct profile_processes *p, uint32_t tid, uint64_t time_ns);

/* An answer, and the addresses and times (from_ns <= t < to_ns) for which it holds. */
struct profile_found {
	const struct profile_mapping *mapping;
	uint64_t start, end, from_ns, to_ns;
};
void profile_space_find(const struct profile_processes *p, uint32_t life, uint64_t address,
			uint64_t time_ns, struct profile_found *out);

/* profile_processes_load of an open file, which stays the caller's; NULL: there is none. session:
 * of the file; NULL: its iterations are not known. */
int profile_processes_read(struct trace_reader *r, const struct profile_session *session,
			   struct profile_faults *faults, profile_kallsyms_fn *kallsyms, void *arg,
			   struct profile_processes **out);

/* profile_growth_read of an open file, as above. */
struct profile_growth;
int profile_growth_add(struct profile_growth *g, struct trace_reader *r,
		       const struct profile_session *session, struct profile_faults *faults,
		       uint64_t unused_ns, profile_kallsyms_fn *kallsyms, void *arg,
		       struct profile_processes **out);

/* Of the processes of a tree that began at or after start_ns: how many there were at a time, up to
 * end_ns. 0 or -ENOMEM. */
struct profile_choice;
int profile_turns_add(const struct profile_processes *p, const struct profile_choice *tree,
		      uint64_t start_ns, uint64_t end_ns, struct profile_lifetime *out);

#endif
