/*
 * Children that share the program's memory: vfork, and clone with CLONE_VM. Nothing in memory says
 * that it is such a child that runs, only the kernel does, which takes longer than all else that is
 * done of a descriptor: so it is asked only where there may be one.
 *
 * vfork returns twice from one call, by the same place on the stack. So what stands before it goes
 * on to it by a jump, and is left before there is a child. Those that a program makes by the system
 * call alone are not seen: what they open and close counts as their parent's. A process that is not
 * connected yet does so before, as the recorder would take the child for it.
 *
 * In a child by clone whose thread-local memory the C library did not make (sandboxes do so for
 * one call), what stands before a function only passes on (agent_has_no_locals).
 */
#include "agent/heap/resource.h"

#include <errno.h>
#include <string.h>

int getpid(void);

enum { SHARES_MEMORY = 0x100, IS_THREAD = 0x10000 };

/* A child may run beside its parent, whose thread-local memory it may have. */
static uint32_t has_beside;

bool agent_is_ours(void)
{
	struct agent_local *t = &agent_local;

	if (AGENT_LIKELY(!t->may_be_child && !__atomic_load_n(&has_beside, __ATOMIC_RELAXED)))
		return true;
	if (!agent_may(AGENT_MAY_ASK_PID) || getpid() != agent.pid)
		return false;
	t->may_be_child = 0; /* a thread waits until its child by vfork is gone */
	return true;
}

/* --- before the call; each returns where it goes on */

typedef void function(void);
function *agent_vforking(void), *agent_cloning(void *begin, void *stack, int flags);

/* Called where the C library has no such function. */
static int fail(void)
{
	errno = ENOSYS;
	return -1;
}

static function *find(const char *name)
{
	void *found = agent_find(name);
	function *result = (function *)fail;

	if (found)
		memcpy(&result, &found, sizeof(found));
	return result;
}

__attribute__((visibility("hidden"), used)) function *agent_vforking(void)
{
	static function *behind;

	behind = behind ?: find("vfork");
	if (agent_has_no_locals())
		return behind;
	agent_attach_now();
	agent_local.may_be_child = 1;
	return behind;
}

__attribute__((visibility("hidden"), used)) function *agent_cloning(void *begin, void *stack,
								    int flags)
{
	static function *behind;

	(void)begin;
	(void)stack;
	behind = behind ?: find("clone");
	if ((flags & (SHARES_MEMORY | IS_THREAD)) == SHARES_MEMORY) {
		agent_attach_now();
		__atomic_store_n(&has_beside, 1, __ATOMIC_RELAXED);
	}
	return behind;
}

/* Calls `by`, which returns where to go on, and goes on there by a jump: all registers with
 * arguments, and the stack, are as they were. */
#if defined(__x86_64__)
#define GO_ON(name, by)                                                                            \
	__asm__(".text\n.globl " name "\n.type " name ", @function\n" name                         \
		":\n.cfi_startproc\nendbr64\n"                                                     \
		"push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\nsub $8, %rsp\n"   \
		".cfi_def_cfa_offset 64\ncall " by "\n"                                            \
		"add $8, %rsp\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"         \
		".cfi_def_cfa_offset 8\njmp *%rax\n"                                               \
		".cfi_endproc\n.size " name ", . - " name "\n")
#elif defined(__i386__)
/* Here the arguments are on the stack: three words are passed on, whether there are as many or
 * not. */
#define GO_ON(name, by)                                                                            \
	__asm__(".text\n.globl " name "\n.type " name ", @function\n" name                         \
		":\n.cfi_startproc\nendbr32\n"                                                     \
		"push 12(%esp)\n.cfi_adjust_cfa_offset 4\n"                                        \
		"push 12(%esp)\n.cfi_adjust_cfa_offset 4\n"                                        \
		"push 12(%esp)\n.cfi_adjust_cfa_offset 4\n"                                        \
		"call " by "\nadd $12, %esp\n.cfi_adjust_cfa_offset -12\njmp *%eax\n"              \
		".cfi_endproc\n.size " name ", . - " name "\n")
#else
#define GO_ON(name, by)                                                                            \
	__asm__(".text\n.globl " name "\n.type " name ", %function\n" name                         \
		":\n.cfi_startproc\nhint #34\n"                                                    \
		"stp x29, x30, [sp, #-80]!\n"                                                      \
		".cfi_def_cfa_offset 80\n.cfi_offset 29, -80\n.cfi_offset 30, -72\n"               \
		"mov x29, sp\n"                                                                    \
		"stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\n"                                   \
		"stp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\n"                                   \
		"bl " by "\nmov x16, x0\n"                                                         \
		"ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\n"                                   \
		"ldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\n"                                   \
		"ldp x29, x30, [sp], #80\n.cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa 31, 0\n"  \
		"br x16\n"                                                                         \
		".cfi_endproc\n.size " name ", . - " name "\n")
#endif

GO_ON("vfork", "agent_vforking");
GO_ON("clone", "agent_cloning");
