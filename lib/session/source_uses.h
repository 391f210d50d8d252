/*
 * The sources that a session measures: an instance of each of which it has events, called in loops.
 */
#ifndef SESSION_SOURCE_USES_H
#define SESSION_SOURCE_USES_H

#include "plan/source.h"

struct things_clock;
struct things_one;
struct things_sample;

/* The sources of a session. Zeroes: none. */
struct source_uses {
	struct source_core core; /* set before they are opened */
	struct source_use **use; /* owned, like each */
	size_t nr, room;
	struct source_use **of_event; /* owned; per event of the plan; NULL: the first source's */
	size_t nr_events;
};

/* Memory only. 0 or -ENOMEM. */
int source_uses_init(struct source_uses *s, const struct plan *plan);
/* Closes all that are open. What is known of them remains. */
void source_uses_release(struct source_uses *s);
void source_uses_fini(struct source_uses *s);
/* Opens those that are not, and were not refused. 0; -ENOMEM; -errno with *e, of one that is wanted
 * without events. */
int source_uses_open(struct source_uses *s, struct err *e);
/* The target has changed, or the rates. */
void source_uses_close(struct source_uses *s);
/* As struct source.selected, of one that has it. */
struct selected_program source_uses_selected(const struct source_uses *s);
/* All events are connected. 0 or -errno. */
int source_uses_begin(const struct source_uses *s);
/* The files are open, and all events count. 0 or -errno with *e. */
int source_uses_start(const struct source_uses *s, struct err *e);
/* See struct source. */
void source_uses_look_at(const struct source_uses *s, uint32_t pid);
void source_uses_pass_switch(const struct source_uses *s, uint64_t time_ns, bool is_on);
bool source_uses_regions(const struct source_uses *s, uint64_t now_ns,
			 struct region_times_list *out);
size_t source_uses_end(const struct source_uses *s, const char **notes, size_t room);
void source_uses_leave(const struct source_uses *s);
/* Whether records of switches can measure what was refused. */
bool source_uses_have_switches(const struct source_uses *s);
/* Why the event does not work, if its source was refused. */
void source_uses_explain(const struct source_uses *s, size_t event, struct event_support *out);
/* Enables or disables the event, if it is not the first source's. */
void source_uses_enable(const struct source_uses *s, size_t event, bool is_enabled);
/* At a boundary, before the counts of all CPUs are read; and after them. */
void source_uses_read(const struct source_uses *s, uint64_t now_ns);
void source_uses_done(const struct source_uses *s);
/* Between two boundaries, before the counts. */
void source_uses_look(const struct source_uses *s);
/* In place of those in the list. Without memory some are missing. */
struct source_histograms {
	struct trace_histogram *item; /* owned */
	size_t nr, room;
};
void source_uses_histograms(const struct source_uses *s, bool is_look,
			    struct source_histograms *out);
/* The same of functions. */
struct source_functions {
	struct trace_function *item; /* owned; what it refers to is borrowed until the next call */
	size_t nr, room;
};
void source_uses_functions(const struct source_uses *s, struct source_functions *out);
/* And of values: of the one that has some. *out is borrowed until the next call. */
size_t source_uses_call_values(const struct source_uses *s, const struct trace_value **out);
/* The socket for the variable of a command; NULL: there is none. */
const char *source_uses_socket(const struct source_uses *s, const char *variable);
void source_uses_notes(const struct source_uses *s, struct notes *notes);

/* Of the events that sources of values read: see struct source_values. Sets are numbered over all
 * these sources. */
/* The event's source; NULL: a perf event carries it, or the machine lacks it. */
const struct source_use *source_uses_of_values(const struct source_uses *s, size_t event);
void source_uses_read_values(const struct source_uses *s, const bool *is_wanted);
const char *source_uses_note(const struct source_uses *s);
void source_uses_settle(const struct source_uses *s);
const char *source_uses_way(const struct source_uses *s, size_t event);
uint64_t source_uses_every_ns(const struct source_uses *s, size_t event);
uint32_t source_uses_set(const struct source_uses *s, size_t event);
uint32_t source_uses_nr_sets(const struct source_uses *s);
/* The first event of the set. */
size_t source_uses_first_of(const struct source_uses *s, uint32_t set);
size_t source_uses_nr_things(const struct source_uses *s, uint32_t set);
void source_uses_get_thing(const struct source_uses *s, uint32_t set, size_t k,
			   struct things_one *out);
void source_uses_flush(const struct source_uses *s);
bool source_uses_sample(const struct source_uses *s, uint32_t set, uint64_t until_ns,
			struct things_sample *out);
bool source_uses_clock(const struct source_uses *s, uint32_t set, uint64_t until_ns,
		       struct things_clock *out);

#endif
