/*
 * check_storm.c - the judge of the storm finds each broken promise, and nothing where none is broken.
 *
 * Each plot is a short history in which one promise is broken, and its twin, which differs as little as it can and is fine. A
 * promise without a plot fails the last test. Times are microseconds; leases 300 ms, ttls 60 s.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storm/judge.h"

#define EVENTS_MAX 32

#define CLAIM(at, asked, token, rest) \
	"said at=" #at " asked=" #asked " key=k verb=CLAIM token=" #token " lease=300 ttl=60000 " rest "\n"
#define WON(at, asked, token, number) CLAIM(at, asked, token, "word=WON state=claimed left=300 shown=" #number)
#define HELD(at, asked, number) CLAIM(at, asked, 99, "word=HELD state=claimed left=100 age=1 shown=" #number)
#define DONE(at, asked, number, text) CLAIM(at, asked, 99, "word=DONE state=done age=1 result=" text " shown=" #number)
#define SENT(at, call, number) "sent at=" #at " key=k ttl=60000 verb=" call " fence=" #number "\n"
#define SAID(at, asked, call, number, answer) \
	"said at=" #at " asked=" #asked " key=k ttl=60000 verb=" call " fence=" #number " word=" answer "\n"
/* A win at 1000 that is bound, of process 7; and what happens to that process. */
#define BOUND(rest)                                                               \
	"said at=1000 asked=500 pid=7 key=k verb=CLAIM lease=900 ttl=60000 " rest \
	" word=WON state=claimed left=900 shown=100\n"
#define SEVEN(at, asked) \
	"said at=" #at " asked=" #asked " pid=7 key=k verb=COMPLETE fence=100 word=STALE state=claimed shown=200\n"
#define GONE(at) "gone at=" #at " pid=7\n"
#define KILLED(at) "gone at=" #at " pid=7 killed\n"
#define TROUBLE(from, to) "trouble asked=" #from " at=" #to "\n"
#define LOST(at) "lost at=" #at " pid=7 key=k fence=100 result=doubt\n"
#define LIVE(at, asked, rest)           \
	"said at=" #at " asked=" #asked \
	" key=k verb=CLAIM lease=300 ttl=60000 word=HELD state=claimed shown=100 " rest "\n"
#define START(at, number) "start at=" #at " key=k fence=" #number "\n"
#define END(at, number) "end at=" #at " key=k fence=" #number "\n"
/* A win of `claim run`, and what it records. */
#define COMMAND CLAIM(1000, 500, 1, "word=WON state=claimed left=300 shown=100 command")
#define RECORDED DONE(9000, 8000, 100, "claim-run%201%20exit=0%0A")

/* A win with fence 100 at the beginning, whose lease lasts until 300500 at least; and one that was completed. */
#define FIRST WON(1000, 500, 1, 100)
#define COMPLETED \
	FIRST SENT(2000, "COMPLETE", 100) SAID(4000, 3000, "COMPLETE", 100, "OK state=done left=60000 shown=100")
#define RELEASED FIRST SENT(2000, "RELEASE", 100) SAID(4000, 3000, "RELEASE", 100, "OK state=free shown=101")

