#include "agent/heap/times.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	STACK_BYTES = 64 << 10, /* of the handler: what finds rows needs 25 KiB */
	NO_TIMER = -1,
	FIRST_SIGNAL =
	    63, /* downwards: most programs that use realtime signals begin at SIGRTMIN */
	LAST_SIGNAL = 40,
	MIN_WAIT_NS =
	    10000, /* a shorter one is left to chance: reading the CPU clock takes 200 ns */
	LOOK_NS = 10000000,
	COUNT_ONLY_NS = 10000000, /* between two looks at the CPU time, where nothing is sampled */
#if defined(__i386__)             /* a signal's value has 32 bits */
	COOKIE = 0x43,
	GENERATION_BITS = 23,
#else
	COOKIE = 0x43500000,
	GENERATION_BITS = 31,
#endif
	SIGSET_BYTES = 8, /* the kernel's */
};

/* What a thread has. Never returned to the system: a handler may look at it. */
struct agent_times {
	struct agent_times *next; /* of all */
	uint32_t is_owned;
	uint32_t generation; /* of the connection */
	int32_t tid;
	int32_t timer[AGENT_NR_TIMES];
	uint64_t pending[AGENT_NR_TIMES];  /* expirations that no sample was taken of */
	uint64_t taken[AGENT_NR_TIMES];    /* samples */
	uint64_t first_ns[AGENT_NR_TIMES]; /* of CPU time: the first expiration */
	uint64_t begin_cpu_ns;
	uint32_t home;            /* the node of the function that the thread began with; 0: none */
	uint64_t wall_ns, cpu_ns; /* when idle time was last added up */
	uint64_t idle_ns;         /* beside measured waits, since a sample */
	uint64_t wait_left_ns, idle_left_ns; /* until the next sample */
	const struct agent_wait *call;       /* that has just waited: signals are of it */
	_Alignas(64) char stack[STACK_BYTES];
};

static struct agent_times *all;
static uint32_t lock; /* of timers, where all are exchanged */
static int signal_number;
static uint64_t looked_ns;
static bool interrupts_calls; /* a timer may, that expires where a call begins to wait */

/* --- clocks */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now = {0};

	if (!agent_may(AGENT_MAY_READ_CLOCK))
		return 0;
	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

