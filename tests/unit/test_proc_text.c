/*
 * The parsers of /proc/PID: right numbers from the text of kernels, and a clean refusal of text
 * that no kernel wrote.
 */
#include "kit.h"

#include "base/buf.h"
#include "proc/keys.h"
#include "proc/stat.h"
#include "proc/text.h"

enum { NR_NUMBERS = 6 };

/* Each parser, its numbers in the order of its struct. */
static int parse_statm(const char *text, size_t len, uint64_t *out)
{
	struct proc_statm m = {out[0], out[1], out[2]};
	int rc = proc_statm_parse(text, len, &m);

	memcpy(out, (uint64_t[]){m.size, m.resident, m.shared}, sizeof(*out) * 3);
	return rc;
}

static int parse_io(const char *text, size_t len, uint64_t *out)
{
	struct proc_io io = {out[0], out[1]};
	int rc = proc_io_parse(text, len, &io);

	memcpy(out, (uint64_t[]){io.read_bytes, io.write_bytes}, sizeof(*out) * 2);
	return rc;
}

static int parse_schedstat(const char *text, size_t len, uint64_t *out)
{
	struct proc_schedstat s = {out[0], out[1], out[2]};
	int rc = proc_schedstat_parse(text, len, &s);

	memcpy(out, (uint64_t[]){s.cpu_ns, s.delay_ns, s.nr_runs}, sizeof(*out) * 3);
	return rc;
}

static int parse_stat(const char *text, size_t len, uint64_t *out)
{
	uint64_t to[3];
	const struct proc_number numbers[] = {{PROC_STAT_MINOR_FAULTS, &to[0]},
					      {PROC_STAT_MAJOR_FAULTS, &to[1]},
					      {PROC_STAT_START_TICKS, &to[2]}};
	struct proc_stat s;
	int rc = proc_stat_parse(text, len, &s, numbers, NR(numbers));

	if (rc == 0)
		memcpy(out, to, sizeof(to));
	return rc;
}

static int parse_family(const char *text, size_t len, uint64_t *out)
{
	uint64_t to[5];
	const struct proc_number numbers[] = {{PROC_STAT_PARENT, &to[0]},
					      {PROC_STAT_CHILD_MINOR_FAULTS, &to[2]},
					      {PROC_STAT_CHILD_MAJOR_FAULTS, &to[3]},
					      {PROC_STAT_CHILD_SYSTEM_TICKS, &to[4]}};
	struct proc_stat s;
	int rc = proc_stat_parse(text, len, &s, numbers, NR(numbers));

	if (rc)
		return rc;
	to[1] = proc_stat_has_ended(&s);
	memcpy(out, to, sizeof(to));
	return 0;
}

/* Pid, how many numbers NSpid has, VmHWM, the state, the last of NSpid, CapPrm. */
static int parse_status(const char *text, size_t len, uint64_t *out)
{
	uint64_t to[NR_NUMBERS] = {0}, ids[2] = {0};
	struct proc_key keys[] = {{"Pid", &to[0]},
				  {"NSpid", ids, NR(ids)},
				  {"VmHWM", &to[2], .kind = PROC_KIB},
				  {"State", &to[3], .kind = PROC_LETTER},
				  {"CapPrm", &to[5], .kind = PROC_HEX}};
	int rc = proc_keys_parse(text, len, keys, NR(keys));

	if (rc)
		return rc;
	to[1] = keys[1].nr;
	to[4] = ids[1];
	memcpy(out, to, sizeof(to));
	return 0;
}

typedef int parse_fn(const char *text, size_t len, uint64_t *out);

#define MAX             "18446744073709551615"
#define MORE            "18446744073709551616"
#define IO(read, write) "rchar: 9\nread_bytes: " read "\nwrite_bytes: " write "\n"
/* Up to the 21st field, with three to put in. */
#define STAT(name, minor, major, start)                                                            \
	"12 (" name ") S 1 12 12 0 -1 4194560 " minor " 52 " major " 9 12 5 30 11 20 0 1 0 " start \
	" 748478464 20117\n"

