/*
 * The function syscall(2) of libc, by which programs install filters of system calls: the number is
 * compared, and all else goes on by a jump, with all registers and the stack as they are.
 *
 * The agent's own calls come here, too: until the constructor they are made without libc.
 */
#include "agent/heap/agent.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

typedef long call(long nr, long a, long b, long c, long d, long e, long f);

call agent_raw_syscall;
AGENT_ALIGNS call agent_seccomp, agent_prctl;
long agent_raw_failed(long rc);

__attribute__((visibility("hidden"), used)) call *agent_real_syscall = agent_raw_syscall;

__attribute__((constructor)) static void find_real(void)
{
	void *found = agent_find("syscall");

	if (found)
		memcpy(&agent_real_syscall, &found, sizeof(found));
}

void agent_syscall_find(void)
{
	find_real();
}

__attribute__((visibility("hidden"), used)) long agent_raw_failed(long rc)
{
	errno = (int)-rc;
	return -1;
}

/* syscall(SYS_seccomp, operation, flags, filter). */
__attribute__((visibility("hidden"), used)) long agent_seccomp(long nr, long a, long b, long c,
							       long d, long e, long f)
{
	enum { SET_STRICT = 0, SET_FILTER = 1 };
	const bool is_it = a == SET_FILTER || (a == SET_STRICT && !b && !c);
	const uint32_t before = is_it ? agent_filtering(a == SET_STRICT, (const void *)c) : 0;
	long rc = agent_real_syscall(nr, a, b, c, d, e, f);

	if (is_it && rc)
		agent_not_filtering(before);
	return rc;
}

/* syscall(SYS_prctl, ...): looks at PR_SET_SECCOMP. */
__attribute__((visibility("hidden"), used)) long agent_prctl(long nr, long a, long b, long c,
							     long d, long e, long f)
{
	enum { SET_SECCOMP = 22, FILTER_MODE = 2 };
	const bool is_it = a == SET_SECCOMP;
	const uint32_t before = is_it ? agent_filtering(b != FILTER_MODE, (const void *)c) : 0;
	long rc = agent_real_syscall(nr, a, b, c, d, e, f);

	if (is_it && rc)
		agent_not_filtering(before);
	return rc;
}

#if defined(__x86_64__)
__asm__(".text\n.globl syscall\n.type syscall, @function\n"
	"syscall:\n.cfi_startproc\nendbr64\n"
	"cmp $317, %rdi\nje agent_seccomp\n"
	"cmp $157, %rdi\nje agent_prctl\n"
	"jmp *agent_real_syscall(%rip)\n"
	".cfi_endproc\n.size syscall, . - syscall\n"
	".hidden agent_raw_syscall\n.globl agent_raw_syscall\n.type agent_raw_syscall, @function\n"
	"agent_raw_syscall:\n.cfi_startproc\nendbr64\n"
	"mov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\n"
	"mov %r8, %r10\nmov %r9, %r8\nmov 8(%rsp), %r9\nsyscall\n"
	"cmp $-4095, %rax\njae 1f\nret\n"
	"1:\nmov %rax, %rdi\njmp agent_raw_failed\n"
	".cfi_endproc\n.size agent_raw_syscall, . - agent_raw_syscall\n");
#elif defined(__i386__)
/* All arguments are on the stack, where they stay. */
__asm__(".text\n.globl syscall\n.type syscall, @function\n"
	"syscall:\n.cfi_startproc\nendbr32\n"
	"cmpl $354, 4(%esp)\nje agent_seccomp\n"
	"cmpl $172, 4(%esp)\nje agent_prctl\n"
	"call 1f\n.cfi_adjust_cfa_offset 4\n1:\npop %ecx\n.cfi_adjust_cfa_offset -4\n"
	"add $_GLOBAL_OFFSET_TABLE_ + (. - 1b), %ecx\n"
	"jmp *agent_real_syscall@GOTOFF(%ecx)\n"
	".cfi_endproc\n.size syscall, . - syscall\n"
	".hidden agent_raw_syscall\n.globl agent_raw_syscall\n.type agent_raw_syscall, @function\n"
	"agent_raw_syscall:\n.cfi_startproc\nendbr32\n"
	"push %ebx\n.cfi_adjust_cfa_offset 4\n.cfi_rel_offset %ebx, 0\n"
	"push %esi\n.cfi_adjust_cfa_offset 4\n.cfi_rel_offset %esi, 0\n"
	"push %edi\n.cfi_adjust_cfa_offset 4\n.cfi_rel_offset %edi, 0\n"
	"push %ebp\n.cfi_adjust_cfa_offset 4\n.cfi_rel_offset %ebp, 0\n"
	"mov 20(%esp), %eax\nmov 24(%esp), %ebx\nmov 28(%esp), %ecx\nmov 32(%esp), %edx\n"
	"mov 36(%esp), %esi\nmov 40(%esp), %edi\nmov 44(%esp), %ebp\nint $0x80\n"
	"pop %ebp\n.cfi_adjust_cfa_offset -4\n.cfi_restore %ebp\n"
	"pop %edi\n.cfi_adjust_cfa_offset -4\n.cfi_restore %edi\n"
	"pop %esi\n.cfi_adjust_cfa_offset -4\n.cfi_restore %esi\n"
	"pop %ebx\n.cfi_adjust_cfa_offset -4\n.cfi_restore %ebx\n"
	"cmp $-4095, %eax\njae 2f\nret\n"
	"2:\nsub $8, %esp\n.cfi_adjust_cfa_offset 8\npush %eax\n.cfi_adjust_cfa_offset 4\n"
	"call agent_raw_failed\nadd $12, %esp\n.cfi_adjust_cfa_offset -12\nret\n"
	".cfi_endproc\n.size agent_raw_syscall, . - agent_raw_syscall\n");
#else
__asm__(
    ".text\n.globl syscall\n.type syscall, %function\n"
    "syscall:\n.cfi_startproc\nhint #34\n"
    "cmp x0, #277\nb.eq agent_seccomp\n"
    "cmp x0, #167\nb.eq agent_prctl\n"
    "adrp x16, agent_real_syscall\nldr x16, [x16, :lo12:agent_real_syscall]\nbr x16\n"
    ".cfi_endproc\n.size syscall, . - syscall\n"
    ".hidden agent_raw_syscall\n.globl agent_raw_syscall\n.type agent_raw_syscall, %function\n"
    "agent_raw_syscall:\n.cfi_startproc\nhint #34\n"
    "mov x8, x0\nmov x0, x1\nmov x1, x2\nmov x2, x3\nmov x3, x4\nmov x4, x5\nmov x5, x6\nsvc #0\n"
    "cmn x0, #4095\nb.cs agent_raw_failed\nret\n"
    ".cfi_endproc\n.size agent_raw_syscall, . - agent_raw_syscall\n");
#endif
