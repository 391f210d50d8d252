/*
 * What test_unwind_truth.c steps through, built in several ways: functions whose stacks are hard to
 * unwind. The first trap begins, the second ends. SIGUSR1 may come at any instruction.
 */
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN __attribute__((noinline))

static volatile int sink, zero;

OWN static int leaf(int a)
{
	return a * 3 + sink;
}

/* Arguments on the stack, and all registers that a function keeps for its caller. */
OWN static int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	int i = leaf(a) + b, j = leaf(c) * d, k = leaf(e) ^ f, l = leaf(g) - h;

	return leaf(i + j) + leaf(k) * i + leaf(l) * j + k + l;
}

OWN static int recursive(int depth)
{
	return depth ? recursive(depth - 1) * 3 + depth : leaf(depth);
}

OWN static int sized(unsigned bytes)
{
	char *room = alloca(bytes), table[bytes];

	memset(room, sink, bytes);
	table[bytes / 2] = room[bytes - 1];
	return leaf(table[bytes / 2]) + recursive(2);
}

OWN static int use(volatile int *p)
{
	p[1] = p[0] + 1;
	return p[1];
}

OWN static int realigned(int a)
{
	_Alignas(64) volatile int room[16] = {a};

	return use(room) + leaf(a);
}

/* Finds its arguments by a register, as the place of its frame is not known. */
OWN static int realigned_sized(int a, int b, int c, int d, int e, int f, int g, unsigned bytes)
{
	_Alignas(128) volatile int room[32] = {a, b, c, d, e, f, g};
	volatile char *more = alloca(bytes);

	more[0] = (char)g;
	return use(room) + leaf(more[0]) + many(a, b, c, d, e, f, g, (int)bytes);
}

/* Has a frame only where it is not left at once. */
OWN static int shrink_wrapped(int a)
{
	if (a < 3)
		return sink;
	return many(a, leaf(a), 3, leaf(2), 5, 6, leaf(1), a) + many(1, 2, 3, 4, a, 6, 7, 8);
}

__attribute__((noinline, cold)) static int rarely(int a, const char *what)
{
	sink += (int)strlen(what);
	return leaf(a) + a;
}

/* What is rare stands elsewhere, with a row of its own. */
OWN static int split(int a)
{
	int b = leaf(a), c = leaf(b), d = leaf(c);

	if (__builtin_expect(a > zero, 0)) {
		b += rarely(a, "rare");
		d += rarely(c, "and again");
	}
	return b + c * d;
}

OWN static int hop(int a)
{
	return a & 1 ? leaf(a) : recursive(a);
}

OWN static int tail(int a)
{
	sink += leaf(a);
	return hop(a + 1);
}