static const struct plot {
	enum invariant broken;
	const char *bad, *fine;
} plots[] = {
    {BROKEN_NO_OVERLAP, FIRST WON(200000, 199000, 2, 200), FIRST WON(301000, 300600, 2, 200)},
    {BROKEN_NO_OVERLAP, FIRST WON(200000, 199000, 2, 200), RELEASED WON(200000, 199000, 2, 200)},
    /* The other one never heard of it. */
    {BROKEN_NO_OVERLAP, FIRST HELD(200000, 199000, 200), FIRST HELD(302000, 301000, 200)},
    /* RESOLVE must be refused while it is neither lapsed nor in doubt. */
    {BROKEN_NO_OVERLAP, FIRST SENT(5000, "RESOLVE as=free", 100) WON(200000, 199000, 2, 200),
     FIRST SENT(4000, "DOUBT", 100) SENT(5000, "RESOLVE as=free", 100) WON(200000, 199000, 2, 200)},
    /* A command that did not end may have been given back. */
    {BROKEN_NO_OVERLAP, COMMAND START(1500, 100) END(2000, 100) WON(200000, 199000, 2, 200),
     COMMAND START(1500, 100) WON(200000, 199000, 2, 200)},
    /* Renewed in time. */
    {BROKEN_NO_OVERLAP,
     FIRST SAID(250000, 249000, "RENEW", 100, "OK state=claimed left=300 shown=100") WON(400000, 399000, 2, 200),
     FIRST SAID(250000, 249000, "RENEW", 100, "OK state=claimed left=300 shown=100") WON(560000, 559000, 2, 200)},
    /* Between the two wins there was a third whose answer came late. */
    {BROKEN_NO_OVERLAP, FIRST WON(400000, 1500, 2, 200) WON(200000, 199000, 3, 300),
     FIRST WON(400000, 1500, 2, 200) WON(800000, 799000, 3, 300)},

    {BROKEN_SETTLED_SUPPRESSES, COMPLETED WON(400000, 399000, 2, 200), COMPLETED DONE(400000, 399000, 100, "d100")},
    {BROKEN_SETTLED_SUPPRESSES, COMPLETED WON(400000, 399000, 2, 200), COMPLETED WON(60100000, 399000, 2, 200)},
    /* A copy of the call that won. */
    {BROKEN_SETTLED_SUPPRESSES, COMPLETED CLAIM(9000, 8000, 1, "word=WON state=claimed own left=290 shown=100"),
     FIRST CLAIM(9000, 8000, 1, "word=WON state=claimed own left=290 shown=100")},
    /* The acknowledgement came after the next win, but its fence says which was first. */
    {BROKEN_SETTLED_SUPPRESSES,
     FIRST SENT(2000, "COMPLETE", 100) WON(400000, 399000, 2, 200)
	 SAID(500000, 3000, "COMPLETE", 100, "OK state=done left=60000 shown=100"),
     FIRST SENT(2000, "COMPLETE", 100) WON(400000, 399000, 2, 200)
	 SAID(500000, 3000, "COMPLETE", 100, "STALE state=claimed shown=200")},
    /* A RELEASE does not open what is settled. */
    {BROKEN_SETTLED_SUPPRESSES,
     COMPLETED SENT(5000, "RELEASE", 100) SAID(7000, 6000, "RELEASE", 100, "OK state=done left=60000 shown=100")
	 WON(60000, 59000, 2, 200),
     COMPLETED SENT(5000, "RELEASE", 100) SAID(7000, 6000, "RELEASE", 100, "OK state=done left=60000 shown=100")},

    {BROKEN_SETTLED_IS_FINAL, COMPLETED HELD(9000, 8000, 100), FIRST HELD(9000, 8000, 100)},
    {BROKEN_SETTLED_IS_FINAL,
     COMPLETED SENT(5000, "RESOLVE as=done", 100) DONE(9000, 8000, 100, "d100") DONE(19000, 18000, 100, "r100"),
     COMPLETED SENT(5000, "RESOLVE as=done", 100) DONE(9000, 8000, 100, "d100") DONE(19000, 18000, 100, "d100")},
    {BROKEN_SETTLED_IS_FINAL,
     COMPLETED SENT(5000, "FAIL", 100) CLAIM(9000, 8000, 9, "word=FAILED state=failed age=1 result=f100 shown=100"),
     FIRST SENT(5000, "FAIL", 100) CLAIM(9000, 8000, 9, "word=FAILED state=failed age=1 result=f100 shown=100")},

    {BROKEN_SETTLED_AS_ASKED, FIRST DONE(9000, 8000, 100, "d100"), COMPLETED DONE(9000, 8000, 100, "d100")},
    {BROKEN_SETTLED_AS_ASKED, COMPLETED DONE(9000, 8000, 100, "d99"), COMPLETED DONE(9000, 8000, 100, "d100")},
    {BROKEN_SETTLED_AS_ASKED, COMPLETED DONE(9000, 8000, 100, "r100"), COMPLETED DONE(9000, 8000, 100, "d100")},
    /* Not taken over, in spite of the answer. */
    {BROKEN_SETTLED_AS_ASKED,
     FIRST SENT(2000, "DOUBT", 100) SAID(4000, 3000, "DOUBT", 100, "OK state=claimed shown=100"),
     FIRST SENT(2000, "DOUBT", 100) SAID(4000, 3000, "DOUBT", 100, "OK state=unknown shown=100")},
    /* In doubt before the lease was over. */
    {BROKEN_SETTLED_AS_ASKED,
     CLAIM(1000, 500, 1, "unknown word=WON state=claimed left=300 shown=100")
	 CLAIM(9000, 8000, 2, "word=UNKNOWN state=unknown shown=100"),
     CLAIM(1000, 500, 1, "unknown word=WON state=claimed left=300 shown=100")
	 CLAIM(400000, 8000, 2, "word=UNKNOWN state=unknown shown=100")},

    {BROKEN_NO_EFFECT_AFTER, COMPLETED START(9000, 100), START(1500, 100) COMPLETED},
    /* A late effect of a lost claim: the sink has seen a higher fence, or not. */
    {BROKEN_NO_EFFECT_AFTER,
     FIRST WON(400000, 399000, 2, 200) SENT(410000, "COMPLETE", 200)
	 SAID(420000, 410000, "COMPLETE", 200, "OK state=done left=60000 shown=200") START(430000, 100),
     FIRST WON(400000, 399000, 2, 200) START(405000, 200) SENT(410000, "COMPLETE", 200)
	 SAID(420000, 410000, "COMPLETE", 200, "OK state=done left=60000 shown=200") START(430000, 100)},

    {BROKEN_UNKNOWN_STAYS,
     CLAIM(1000, 500, 1, "unknown word=WON state=claimed left=300 shown=100") WON(400000, 399000, 2, 200),
     CLAIM(1000, 500, 1, "unknown word=WON state=claimed left=300 shown=100") SENT(350000, "RESOLVE as=free", 100)
	 WON(400000, 399000, 2, 200)},
    {BROKEN_UNKNOWN_STAYS,
     FIRST SENT(2000, "DOUBT", 100) SAID(3000, 2000, "DOUBT", 100, "OK state=unknown shown=100")
	 WON(400000, 399000, 2, 200),
     FIRST SENT(2000, "DOUBT", 100) SAID(3000, 2000, "DOUBT", 100, "OK state=unknown shown=100")
	 SENT(5000, "RELEASE", 100) WON(400000, 399000, 2, 200)},

    {BROKEN_FENCES_RISE, RELEASED WON(9000, 8000, 2, 50), RELEASED WON(9000, 8000, 2, 200)},
    {BROKEN_FENCES_RISE, RELEASED WON(9000, 8000, 2, 101), RELEASED WON(9000, 8000, 2, 102)},
    {BROKEN_FENCES_RISE, FIRST HELD(9000, 8000, 99), FIRST HELD(9000, 8000, 100)},

    {BROKEN_FENCE_ONCE, FIRST CLAIM(9000, 800, 2, "word=WON state=claimed left=300 shown=100"),
     FIRST CLAIM(9000, 800, 1, "word=WON own state=claimed left=300 shown=100")},
    {BROKEN_FENCE_ONCE, FIRST CLAIM(9000, 8000, 2, "word=WON own state=claimed left=290 shown=100"),
     FIRST CLAIM(9000, 8000, 1, "word=WON own state=claimed left=290 shown=100")},
    {BROKEN_FENCE_ONCE, CLAIM(9000, 8000, 0, "word=WON own state=claimed left=290 shown=100"),
     CLAIM(9000, 8000, 1, "word=WON own state=claimed left=290 shown=100")},

    {BROKEN_STALE_REFUSED,
     FIRST WON(400000, 399000, 2, 200) SENT(410000, "COMPLETE", 100)
	 SAID(430000, 420000, "COMPLETE", 100, "OK state=done left=60000 shown=200"),
     FIRST WON(400000, 399000, 2, 200) SENT(410000, "COMPLETE", 100)
	 SAID(430000, 420000, "COMPLETE", 100, "STALE state=claimed shown=200")},
    {BROKEN_STALE_REFUSED, RELEASED SAID(9000, 8000, "COMPLETE", 100, "OK state=done left=60000 shown=101"),
     RELEASED SAID(9000, 8000, "RELEASE", 100, "OK state=free shown=101")},

    {BROKEN_OWNER_ACCEPTED, FIRST SAID(400000, 399000, "COMPLETE", 100, "STALE state=claimed shown=100"),
     FIRST SAID(400000, 399000, "CHECK", 100, "STALE state=claimed shown=100")},
    {BROKEN_OWNER_ACCEPTED, COMPLETED SAID(9000, 8000, "COMPLETE", 100, "STALE state=done shown=100"),
     COMPLETED SAID(9000, 8000, "FAIL", 100, "STALE state=done shown=100")},

    {BROKEN_SETTLED_AS_ASKED, FIRST SENT(2000, "COMPLETE", 100) RECORDED, COMMAND SENT(2000, "COMPLETE", 100) RECORDED},

    {BROKEN_RELEASE_RAISES,
     FIRST SENT(2000, "RELEASE", 100) SAID(4000, 3000, "RELEASE", 100, "OK state=free shown=100"), RELEASED},

    {BROKEN_NOTHING_LOST, FIRST SAID(400000, 399000, "COMPLETE", 100, "STALE absent"),
     FIRST SAID(61000000, 399000, "COMPLETE", 100, "STALE absent")},
    {BROKEN_NOTHING_LOST, COMPLETED CLAIM(400000, 399000, 2, "word=WON absent state=claimed left=300 shown=200"),
     COMPLETED CLAIM(60100000, 60090000, 2, "word=WON absent state=claimed left=300 shown=200")},
    {BROKEN_NOTHING_LOST, RELEASED CLAIM(400000, 399000, 2, "word=WON absent state=claimed left=300 shown=200"),
     RELEASED CLAIM(400000, 399000, 2, "word=WON state=claimed left=300 shown=200")},

    {BROKEN_LEASE_AS_ASKED, CLAIM(1000, 500, 1, "word=WON state=claimed left=1 shown=100"), FIRST},
    {BROKEN_LEASE_AS_ASKED, CLAIM(1000, 500, 1, "hold=200 word=WON state=claimed left=300 shown=100"),
     CLAIM(1000, 500, 1, "hold=200 word=WON state=claimed left=200 shown=100")},

    {BROKEN_EFFECTS_GRANTED, START(2000, 100), FIRST START(2000, 100)},
    {BROKEN_EFFECTS_GRANTED, START(900, 100) FIRST, START(1001, 100) FIRST},
    {BROKEN_EFFECTS_GRANTED, FIRST START(2000, 100) START(2100, 100), FIRST START(2000, 100)},

    {BROKEN_DOUBLES_EXPLAINED, FIRST START(2000, 100) WON(200000, 199000, 2, 200) START(201000, 200),
     FIRST START(2000, 100) WON(400000, 399000, 2, 200) START(401000, 200)},

    {BROKEN_NO_STRANGE_ERROR, FIRST CLAIM(9000, 8000, 2, "word=ERR err=internal"),
     FIRST CLAIM(9000, 8000, 2, "word=ERR err=timeout")},
    {BROKEN_NO_STRANGE_ERROR, FIRST CLAIM(9000, 8000, 2, "word=ERR err=store"),
     FIRST CLAIM(9000, 8000, 2, "word=ERR err=store safe")},
    {BROKEN_NO_STRANGE_ERROR, RELEASED CLAIM(9000, 8000, 2, "word=ERR err=badopt"),
     RELEASED CLAIM(9000, 8000, 1, "word=ERR err=badopt")},
    {BROKEN_NO_STRANGE_ERROR, FIRST CLAIM(9000, 8000, 1, "word=ERR err=badopt"),
     RELEASED CLAIM(9000, 8000, 1, "word=ERR err=badopt")},

    /* A hold of 5 s, whose first lease ends at 900500. */
    {BROKEN_HELD_KEPT, BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000),
     BOUND("hold=5000") WON(5100000, 5000000, 2, 200) SEVEN(5300000, 5200000)},
    {BROKEN_HELD_KEPT, BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000) GONE(1800000),
     BOUND("hold=5000") GONE(1300000) WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000)},
    /* It was told of a doubt, though it read of it late; or a daemon was struck; or nobody knows whether it was. */
    {BROKEN_HELD_KEPT, BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000),
     BOUND("hold=5000") WON(1500000, 1400000, 2, 200) LOST(1650000) SEVEN(1700000, 1600000)},
    {BROKEN_HELD_KEPT, TROUBLE(100, 400) BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000),
     TROUBLE(100, 600) BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000)},
    {BROKEN_HELD_KEPT, BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000),
     BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1550000, 1400000)},
    /* Somebody else listened; or it listened no more. */
    {BROKEN_HELD_KEPT, BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000),
     BOUND("hold=5000") WON(1500000, 1400000, 2, 200) HELD(1700000, 1600000, 200)},
    {BROKEN_HELD_KEPT, BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000) KILLED(1750000),
     BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000) KILLED(1650000)},
    /* What happened before, after, and to others is no excuse. */
    {BROKEN_HELD_KEPT,
     TROUBLE(100, 400) GONE(400) BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000)
	 TROUBLE(1600000, 1700000) "gone at=1100000 pid=8\n",
     BOUND("") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000)},
    /* A win that is told once more: nobody knows since when it is held. */
    {BROKEN_HELD_KEPT, BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000),
     BOUND("hold=5000 own token=5") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000)},
    /* Not held at all. */
    {BROKEN_HELD_KEPT, BOUND("hold=5000") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000),
     BOUND("") WON(1500000, 1400000, 2, 200) SEVEN(1700000, 1600000)},

    /* It was to end at 2 s, and a renewal may wait a second for the store. */
    {BROKEN_HOLD_ENDS, BOUND("hold=2000") LIVE(2700000, 2600000, "left=500"),
     BOUND("hold=2000") LIVE(2700000, 2600000, "left=300")},
    {BROKEN_HOLD_ENDS, BOUND("hold=2000") LIVE(2700000, 2600000, "left=500"),
     BOUND("hold=2000") "sent at=9000 key=k ttl=60000 verb=RENEW fence=100\n" LIVE(2700000, 2600000, "left=500")},
    /* Its connection ended at 1 s, which was noticed by 3500000. */
    {BROKEN_HOLD_ENDS, BOUND("hold=60000") GONE(1000000) LIVE(3700000, 3600000, "left=900"),
     BOUND("hold=60000") GONE(1000000) LIVE(3700000, 3600000, "left=700")},
    {BROKEN_HOLD_ENDS, BOUND("hold=60000") GONE(1000000) LIVE(3700000, 3600000, "left=900"),
     BOUND("hold=60000") GONE(1000000) TROUBLE(1500000, 1500000) LIVE(3700000, 3600000, "left=900")},
    {BROKEN_HOLD_ENDS, BOUND("hold=60000") GONE(1000000) LIVE(3700000, 3600000, "left=900"),
     BOUND("hold=60000") LIVE(3700000, 3600000, "left=900")},

    {BROKEN_DROP_DONE, BOUND("drop=1") GONE(2000) LIVE(2600000, 2550000, "left=100"),
     BOUND("drop=1") GONE(2000) LIVE(2600000, 2450000, "left=100")},
    {BROKEN_DROP_DONE, BOUND("drop=2") KILLED(2000) LIVE(2600000, 2550000, "left=100"),
     BOUND("drop=2") KILLED(2000) TROUBLE(3000, 3000) LIVE(2600000, 2550000, "left=100")},
    {BROKEN_DROP_DONE, BOUND("drop=1") GONE(2000) LIVE(2600000, 2550000, "left=100"),
     BOUND("") GONE(2000) LIVE(2600000, 2550000, "left=100")},
    /* A settlement was there first; or may have been, where somebody else ended it. */
    {BROKEN_DROP_DONE, BOUND("drop=1") SENT(1500, "COMPLETE", 100) KILLED(2000) LIVE(2600000, 2550000, "left=100"),
     BOUND("drop=1") SENT(1500, "COMPLETE", 100) GONE(2000) LIVE(2600000, 2550000, "left=100")},
    /* What it does, and when it does not. */
    {BROKEN_NO_OVERLAP, BOUND("drop=1") WON(9000, 8000, 2, 200) GONE(9500),
     BOUND("drop=1") GONE(2000) WON(9000, 8000, 2, 200)},
    {BROKEN_NO_OVERLAP, BOUND("drop=1") SENT(1500, "COMPLETE", 100) GONE(2000) WON(9000, 8000, 2, 200),
     BOUND("drop=1") SENT(1500, "COMPLETE", 100) KILLED(2000) WON(9000, 8000, 2, 200)},
    {BROKEN_NO_OVERLAP, BOUND("drop=2") GONE(2000) WON(9000, 8000, 2, 200),
     BOUND("drop=2") GONE(2000) SENT(3000, "RESOLVE as=free", 100) WON(9000, 8000, 2, 200)},
    {BROKEN_SETTLED_AS_ASKED, BOUND("drop=1") GONE(2000) CLAIM(9000, 8000, 2, "word=UNKNOWN state=unknown shown=100"),
     BOUND("drop=2") GONE(2000) CLAIM(9000, 8000, 2, "word=UNKNOWN state=unknown shown=100")},

    {BROKEN_WAITS_LONG,
     FIRST HELD(100000, 9000, 100) CLAIM(100000, 9000, 2, "wait=100 word=HELD state=claimed left=100 shown=100"),
     FIRST HELD(100000, 9000, 100) CLAIM(109000, 9000, 2, "wait=100 word=HELD state=claimed left=100 shown=100")},
    {BROKEN_WAITS_LONG, FIRST CLAIM(100000, 9000, 2, "wait=100 word=HELD state=claimed left=100 shown=100"),
     RELEASED CLAIM(10000, 9000, 2, "wait=100 word=WON state=claimed left=300 shown=200")},

    {BROKEN_KEYS_END, FIRST "audit at=500000\n", FIRST "audit at=500000\n" WON(600000, 590000, 2, 200)},
    {BROKEN_KEYS_END, FIRST "audit at=200000\n" HELD(300000, 290000, 100),
     COMPLETED "audit at=200000\n" DONE(300000, 290000, 100, "d100")},
};

