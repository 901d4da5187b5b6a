/*
 * sqlite_clock.h - the clock of an SQLite file: real time that nobody can step.
 *
 * The file says what time it was (base_wall) when the machine's boottime clock stood at base_boot; from then on the boottime
 * clock alone moves it, so a step of the wall clock neither freezes leases nor ends them, and all daemons on one file see the
 * same time. After a boot it starts again, at the wall clock's time but never before what was seen last.
 */
#ifndef CLAIMD_STORE_SQLITE_CLOCK_H
#define CLAIMD_STORE_SQLITE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define BOOT_ID_MAX 64

/* What the machine says. */
struct machine_time {
	char boot_id[BOOT_ID_MAX];
	int64_t wall_us;
	int64_t boot_us; /* CLOCK_BOOTTIME: goes on while the machine sleeps */
};

/* What the file says. */
struct file_clock {
	char boot_id[BOOT_ID_MAX];
	int64_t base_wall_us;
	int64_t base_boot_us;
	int64_t seen_us; /* of the last transaction that wrote: time is always behind it */
};

/* Reads the name of this boot; one of its own for each call where it cannot be known. */
void machine_boot_id(char boot_id[BOOT_ID_MAX]);
/* Reads the two clocks. */
void machine_time_read(struct machine_time *machine);

/* Makes the file's clock one of this boot. False: it is already, and nothing changed. */
bool file_clock_rebase(struct file_clock *clock, const struct machine_time *machine);
/* The time now, for a clock of this boot; never at or before what was seen. */
int64_t file_clock_now(const struct file_clock *clock, const struct machine_time *machine);

#endif
