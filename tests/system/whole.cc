/*
 * whole MS [unlink]: uses a CPU for so many ms, in code whose stacks are hard to unwind: it throws
 * through frames, sorts with a function that libc calls, works in handlers of signals on a stack of
 * their own, on frames of any size, and in coroutines, whose stacks lie within the caller's one and
 * elsewhere. With unlink, it removes its file first.
 */
#include <alloca.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <ucontext.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void spin(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sum = sum * 31 + i;
}

__attribute__((noinline)) static void handle(int)
{
	spin(3000);
}

__attribute__((noinline)) static void fall(unsigned depth, unsigned bytes)
{
	char *room = static_cast<char *>(alloca(bytes));
	std::string text(room ? "a text that is longer than what fits into a string" : "");

	memset(room, 1, bytes);
	if (!depth)
		throw std::runtime_error(text);
	fall(depth - 1, bytes + 16);
	sum += static_cast<unsigned long>(room[bytes / 2]);
}

static int compare(const void *a, const void *b)
{
	spin(20);
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

__attribute__((noinline)) static void sort()
{
	int numbers[64];

	for (int i = 0; i < 64; i++)
		numbers[i] = i * 37 % 64;
	qsort(numbers, 64, sizeof(numbers[0]), compare);
}

__attribute__((noinline)) static void catches(unsigned depth)
{
	try {
		fall(depth, 32);
	} catch (const std::exception &e) {
		sum += strlen(e.what());
		spin(1000);
	}
}

static ucontext_t caller, callee;
static bool is_done;

__attribute__((noinline)) static void yields(unsigned depth)
{
	spin(500);
	if (depth)
		yields(depth - 1);
	else
		swapcontext(&callee, &caller);
	spin(500);
}

static void cooperate()
{
	yields(3);
	is_done = true;
}

__attribute__((noinline)) static void resume(char *stack, size_t bytes)
{
	is_done = false;
	if (getcontext(&callee))
		return;
	callee.uc_stack.ss_sp = stack;
	callee.uc_stack.ss_size = bytes;
	callee.uc_link = &caller;
	makecontext(&callee, cooperate, 0);
	while (!is_done) {
		swapcontext(&caller, &callee);
		spin(500);
	}
}

__attribute__((noinline)) static void resume_within()
{
	char room[8 << 10]; /* with it a stack fits into the least that is copied */

	memset(room, 0,
	       sizeof(room)); /* the kernel copies a stack up to a page that is not there */
	resume(room, sizeof(room));
	sum += static_cast<unsigned long>(room[sizeof(room) - 1]);
}

__attribute__((noinline)) static void resume_elsewhere()
{
	static char room[16 << 10];

	resume(room, sizeof(room));
}

#ifdef __x86_64__
/* Begins a coroutine as glibc does that is built for CET, directly behind another function. */
extern "C" void enters(void (*f)(), char *end);
__asm__(".text\n.p2align 4\n.type stands_before, @function\nstands_before:\n.cfi_startproc\n"
	".fill 15, 1, 0x90\nret\n.cfi_endproc\n.size stands_before, . - stands_before\n"
	".type begins, @function\nbegins:\nendbr64\nmov %rbx, %rsp\nmov (%rsp), %rdi\n"
	"test %rdi, %rdi\nje 1f\nmov %rdi, %rsp\npop %rbx\nret\n1: hlt\n"
	".size begins, . - begins\n.type enters, @function\nenters:\n.cfi_startproc\n"
	"push %rbx\nmov %rsp, -8(%rsi)\nlea -8(%rsi), %rbx\nlea begins(%rip), %rax\n"
	"mov %rax, -24(%rsi)\nlea -24(%rsi), %rsp\njmp *%rdi\n.cfi_endproc\n"
	".size enters, . - enters\n");
#else
static void enters(void (*f)(), char *)
{
	f();
}
#endif

static void alone()
{
	spin(1000);
	spin(1000);
}

static void begin_elsewhere()
{
	alignas(16) static char room[16 << 10];

	enters(alone, room + sizeof(room));
}

int main(int argc, char **argv)
{
	static char other[64 << 10];
	stack_t stack = {};
	struct sigaction act = {};
	const std::function<void()> all[] = {[] { catches(12); },    sort,
					     [] { raise(SIGUSR1); }, resume_within,
					     resume_elsewhere,       begin_elsewhere};
	const clock_t end = argc > 1 ? CLOCKS_PER_SEC / 1000 * atoi(argv[1]) : 0;

	stack.ss_sp = other;
	stack.ss_size = sizeof(other);
	act.sa_handler = handle;
	act.sa_flags = SA_ONSTACK;
	if (sigaltstack(&stack, nullptr) || sigaction(SIGUSR1, &act, nullptr))
		return 1;
	if (argc > 2 && unlink(argv[0]))
		return 1;
	while (clock() < end)
		for (const auto &one : all)
			one();
	return 0;
}
