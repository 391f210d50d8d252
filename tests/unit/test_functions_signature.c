/*
 * Signatures of functions: which values of a call they mean, and where these are.
 */
#include "kit.h"

#include "base/err.h"
#include "elf/parameters.h"
#include "functions/signature.h"

#ifdef __x86_64__
enum { IN_REGISTERS = 6 };
#else
enum { IN_REGISTERS = 8 };
#endif

/* What belongs to a name in C++, and what has no parentheses at its end, is no signature. */
TEST(none)
{
	static const char *const texts[] = {
	    "f",         "f()",          "ns::f(int)", "f(std::string, int)",
	    "lib.so:f",  "f(int) const", "f<void ()>", "f<a(b)>::g(int)",
	    "(a:int)",   "f(a:int",      "a:int)",     "",
	    "f(a:int)>", "f(a:int)>1",   "f(a::b)",
	};

	for (size_t i = 0; i < NR(texts); i++) {
		struct functions_signature s;
		struct err e = {0};
		size_t len;

		assert_int_equal(functions_signature_parse(texts[i], &len, &s, &e), 0);
		assert_int_equal(len, strlen(texts[i]));
		assert_int_equal(s.nr, 0);
	}
}

TEST(fields)
{
	static const char text[] =
	    "libfoo.so:ns::handle( path : str, flags:skip, x:double, n:u16,o:s8 )>int";
	struct functions_signature s;
	struct err e = {0};
	size_t len;

	assert_int_equal(functions_signature_parse(text, &len, &s, &e), 0);
	assert_int_equal(len, strlen("libfoo.so:ns::handle"));
	assert_int_equal(s.nr, 4);
	assert_string_equal(s.value[0].name, "path");
	assert_true(s.value[0].kind == FUNCTIONS_TEXT && s.value[0].where == FUNCTIONS_REGISTER &&
		    s.value[0].number == 0);
	/* what is skipped has a register; what is floating-point has none of these */
	assert_string_equal(s.value[1].name, "n");
	assert_true(s.value[1].kind == FUNCTIONS_UNSIGNED && s.value[1].bytes == 2 &&
		    s.value[1].number == 2);
	assert_true(s.value[2].kind == FUNCTIONS_SIGNED && s.value[2].bytes == 1 &&
		    s.value[2].number == 3);
	assert_string_equal(s.value[3].name, "result");
	assert_true(s.value[3].kind == FUNCTIONS_SIGNED && s.value[3].bytes == 4 &&
		    s.value[3].where == FUNCTIONS_RESULT);
	assert_int_equal(functions_signature_parse("f()>ptr", &len, &s, &e), 0);
	assert_true(len == 1 && s.nr == 1 && s.value[0].kind == FUNCTIONS_POINTER);
}

/* Behind the registers they are on the stack. */
TEST(stack)
{
	static const char text[] =
	    "f(a:skip,b:skip,c:skip,d:skip,e:skip,f:skip,g:int,h:int,i:int,j:int)";
	struct functions_signature s;
	struct err e = {0};
	size_t len;

	assert_int_equal(functions_signature_parse(text, &len, &s, &e), 0);
	assert_int_equal(s.nr, 4);
	for (unsigned i = 0; i < s.nr; i++) {
		bool is_register = 6 + i < IN_REGISTERS;

		assert_int_equal(s.value[i].where,
				 is_register ? FUNCTIONS_REGISTER : FUNCTIONS_STACK);
		assert_int_equal(s.value[i].number, is_register ? 6 + i : 6 + i - IN_REGISTERS);
	}
}

/* Floating-point arguments have registers of their own, and share the stack's words beyond them. */
TEST(floats)
{
	static const char text[] =
	    "f(a:int,x:f32,b:skip,c:skip,d:skip,e:skip,f:skip,p:f64,q:f64,r:f64,"
	    "s:f64,t:f64,u:f64,v:f64,w:f64,g:skip,h:skip,z:double,i:int)>long";
	struct functions_signature s;
	struct err e = {0};
	size_t len;

	assert_int_equal(functions_signature_parse(text, &len, &s, &e), 0);
	assert_int_equal(s.nr, 3);
	assert_true(s.value[0].where == FUNCTIONS_REGISTER && s.value[0].number == 0);
	/* below it are w and z, and of integers those that had no register */
	assert_int_equal(s.value[1].where, FUNCTIONS_STACK);
	assert_int_equal(s.value[1].number, 2 + 8 - IN_REGISTERS);
	assert_string_equal(s.floats, " x p q r s t u v w z");
	assert_true(functions_signature_has_float(&s, "x", 1));
	assert_true(functions_signature_has_float(&s, "z", 1));
	assert_false(functions_signature_has_float(&s, "a", 1));
	assert_false(functions_signature_has_float(&s, "", 0));
	assert_false(functions_signature_has_float(&s, "p q", 3));
}