#define PLOTS ((int)(sizeof plots / sizeof plots[0]))

static void judge(const char *history, struct judgement *out)
{
	static struct event events[EVENTS_MAX];
	size_t count = 0;

	while (*history != '\0') {
		size_t len = strcspn(history, "\n");
		char line[512];
		int n = snprintf(line, sizeof line, "%.*s whole", (int)len, history);

		ck_assert_uint_lt(count, EVENTS_MAX);
		ck_assert_msg(journal_parse(line, (size_t)n, &events[count]), "cannot read %.*s", (int)len, history);
		count++;
		history += len + 1;
	}
	ck_assert(judge_history(events, count, out));
}

START_TEST(each_broken_promise_is_found)
{
	const struct plot *plot = &plots[_i];
	struct judgement found;

	judge(plot->bad, &found);
	ck_assert_msg(found.broken[plot->broken] > 0, "%s is not found in\n%s", invariant_name(plot->broken),
		      plot->bad);
	ck_assert_str_ne(found.example[plot->broken], "");
}
END_TEST

START_TEST(what_is_fine_is_not_found)
{
	const struct plot *plot = &plots[_i];
	struct judgement found;

	judge(plot->fine, &found);
	for (int i = 0; i < INVARIANT__COUNT; i++)
		ck_assert_msg(found.broken[i] == 0, "%s (%s) is found in\n%s", invariant_name((enum invariant)i),
			      found.example[i], plot->fine);
}
END_TEST

