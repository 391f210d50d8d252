/*
 * Which interpreter a process has: found by the symbols of the files that it has mapped, whatever
 * they are called. Files and processes are hostile: what they say is only where to look, and each
 * look may fail.
 */
#ifndef INTERPRETERS_JUDGE_H
#define INTERPRETERS_JUDGE_H

#include "bpf/interpreted_shared.h"

#include <stdbool.h>
#include <stdint.h>

struct interpreters_judge;

/* 0 or -ENOMEM. */
int interpreters_judge_new(struct interpreters_judge **out);
void interpreters_judge_free(struct interpreters_judge *j); /* NULL is fine */

/* Sets out->state, and the rest of an interpreter that is known. is_thorough: also of a program
 * whose files are not called so; most processes end before they are worth it. True: it is none yet,
 * but has a file that is called so, and may be about to load its library. */
bool interpreters_judge_process(struct interpreters_judge *j, uint32_t process, bool is_thorough,
				struct bpf_interpreted_process *out);

#endif
