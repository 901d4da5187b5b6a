/*
 * grants.c - the fences that a daemon has granted, key by key, as its answers come; see bench.h.
 *
 * load.c asks at each answer, so that a benchmark of wrong answers ends instead of looking fast.
 */
#include "bench.h"

#include <stdlib.h>

struct grants {
	size_t keys;
	bool once;
	int64_t *fence; /* the last one granted; 0: none yet */
	bool *held;
};

struct grants *grants_new(size_t keys, bool once)
{
	struct grants *grants = zeros(1, sizeof *grants);

	grants->keys = keys;
	grants->once = once;
	grants->fence = zeros(keys, sizeof *grants->fence);
	grants->held = zeros(keys, sizeof *grants->held);
	return grants;
}

void grants_free(struct grants *grants)
{
	free(grants->fence);
	free(grants->held);
	free(grants);
}

void grants_won(struct grants *grants, size_t key, int64_t fence)
{
	if (grants->held[key] || (grants->once && grants->fence[key] != 0))
		die("key %zu was granted twice", key);
	if (fence <= grants->fence[key])
		die("a fence of key %zu did not rise", key);
	grants->fence[key] = fence;
	grants->held[key] = true;
}

void grants_given_back(struct grants *grants, size_t key)
{
	grants->held[key] = false;
}

void grants_settled(const struct grants *grants, size_t key, int64_t fence)
{
	if (grants->fence[key] != fence)
		die("key %zu is settled with a fence that was not granted", key);
}

int64_t grants_fence(const struct grants *grants, size_t key)
{
	return grants->fence[key];
}

void grants_all(const struct grants *grants, size_t keys)
{
	for (size_t key = 0; key < keys; key++) {
		if (grants->fence[key] == 0)
			die("key %zu was never granted", key);
	}
}
