/*
 * What the programs of hits.bpf.c and the program that loads them share.
 */
#ifndef BPF_HITS_SHARED_H
#define BPF_HITS_SHARED_H

#include "bpf/follow_shared.h"

#include <linux/types.h>

enum {
	BPF_HITS_NR_SLOTS = 64, /* events of a session: the bits of a place's mask */
	BPF_HITS_OF_PLACE = 8,  /* events that one function may belong to */
	BPF_HITS_MAX_CPUS = 8192,
	/* Calls of a task that are open: the kernel replaces no more return addresses. */
	BPF_HITS_DEPTH = 64,
	/* Histograms are log-linear; with fewer bits where there are many functions. The last
	 * bucket also has what is longer. */
	BPF_HITS_MAX_LOG2 = 42,
	BPF_HITS_MAX_BITS = 4,
	/* Arguments and results. */
	BPF_HITS_MAX_FIELDS = 8,
	BPF_HITS_TEXT_BYTES = 120,
	BPF_HITS_MAX_EXACT = 256, /* values of a field that are told apart */
	BPF_HITS_TEXT_WORDS = BPF_HITS_TEXT_BYTES / 8,
	BPF_HITS_MAX_TERMS = 32, /* comparisons of a function: a word has two bits for each */
	BPF_HITS_MEANT = 0x80,
};
#define BPF_HITS_NR_BUCKETS(bits) ((BPF_HITS_MAX_LOG2 - (bits) + 1U) << (bits))

/* A function, by its number. */
struct bpf_hits_place {
	__u64 events;   /* a bit for each that has it */
	__u32 is_timed; /* its returns are seen */
	__u32 is_own;   /* the recorder's, by which the cost of a call is measured */
	/* What a call costs, and what of it lies between its two readings of the clock: ns. */
	__u32 cost_ns, inside_ns;
	__u32 entry_ns; /* what one costs whose return is not seen */
	__u32 capture;  /* its number in captures, from 1; 0: no values are taken */
	__u32 when;     /* in whens, from 1; 0: no event counts its calls when they end */
	__u32 zero;
};

enum { BPF_HITS_UNSIGNED, BPF_HITS_SIGNED, BPF_HITS_POINTER, BPF_HITS_STRING };
enum { BPF_HITS_REGISTER, BPF_HITS_STACK, BPF_HITS_RESULT };

/* A value of a call: an argument, or its result. */
struct bpf_hits_field {
	__u8 type, where;
	__u8 shift;   /* bits above the value */
	__u8 text;    /* of texts: its number among them */
	__u32 offset; /* of the register in struct pt_regs, or above the stack pointer */
};

/* A word w is in it if w - low <= span. */
struct bpf_hits_range {
	__u64 low, span;
};

/* What a text is compared with: the bits of the masks are the same in both. */
struct bpf_hits_pattern {
	__u64 word[BPF_HITS_TEXT_WORDS], mask[BPF_HITS_TEXT_WORDS];
};

/* A comparison: the field's word is in the range. Of a pattern the word is 1 if the text there is
 * like it, and 0 if it is not. */
struct bpf_hits_term {
	__u8 event, field; /* BPF_HITS_MAX_FIELDS: the duration */
	/* By whether it holds: the number of the next term, behind it. If the call is decided, this
	 * is one of another event, or behind all; with BPF_HITS_MEANT the event counts the call. */
	__u8 next[2];
	__u8 is_result, zero;
	__u16 pattern; /* from 1; 0: none */
	struct bpf_hits_range range;
};

/* The terms of the events of a function, one behind the other. */
struct bpf_hits_when {
	__u32 nr, nr_patterns; /* of terms; of these that have a pattern */
	struct bpf_hits_term term[BPF_HITS_MAX_TERMS];
};

/* What is taken of a function's calls. */
struct bpf_hits_capture {
	__u64 events; /* those that ask for it: their calls are counted by value */
	__u64 wanted; /* these, and those whose samples or conditions have values */
	__u32 nr, nr_texts;
	struct bpf_hits_field field[BPF_HITS_MAX_FIELDS];
	__u32 nr_exact[BPF_HITS_MAX_FIELDS];
};