START_TEST(each_promise_has_a_plot)
{
	for (int i = 0; i < INVARIANT__COUNT; i++) {
		int there = 0;

		for (int plot = 0; plot < PLOTS; plot++)
			there += plots[plot].broken == (enum invariant)i;
		ck_assert_msg(there > 0, "%s has none", invariant_name((enum invariant)i));
	}
}
END_TEST

START_TEST(what_is_bound_is_counted)
{
	struct judgement found;

	judge(BOUND("drop=1") GONE(2000) CLAIM(
		  9000, 3000, 2, "wait=100 word=WON state=claimed left=300 shown=200") "renewed at=9500 pid=7 key=k "
										       "fence=200\n" LOST(9600),
	      &found);
	ck_assert_int_eq(found.again[REASON_DROPPED], 1);
	ck_assert_int_eq(found.waited, 1);
	ck_assert_int_eq(found.renewals, 1);
	ck_assert_int_eq(found.losses, 1);
	ck_assert_int_eq(found.drop_doubts, 0);
	judge(BOUND("drop=2 hold=5000") SENT(950000, "COMPLETE", 100)
		  SAID(960000, 955000, "COMPLETE", 100, "OK state=done left=60000 shown=100"),
	      &found);
	ck_assert_int_eq(found.held_on, 1);
	judge(BOUND("drop=2") GONE(2000) CLAIM(9000, 8000, 2, "word=UNKNOWN state=unknown shown=100"), &found);
	ck_assert_int_eq(found.drop_doubts, 1);
	ck_assert_int_eq(found.held_on, 0);
}
END_TEST