/* For the recorder: a process that is killed was last seen here. */
static void look(uint64_t now_ns)
{
	uint64_t before = __atomic_load_n(&looked_ns, __ATOMIC_RELAXED), cpu_ns;

	if (!agent_may(AGENT_MAY_READ_CLOCK) || now_ns - before < LOOK_NS ||
	    !__atomic_compare_exchange_n(&looked_ns, &before, now_ns, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID) - agent.shared->cpu_base_ns;
	__atomic_store_n(&agent.shared->cpu_ns, cpu_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&agent.shared->seen_ns, now_ns, __ATOMIC_RELAXED);
}

/* --- samples */

static uint64_t interval(enum agent_time of)
{
	return agent.shared->interval_ns[of];
}

/* How many of the samples that are so far apart fall into the next ns. */
static uint64_t advance(uint64_t *left_ns, uint64_t ns, uint64_t interval_ns)
{
	if (!interval_ns || ns < *left_ns) {
		*left_ns -= interval_ns ? ns : 0;
		return 0;
	}
	ns -= *left_ns;
	*left_ns = interval_ns - ns % interval_ns;
	return 1 + ns / interval_ns;
}

static uint32_t stack_of(uint32_t node, enum agent_time of)
{
	node = node || !agent.has_stacks
		   ? agent_tree_child(node, of == AGENT_CPU_TIME ? HEAP_RESOURCE_CPU_TIME
								 : HEAP_RESOURCE_REAL_TIME)
		   : 0;
	return node ? agent_tree_stack(node) : 0;
}

/* What a signal finds is seen once, whatever it stands for. */
static void add(uint32_t stack, enum agent_time of, uint64_t nr, uint64_t nr_seen)
{
	struct heap_stack *s = (struct heap_stack *)agent_at(agent.shared->stacks) + (stack - 1);

	if (!nr)
		return;
	if (!stack) {
		agent_add(&agent.shared->no_node, nr_seen);
		return;
	}
	agent_lock(&s->lock);
	agent_plus(&s->samples, nr_seen);
	agent_plus(&s->bytes, nr * interval(of));
	agent_unlock(&s->lock);
}

/* Adds up the time since the last time in which the thread did not run. Of it, a wait has taken at
 * most so much, which is returned. */
static uint64_t settle(struct agent_times *times, uint64_t now_ns, uint64_t wait_ns)
{
	uint64_t cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	uint64_t ran = cpu_ns - times->cpu_ns, was = now_ns - times->wall_ns;
	uint64_t idle = was > ran ? was - ran : 0;

	wait_ns = wait_ns < idle ? wait_ns : idle;
	times->wall_ns = now_ns;
	times->cpu_ns = cpu_ns;
	times->idle_ns += idle - wait_ns;
	return wait_ns;
}

/* The node of where the signal came. */
static uint32_t capture(struct agent_times *times, const ucontext_t *context)
{
	struct agent_frame at;
	uint32_t node;

	if (!agent.has_stacks)
		return 0;
	if (times->call) {
		node = agent_capture(agent_local.own, &times->call->from);
		return node ? agent_tree_child(node, times->call->behind + 1) : 0;
	}
#if defined(__x86_64__)
	at.pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	at.sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
	at.fp = (uint64_t)context->uc_mcontext.gregs[REG_RBP];
	return agent_capture_exact(agent_local.own, &at, 0);
#elif defined(__i386__)
	at.pc = (uint32_t)context->uc_mcontext.gregs[REG_EIP];
	at.sp = (uint32_t)context->uc_mcontext.gregs[REG_ESP];
	at.fp = (uint32_t)context->uc_mcontext.gregs[REG_EBP];
	return agent_capture_exact(agent_local.own, &at, 0);
#else
	at.pc = context->uc_mcontext.pc;
	at.sp = context->uc_mcontext.sp;
	at.fp = context->uc_mcontext.regs[29];
	return agent_capture_exact(agent_local.own, &at, context->uc_mcontext.regs[30]);
#endif
}

struct taken {
	struct agent_times *times;
	const ucontext_t *context;
};

static void take(void *arg)
{
	const struct taken *taken = arg;
	struct agent_times *times = taken->times;
	uint64_t now_ns = agent_now(), nr[AGENT_NR_TIMES], idle = 0;
	uint32_t node;

	look(now_ns);
	if (times->pending[AGENT_REAL_TIME]) {
		(void)settle(times, now_ns, 0);
		idle = advance(&times->idle_left_ns, times->idle_ns, interval(AGENT_REAL_TIME));
		times->idle_ns = 0;
	}
	for (int i = 0; i < AGENT_NR_TIMES; i++) {
		nr[i] = interval(i) ? times->pending[i] : 0;
		times->taken[i] += nr[i];
		times->pending[i] = 0;
	}
	nr[AGENT_REAL_TIME] += idle;
	if (!nr[AGENT_CPU_TIME] && !nr[AGENT_REAL_TIME])
		return;
	node = capture(times, taken->context);
	for (int i = 0; i < AGENT_NR_TIMES; i++)
		if (nr[i])
			add(stack_of(node, i), i, nr[i], 1);
}

/* --- the handler */

/* Calls the function on that stack: what the signal interrupted may have little room. */
void agent_call_on(void *top, void (*function)(void *), void *arg);

#if defined(__x86_64__)
__asm__(".text\n.hidden agent_call_on\n.globl agent_call_on\n.type agent_call_on, @function\n"
	"agent_call_on:\n.cfi_startproc\nendbr64\n"
	"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
	"mov %rdi, %rsp\nmov %rdx, %rdi\ncall *%rsi\n"
	"mov %rbp, %rsp\npop %rbp\n.cfi_def_cfa %rsp, 8\nret\n"
	".cfi_endproc\n.size agent_call_on, . - agent_call_on\n");
#elif defined(__i386__)
__asm__(".text\n.hidden agent_call_on\n.globl agent_call_on\n.type agent_call_on, @function\n"
	"agent_call_on:\n.cfi_startproc\nendbr32\n"
	"push %ebp\n.cfi_def_cfa_offset 8\n.cfi_offset %ebp, -8\n"
	"mov %esp, %ebp\n.cfi_def_cfa_register %ebp\n"
	"mov 8(%ebp), %esp\nsub $12, %esp\npush 16(%ebp)\ncall *12(%ebp)\n"
	"mov %ebp, %esp\npop %ebp\n.cfi_def_cfa %esp, 4\nret\n"
	".cfi_endproc\n.size agent_call_on, . - agent_call_on\n");
#else
__asm__(
    ".text\n.hidden agent_call_on\n.globl agent_call_on\n.type agent_call_on, %function\n"
    "agent_call_on:\n.cfi_startproc\nhint #34\n"
    "stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n.cfi_offset 30, -8\n"
    "mov x29, sp\n.cfi_def_cfa_register 29\n"
    "mov sp, x0\nmov x0, x2\nblr x1\n"
    "mov sp, x29\nldp x29, x30, [sp], #16\n.cfi_def_cfa 31, 0\nret\n"
    ".cfi_endproc\n.size agent_call_on, . - agent_call_on\n");
#endif

static uintptr_t generation_of(uintptr_t generation)
{
	return generation & (((uintptr_t)1 << GENERATION_BITS) - 1);
}

/* Names the generation in which the timer was made: what a timer of an older one sends is ignored.
 */
static uintptr_t cookie(enum agent_time of)
{
	return (uintptr_t)COOKIE << (GENERATION_BITS + 1) | generation_of(agent.generation) << 1 |
	       of;
}

/* Found before there is a handler, which may not search. */
static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);

