/*
 * Functions whose frames differ in what unwind tables say of them. sframe-MACHINE.VERSION.so are
 * made of it by gcc 12 -O2 -fPIC -S, and then by GNU binutils 2.40 (version 1), 2.44 (2) and 2.47
 * (3): as --gsframe; ld -shared -z noseparate-code -z max-page-size=4096 -s.
 */
int next(int, ...);
void stop(void) __attribute__((noreturn));

int leaf(int n)
{
	return n * 3 + 1;
}
int saves(int a, int b, int c)
{
	int r = 0;

	for (int i = 0; i < a; i++)
		r += next(i, b, c, a, r);
	return r;
}
int room(int n)
{
	char b[n];

	b[0] = (char)n;
	return next(n, b) + b[0];
}
int large(int n)
{
	char b[40000];

	b[n] = (char)n;
	return next(n, b) + b[2 * n];
}
int aligned(int n)
{
	char a[n];
	char b[64] __attribute__((aligned(64)));

	b[0] = a[0] = (char)n;
	return next(n, a, b) + a[0] + b[1];
}
int aligned_only(int n)
{
	char b[64] __attribute__((aligned(64)));

	b[0] = (char)n;
	return next(n, b) + b[1];
}
#define FOUR(x) x x x x
int many(int n)
{
	FOUR(FOUR(FOUR(n += next(n);)))
	if (n > 3)
		stop();
	return n;
}
__attribute__((optimize("no-omit-frame-pointer"))) int pointer(int n)
{
	return next(n) + 1;
}
void _start(void)
{
	next(saves(1, 2, 3));
	stop();
}
