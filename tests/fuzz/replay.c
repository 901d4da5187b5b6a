/*
 * replay.c - runs a fuzz target over inputs that were found before: the main of tests/fuzz/TARGET in `make check`.
 *
 *     TARGET              all of corpus/TARGET; where there is none the test fails
 *     TARGET FILE...      these, such as the one that libFuzzer left behind
 *
 * An input that breaks something ends the program; its name is the last line.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define REPLAY_MAX (1 << 20)
#define SECONDS 60 /* for one input: what takes longer hangs */

static bool replay(const char *path)
{
	static char data[REPLAY_MAX];
	FILE *file = fopen(path, "rb");
	size_t len;
	char *input;

	puts(path);
	if (file == NULL) {
		perror(path);
		return false;
	}
	len = fread(data, 1, sizeof data, file);
	fclose(file);
	input = exact_copy(data, len);
	alarm(SECONDS);
	LLVMFuzzerTestOneInput((const uint8_t *)input, len);
	alarm(0);
	free(input);
	return true;
}

/* How many files of the folder there are; 0: it is not there, or one of them cannot be read. */
static int replay_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char name[4096];
	int count = 0;

	while (dir != NULL && count >= 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		count = replay(name) ? count + 1 : -1;
	}
	if (dir != NULL)
		closedir(dir);
	return count > 0 ? count : 0;
}

int main(int argc, char **argv)
{
	const char *source = getenv("srcdir"), *slash = strrchr(argv[0], '/');
	char corpus[2048];
	int count = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(corpus, sizeof corpus, "%s/tests/fuzz/corpus/%s", source != NULL ? source : ".",
		 slash != NULL ? slash + 1 : argv[0]);
	if (argc == 1)
		count = replay_folder(corpus);
	while (argc > 1 && replay(argv[count + 1]) && ++count < argc - 1)
		;
	printf("%d passed, %d failed\n", count, argc == 1 ? count == 0 : count < argc - 1);
	return (argc == 1 ? count > 0 : count == argc - 1) ? EXIT_SUCCESS : EXIT_FAILURE;
}
