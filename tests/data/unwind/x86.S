/*
 * The program in the corpus of fuzz_unwind and in test_unwind_hostile: its tables have a frame
 * pointer, an expression, and the frame of a signal. It is never run: the sample is made by hand, in
 * h, as if a signal had met g behind its call. The corpus entry is a 0, the number of words of
 * stack, 33 registers, the stack and this:
 *
 *   gcc -nostdlib -static -s -Wl,--build-id=none -Wl,-z,max-page-size=4096 -Wl,-z,noseparate-code \
 *     -Wl,-Ttext-segment=0x400000 -Wl,--eh-frame-hdr -o x86.elf x86.S
 */
	.text
	.globl _start
_start:	.cfi_startproc
	.cfi_undefined rip
	call f
	hlt
	.cfi_endproc
f:	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register rbp
	call g
	pop %rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
g:	.cfi_startproc
	sub $8, %rsp
	/* the CFA: rsp + 8, and 8 */
	.cfi_escape 0x0f, 5, 0x77, 8, 0x38, 0x22, 0x96
	call h
	add $8, %rsp
	ret
	.cfi_endproc
h:	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_def_cfa rsp, 0
	/* rip at rsp + 8, rbp at rsp, rsp at rsp + 16 */
	.cfi_escape 0x10, 0x10, 2, 0x77, 8
	.cfi_escape 0x10, 6, 2, 0x77, 0
	.cfi_escape 0x10, 7, 2, 0x77, 16
	nop
	ret
	.cfi_endproc
