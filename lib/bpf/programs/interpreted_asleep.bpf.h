/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The walk over the frames of a thread that is asleep, walk_out_asleep, for iterators that may
 * sleep.
 */
#ifndef BPF_INTERPRETED_ASLEEP_BPF_H
#define BPF_INTERPRETED_ASLEEP_BPF_H

#include "bpf/programs/interpreted.bpf.h"
#include "bpf/programs/lasting.bpf.h"

#define READ_ASLEEP      read_asleep
#define load             load_asleep
#define walk_out         walk_out_asleep
#define number_bytes     number_bytes_asleep
#define number_text_ends number_text_ends_asleep
#define copy_text_part   copy_text_part_asleep

/* Go */
#define go_number_text go_number_text_asleep
#define go_add_text    go_add_text_asleep
#define go_define_text go_define_text_asleep
#define go_define      go_define_asleep
#define go_add_slot    go_add_slot_asleep
#define go_read_map    go_read_map_asleep
#define go_read_list   go_read_list_asleep
#define go_find_labels go_find_labels_asleep
#define go_walk_out    go_walk_out_asleep

/* Perl */
#define perl_load_body        perl_load_body_asleep
#define perl_search_end       perl_search_end_asleep
#define perl_find_name        perl_find_name_asleep
#define perl_find_file        perl_find_file_asleep
#define perl_find_package     perl_find_package_asleep
#define perl_find_sub         perl_find_sub_asleep
#define perl_load_op          perl_load_op_asleep
#define perl_is_statement     perl_is_statement_asleep
#define perl_copy_text        perl_copy_text_asleep
#define perl_define           perl_define_asleep
#define perl_number           perl_number_asleep
#define perl_add_frame        perl_add_frame_asleep
#define perl_begin_loop       perl_begin_loop_asleep
#define perl_leave_eval       perl_leave_eval_asleep
#define perl_is_within        perl_is_within_asleep
#define perl_leave_sub        perl_leave_sub_asleep
#define perl_load_stack       perl_load_stack_asleep
#define perl_leave_stack      perl_leave_stack_asleep
#define perl_step_out         perl_step_out_asleep
#define perl_find_interpreter perl_find_interpreter_asleep
#define perl_walk_out         perl_walk_out_asleep

/* PHP */
#define php_find_class      php_find_class_asleep
#define php_number_string   php_number_string_asleep
#define php_number_text     php_number_text_asleep
#define php_copy_string     php_copy_string_asleep
#define php_copy_text       php_copy_text_asleep
#define php_define          php_define_asleep
#define php_load_function   php_load_function_asleep
#define php_number          php_number_asleep
#define php_is_compiled     php_is_compiled_asleep
#define php_has_opcode      php_has_opcode_asleep
#define php_opline          php_opline_asleep
#define php_line            php_line_asleep
#define php_search_delegate php_search_delegate_asleep
#define php_leave_delegate  php_leave_delegate_asleep
#define php_step_over       php_step_over_asleep
#define php_step_out        php_step_out_asleep
#define php_is_there        php_is_there_asleep
#define php_walk_out        php_walk_out_asleep

/* Python */
#define python_copy_text          python_copy_text_asleep
#define python_define             python_define_asleep
#define python_code_number        python_code_number_asleep
#define python_leave_call         python_leave_call_asleep
#define python_give_up            python_give_up_asleep
#define python_leave_entry        python_leave_entry_asleep
#define python_step_out           python_step_out_asleep
#define python_search_thread      python_search_thread_asleep
#define python_search_interpreter python_search_interpreter_asleep
#define python_find_thread        python_find_thread_asleep
#define python_state_of           python_state_of_asleep
#define python_find_frame         python_find_frame_asleep
#define python_walk_out           python_walk_out_asleep

/* Ruby */
#define ruby_find_text      ruby_find_text_asleep
#define ruby_number_text    ruby_number_text_asleep
#define ruby_copy_text      ruby_copy_text_asleep
#define ruby_define         ruby_define_asleep
#define ruby_number         ruby_number_asleep
#define ruby_find_entry     ruby_find_entry_asleep
#define ruby_line           ruby_line_asleep
#define ruby_find_frames    ruby_find_frames_asleep
#define ruby_is_context     ruby_is_context_asleep
#define ruby_find_block     ruby_find_block_asleep
#define ruby_search_context ruby_search_context_asleep
#define ruby_find_context   ruby_find_context_asleep
#define ruby_add_frame      ruby_add_frame_asleep
#define ruby_step_out       ruby_step_out_asleep
#define ruby_walk_out       ruby_walk_out_asleep

#include "bpf/programs/interpreted_walk.bpf.h"

#undef READ_ASLEEP
#undef load
#undef walk_out
#undef number_bytes
#undef number_text_ends
#undef copy_text_part
#undef go_number_text
#undef go_add_text
#undef go_define_text
#undef go_define
#undef go_add_slot
#undef go_read_map
#undef go_read_list
#undef go_find_labels
#undef go_walk_out
#undef perl_load_body
#undef perl_search_end
#undef perl_find_name
#undef perl_find_file
#undef perl_find_package
#undef perl_find_sub
#undef perl_load_op
#undef perl_is_statement
#undef perl_copy_text
#undef perl_define
#undef perl_number
#undef perl_add_frame
#undef perl_begin_loop
#undef perl_leave_eval
#undef perl_is_within
#undef perl_leave_sub
#undef perl_load_stack
#undef perl_leave_stack
#undef perl_step_out
#undef perl_find_interpreter
#undef perl_walk_out
#undef php_find_class
#undef php_number_string
#undef php_number_text
#undef php_copy_string
#undef php_copy_text
#undef php_define
#undef php_load_function
#undef php_number
#undef php_is_compiled
#undef php_has_opcode
#undef php_opline
#undef php_line
#undef php_search_delegate
#undef php_leave_delegate
#undef php_step_over
#undef php_step_out
#undef php_is_there
#undef php_walk_out
#undef python_copy_text
#undef python_define
#undef python_code_number
#undef python_leave_call
#undef python_give_up
#undef python_leave_entry
#undef python_step_out
#undef python_search_thread
#undef python_search_interpreter
#undef python_find_thread
#undef python_state_of
#undef python_find_frame
#undef python_walk_out
#undef ruby_find_text
#undef ruby_number_text
#undef ruby_copy_text
#undef ruby_define
#undef ruby_number
#undef ruby_find_entry
#undef ruby_line
#undef ruby_find_frames
#undef ruby_is_context
#undef ruby_find_block
#undef ruby_search_context
#undef ruby_find_context
#undef ruby_add_frame
#undef ruby_step_out
#undef ruby_walk_out

#endif