START_TEST(what_happened_is_counted)
{
	struct judgement found;

	judge(WON(1000, 500, 1, 50) START(2000, 50) WON(400000, 399000, 2, 100) WON(800000, 799000, 3, 200)
		  START(801000, 200) START(802000, 100) SENT(803000, "RELEASE", 200) WON(820000, 810000, 4, 300)
		      START(821000, 300) SENT(822000, "COMPLETE", 300)
			  SAID(823000, 822000, "COMPLETE", 300, "OK state=done left=60000 shown=300")
			      SAID(824000, 823500, "COMPLETE", 200, "STALE state=done shown=300")
				  DONE(826000, 825000, 300, "d300"),
	      &found);
	ck_assert_int_eq(found.keys, 1);
	ck_assert_int_eq(found.wins, 4);
	ck_assert_int_eq(found.again[REASON_LAPSED], 2);
	ck_assert_int_eq(found.again[REASON_RELEASED], 1);
	ck_assert_int_eq(found.doubled[REASON_LAPSED], 1);
	ck_assert_int_eq(found.doubled[REASON_RELEASED], 1);
	ck_assert_int_eq(found.effects, 3);
	ck_assert_int_eq(found.fenced_out, 1);
	ck_assert_int_eq(found.stale, 1);
	ck_assert_int_eq(found.suppressed, 1);
	ck_assert_int_eq(found.settled, 1);
}
END_TEST

