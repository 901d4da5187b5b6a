/*
 * sqlite_clock.c - time from a base and the boottime clock; see sqlite_clock.h.
 *
 * The two threads of the SQLite store ask for the time after they have read the file's clock, the writer under the lock
 * of the file. The arithmetic is pure; only machine_* look at the machine. Where the boot has no name (/proc is not
 * mounted) every opening of the file counts as one: time then hangs on the wall clock, but still never goes backwards.
 */
#include "sqlite_clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void machine_boot_id(char boot_id[BOOT_ID_MAX])
{
	ssize_t got = -1;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		got = read(fd, boot_id, BOOT_ID_MAX - 1);
		close(fd);
	}
	boot_id[got > 0 ? got : 0] = '\0';
	boot_id[strcspn(boot_id, "\n")] = '\0';
	if (!boot_id[0])
		snprintf(boot_id, BOOT_ID_MAX, "unnamed-%lld", (long long)clock_us(CLOCK_BOOTTIME));
}

void machine_time_read(struct machine_time *machine)
{
	machine->wall_us = clock_us(CLOCK_REALTIME);
	machine->boot_us = clock_us(CLOCK_BOOTTIME);
}

bool file_clock_rebase(struct file_clock *clock, const struct machine_time *machine)
{
	if (strcmp(clock->boot_id, machine->boot_id) == 0 && machine->boot_us >= clock->base_boot_us)
		return false;
	memcpy(clock->boot_id, machine->boot_id, BOOT_ID_MAX);
	clock->base_boot_us = machine->boot_us;
	clock->base_wall_us = machine->wall_us > clock->seen_us ? machine->wall_us : clock->seen_us;
	return true;
}

int64_t file_clock_now(const struct file_clock *clock, const struct machine_time *machine)
{
	int64_t now = clock->base_wall_us + (machine->boot_us - clock->base_boot_us);

	return now > clock->seen_us ? now : clock->seen_us + 1;
}