TEST(refused)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
	    {"f(a:int,b)", "\"b\" is not of the form NAME:TYPE"},
	    {"f(a)>int", "\"a\" is not of the form"},
	    {"f(a:int,)>int", NULL},
	    {"f(a:u65)", "\"u65\" is no type"},
	    {"f(a:int)>inta", "\"inta\" is no type"},
	    {"f()>double",
	     "a result of type double is not recorded: such values are in registers that"},
	    {"f()>f32", "a result of type f32 is not recorded: such values are in registers that"},
	    {"f()>skip", "a result of type skip is not recorded"},
	    {"f(a:f64)", "all are skipped, or floating-point: such values are in registers that"},
	    {"f(a:skip)", "no value of a call"},
	    {"f(a:int,b:int,c:int,d:int,e:int,f:int,g:int,h:int,i:int)", "more than 8 values"},
	    {"f(a:int,b:int,c:int,d:int,e:int,f:int,g:int,h:int)>int", "more than 8 values"},
	    {"f(abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz:int)", "longer than 39 bytes"},
	    {"f(a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,"
	     "a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,a:skip,"
	     "a:skip,a:skip,a:int)",
	     "more than 24 arguments"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct functions_signature s;
		struct err e = {0};
		size_t len;
		int rc = functions_signature_parse(cases[i].text, &len, &s, &e);

		assert_int_equal(rc, cases[i].part ? -EINVAL : 0);
		if (cases[i].part)
			assert_non_null(strstr(e.msg, cases[i].part));
	}
}

/* "(...)" asks the file; what it says has places by the same rule, up to what is a structure. */
TEST(of_file)
{
	static const struct elf_parameters known = {.is_known = true,
						    .has_result = true,
						    .result = {"", ELF_PARAMETER_SIGNED, 4},
						    .item = {{"path", ELF_PARAMETER_TEXT, 8},
							     {"x", ELF_PARAMETER_FLOAT, 8},
							     {"", ELF_PARAMETER_UNSIGNED, 2},
							     {"all", ELF_PARAMETER_OTHER, 0},
							     {"n", ELF_PARAMETER_SIGNED, 4}},
						    .nr = 5};
	struct elf_parameters p = known;
	struct functions_signature s;
	struct err e = {0};
	size_t len;

	assert_int_equal(functions_signature_parse("lib.so:f(...)", &len, &s, &e), 0);
	assert_true(len == strlen("lib.so:f") && s.is_of_file && !s.nr);
	assert_int_equal(functions_signature_parse("f(int, ...)", &len, &s, &e), 0);
	assert_true(len == strlen("f(int, ...)") && !s.is_of_file);
	assert_null(functions_signature_make(&p, &s));
	assert_int_equal(s.nr, 3);
	assert_true(s.value[0].kind == FUNCTIONS_TEXT && s.value[0].number == 0);
	assert_string_equal(s.value[1].name, "?");
	assert_true(s.value[1].number == 1 && s.value[1].bytes == 2 &&
		    s.value[1].kind == FUNCTIONS_UNSIGNED);
	assert_true(s.value[2].where == FUNCTIONS_RESULT && s.value[2].bytes == 4);
	p.nr = ELF_MAX_PARAMETERS;
	for (size_t i = 0; i < p.nr; i++)
		p.item[i] = (struct elf_parameter){"", ELF_PARAMETER_SIGNED, 4};
	assert_null(functions_signature_make(&p, &s));
	assert_true(s.nr == FUNCTIONS_MAX_VALUES &&
		    s.value[6].where == (6 < IN_REGISTERS ? FUNCTIONS_REGISTER : FUNCTIONS_STACK));
	p.nr = 0;
	p.has_result = false;
	assert_non_null(strstr(functions_signature_make(&p, &s), "no argument and no result"));
	p = known;
	p.result.kind = ELF_PARAMETER_OTHER;
	assert_non_null(strstr(functions_signature_make(&p, &s), "returns a structure"));
	p.is_known = false;
	assert_non_null(strstr(functions_signature_make(&p, &s), "no debug information"));
}

/* A row has each name once, and so has an object of JSON. */
TEST(names_are_different)
{
	static const char *const texts[] = {"f(duration_ns:int)", "f(x:int, y:int, x:ptr)",
					    "f(result:int)>int"};
	struct elf_parameters p = {.is_known = true,
				   .item = {{"", ELF_PARAMETER_SIGNED, 4},
					    {"", ELF_PARAMETER_SIGNED, 4},
					    {"n", ELF_PARAMETER_SIGNED, 4}},
				   .nr = 3};
	struct functions_signature s;
	size_t len;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct err e = {0};

		assert_int_equal(functions_signature_parse(texts[i], &len, &s, &e), -EINVAL);
		assert_non_null(strstr(e.msg, "two values of a call would have the name"));
	}
	assert_int_equal(functions_signature_parse("f(result:int)", &len, &s, NULL), 0);
	assert_null(functions_signature_make(&p, &s));
	assert_string_equal(s.value[0].name, "?");
	assert_string_equal(s.value[1].name, "?2");
	p.item[1] = p.item[2];
	assert_non_null(strstr(functions_signature_make(&p, &s), "the same name"));
	p.nr = 0;
	p.item[p.nr++] = (struct elf_parameter){"duration_ns", ELF_PARAMETER_SIGNED, 4};
	assert_non_null(strstr(functions_signature_make(&p, &s), "the same name"));
}
