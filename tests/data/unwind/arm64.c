/*
 * The program of arm64.elf and arm64-debug.elf: without libc, a chain of known functions, without
 * frame pointers, down to a trap in a leaf, below the handler of a signal that came in a leaf. On
 * the trap it writes its registers (in the order of asm/perf_regs.h) and its stack to standard
 * output: the .sample of each, taken on a machine without pointer authentication.
 *
 *   flags="-O2 -nostdlib -static -fomit-frame-pointer -fno-stack-protector
 *     -mbranch-protection=standard -march=armv8-a -Wl,--build-id=none
 *     -Wl,-z,max-page-size=4096 -Wl,-z,norelro"
 *   aarch64-linux-gnu-gcc $flags -s -Wl,--eh-frame-hdr -o arm64.elf arm64.c
 *   aarch64-linux-gnu-gcc $flags -g1 -fno-asynchronous-unwind-tables -fno-unwind-tables \
 *     -o arm64-debug.elf arm64.c
 *   aarch64-linux-gnu-strip --keep-section=.debug_frame -R '.debug_[!f]*' arm64-debug.elf
 */
#define OWN __attribute__((noinline, noclone))

static unsigned long stack_end;
static volatile long sink;

static long sys(long nr, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}

/* struct rt_sigframe's ucontext: the registers are at 176 + 8 */
static void on_trap(int sig, void *info, char *context)
{
	unsigned long *regs = (unsigned long *)(context + 184);

	(void)sig;
	(void)info;
	sys(64, 1, (long)regs, 33 * 8, 0);
	sys(64, 1, (long)regs[31], (long)(stack_end - regs[31]), 0);
	sys(93, 0, 0, 0, 0);
}

OWN static long leaf(long a)
{
	__asm__ volatile("brk 0" ::: "memory");
	return a + 1;
}

OWN static long deep(long n)
{
	volatile char room[100];

	room[0] = 1;
	if (n)
		n += deep(n - 1);
	else
		n += leaf(n);
	return n + room[0];
}

static void on_signal(int sig)
{
	sink = deep(2) + sig;
}

/* The signal comes here: by a system call, without a frame. */
OWN static long interrupted(long pid)
{
	return sys(129, pid, 10, 0, 0);
}

OWN static long outer(long n)
{
	long kept = sink;

	n += interrupted(sys(172, 0, 0, 0, 0));
	return n + kept;
}

static void handle(int sig, void *handler)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} act = {handler, 4, 0, 0};

	sys(134, sig, (long)&act, 0, 8);
}

void run(unsigned long sp)
{
	stack_end = sp;
	handle(5, (void *)on_trap);
	handle(10, (void *)on_signal);
	sink = outer(sink);
}

__asm__(".globl _start\n.type _start,%function\n_start:\n.cfi_startproc\n.cfi_undefined x30\n"
	"mov x0, sp\nbl run\nbrk 1\n.cfi_endproc\n.size _start, .-_start\n");