OWN static int by_pointer(int (*volatile f)(int), int a)
{
	return f(a) + f(a + 1);
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

OWN static int library(void)
{
	int numbers[] = {3, 1, 2};
	char text[32], *p = malloc(40);

	qsort(numbers, 3, sizeof(numbers[0]), compare);
	snprintf(text, sizeof(text), "%d %.1f", numbers[0], 1.5);
	free(p);
	return (int)strlen(text) + numbers[0];
}

/*
 * enter(f) calls f, which leave() leaves from wherever it is. All of it is moved by one
 * instruction, so at each other one the callers are known.
 */
void enter(void (*f)(void));
void leave(void) __attribute__((noreturn));
#if defined(__x86_64__)
__asm__(".text\nenter:\n.cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
	"push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
	"push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n"
	"push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
	"sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
	"mov %rsp, entered(%rip)\ncall *%rdi\nentered_to:\n"
	"add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
	"pop %r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r15\n"
	"pop %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r14\n"
	"pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r13\n"
	"pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
	"ret\n.cfi_endproc\n.size enter, . - enter\n"
	"leave:\n.cfi_startproc\nmov entered(%rip), %rsp\njmp entered_to\n.cfi_endproc\n"
	".size leave, . - leave\n.local entered\n.comm entered, 8, 8\n");
#else
__asm__(".text\nenter:\n.cfi_startproc\nmov 4(%esp), %eax\n"
	"push %ebx\n.cfi_adjust_cfa_offset 4\n.cfi_rel_offset %ebx, 0\n"
	"push %ebp\n.cfi_adjust_cfa_offset 4\n.cfi_rel_offset %ebp, 0\n"
	"push %esi\n.cfi_adjust_cfa_offset 4\n.cfi_rel_offset %esi, 0\n"
	"push %edi\n.cfi_adjust_cfa_offset 4\n.cfi_rel_offset %edi, 0\n"
	"sub $12, %esp\n.cfi_adjust_cfa_offset 12\n"
	"mov %esp, entered\ncall *%eax\nentered_to:\n"
	"add $12, %esp\n.cfi_adjust_cfa_offset -12\n"
	"pop %edi\n.cfi_adjust_cfa_offset -4\n.cfi_restore %edi\n"
	"pop %esi\n.cfi_adjust_cfa_offset -4\n.cfi_restore %esi\n"
	"pop %ebp\n.cfi_adjust_cfa_offset -4\n.cfi_restore %ebp\n"
	"pop %ebx\n.cfi_adjust_cfa_offset -4\n.cfi_restore %ebx\n"
	"ret\n.cfi_endproc\n.size enter, . - enter\n"
	"leave:\n.cfi_startproc\nmov entered, %esp\njmp entered_to\n.cfi_endproc\n"
	".size leave, . - leave\n.local entered\n.comm entered, 4, 4\n");
#endif

__attribute__((noinline, noreturn)) static void goes_for_good(int a)
{
	sink = recursive(a);
	leave();
}

/* Its call is its last instruction: the return address is in another function. */
OWN static void last_call(void)
{
	sink += leaf(4);
	goes_for_good(2);
}

/*
 * Functions without a table, as in assembler: one without a frame, one with a frame pointer, one
 * that calls, one behind it that it calls, one that jumps on, and, behind a function that has a
 * table, one that pushes registers.
 */
int bare_leaf(int a);
int bare_framed(int a);
int bare_caller(int a);
int bare_jumps(int a);
int bare_pushed(int a);
int between(int a);
#if defined(__x86_64__)
__asm__(".text\nnop\nbare_leaf:\nlea (%rdi,%rdi,2), %eax\nadd $2, %eax\nret\n"
	".size bare_leaf, . - bare_leaf\n"
	"bare_framed:\npush %rbp\nmov %rsp, %rbp\nsub $32, %rsp\nmov %edi, -4(%rbp)\n"
	"mov -4(%rbp), %eax\nleave\nret\n.size bare_framed, . - bare_framed\n"
	"bare_caller:\npush %rbp\nmov %rsp, %rbp\ncall bare_leaf\nmov %eax, %edi\n"
	"call bare_framed\nmov %eax, %edi\ncall between\nmov %eax, %edi\ncall bare_behind\n"
	"pop %rbp\nret\n.size bare_caller, . - bare_caller\n"
	"bare_behind:\npush %rbx\nlea 3(%rdi), %ebx\nmov %ebx, %eax\npop %rbx\nret\n"
	".size bare_behind, . - bare_behind\n"
	"bare_jumps:\nadd $1, %edi\njmp bare_framed\n.size bare_jumps, . - bare_jumps\n"
	".cfi_startproc\nret\n.cfi_endproc\n"
	"bare_pushed:\npush %rbx\npush %r12\nmov %edi, %ebx\nlea 1(%rbx), %eax\n"
	"pop %r12\npop %rbx\nret\n.size bare_pushed, . - bare_pushed\nnop\n");
#else
__asm__(".text\nnop\nbare_leaf:\nmov 4(%esp), %eax\nadd $2, %eax\nret\n"
	".size bare_leaf, . - bare_leaf\n"
	"bare_framed:\npush %ebp\nmov %esp, %ebp\nsub $24, %esp\nmov 8(%ebp), %eax\n"
	"leave\nret\n.size bare_framed, . - bare_framed\n"
	"bare_caller:\npush %ebp\nmov %esp, %ebp\nsub $8, %esp\nmov 8(%ebp), %eax\n"
	"mov %eax, (%esp)\ncall bare_leaf\nmov %eax, (%esp)\ncall bare_framed\n"
	"mov %eax, (%esp)\ncall between\nmov %eax, (%esp)\ncall bare_behind\n"
	"leave\nret\n.size bare_caller, . - bare_caller\n"
	"bare_behind:\npush %ebx\nmov 8(%esp), %ebx\nlea 3(%ebx), %eax\npop %ebx\nret\n"
	".size bare_behind, . - bare_behind\n"
	"bare_jumps:\naddl $1, 4(%esp)\njmp bare_framed\n.size bare_jumps, . - bare_jumps\n"
	".cfi_startproc\nret\n.cfi_endproc\n"
	"bare_pushed:\npush %ebx\npush %esi\nmov 12(%esp), %eax\npop %esi\npop %ebx\nret\n"
	".size bare_pushed, . - bare_pushed\nnop\n");
#endif

__attribute__((noinline, used)) int between(int a)
{
	return bare_pushed(a) + sink;
}

/* Its frame pointer is that of a function which a pointer led to. */
OWN static int bare_below(int a)
{
	char *room = alloca((size_t)a);

	room[0] = (char)a;
	return bare_pushed(room[0]) + room[0];
}

OWN static int bare(int a)
{
	const int direct = bare_leaf(a) + bare_pushed(a) + bare_framed(a) + bare_caller(a);
	const int jumped = bare_jumps(a);

	return direct + jumped + by_pointer(bare_leaf, a) + by_pointer(bare_pushed, a) +
	       by_pointer(bare_framed, a) + by_pointer(bare_caller, a) +
	       by_pointer(bare_below, a + 7);
}

OWN static int child(void)
{
	pid_t pid = vfork();
	int status = 0;

	if (!pid)
		_exit(3);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void handle(int sig)
{
	sink = leaf(sig);
}

static void handle_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	sink = leaf(sig) + info->si_signo;
}

/* On a stack of its own. */
OWN static void interrupted(void)
{
	static char other[64 << 10];
	stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)}, none = {.ss_flags = SS_DISABLE};
	struct sigaction act = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	raise(SIGUSR1);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	act.sa_sigaction = handle_info;
	act.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGUSR1, &act, NULL);
	sink += tail(3) + split(1);
	sigaltstack(&none, NULL);
}

OWN static void run(void)
{
	sink += leaf(1) + many(1, 2, 3, 4, 5, 6, 7, 8) + recursive(4);
	sink += sized(40) + sized(8) + realigned(2) + realigned_sized(1, 2, 3, 4, 5, 6, 7, 16);
	sink += shrink_wrapped(1) + shrink_wrapped(5) + split(-1) + split(2);
	sink += tail(1) + tail(2) + by_pointer(hop, 2);
	enter(last_call);
	interrupted();
	sink += child() + library() + bare(1) + by_pointer(bare, 2);
}

int main(void)
{
	struct sigaction act = {.sa_handler = handle};

	sigaction(SIGUSR1, &act, NULL);
	__asm__ volatile("int3" ::: "memory");
	run();
	__asm__ volatile("int3" ::: "memory");
	return 0;
}
