/* faulty.c - see faulty.h. */
#include "faulty.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* It does not wait long for those who have claims when it is to end. */
static const char *const on_disk[] = {
    "--store", "sqlite:@/disk/db", "--store-timeout", "2s", "--request-timeout", "3s", "--drain-timeout", "10ms", NULL};

/* What disk.c reads; only programs that are started from now on see it. */
static void tell(const struct faulty *faulty, const char *plan)
{
	char here[256], library[300];

	ck_assert_ptr_nonnull(getcwd(here, sizeof here));
	snprintf(library, sizeof library, "%s/tests/faults/.libs/libfaultdisk.so", here);
	ck_assert_msg(access(library, R_OK) == 0, "%s is not there", library);
	setenv("FAULT_PLAN", plan, 1);
	setenv("FAULT_DISK", faulty->disk, 1);
	setenv("LD_PRELOAD", library, 1);
}

void faulty_init(struct faulty *faulty)
{
	char plan[100];
	int fd;

	spawn_init(&faulty->daemon);
	snprintf(faulty->disk, sizeof faulty->disk, "%s/disk", faulty->daemon.dir);
	snprintf(plan, sizeof plan, "%s/plan", faulty->daemon.dir);
	fd = open(plan, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, sizeof *faulty->plan), 0);
	faulty->plan = mmap(NULL, sizeof *faulty->plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert(faulty->plan != MAP_FAILED);
	close(fd);
	tell(faulty, plan);
}

void faulty_end(struct faulty *faulty)
{
	unsetenv("LD_PRELOAD");
	spawn_end(&faulty->daemon);
	munmap(faulty->plan, sizeof *faulty->plan);
}

void faulty_wipe(struct faulty *faulty)
{
	static const char *const names[] = {"db", "db-wal", "db-shm", "db-journal"};
	char path[120];

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", faulty->disk, names[i]);
		unlink(path);
	}
}

void faulty_start(struct faulty *faulty)
{
	spawn_start(&faulty->daemon, on_disk);
}

void faulty_launch(struct faulty *faulty)
{
	spawn_launch(&faulty->daemon, on_disk);
}

void faulty_plan(struct faulty *faulty, int kinds, int how, int at, int times)
{
	struct plan *plan = faulty->plan;

	atomic_store(&plan->how, 0);
	atomic_store(&plan->kinds, kinds);
	atomic_store(&plan->at, at);
	atomic_store(&plan->times, times);
	atomic_store(&plan->seed, (unsigned)rand());
	atomic_store(&plan->seen, 0);
	atomic_store(&plan->met, 0);
	atomic_store(&plan->how, how);
}

void faulty_calm(struct faulty *faulty)
{
	atomic_store(&faulty->plan->how, 0);
}