static const struct {
	const char *what;
	parse_fn *parse;
	const char *text;
	int rc;
	uint64_t numbers[NR_NUMBERS];
} rows[] = {
    {"a program", parse_statm, "13828 5793 1616 1327 0 11986 0\n", 0, {13828, 5793, 1616}},
    {"a thread of the kernel", parse_statm, "0 0 0 0 0 0 0\n", 0, {0, 0, 0}},
    {"three are enough", parse_statm, "1 2 3", 0, {1, 2, 3}},
    {"the most", parse_statm, MAX " 1 " MAX "\n", 0, {UINT64_MAX, 1, UINT64_MAX}},
    {"two are not", parse_statm, "1 2\n", -EINVAL},
    {"two and a space", parse_statm, "1 2 ", -EINVAL},
    {"beyond 64 bits", parse_statm, "1 2 " MORE, -ERANGE},
    {"negative", parse_statm, "1 -2 3\n", -EINVAL},
    {"two spaces", parse_statm, "1  2 3\n", -EINVAL},
    {"junk behind", parse_statm, "1 2 3x\n", -EINVAL},
    {"hexadecimal", parse_statm, "0x1 2 3\n", -EINVAL},
    {"empty", parse_statm, "", -EINVAL},

    {"today's",
     parse_io,
     "rchar: 3405883\nwchar: 118204\nsyscr: 812\nsyscw: 77\nread_bytes: 4096\n"
     "write_bytes: 1310720\ncancelled_write_bytes: 8192\n",
     0,
     {4096, 1310720}},
    {"in another order", parse_io, "write_bytes: 2\nread_bytes: 1\n", 0, {1, 2}},
    {"no newline at the end", parse_io, "read_bytes: 1\nwrite_bytes: 2", 0, {1, 2}},
    {"cancelled alone", parse_io, "read_bytes: 1\ncancelled_write_bytes: 2\n", -EINVAL},
    {"no bytes read", parse_io, "write_bytes: 2\n", -EINVAL},
    {"no number", parse_io, IO("", "1"), -EINVAL},
    {"negative", parse_io, IO("1", "-1"), -EINVAL},
    {"junk behind", parse_io, IO("1", "1 kB"), -EINVAL},
    {"beyond 64 bits", parse_io, IO(MORE, "1"), -ERANGE},
    {"the most", parse_io, IO(MAX, MAX), 0, {UINT64_MAX, UINT64_MAX}},
    {"empty", parse_io, "", -EINVAL},

    {"a thread", parse_schedstat, "2071837 69143 15\n", 0, {2071837, 69143, 15}},
    {"not accounted", parse_schedstat, "0 0 0\n", 0, {0, 0, 0}},
    {"two", parse_schedstat, "2071837 69143\n", -EINVAL},
    {"beyond 64 bits", parse_schedstat, MORE " 0 0\n", -ERANGE},

    {"a program", parse_stat, STAT("cat", "98", "7", "1158526"), 0, {98, 7, 1158526}},
    {"a name with brackets", parse_stat, STAT("a) S 1 (b", "98", "7", "5"), 0, {98, 7, 5}},
    {"a name with a newline", parse_stat, STAT("a\nb", "98", "7", "5"), 0, {98, 7, 5}},
    {"no name", parse_stat, STAT("", "98", "7", "5"), 0, {98, 7, 5}},
    {"nothing behind the start",
     parse_stat,
     "1 (x) S 1 1 1 0 -1 0 98 0 7 0 0 0 0 0 20 0 1 0 5",
     0,
     {98, 7, 5}},
    {"one field less", parse_stat, "1 (x) S 1 1 1 0 -1 0 98 0 7 0 0 0 0 0 20 0 1 0\n", -EINVAL},
    {"no brackets", parse_stat, "1 x S 1 1 1 0 -1 0 98 0 7 0 0 0 0 0 20 0 1 0 5\n", -EINVAL},
    {"negative faults", parse_stat, STAT("x", "-1", "7", "5"), -EINVAL},
    {"a start beyond 64 bits", parse_stat, STAT("x", "1", "7", MORE), -ERANGE},
    {"a child that waited", parse_family, STAT("c) Z 2 (t", "98", "7", "5"), 0, {1, 0, 52, 9, 11}},
    {"a zombie", parse_family, "12 (x) Z 7 1 1 0 -1 0 98 1 7 2 0 0 3 4 20", 0, {7, 1, 1, 2, 4}},
    {"no family", parse_family, "12 (x) Z 7 1 1 0 -1 0 98 1 7 2 0 0 3", -EINVAL},
    {"ends at the name", parse_stat, "1 (x)", -EINVAL},
    {"empty", parse_stat, "", -EINVAL},

    {"one namespace", parse_status, "Name:\tx\nPid:\t7\nPPid:\t1\nNSpid:\t7\n", 0, {7, 1}},
    {"two", parse_status, "Pid:\t812\nNSpid:\t812\t7\n", 0, {812, 2, 0, 0, 7}},
    {"more than there is room for", parse_status, "NSpid:\t812\t7\t1", 0, {0, 3, 0, 0, 7}},
    {"a peak", parse_status, "Pid:\t7\nVmHWM:\t    5788 kB\nVmRSS:\t 1 kB\n", 0, {7, 0, 5788}},
    {"a state", parse_status, "Name:\tx\nState:\tZ (zombie)\nPid:\t7\n", 0, {7, 0, 0, 'Z'}},
    {"the first counts",
     parse_status,
     "State:\tR (Z)\nPid:\t7\nState:\tZ\nPid:\tx\n",
     0,
     {7, 0, 0, 'R'}},
    {"no state", parse_status, "Pid:\t7\nState:\t\n", 0, {7}},
    {"hexadecimal", parse_status, "CapPrm:\t000001ffffffffff\n", 0, {0, 0, 0, 0, 0, 0x1ffffffffff}},
    {"capitals", parse_status, "CapPrm:\t1F\n", -EINVAL},
    {"no peak", parse_status, "Pid:\t7\nVmHWM:\t kB\n", -EINVAL},
    {"no number", parse_status, "Pid:\tx\n", -EINVAL},
    {"nothing", parse_status, "Pid:\t\n", -EINVAL},
    {"a number with more behind", parse_status, "VmHWM:\t5x kB\n", -EINVAL},
    {"it goes on", parse_status, "Pid:\t7x\n", -EINVAL},
    {"junk behind", parse_status, "Pid:\t7 kB\n", -EINVAL},
    {"negative", parse_status, "Pid:\t-7\n", -EINVAL},
    {"no colon", parse_status, "Pid\t7\n", 0, {0}},
    {"a name like a line", parse_status, "Name:\tPid:\t3\nPid:\t7\n", 0, {7}},
    {"other keys", parse_status, "PPid:\t1\nTracerPid:\t3\nPids:\t4\nNStgid:\t1\t2\n", 0, {0}},
    {"a key alone", parse_status, "Pid", 0, {0}},
    {"beyond 64 bits", parse_status, "Pid:\t" MORE "\n", -ERANGE},
    {"empty", parse_status, "", 0, {0}},
};

