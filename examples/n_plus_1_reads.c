/*
 * N+1 reads: for each order the price is looked up in the file, which is opened and read each time,
 * though one reading would do for all.
 *
 * Symptom: slow in proportion to the number of orders, on a fast disk and with a warm cache, too.
 * Command: cpuperf -g -e resource:io_read_calls@1,resource:fd_opened@1 -- ./n_plus_1_reads
 * What to see: find_price reads thousands of times, and opens a file each time.
 * Repair: read the prices once before the loop ("fixed").
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NR_PRICES = 500, NR_ORDERS = 2000 };

static const char *path;
static int table[NR_PRICES], is_read;

static __attribute__((noinline)) void read_prices(void)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, table, sizeof(table)) != sizeof(table))
		exit(1);
	close(fd);
	is_read = 1;
}

static __attribute__((noinline)) int find_price(int article)
{
	int fd, price;

	if (is_read)
		return table[article];
	fd = open(path, O_RDONLY);
	for (int i = 0; i <= article; i++)
		if (read(fd, &price, sizeof(price)) != sizeof(price))
			exit(1);
	close(fd);
	return price;
}

static void make_file(void)
{
	static char name[] = "/tmp/n_plus_1_reads.XXXXXX";
	int fd = mkstemp(name);

	for (int i = 0; i < NR_PRICES; i++)
		table[i] = 100 + i;
	if (fd < 0 || write(fd, table, sizeof(table)) != sizeof(table))
		exit(1);
	close(fd);
	path = name;
}

int main(int argc, char **argv)
{
	long sum = 0;

	make_file();
	if (argc > 1 && strcmp(argv[1], "fixed") == 0)
		read_prices();
	for (int i = 0; i < NR_ORDERS; i++)
		sum += find_price(i * 7 % 50);
	unlink(path);
	printf("%ld in %d orders\n", sum, NR_ORDERS);
	return 0;
}