/* The handler that the program believes the kernel calls for the agent's signal. */
static struct sigaction believed;

/* As if there were no handler. It is blocked until that returns. */
static void die(int number)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};

	(void)real_sigaction(number, &action, NULL);
	(void)syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* Somebody else sent it. All signals are blocked here, but the program may leave its handler by a
 * jump. */
static void pass(int number, siginfo_t *info, ucontext_t *context)
{
	const struct sigaction action = believed;
	uint64_t mask;

	if (action.sa_handler == SIG_IGN)
		return;
	if (action.sa_handler == SIG_DFL) {
		die(number);
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND)
		believed = (struct sigaction){.sa_handler = SIG_DFL};
	mask = *(const uint64_t *)&context->uc_sigmask | *(const uint64_t *)&action.sa_mask;
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, SIGSET_BYTES);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(number, info, context);
	else
		action.sa_handler(number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct agent_local *t = &agent_local;
	struct agent_times *times = t->times;
	const uintptr_t value = (uintptr_t)info->si_value.sival_ptr;
	struct taken taken = {times, context};
	int error = errno;

	if (info->si_code != SI_TIMER || value >> (GENERATION_BITS + 1) != COOKIE) {
		pass(number, info, context);
	} else if (!times || generation_of(value >> 1) != generation_of(agent_alive())) {
		(void)syscall(SYS_timer_delete, info->si_timerid); /* of before */
	} else {
		times->pending[value & 1] += 1 + (uint64_t)(unsigned)info->si_overrun;
		if (!t->is_busy) { /* else they count with the next */
			t->is_busy = AGENT_SAMPLES;
			if (agent_stay(t) && !agent.shared->is_closed)
				agent_call_on(times->stack + STACK_BYTES, take, &taken);
			agent_leave(t);
		}
	}
	errno = error;
}

/* --- the signal */

static bool has_action(int number, void (*of)(int))
{
	struct sigaction action;

	return real_sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
	       action.sa_handler == of;
}

/* No other handler runs above ours. One that is ignored is taken where there is no other. 0: none.
 */
