/*
 * A C++ program of a stranger: sees the public headers and the .pc file, nothing else. Compiled and
 * run by install.sh against an installed cpuperf. Counts the faults of memory that it touches, in a
 * thread of its own, with a spec from text and with one built by calls.
 */
#include <cpuperf/cpuperf.h>
#include <cpuperf/mark.h>

#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <thread>

namespace {

const size_t page_bytes = 4096, nr_pages = 200;
cpuperf_error error = CPUPERF_ERROR_INIT;

int fail(const char *what)
{
	std::fprintf(stderr, "%s: %s\n", what, error.text);
	return 1;
}

int count(const cpuperf_spec *spec)
{
	cpuperf_counts *counts = nullptr;
	cpuperf_value value;
	void *memory = mmap(nullptr, nr_pages * page_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile char *bytes = static_cast<volatile char *>(memory);

	if (memory == MAP_FAILED || madvise(memory, nr_pages * page_bytes, MADV_NOHUGEPAGE))
		return fail("memory");
	if (cpuperf_counts_open_spec(&counts, spec, CPUPERF_THREAD, 0, 0, &error))
		return fail("open");
	if (cpuperf_counts_start(counts, &error))
		return fail("start");
	for (size_t i = 0; i < nr_pages; i++)
		bytes[i * page_bytes] = 1;
	if (cpuperf_counts_stop(counts, &error) ||
	    cpuperf_counts_read(counts, &value, 1, &error))
		return fail("stop");
	std::printf("%s %.0f %s\n", cpuperf_counts_event(counts, 0)->label, value.value,
		    value.state);
	cpuperf_counts_close(counts);
	munmap(memory, nr_pages * page_bytes);
	return 0;
}

} // namespace

int main()
{
	const char text[] = "{\"events\": [{\"group_name\": \"software\", // a comment\n"
			    " \"event_name\": \"page_faults\", \"label\": \"text\"}]}";
	cpuperf_spec *made = nullptr, *parsed = nullptr;
	int bad = 0;

	if (cpuperf_spec_new(&made, &error) || cpuperf_spec_add(made, "page_faults", &error) ||
	    cpuperf_spec_parse(&parsed, text, std::strlen(text), &error))
		return fail("spec");
	std::thread([&] { bad = count(made); }).join();
	bad += count(parsed);
	cpuperf_spec_free(made);
	cpuperf_spec_free(parsed);
	return bad;
}