/* ---- the journal ---- */

static void write_event(int fd, int64_t fence)
{
	struct event event = {.what = HAPPENED_SAID,
			      .key = "k",
			      .verb = VERB_COMPLETE,
			      .fence = fence,
			      .at_us = 5,
			      .asked_us = 3,
			      .pid = 7,
			      .ttl_ms = 60000,
			      .token = 11,
			      .wait_ms = 12,
			      .hold_ms = 13,
			      .drop = DROP_UNKNOWN,
			      .word = WORD_OK,
			      .shown = fence,
			      .state = STATE_DONE,
			      .left_ms = 0,
			      .age_ms = -1,
			      .result = "d1"};

	ck_assert(journal_write(fd, &event));
}

START_TEST(a_part_of_a_line_spoils_no_other)
{
	static struct journal journal;
	char path[] = "/tmp/check_storm.XXXXXX";
	struct event event;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	write_event(fd, 1);
	ck_assert_int_eq(write(fd, "\nsaid at=9 verb=CLAIM key=k word=WON shown=77", 45), 45);
	write_event(fd, 2);
	ck_assert(journal_open(&journal, path));
	unlink(path);
	for (int64_t fence = 1; fence <= 2; fence++) {
		ck_assert(journal_read(&journal, &event));
		ck_assert_int_eq(event.fence, fence);
	}
	ck_assert(!journal_read(&journal, &event));
	ck_assert_int_eq(journal.torn, 1);
	/* And it goes on with what is written later. */
	write_event(fd, 3);
	ck_assert(journal_read(&journal, &event));
	ck_assert_int_eq(event.fence, 3);
	ck_assert_int_eq(event.shown, 3);
	ck_assert_int_eq(event.verb, VERB_COMPLETE);
	ck_assert_int_eq(event.state, STATE_DONE);
	ck_assert_int_eq(event.left_ms, 0);
	ck_assert_int_eq(event.age_ms, -1);
	ck_assert_int_eq(event.asked_us, 3);
	ck_assert_int_eq(event.token, 11);
	ck_assert_int_eq(event.wait_ms, 12);
	ck_assert_int_eq(event.hold_ms, 13);
	ck_assert_int_eq(event.drop, DROP_UNKNOWN);
	ck_assert_str_eq(event.result, "d1");
	journal_close(&journal);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storm");
	TCase *tcase = tcase_create("judge");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tcase, each_broken_promise_is_found, 0, PLOTS);
	tcase_add_loop_test(tcase, what_is_fine_is_not_found, 0, PLOTS);
	tcase_add_test(tcase, each_promise_has_a_plot);
	tcase_add_test(tcase, what_happened_is_counted);
	tcase_add_test(tcase, what_is_bound_is_counted);
	tcase_add_test(tcase, a_part_of_a_line_spoils_no_other);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
