/* check_sha256.c - the standard's own vectors, and every length around the padding. */
#include "../proto/sha256.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *text, const char *hex)
{
	char out[65];

	sha256_hex(slice_from(text), out);
	ck_assert_str_eq(out, hex);
}

START_TEST(standard_vectors)
{
	expect("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	expect(
	    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrst"
	    "nopqrstu",
	    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}
END_TEST

START_TEST(a_million_octets)
{
	char out[65];
	char *text = malloc(1000000);

	ck_assert_ptr_nonnull(text);
	memset(text, 'a', 1000000);
	sha256_hex((struct slice){text, 1000000}, out);
	ck_assert_str_eq(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(text);
}
END_TEST

START_TEST(absent_is_empty)
{
	char out[65];

	sha256_hex(SLICE_ABSENT, out);
	ck_assert_str_eq(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
END_TEST

/* The hash of the hashes of n octets 'a', n = 0 .. 200, made with another implementation (sha256sum): the padding
 * takes one block or two, at every place. */
START_TEST(every_length)
{
	char all[201 * 64];
	char text[200], out[65];

	memset(text, 'a', sizeof(text));
	for (size_t n = 0; n <= sizeof(text); n++) {
		sha256_hex((struct slice){text, n}, out);
		memcpy(all + 64 * n, out, 64);
	}
	sha256_hex((struct slice){all, sizeof(all)}, out);
	ck_assert_str_eq(out, "eb555248bd20c7831e511d4461b42c9b084e3a64b44d57b00051172f8afe03ff");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sha256");
	TCase *tc = tcase_create("sha256");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, standard_vectors);
	tcase_add_test(tc, a_million_octets);
	tcase_add_test(tc, absent_is_empty);
	tcase_add_test(tc, every_length);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