/* At the very end of an allocation: ASan sees a byte too far. */
static int parse_exact(parse_fn *parse, const char *text, size_t len, uint64_t *out)
{
	char *exact = malloc(len ? len : 1);
	int rc;

	memcpy(exact, text, len);
	rc = parse(exact, len, out);
	free(exact);
	return rc;
}

TEST(rows)
{
	for (size_t i = 0; i < NR(rows); i++) {
		uint64_t out[NR_NUMBERS] = {0};
		int rc = parse_exact(rows[i].parse, rows[i].text, strlen(rows[i].text), out);

		print_message("%s\n", rows[i].what);
		assert_int_equal(rc, rows[i].rc);
		assert_memory_equal(out, rows[i].numbers, sizeof(out));
	}
}

/* Whatever the text: a number or an error, and nothing is written on an error. */
static void try_text(parse_fn *parse, const char *text, size_t len)
{
	const uint64_t before[NR_NUMBERS] = {11, 22, 33};
	uint64_t out[NR_NUMBERS] = {11, 22, 33};
	int rc = parse_exact(parse, text, len, out);

	assert_true(rc == 0 || rc == -EINVAL || rc == -ERANGE);
	if (rc)
		assert_memory_equal(out, before, sizeof(out));
}

/* Captured text, cut at every byte, and every byte replaced by some that matter. */
TEST(damaged)
{
	static const struct {
		const char *path;
		parse_fn *parse;
	} files[] = {
	    {"/proc/812/statm", parse_statm},         {"/proc/812/io", parse_io},
	    {"/proc/812/schedstat", parse_schedstat}, {"/proc/977/stat", parse_stat},
	    {"/proc/self/status", parse_status},      {"/proc/977/stat", parse_family},
	};
	static const char others[] = "\0\n\t :-)9x\xff";
	struct root r = tree_captured("processes");

	for (size_t i = 0; i < NR(files); i++) {
		struct buf b;

		buf_init(&b, 65536);
		assert_int_equal(root_load(&r, files[i].path, &b), 0);
		for (size_t at = 0; at < b.len; at++) {
			char was = b.data[at];

			try_text(files[i].parse, b.data, at);
			try_text(files[i].parse, b.data + at, b.len - at);
			for (size_t k = 0; k < sizeof(others) - 1; k++) {
				b.data[at] = others[k];
				try_text(files[i].parse, b.data, b.len);
			}
			b.data[at] = was;
		}
		buf_fini(&b);
	}
}
