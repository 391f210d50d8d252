/* A module that a program in C loads, with its runtime: it throws and catches. */
extern "C" int throws(int n);

int throws(int n)
{
	int nr = 0;

	while (n--)
		try {
			throw n;
		} catch (int) {
			nr++;
		}
	return nr;
}
