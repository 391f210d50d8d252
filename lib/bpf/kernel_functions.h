/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Functions of the kernel (kfuncs) that programs call, as calls of numbers that no helper has: they
 * become calls of the functions when a program is loaded. A program that calls one that the kernel
 * has not is loaded only if its verifier sees that the call is not reached. Private to bpf/.
 */
#ifndef BPF_KERNEL_FUNCTIONS_H
#define BPF_KERNEL_FUNCTIONS_H

#define KERNEL_FUNCTION(number) ((void *)(0x7f000000L + (number)))

enum kernel_function {
	KERNEL_ITER_TASK_NEW, /* Linux 6.7 */
	KERNEL_ITER_TASK_NEXT,
	KERNEL_ITER_TASK_DESTROY,
	KERNEL_RCU_READ_LOCK, /* Linux 6.2 */
	KERNEL_RCU_READ_UNLOCK,
	KERNEL_SESSION_IS_RETURN, /* Linux 6.10; of uprobes 6.13 */
	KERNEL_NR_FUNCTIONS,
};

#endif
