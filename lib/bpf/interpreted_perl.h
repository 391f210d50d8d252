/*
 * Of Perl: what the program in the kernel and the recorder share.
 */
#ifndef BPF_INTERPRETED_PERL_H
#define BPF_INTERPRETED_PERL_H

#include <linux/types.h>

/* Where Perl has what is read. Offsets in bytes; those of code (CV), globs, hashes and names begin
 * with their bodies, to which their objects point. */
struct bpf_perl_offsets {
	__u16 interpreter_stack, interpreter_cop, interpreter_op; /* of a build with threads */
	__u16 stack_contexts, stack_previous, stack_index, stack_most, stack_sub;
	__u16 context_bytes, context_type, context_cop, context_next, context_code, context_catch;
	__u16 type_mask, type_sort, type_sub, type_format, type_eval; /* of a context */
	__u16 flag_within, flag_block;                                /* numbers of its bits */
	__u16 op_type, op_state, op_debug, op_call, op_goto, op_return, op_leave;
	__u16 cop_line, cop_file;
	__u16 object_body, object_flags, object_array;
	__u16 type_code, type_form, type_glob,
	    type_hash; /* of an object: the first byte of flags */
	__u16 flag_names;
	__u16 code_package, code_start, code_name, code_flags, flag_named, flag_lexical;
	__u16 glob_name, glob_package;
	__u16 hash_most;
	__u16 hash_names; /* NOWHERE: they are behind the array of the hash */
	__u16 names_first, names_nr;
	__u16 key_hash, key_length, key_text;
};
enum { BPF_PERL_NOWHERE = 65535 };

struct bpf_perl {
	/* Where the number is by which a thread has its interpreter (pthread_getspecific); 0: the
	 * build has no threads. */
	__u64 key;
	/* In the interpreter; without threads: addresses. */
	__u64 stack, cop, op;
	struct bpf_perl_offsets at;
};

enum { BPF_PERL_FILE, BPF_PERL_NAME, BPF_PERL_PACKAGE, BPF_PERL_NR_TEXTS };

/* What a definition says in place of a table of lines: what the code is. */
enum { BPF_PERL_IS_SUB, BPF_PERL_IS_TEXT, BPF_PERL_IS_PROGRAM };

#endif