enum bpf_hits_value_kind {
	BPF_HITS_NUMBER,     /* text begins with it */
	BPF_HITS_RANGE,      /* text begins with a number of 64 bits: n > 0: from 2^(n-1) and below
			      * 2^n; 0; n < 0: the same of negative ones */
	BPF_HITS_TEXT,       /* all of it */
	BPF_HITS_LONG_TEXT,  /* its begin */
	BPF_HITS_NULL,       /* a pointer to text that is 0 */
	BPF_HITS_UNREADABLE, /* one to where nothing is, or to what is not in memory now */
	BPF_HITS_OTHERS,     /* what is beyond the limit */
	BPF_HITS_NR_VALUE_KINDS
};

/* A value that a field has had, by which it is found. */
struct bpf_hits_value {
	__u32 capture; /* from 0 */
	__u16 field, kind;
	char text[BPF_HITS_TEXT_BYTES];
};

/* Of the calls that had the value; cumulative. A cache line. */
struct bpf_hits_value_sums {
	__u64 calls;
	__u64 timed; /* those of which wall_ns is the sum */
	__u64 wall_ns, max_ns;
	__u64 sum; /* of numbers */
	__u64 zero[3];
};

/* Of a task's open calls: numbers of values, from 1; or where a text is that could not be read when
 * the call began, with this bit. */
#define BPF_HITS_LATER (1ULL << 63)
struct bpf_hits_open_values {
	__u64 number[BPF_HITS_DEPTH * BPF_HITS_MAX_FIELDS];
	__u64
	    word[BPF_HITS_DEPTH * BPF_HITS_MAX_FIELDS]; /* the value itself, or where the text is */
	/* Per call: the events that were enabled when it began, 0 if no values were taken; and a
	 * bit for each field that could not be read. And of each term whose pattern was compared
	 * when it began: whether it was; in the lower half, whether the text is like it. */
	__u64 events[BPF_HITS_DEPTH], unread[BPF_HITS_DEPTH], texts[BPF_HITS_DEPTH];
};

/* Of the function's calls on some CPUs; cumulative. A cache line. */
struct bpf_hits_sums {
	__u64 calls; /* that began */
	__u64 wall_ns, self_ns, cpu_ns, cost_ns;
	__u64 max_ns;
	__u64 skipped; /* calls without times: too many were open, or the stack was another */
	__u64 left;    /* calls without times: something above them on the stack has ended */
};

/* A call that is open. */
struct bpf_hits_call {
	__u64 stack; /* the address of the stack at the entry */
	__u64 start_ns;
	__u64 off_ns;   /* the task's, at the entry */
	__u64 child_ns; /* in functions that it called */
	__u64 cost_ns;  /* of measuring these */
	__u64 place;
	__u64 address; /* of the instruction that was probed, in the process */
};

/* All zero: nothing yet. */
struct bpf_hits_task {
	struct bpf_follow follow;
	__u64 off_ns;       /* off the CPU, while calls were open */
	__u64 off_since_ns; /* 0: it is on one */
	__u64 nr;           /* of calls */
	struct bpf_hits_call call[BPF_HITS_DEPTH];
};

/* What a sample has of the return addresses that the kernel has replaced, which are those of the
 * calls that are open: the one in their place, their number, and of each where it was on the stack,
 * and what it was. The format of the trace has it. */
struct bpf_hits_returns {
	__u64 trampoline, nr;
	struct {
		__u64 stack, address;
	} open[BPF_HITS_DEPTH];
};

/* A sample of a call that has ended; the format of the trace has it (PERF_ABI_ENDED). Without
 * texts, or return addresses, it is so much shorter. */
struct bpf_hits_ended {
	__u64 duration_ns, address;
	__u64 word[BPF_HITS_MAX_FIELDS];
	char text[BPF_HITS_MAX_FIELDS][BPF_HITS_TEXT_BYTES];
	struct bpf_hits_returns returns;
};

/* Of one event on one CPU; cumulative. A cache line, so that CPUs do not share one. */
struct bpf_hits_counts {
	__u64 hits;
	__u64 lost; /* samples that found no place to be sent to */
	__u64 unused[6];
};

#endif
