/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The walk over the frames of a thread that is asleep, walk_out_asleep, for iterators that may
 * sleep.
 */
#ifndef BPF_INTERPRETED_ASLEEP_BPF_H
#define BPF_INTERPRETED_ASLEEP_BPF_H

#include "bpf/programs/interpreted.bpf.h"
#include "bpf/programs/lasting.bpf.h"

#define READ_ASLEEP        read_asleep
#define load               load_asleep
#define copy_text          copy_text_asleep
#define define             define_asleep
#define code_number        code_number_asleep
#define leave_call         leave_call_asleep
#define give_up            give_up_asleep
#define leave_entry        leave_entry_asleep
#define step_out           step_out_asleep
#define search_thread      search_thread_asleep
#define search_interpreter search_interpreter_asleep
#define find_thread        find_thread_asleep
#define state_of           state_of_asleep
#define find_frame         find_frame_asleep
#define walk_out           walk_out_asleep

#include "bpf/programs/interpreted_walk.bpf.h"

#undef load
#undef copy_text
#undef define
#undef code_number
#undef leave_call
#undef give_up
#undef leave_entry
#undef step_out
#undef search_thread
#undef search_interpreter
#undef find_thread
#undef state_of
#undef find_frame
#undef walk_out
#undef READ_ASLEEP

#endif