static int choose_signal(void)
{
	void (*const unused[])(int) = {SIG_DFL, SIG_IGN};
	struct sigaction action = {.sa_sigaction = on_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	for (int i = 0; i < 2; i++)
		for (int number = FIRST_SIGNAL; number >= LAST_SIGNAL; number--)
			if (has_action(number, unused[i]) &&
			    real_sigaction(number, &action, NULL) == 0) {
				believed = (struct sigaction){.sa_handler = unused[i]};
				return number;
			}
	return 0;
}

int agent_times_signal(void)
{
	return __atomic_load_n(&signal_number, __ATOMIC_RELAXED);
}

/* 0 or 1: it was blocked. */
static int change_mask(int how, int number)
{
	const uint64_t set = UINT64_C(1) << (number - 1);
	uint64_t old = 0;

	if (!agent_may(AGENT_MAY_PROBE))
		return 1;
	(void)syscall(SYS_rt_sigprocmask, how, &set, &old, SIGSET_BYTES);
	return (old & set) != 0;
}

/* --- timers */

static uint64_t first_ns(uint64_t interval_ns)
{
	uint64_t x = 0;

	if (agent_may(AGENT_MAY_ASK_RANDOM))
		(void)syscall(SYS_getrandom, &x, sizeof(x), 1 /* GRND_NONBLOCK */);
	return 1 + x % interval_ns;
}

#if defined(__x86_64__) || defined(__i386__)
static int read_digits(const char **at)
{
	int n = 0;

	for (; **at >= '0' && **at <= '9' && n < 1000; ++*at)
		n = n * 10 + (**at - '0');
	return n;
}
#endif

/* On x86 since Linux 5.9 such a signal is sent when the thread returns to user mode. */
static bool can_interrupt(void)
{
#if defined(__x86_64__) || defined(__i386__)
	struct utsname name;
	const char *at = name.release;
	int major, minor;

	if (uname(&name))
		return true;
	major = read_digits(&at);
	at += *at == '.';
	minor = read_digits(&at);
	return major < 5 || (major == 5 && minor < 9);
#else
	return true;
#endif
}

static int make_timer(const struct agent_times *times, enum agent_time of, uint64_t first,
		      uint64_t interval_ns)
{
	enum { THREAD_ID = 4 }; /* SIGEV_THREAD_ID */
	const struct {
		uintptr_t value;
		int32_t number, notify, tid;
		int32_t unused[12];
	} event = {cookie(of), signal_number, THREAD_ID, times->tid, {0}};
	const struct itimerspec when = {timespec_of(interval_ns), timespec_of(first)};
	/* the clock of that thread, as linux/posix-timers.h makes it */
	const int clock = (int)(~(unsigned)times->tid << 3 | 6);
	int id = NO_TIMER;

	if (syscall(SYS_timer_create, clock, &event, &id))
		return NO_TIMER;
	if (syscall(SYS_timer_settime, id, 0, &when, NULL) == 0)
		return id;
	(void)syscall(SYS_timer_delete, id);
	return NO_TIMER;
}

static void make_timers(struct agent_times *times)
{
	for (int i = 0; i < AGENT_NR_TIMES; i++) {
		uint64_t ns = interval(i);

		if (i == AGENT_CPU_TIME && !ns && !interval(AGENT_REAL_TIME))
			ns = COUNT_ONLY_NS;
		uint64_t first = times->first_ns[i] ? times->first_ns[i] : ns;

		times->timer[i] = ns && signal_number ? make_timer(times, i, first, ns) : NO_TIMER;
	}
}

static void end_timers(struct agent_times *times)
{
	for (int i = 0; i < AGENT_NR_TIMES; i++) {
		if (times->timer[i] != NO_TIMER)
			(void)syscall(SYS_timer_delete, times->timer[i]);
		times->timer[i] = NO_TIMER;
	}
}

/* To ignore it first drops signals that are on their way. */
static void give_up(int number, const struct sigaction *leaves)
{
	const struct sigaction ignored = {.sa_handler = SIG_IGN};

	(void)real_sigaction(number, &ignored, NULL);
	(void)real_sigaction(number, leaves, NULL);
}

/* To another signal, or to none. False: there is no other, and all is as it was. */
static bool move_timers(bool ends)
{
	struct agent_local *t = &agent_local;
	const struct sigaction leaves = believed;
	uint16_t before = t->is_busy;
	int number;

	t->is_busy = 1; /* its handler would wait for the lock */
	agent_lock(&lock);
	number = ends ? 0 : choose_signal();
	for (struct agent_times *times = all; times && (number || ends); times = times->next)
		if (times->is_owned && times->generation == agent_alive())
			end_timers(times);
	if (number || ends) {
		give_up(signal_number, &leaves);
		__atomic_store_n(&signal_number, number, __ATOMIC_RELAXED);
	}
	for (struct agent_times *times = all; times && number; times = times->next)
		if (times->is_owned && times->generation == agent_alive())
			make_timers(times);
	agent_unlock(&lock);
	t->is_busy = before;
	return number;
}

void agent_times_stop(void)
{
	if (signal_number)
		(void)move_timers(true);
}

bool agent_times_believe(const void *new, void *old)
{
	const struct sigaction before = believed, *action = new;

	if (action && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN &&
	    move_timers(false))
		return false;
	if (action)
		believed = *action;
	if (old)
		*(struct sigaction *)old = before;
	return true;
}

bool agent_times_believe_handler(void **handler)
{
	struct sigaction action = {.sa_flags = SA_RESTART};

	memcpy(&action.sa_handler, handler, sizeof(*handler));
	if (!agent_times_believe(&action, &action))
		return false;
	memcpy(handler, &action.sa_handler, sizeof(*handler));
	return true;
}

/* --- threads */

static struct agent_times *find_unused(void)
{
	struct agent_times *times = __atomic_load_n(&all, __ATOMIC_ACQUIRE);

	for (; times; times = times->next) {
		uint32_t is_free = 0;

		if (__atomic_compare_exchange_n(&times->is_owned, &is_free, 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return times;
	}
	times = agent_pages(sizeof(*times));
	if (!times)
		return NULL;
	times->is_owned = 1;
	times->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&all, &times->next, times, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
	return times;
}

/* Timers of before are the parent's, or end in the handler. */
void agent_times_begin(struct agent_local *t)
{
	struct agent_times *times = t->times ? t->times : find_unused();
	uint64_t now_ns = agent_now(), real_ns = interval(AGENT_REAL_TIME);

	if (!times)
		return;
	times->tid = agent_may(AGENT_MAY_ASK_TID) ? (int32_t)syscall(SYS_gettid) : 0;
	times->wall_ns = now_ns;
	times->cpu_ns = times->begin_cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	times->idle_ns = 0;
	times->home = 0;
	for (int i = 0; i < AGENT_NR_TIMES; i++)
		times->first_ns[i] = interval(i) ? first_ns(interval(i)) : 0;
	times->wait_left_ns = real_ns ? first_ns(real_ns) : 0;
	times->idle_left_ns = real_ns ? first_ns(real_ns) : 0;
	memset(times->pending, 0, sizeof(times->pending));
	memset(times->taken, 0, sizeof(times->taken));
	times->call = NULL;
	t->times = times;
	t->slot->waits = 0;
	__atomic_store_n(&t->slot->since_ns, now_ns, __ATOMIC_RELAXED);
	agent_lock(&lock);
	make_timers(times);
	times->generation = agent_alive();
	agent_unlock(&lock);
	if (signal_number)
		(void)change_mask(SIG_UNBLOCK, signal_number);
}

void agent_times_began(struct agent_frame from, uint64_t function)
{
	struct agent_local *t = &agent_local;
	uint32_t node = agent.has_stacks ? agent_capture(t->own, &from) : 0;

	if (t->times)
		t->times->home = node ? agent_tree_child(node, function + 1) : 0;
}

/* Short threads may end before the kernel looks at their timers. What expired since it last did is
 * of the function that they began with. */
static void take_last(struct agent_times *times, uint64_t now_ns)
{
	for (int i = 0; i < AGENT_NR_TIMES; i++) {
		uint64_t ran, expired, idle = 0;

		if (!interval(i))
			continue;
		if (i == AGENT_REAL_TIME) {
			(void)settle(times, now_ns, 0);
			idle = advance(&times->idle_left_ns, times->idle_ns, interval(i));
		}
		ran = read_clock(CLOCK_THREAD_CPUTIME_ID) - times->begin_cpu_ns;
		expired =
		    ran < times->first_ns[i] ? 0 : 1 + (ran - times->first_ns[i]) / interval(i);
		if (times->home && expired + idle > times->taken[i])
			add(stack_of(times->home, i), i, expired + idle - times->taken[i], 1);
	}
}

void agent_times_end(struct agent_local *t, bool is_measured)
{
	struct agent_times *times = t->times;
	uint64_t now_ns = agent_now();

	if (!times)
		return;
	agent_lock(&lock);
	end_timers(times);
	times->generation = 0;
	agent_unlock(&lock);
	if (is_measured && agent_may(AGENT_MAY_READ_CLOCK))
		take_last(times, now_ns);
	t->times = NULL;
	if (is_measured) {
		t->slot->waits = 0;
		agent_add(&agent.shared->real_ns, now_ns - t->slot->since_ns);
		__atomic_store_n(&t->slot->since_ns, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&looked_ns, 0, __ATOMIC_RELAXED);
		look(now_ns);
	}
	__atomic_store_n(&times->is_owned, 0, __ATOMIC_RELEASE);
}

/* After fork there is one thread, and nothing of the others. */
void agent_times_init(void)
{
	void *found = dlsym(agent.is_beside ? RTLD_DEFAULT : RTLD_NEXT, "sigaction");

	lock = 0;
	looked_ns = 0;
	interrupts_calls = can_interrupt();
	memcpy(&real_sigaction, &found, sizeof(found));
	for (struct agent_times *times = all; times; times = times->next)
		if (times != agent_local.times)
			times->is_owned = 0;
	if (!signal_number && real_sigaction)
		signal_number = choose_signal();
	agent_set(&agent.shared->cpu_base_ns, read_clock(CLOCK_PROCESS_CPUTIME_ID));
	agent_set(&agent.shared->seen_ns, agent_now());
}

__attribute__((destructor)) static void end(void)
{
	struct agent_local *t = &agent_local;

	if (t->is_busy || !(agent_alive() && agent.wants & HEAP_WANTS_TIMES))
		return;
	t->is_busy = 1;
	if (agent_stay(t)) {
		looked_ns = 0;
		look(agent_now());
	}
	agent_leave(t);
}

/* --- waits */

static void measure_wait(struct agent_local *t, struct agent_wait *w)
{
	uint32_t node = 0;

	if (!agent_attach(t) || agent.shared->is_closed || !t->times || !interval(AGENT_REAL_TIME))
		return;
	if (agent.has_stacks) {
		node = agent_capture(t->own, &w->from);
		node = node ? agent_tree_child(node, w->behind + 1) : 0;
	}
	w->stack = stack_of(node, AGENT_REAL_TIME);
	w->since_ns = agent_now();
	agent_set(&t->slot->wait_since_ns, w->since_ns);
	__atomic_store_n(&t->slot->waits, w->stack, __ATOMIC_RELEASE);
}

void agent_wait_begin(struct agent_wait *w, struct agent_frame from, uint64_t behind,
		      bool interrupts)
{
	struct agent_local *t = &agent_local;
	int error = errno;

	*w = (struct agent_wait){.from = from, .behind = behind};
	if (!t->is_busy && !t->is_ended) {
		t->is_busy = 1;
		measure_wait(t, w);
		agent_leave(t);
	}
	if (interrupts && interrupts_calls && signal_number && t->times)
		w->blocks = !change_mask(SIG_BLOCK, signal_number);
	errno = error;
}

static void end_wait(struct agent_local *t, const struct agent_wait *w)
{
	uint64_t now_ns = agent_now(), wait_ns = now_ns - w->since_ns, nr;

	t->slot->waits = 0;
	if (wait_ns < MIN_WAIT_NS)
		return;
	look(now_ns);
	wait_ns = settle(t->times, now_ns, wait_ns);
	nr = advance(&t->times->wait_left_ns, wait_ns, interval(AGENT_REAL_TIME));
	add(w->stack, AGENT_REAL_TIME, nr, nr);
}

void agent_wait_end(const struct agent_wait *w)
{
	struct agent_local *t = &agent_local;
	int error = errno;

	if (w->since_ns && !t->is_busy && t->times) {
		t->is_busy = 1;
		if (agent_stay(t) && t->times->generation == agent_alive())
			end_wait(t, w);
		agent_leave(t);
	}
	if (w->blocks && t->times) {
		t->times->call = w;
		(void)change_mask(SIG_UNBLOCK, signal_number);
		t->times->call = NULL;
	}
	errno = error;
}
