/*
 * Of V8 (JavaScript): what the program in the kernel and the recorder share.
 *
 * Objects are where a pointer to them says, less 1; small integers are in the upper half of a word.
 * The collector may have moved an object: then its first word says where to.
 */
#ifndef BPF_INTERPRETED_JAVASCRIPT_H
#define BPF_INTERPRETED_JAVASCRIPT_H

#include <linux/types.h>

/* Offsets in objects, and their types. */
struct bpf_javascript {
	__u64 text_begin, text_end; /* the code of the file that has V8; the rest is compiled */
	__u16 map_type;             /* less the 1 of pointers */
	__u16 function_shared, function_type, last_function_type;
	__u16 context_type, last_context_type;
	__u16 shared_name, shared_script, shared_flags, shared_type;
	__u16 scope_type, scope_variables; /* what comes first behind counts */
	__u16 scope_most;                  /* variables that have their names in it */
	__u16 scope_receiver;              /* 1: has a word of "this" where that is a variable */
	__u16 script_name, script_source, script_line, script_number, script_type;
	__u16 text_hash, text_length, text_chars;
	__u16 cons_first, cons_second, sliced_parent, sliced_offset, thin_actual, external_data;
	__u16 first_type; /* of what is no text */
	/* Of code that is optimised (interpreters/v8.h). layout: from 1; 0: this version is not
	 * known. Not for the kernel's program. */
	__u16 layout;
	__u16 stream_type, code_type, beside_type;
	__u16 data_type, literals_type, positions_type, inlinings_type;
	__u16 wrapper_type; /* of the function; 0: it has none */
};

/* What tells a function of a program from all others of its thread, at whatever address it is. */
struct bpf_javascript_identity {
	__u64 space, process, thread;
	__u64 script, position; /* the script's number; begin and end in it */
	__u64 hashes;           /* of its name, and of the script's */
	__u64 kind;             /* what is made beside a function has its position */
};
static inline __u64 bpf_javascript_number(const struct bpf_javascript_identity *i)
{
	__u64 h = bpf_interpreted_mix(i->space ^ i->process, i->thread);

	h = bpf_interpreted_mix(h, i->script);
	h = bpf_interpreted_mix(h, i->position);
	h = bpf_interpreted_mix(h, i->hashes);
	return bpf_interpreted_mix(h, i->kind);
}

#endif
