/*
 * What filters of system calls forbid the agent: programs in the machine of filters, with what the
 * kernel answers, and what they mean for each call.
 */
#include "agent/heap/agent.h"
#include "kit.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

/* There are no hooks here. */
bool agent_hooks_are_first(void)
{
	return true;
}

void agent_hooks_count_live(bool is_wanted)
{
	agent.is_live_counted = is_wanted ? AGENT_COUNTS_BY_CHUNK : 0;
}

#define LOAD(field)     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(value, t, f) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (t), (f))
#define RETURN(value)   BPF_STMT(BPF_RET | BPF_K, (value))
#if defined(__x86_64__)
enum { ARCHITECTURE = AUDIT_ARCH_X86_64 };
#else
enum { ARCHITECTURE = AUDIT_ARCH_AARCH64 };
#endif

HOOK(before_each)
{
	agent.forbidden = 0;
}

static uint32_t forbidden(struct sock_filter *filter, size_t nr)
{
	const struct sock_fprog program = {(unsigned short)nr, filter};

	assert_int_equal(agent_filtering(false, &program), 0);
	return agent.forbidden;
}

#define FORBIDDEN(...)                                                                             \
	forbidden((struct sock_filter[]){__VA_ARGS__},                                             \
		  sizeof((struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter))

/* All but one call. */
static uint32_t without(int call, uint32_t answer)
{
	agent.forbidden = 0;
	return FORBIDDEN(LOAD(nr), IF((uint32_t)call, 0, 1), RETURN(answer),
			 RETURN(SECCOMP_RET_ALLOW));
}

TEST(answers)
{
	static const struct {
		uint32_t answer;
		bool is_harmless;
	} cases[] = {
	    {SECCOMP_RET_ALLOW, true},         {SECCOMP_RET_LOG, true},
	    {SECCOMP_RET_ERRNO | 1, true},     {SECCOMP_RET_ERRNO, false}, /* 0 is a descriptor */
	    {SECCOMP_RET_TRAP, false},         {SECCOMP_RET_TRACE | 1, false},
	    {SECCOMP_RET_USER_NOTIF, false},   {SECCOMP_RET_KILL_THREAD, false},
	    {SECCOMP_RET_KILL_PROCESS, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(!without(SYS_socket, cases[i].answer), cases[i].is_harmless);
}

TEST(calls)
{
	const uint32_t kill = SECCOMP_RET_KILL_PROCESS;

	assert_int_equal(without(SYS_socket, kill), AGENT_MAY_CONNECT);
	assert_int_equal(without(SYS_connect, kill), AGENT_MAY_CONNECT);
	assert_int_equal(without(SYS_mincore, kill), AGENT_MAY_ASK_PAGES);
	assert_int_equal(without(SYS_openat, kill), AGENT_MAY_START);
	assert_int_equal(without(SYS_rt_sigreturn, kill), AGENT_MAY_TIME);
	assert_int_equal(without(SYS_munmap, kill), AGENT_MAY_UNMAP | AGENT_MAY_CONNECT);
	assert_true(without(SYS_gettid, kill) & AGENT_MAY_ASK_TID);
	assert_int_equal(without(SYS_reboot, kill), 0);
	agent.forbidden = 0;
	assert_int_equal(FORBIDDEN(RETURN(SECCOMP_RET_ALLOW)), 0);
	assert_int_equal(agent_filtering(true, NULL), 0);
	assert_int_equal(agent.forbidden, UINT32_MAX);
	agent_not_filtering(0);
	assert_int_equal(agent.forbidden, 0);
}

/* Sockets of some families alone, as containers have it; another architecture. */
TEST(arguments)
{
	const uint32_t kill = SECCOMP_RET_KILL_PROCESS, allow = SECCOMP_RET_ALLOW;

	assert_int_equal(FORBIDDEN(LOAD(nr), IF(SYS_socket, 0, 3), LOAD(args[0]), IF(1, 1, 0),
				   RETURN(kill), RETURN(allow)),
			 0);
	assert_int_equal(FORBIDDEN(LOAD(nr), IF(SYS_socket, 0, 3), LOAD(args[0]), IF(1, 0, 1),
				   RETURN(kill), RETURN(allow)),
			 AGENT_MAY_CONNECT);
	agent.forbidden = 0;
	assert_int_equal(FORBIDDEN(LOAD(arch), IF(ARCHITECTURE, 1, 0), RETURN(kill), RETURN(allow)),
			 0);
}

/* Each instruction: a result that is not the expected one kills. */
TEST(machine)
{
	const uint32_t kill = SECCOMP_RET_KILL_PROCESS, allow = SECCOMP_RET_ALLOW;

	assert_int_equal(
	    FORBIDDEN(
		BPF_STMT(BPF_LD | BPF_IMM, 100), BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 20),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 8), BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 2), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfe),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, 1), BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 2),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 4), BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 1),
		BPF_STMT(BPF_ALU | BPF_NEG, 0), BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_LD | BPF_IMM, 0),
		BPF_STMT(BPF_MISC | BPF_TXA, 0), BPF_STMT(BPF_LDX | BPF_MEM, 3),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0), RETURN(kill), BPF_STMT(BPF_STX, 4),
		BPF_STMT(BPF_LD | BPF_MEM, 4),
		IF((uint32_t) - ((((168 & 0xfe) | 1) ^ 2) << 4 >> 1), 1, 0), RETURN(kill),
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), IF(sizeof(struct seccomp_data), 1, 0),
		RETURN(kill), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 63, 1, 0), RETURN(kill),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 65, 0, 1), RETURN(kill),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x40, 1, 0), RETURN(kill),
		BPF_STMT(BPF_JMP | BPF_JA, 1), RETURN(kill), BPF_STMT(BPF_LD | BPF_IMM, allow),
		BPF_STMT(BPF_RET | BPF_A, 0)),
	    0);
}

/* What the kernel refuses to install, or cannot read, is taken for the worst, or for nothing. */
TEST(hostile)
{
	const struct sock_fprog nowhere = {1, (struct sock_filter *)8}, empty = {0, NULL};

	assert_int_not_equal(FORBIDDEN(LOAD(nr)), 0);
	agent.forbidden = 0;
	assert_int_not_equal(FORBIDDEN(BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), RETURN(0)), 0);
	agent.forbidden = 0;
	assert_int_not_equal(
	    FORBIDDEN(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4096), RETURN(0x7fff0000)), 0);
	agent.forbidden = 0;
	assert_int_not_equal(FORBIDDEN(BPF_STMT(BPF_ST, 16), RETURN(0x7fff0000)), 0);
	agent.forbidden = 0;
	assert_int_not_equal(FORBIDDEN(BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), RETURN(0x7fff0000)),
			     0);
	agent.forbidden = 0;
	(void)agent_filtering(false, NULL);
	(void)agent_filtering(false, (const void *)8);
	(void)agent_filtering(false, &nowhere);
	(void)agent_filtering(false, &empty);
	assert_int_equal(agent.forbidden, 0);
}
