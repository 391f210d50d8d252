/*
 * Private to the files of report_records: the current record, the cache of names as the form writes
 * them, and the interface of a form.
 */
#ifndef REPORT_RECORDS_STATE_H
#define REPORT_RECORDS_STATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "profile/samples.h"
#include "report/records.h"
#include "report/records_fields.h"
#include "report/stack.h"

struct trace_event;

/* The name of an address as the form writes it, for one process (by number) or the kernel, in one
 * epoch. */
struct records_name {
	uint64_t address;
	uint32_t process, epoch;
	const char *text;       /* NULL: the row is free */
	uint32_t len, more_len; /* more_len bytes follow text: the form's own */
};

/* Two names that share a cache line, the most recent first. */
struct records_shelf {
	struct records_name name[2];
};

/* The text of a function, event or comm, by its number; text NULL: not made yet. */
struct records_text {
	const char *text;
	uint32_t len, more_len;
};

struct records_texts {
	struct records_text *item; /* owned */
	size_t nr;
};

struct records_state {
	const struct report_records_config *config;
	const struct records_form *form;
	struct buf *out;
	uint64_t start_ns, nr_shown;
	struct records_shelf *shelves; /* in memory */
	void *memory;                  /* owned */
	struct records_texts functions, comms, events;
	struct arena arena; /* of texts */
	struct buf scratch; /* of the form */
	struct buf lead;    /* the start of each row */
	int error;          /* -ENOMEM: sticks */
	uint32_t kernel_epoch;
	struct profile_sample sample; /* the current one */
	struct report_stack stack;
};

/* The current record or reading. */
struct records_item {
	struct records_state *all;
	const struct profile_item *item;
	const struct profile_trace *trace; /* NULL: from the common file */
	const struct trace_record *r;
	const struct trace_event *event; /* NULL: unknown */
	struct profile_task task;
	uint32_t epoch; /* of the sample's process */
	struct records_line line;
};

/* A form, which writes records. Appends to out, whose errors stick. */
struct records_form {
	const char *unknown; /* a pid or tid that is not known */
	/* The form's own fields of lines; arg: the struct records_item. NULL: none. */
	void (*own)(const struct records_line *l, char letter);
	void (*begin)(struct records_state *all); /* NULL: nothing */
	void (*record)(const struct records_item *s);
	void (*reading)(const struct records_item *s);
	/* Writes the text of a function into scratch. Returns its more_len. */
	size_t (*function)(struct buf *scratch, const void *function);
};
extern const struct records_form records_form_text, records_form_csv, records_form_ndjson;

/* The name of an address in the record's process and epoch, or in the kernel. */
const struct records_name *records_name(const struct records_item *s, uint64_t address,
					bool is_kernel);
/* Frame i of the current stack. */
static inline const struct records_name *records_frame(const struct records_item *s, size_t i)
{
	return records_name(s, s->all->stack.address[i], i < s->all->stack.nr_kernel);
}
/* The text of a number, cached; make writes it into scratch. */
struct records_text records_text(struct records_state *all, struct records_texts *texts,
				 uint32_t number,
				 size_t (*make)(struct buf *scratch, const void *of),
				 const void *of);
/* Of a sample of a known event: it has no place, but says how long the thread ran without one. */
bool records_is_rest(const struct records_item *s);
/* Makes the stack of the current sample. Do other work before records_fetch_names: it prefetches.
 */
void records_make_stack(const struct records_item *s);
void records_fetch_names(const struct records_item *s);
/* Adds " name=value" for each field of a tracepoint's sample. */
void records_add_fields(const struct records_item *s, struct buf *out);
/* The label of the event of count i of the record. */
const char *records_member_name(const struct records_item *s, uint64_t i);
/* Adds " name=value" for each count of a sample or READ record. */
void records_add_counts(const struct records_item *s, struct buf *out);
/* Adds " kind=device:inode" for each namespace; adds the flags of AUX, such as " truncated". */
void records_add_namespaces(const struct records_item *s, struct buf *out);
void records_add_aux_flags(const struct records_item *s, struct buf *out);

/* Copies text to p, where there is room; returns its end. */
static inline char *records_put(char *p, const char *text, size_t len)
{
	memcpy(p, text, len);
	return p + len;
}

#endif
