/*
 * claim.pml - the life of one key, for spin: every row of the transition
 * table under every order of events, with all the bad luck there is.
 *
 * Called by run.sh, which checks this file as it is in several scenarios and
 * then once for each MUTANT_xxx, the table with one guarantee taken out.
 * A mutant that passes is a hole in the invariants, and fails the run.
 *
 * The network is a set.  What was sent once may land at any later time, any
 * number of times, or never: late, doubled and lost messages, in both
 * directions, without a counter.  Every step is optional, so a worker that
 * crashes is one that takes no further step, and a zombie is one that takes
 * its next step late.  Time is what it does: the store's clock ticks (it
 * decides fences only), a lease lapses, a record ends, at any moment.  That
 * is more than a real clock does, hence true for each lease and ttl; and as
 * time may pass while the clock stands still, also for one that was set back.
 *
 * Bounds: CALLS claims, fences up to FENCES, a clock up to TICKS.  A call is
 * one CLAIM with its token, and the worker that made it; the retry of a
 * crashed worker is the next call.  All adversities at once are too many
 * states, so a scenario switches on those that can meet:
 *
 *   WITH_UNKNOWN   claims with lapse=unknown, DOUBT
 *   WITH_FAIL      FAIL
 *   WITH_OPERATOR  RESOLVE, late and doubled; FORGET; both with force
 *   WITH_DROP      claims without a token of their own, drop=, undo
 *   WITH_KEPT      settlements that a daemon keeps; crashes of daemons
 *   WITH_ATLEAST   claims with atleast=
 *   WITH_FP        claims with fingerprints that differ
 *   TWO_DAEMONS    CLAIMs come through either daemon, retries through both
 *
 * Late and doubled messages, lapses, zombies, expiry, RENEW, RELEASE and
 * COMPLETE are in all of them.
 */

#ifndef CALLS
#define CALLS   3
#endif
#ifndef FENCES
#define FENCES  6
#endif
#ifndef TICKS
#define TICKS   3
#endif
#if FENCES > 7
#error "a byte has a bit for each fence up to 7"
#endif

mtype = { absent, claimed, done, failed, unknown, free }

/* ---- the record, and its store's clock ---------------------------------- */

mtype st = absent;              /* gone reads as absent: one state here */
byte  fence;                    /* absent: 0, or that of a record not yet deleted */
byte  tok;                      /* the call whose token it carries */
byte  fp;                       /* 0: none */
bool  lapsed;                   /* now >= lease_until; meant for claimed */
bool  lapse_unknown;            /* lapse=unknown */
bool  early;                    /* now < earliest */
byte  now = 1;

/* ---- calls: 1 .. CALLS; 0 is nobody ------------------------------------- */

#define N       (CALLS + 1)
#define NEWCOMER N              /* its token matches no record's */

byte via[N];                    /* bit d: daemon d has sent the CLAIM on */
byte won[N];                    /* bit k: WON fence=k was handed to the kernel;
                                   only bit 0: heard, what comes later is not read */
byte held[N];                   /* the fence its worker heard; 0: still waits */
byte sent[N];                   /* bit per verb below, sent with that fence */

bool opt_unknown[N];            /* lapse=unknown */
bool opt_atleast[N];            /* atleast= */
bool own_token[N];              /* else its daemon made the token */
byte drop[N];                   /* drop= of a claim bound to a connection */
byte cut[N];                    /* bit d: its connection to daemon d ended */
byte known[N];                  /* the fence its daemon drops or undoes */

#define COMPLETE 1
#define FAIL     2
#define RELEASE  4
#define RENEW    8
#define DOUBT    16
#define DROP     32             /* a RELEASE or DOUBT of the daemon's own */
#define UNDO     64             /* the RELEASE of a grant nobody heard */
#define SETTLED(c)  ((sent[c] & (COMPLETE | FAIL)) != 0)
#define ENDED(c)    ((sent[c] & (COMPLETE | FAIL | RELEASE)) != 0)

/* A claim with drop= is its worker's only while its connection lives. */
#define BOUND(c)        (drop[c] == KEEP || (via[c] & ~cut[c]) != 0)

#define KEEP            0
#define DROP_RELEASE    1
#define DROP_UNKNOWN    2

#define BIT(x)  (1 << (x))

/* Call 1 and call 2 speak of different requests, the others do not say. */
#ifdef WITH_FP
#define FP(c)   ((c) == 1 -> 1 : ((c) == 2 -> 2 : 0))
#else
#define FP(c)   0
#endif
#define DIFFER(c)       (fp != 0 && FP(c) != 0 && fp != FP(c))

byte kept[2];                   /* the call whose COMPLETE daemon d keeps */

mtype resolve_as = absent;      /* the operator's RESOLVE; absent: not sent */
byte  resolve_fence;
bool  resolve_force;

bool over;                      /* set by quiet: the run has been judged */

/* ---- what the invariants remember, apart from the record ---------------- */

byte top;                       /* the highest fence ever granted */
byte owner;                     /* the call that won last, until its claim ends */
byte safe;                      /* the call that was promised a lease that runs */
byte back;                      /* the call that gave the key back last */
bool shut;                      /* settled, keep_until not reached */
bool doubt;                     /* nobody knows whether the effect happened */
bool tick;                      /* given back or settled, earliest not reached */
byte request;                   /* what the work in hand is for; 0: not said */
byte behind[2];                 /* calls that came to daemon d after the COMPLETE it keeps */
byte resolve_top;               /* top when the operator looked */

/*
 * The invariants' names.  All are 0 for ever: they stand in an assertion
 * so that spin prints the name of the one that broke.
 */
hidden byte fence_granted_twice, two_holders_of_one_fence, won_after_done,
    stale_fence_changed_record, settled_record_changed, settlement_refused,
    won_within_anothers_lease, unknown_reclaimed, given_back_won_again,
    kept_settlement_overtaken, won_before_earliest, undone_grant_suppresses,
    other_request_won, key_stuck;

hidden byte row, i, a_fence;    /* scratch of one step, no part of a state */
hidden byte ok;

/* For people who read a counter-example; spin prints it in a replay only. */
#define SAY(text, c)    printf(text, c, st, fence)

/* ---- CLAIM: the guards of the table, row by row ------------------------- */

#define ROW1(c)  (st == absent)

#ifdef MUTANT_DONE_REOPENED
#define ROW2(c)  ((st == claimed || st == done) && tok == (c) && !DIFFER(c))
#else
#define ROW2(c)  (st == claimed && tok == (c) && !DIFFER(c))
#endif

#ifdef MUTANT_ROW3_MISSING
#define ROW3(c)  false
#else
#define ROW3(c)  (st == free && tok == (c))
#endif

#ifdef MUTANT_EARLIEST_IGNORED
#define ROW4(c)  (st == free)
#else
#define ROW4(c)  (st == free && !early)
#endif

#define ROW5(c)  (st == free)

#ifdef MUTANT_RECLAIM_OF_OTHER_REQUEST
#define ROW6(c)  (DIFFER(c) && !(st == claimed && lapsed))
#else
#define ROW6(c)  DIFFER(c)
#endif

#define ROW7(c)  (st == done)
#define ROW8(c)  (st == failed)
#define ROW9(c)  (st == unknown)

#ifdef MUTANT_RECLAIM_OF_LIVE
#define ROW10(c) false
#else
#define ROW10(c) (!lapsed)
#endif

#ifdef MUTANT_RECLAIM_OF_UNKNOWN
#define ROW11(c) false
#else
#define ROW11(c) lapse_unknown
#endif

/* The first row that fits; 12 is what is left. */
#define THE_ROW(c) (ROW1(c) -> 1 : (ROW2(c) -> 2 : (ROW3(c) -> 3 : \
        (ROW4(c) -> 4 : (ROW5(c) -> 5 : (ROW6(c) -> 6 : (ROW7(c) -> 7 : \
        (ROW8(c) -> 8 : (ROW9(c) -> 9 : (ROW10(c) -> 10 : \
        (ROW11(c) -> 11 : 12)))))))))))

/* ---- CLAIM: the fence of a win ------------------------------------------ */

#define MAX(a, b)       ((a) > (b) -> (a) : (b))

/* Of a record that is gone but not yet deleted, the fence still counts: it may
   be ahead of a clock that was set back. */
#if defined(MUTANT_CLOCK_ALONE)
#define FENCE_NEXT      now
#elif defined(MUTANT_FENCE_FROM_ONE)
#define FENCE_NEXT      (fence + 1)
#else
#define FENCE_NEXT      MAX(now, fence + 1)
#endif

#ifdef MUTANT_RELEASE_KEEPS_FENCE
#define FENCE_ROW4      fence
#define FENCE_FREED     fence
#else
#define FENCE_ROW4      FENCE_NEXT
#define FENCE_FREED     (fence + 1)
#endif

#ifdef MUTANT_GONE_FORGETS_FENCE
#define FENCE_ROW1      now
#else
#define FENCE_ROW1      FENCE_NEXT
#endif

#ifdef MUTANT_RECLAIM_KEEPS_FENCE
#define FENCE_ROW12     fence
#else
#define FENCE_ROW12     FENCE_NEXT
#endif

/* What must be true whenever a key is granted anew. */
inline judge_win(c, f)
{
        assert(f > top          || fence_granted_twice);
        assert(!shut            || won_after_done);
        assert(safe == 0        || won_within_anothers_lease);
        assert(!doubt           || unknown_reclaimed);
        assert(back != c        || given_back_won_again);
        assert(!tick            || won_before_earliest);
        assert(request == 0 || FP(c) == 0 || request == FP(c) || other_request_won);
        assert(((behind[0] | behind[1]) & BIT(c)) == 0 || kept_settlement_overtaken)
}

inline win(c, f)
{
        judge_win(c, f);
        if
        :: st != claimed || FP(c) != 0 -> fp = FP(c)
        :: else                         /* row 12: kept or set */
#ifdef MUTANT_RECLAIM_DROPS_FP
                -> fp = 0
#endif
        fi;
        request = (FP(c) != 0 -> FP(c) : request);
#ifdef MUTANT_RECLAIM_KEEPS_TOKEN
        tok = (st == claimed -> tok : c);
#else
        tok = c;
#endif
        st = claimed; fence = f; lapsed = false;
        lapse_unknown = opt_unknown[c]; early = opt_atleast[c];
        top = f; owner = c; back = 0
}

/*
 * A CLAIM lands.  Sets row, and ok when its answer is WON.
 */
inline claim(c)
{
        row = THE_ROW(c);
        ok = (row == 1 || row == 2 || row == 4 || row == 12);
        if
        :: row == 1  -> a_fence = FENCE_ROW1; win(c, a_fence)
        :: row == 4  -> a_fence = FENCE_ROW4; win(c, a_fence)
        :: row == 12 -> a_fence = FENCE_ROW12; win(c, a_fence)
        :: row == 2  ->
                assert(!shut || won_after_done);
#ifdef MUTANT_ROW2_RAISES
                fence = FENCE_NEXT;
#endif
                lapsed = false; doubt = false
        :: row == 5 ->
                /* tok is the call that gave it back: did anybody run? */
                assert(won[tok] != 0 || undone_grant_suppresses)
        :: else
        fi;
        printf("call %d: CLAIM lands, row %d; the record is %e, fence %d\n",
                c, row, st, fence)
}

/* ---- the holder's verbs -------------------------------------------------- */

/* What must be true whenever a verb of call c changes the record. */
inline judge_change(c)
{
        assert(owner == c || stale_fence_changed_record);
        assert(!shut      || settled_record_changed)
}

#ifdef MUTANT_FENCE_IGNORED
#define SAME_FENCE(f)   true
#else
#define SAME_FENCE(f)   (fence == (f))
#endif

#if defined(MUTANT_COMPLETE_LOOKS_AT_LEASE)
#define SETTLES      (st == unknown || st == claimed && !lapsed)
#elif defined(MUTANT_COMPLETE_MISSES_UNKNOWN)
#define SETTLES      (st == claimed)
#else
#define SETTLES      (st == unknown || st == claimed)
#endif

#ifdef MUTANT_COMPLETE_NOT_REPEATABLE
#define SETTLED_SO(as)  false
#else
#define SETTLED_SO(as)  (st == as)
#endif

/* COMPLETE (as = done), FAIL (as = failed). */
inline settle(c, f, as)
{
        if
        :: SETTLES && SAME_FENCE(f) ->
                judge_change(c);
                st = as; lapsed = false;
                shut = true; doubt = false; safe = 0; tick = early
        :: SETTLED_SO(as) && fence == f /* OK, idempotent */
        :: else ->                      /* STALE: not to him who still holds it */
                assert(!(owner == c && top == f) || settlement_refused)
        fi
}

#ifdef MUTANT_RELEASE_REOPENS
#define RELEASES        (st == claimed || st == unknown || st == done)
#else
#define RELEASES        (st == claimed || st == unknown)
#endif

/* RELEASE; clear: and there was no earliest (undo). */
inline release(c, f, clear)
{
        if
        :: RELEASES && fence == f ->
                judge_change(c);
                st = free; fence = FENCE_FREED; fp = 0;
                lapsed = false; lapse_unknown = false; early = early && !(clear);
                owner = 0; back = c; doubt = false; tick = early; request = 0
        :: else                         /* OK with no change, or STALE */
        fi
}

#ifdef MUTANT_RENEW_REVIVES_UNKNOWN
#define RENEWS          (st == claimed || st == unknown)
#else
#define RENEWS          (st == claimed)
#endif

inline renew(c, f)
{
        if
        :: RENEWS && fence == f ->
                judge_change(c);
                /* A claim that only lapsed is in nobody's doubt any more. */
                doubt = doubt && st == unknown;
                st = claimed; lapsed = false;
                safe = (BOUND(c) -> c : safe)
        :: else                         /* STALE */
        fi
}

#ifdef MUTANT_DOUBT_REOPENS
#define DOUBTS          (st == claimed || st == done)
#else
#define DOUBTS          (st == claimed)
#endif

inline in_doubt(c, f)
{
        if
        :: DOUBTS && fence == f ->
                judge_change(c);
                st = unknown; lapsed = false; doubt = true; safe = 0
        :: else                         /* OK with no change, or STALE */
        fi
}

/* ---- the operator's verbs ------------------------------------------------ */

#ifdef MUTANT_RESOLVE_IGNORES_FENCE
#define GIVEN_DIFFERS(f)        false
#else
#define GIVEN_DIFFERS(f)        (fence != (f))
#endif

#if defined(MUTANT_RESOLVE_TAKES_LIVE)
#define RESOLVES(force) (force || st == unknown || st == claimed)
#elif defined(MUTANT_RESOLVE_MISSES_LAPSED)
#define RESOLVES(force) (force || st == unknown)
#else
#define RESOLVES(force) (force || st == unknown || st == claimed && lapsed)
#endif

/* RESOLVE with the fence that was seen.  Sets ok when it answers OK. */
inline resolve(as, f, force)
{
        ok = false;
        if
        :: st == absent || GIVEN_DIFFERS(f)             /* NOTFOUND, STALE */
        :: else ->
                ok = (st == as || RESOLVES(force));
                if
                :: st == as || !ok                      /* already so; refused */
                :: else ->
                        assert(top == resolve_top || stale_fence_changed_record);
                        st = as; lapsed = false; doubt = false;
                        if
                        :: as == free ->
                                fence = FENCE_FREED; fp = 0;
                                lapse_unknown = false;
                                back = tok; request = 0;
#ifdef MUTANT_RESOLVE_DROPS_TOKEN
                                tok = 0
#endif
                        :: else
                        fi;
                        owner = 0; shut = (as != free); tick = early;
                        safe = (force -> 0 : safe)
                fi
        fi
}

#ifdef MUTANT_FORGET_BEFORE_CLOCK
#define PAST_FENCE      true
#else
#define PAST_FENCE      (now > fence)
#endif

#ifdef MUTANT_FORGET_OF_UNKNOWN
#define FORGETS         (st != claimed || lapsed)
#else
#define FORGETS         (st != unknown && (st != claimed || lapsed && !lapse_unknown))
#endif

/* The record reads as absent, and with it ends what was promised about it. */
inline end_record()
{
        st = absent; tok = 0; fp = 0;
        lapsed = false; lapse_unknown = false; early = false;
        owner = 0; back = 0; shut = false; request = 0
}

/* ---- the worker of call c ------------------------------------------------ */

#define FIRST(c)        (via[c] == 0 && (c == 1 || via[(c) - 1] != 0))

/* Its options, drawn with its first copy.  Calls start in the order of their
   numbers, and call 1 at daemon 0: others would be the same run renamed. */
inline draw(c)
{
        if
#ifdef WITH_UNKNOWN
        :: opt_unknown[c] = true
#endif
        :: skip
        fi;
        if
#ifdef WITH_ATLEAST
        :: opt_atleast[c] = true
#endif
        :: skip
        fi;
        if
        :: own_token[c] = true
#ifdef WITH_DROP
        :: skip
        :: drop[c] = DROP_RELEASE
#ifdef WITH_UNKNOWN
        :: drop[c] = DROP_UNKNOWN
#endif
#endif
#ifdef MUTANT_DROP_WITH_TOKEN
        :: own_token[c] = true; drop[c] = DROP_RELEASE
#endif
        fi
}

/* A daemon that keeps a settlement lets no other verb of the key pass. */
#ifdef MUTANT_KEPT_OVERTAKEN
#define PASSES(d)       true
#else
#define PASSES(d)       (kept[d] == 0)
#endif

inline forward(c, d)
{
        via[c] = via[c] | BIT(d);
        printf("call %d: CLAIM, by daemon %d\n", c, d);
        behind[d] = (kept[d] != 0 -> behind[d] | BIT(c) : behind[d])
}

#define HEAR(k) \
        :: d_step { held[c] == 0 && (won[c] & BIT(k)) != 0 -> \
                held[c] = k; won[c] = BIT(0); \
                printf("call %d: hears WON fence=%d\n", c, k) }

#define SEND(verb, text) \
        sent[c] = sent[c] | verb; printf(text, c)

proctype worker(byte c) provided (!over)
{
end:    do
        /* The first copy, then others by its token while it waits. */
        :: atomic { FIRST(c) && PASSES(0) -> draw(c); forward(c, 0) }
        :: d_step { own_token[c] && via[c] == 2 && held[c] == 0 && PASSES(0) ->
                forward(c, 0) }
#ifdef TWO_DAEMONS
        :: atomic { FIRST(c) && c > 1 && PASSES(1) -> draw(c); forward(c, 1) }
        :: d_step { own_token[c] && via[c] == 1 && held[c] == 0 && PASSES(1) ->
                forward(c, 1) }
#endif
        HEAR(1) HEAR(2) HEAR(3) HEAR(4) HEAR(5) HEAR(6) HEAR(7)

        :: d_step { held[c] != 0 && !ENDED(c) && !(sent[c] & RENEW) ->
                SEND(RENEW, "call %d: sends RENEW\n") }
        :: d_step { held[c] != 0 && !ENDED(c) ->
                SEND(RELEASE, "call %d: sends RELEASE\n") }
        :: d_step { held[c] != 0 && !ENDED(c) ->
                SEND(COMPLETE, "call %d: sends COMPLETE\n") }
#ifdef WITH_FAIL
        :: d_step { held[c] != 0 && !ENDED(c) ->
                SEND(FAIL, "call %d: sends FAIL\n") }
#endif
#ifdef WITH_UNKNOWN
        /* It does not know, or gives up repeating its settlement. */
        :: d_step { held[c] != 0 && !(sent[c] & (RELEASE | DOUBT)) ->
                SEND(DOUBT, "call %d: sends DOUBT\n") }
#endif
#ifdef WITH_KEPT
        /* A COMPLETE that its daemon could not store, and keeps. */
        :: d_step { held[c] != 0 && !ENDED(c) && kept[0] == 0 ->
                SEND(COMPLETE, "call %d: sends COMPLETE, daemon 0 keeps it\n"); kept[0] = c }
        :: d_step { held[c] != 0 && !ENDED(c) && kept[1] == 0 ->
                SEND(COMPLETE, "call %d: sends COMPLETE, daemon 1 keeps it\n"); kept[1] = c }
#endif
        od
}

/* ---- the network between call c and the store ---------------------------- */

#ifdef MUTANT_DROP_WITH_TOKEN
#define DROPPABLE(c)    (drop[c] != KEEP)
#else
#define DROPPABLE(c)    (!own_token[c])
#endif

/* A daemon hands on the first answer of a token it made, or undoes it. */
#define HANDS(c)        (own_token[c] || known[c] == 0)

#ifdef MUTANT_UNDO_WITH_TOKEN
#define UNDOES(c)       (won[c] == 0 && known[c] == 0)
#else
#define UNDOES(c)       (!own_token[c] && known[c] == 0)
#endif

#ifdef MUTANT_UNDO_KEEPS_EARLIEST
#define UNDO_CLEARS     false
#else
#define UNDO_CLEARS     true
#endif

#ifdef MUTANT_DROP_AFTER_SETTLEMENT
#define DROPS(c)        (drop[c] != KEEP)
#else
#define DROPS(c)        (drop[c] != KEEP && !SETTLED(c))
#endif

/* WON with the record's fence goes to call c, who may hear it late or never. */
inline hand(c)
{
        for (i : 1 .. CALLS) {
                assert(i == c || held[i] != fence && (won[i] & BIT(fence)) == 0 ||
                        two_holders_of_one_fence)
        }
        won[c] = (held[c] == 0 -> won[c] | BIT(fence) : won[c]);
        known[c] = (DROPPABLE(c) -> fence : known[c]);
        safe = (BOUND(c) -> c : safe)
}

#define ROOM    (MAX(now, fence + 1) <= FENCES)         /* the bound */

proctype wire(byte c) provided (!over)
{
end:    do
        /* The CLAIM lands, and its WON reaches the kernel. */
        :: d_step { via[c] != 0 && ROOM ->
                claim(c);
                if
                :: ok && HANDS(c) -> hand(c)
                :: else
                fi
        }
#ifdef MUTANT_SHORTCUT_IGNORES_TOKEN
        /* It is answered from the record of the CLAIM before it in its queue. */
        :: d_step { via[c] != 0 && held[c] == 0 && st == claimed && !lapsed -> hand(c) }
#endif
        :: d_step { sent[c] & RENEW -> renew(c, held[c]);
                SAY("call %d: RENEW lands; the record is %e, fence %d\n", c) }
        :: d_step { sent[c] & COMPLETE ->
                settle(c, held[c], done);
                SAY("call %d: COMPLETE lands; the record is %e, fence %d\n", c) }
        :: d_step { sent[c] & FAIL -> settle(c, held[c], failed);
                SAY("call %d: FAIL lands; the record is %e, fence %d\n", c) }
        :: d_step { sent[c] & DOUBT -> in_doubt(c, held[c]);
                SAY("call %d: DOUBT lands; the record is %e, fence %d\n", c) }
        :: d_step { (sent[c] & RELEASE) && ROOM ->
                /* The worker has stopped: its lease promises nothing more. */
                safe = (safe == c && held[c] == top -> 0 : safe);
                release(c, held[c], false);
                SAY("call %d: RELEASE lands; the record is %e, fence %d\n", c) }
#ifdef WITH_DROP
        /* It lands, the answer to its daemon is lost, and it will be sent again. */
        :: d_step { via[c] != 0 && ROOM && !own_token[c] && known[c] == 0 -> claim(c) }

        /* It lands, the worker's connection is gone: undo. */
        :: d_step { via[c] != 0 && ROOM && UNDOES(c) && THE_ROW(c) != 2 ->
                claim(c);
                if
                :: ok -> SEND(UNDO, "call %d: its daemon undoes the grant\n"); known[c] = fence
                :: else
                fi
        }
        :: d_step { (sent[c] & UNDO) && ROOM ->
                release(c, known[c], UNDO_CLEARS);
                SAY("call %d: its undo lands; the record is %e, fence %d\n", c) }

        /* A connection ends, and with it the claim that was bound to it. */
        :: d_step { won[c] != 0 && drop[c] != KEEP && (via[c] & ~cut[c]) != 0 ->
                cut[c] = cut[c] | (via[c] & ~cut[c] & 1 -> 1 : 2);
                if
                :: DROPS(c) ->
                        SEND(DROP, "call %d: its connection ends, its daemon drops the claim\n");
                        safe = (safe == c && !BOUND(c) && !SETTLED(c) -> 0 : safe)
                :: else
                fi
        }
        :: d_step { (sent[c] & DROP) && drop[c] == DROP_RELEASE && ROOM ->
                release(c, known[c], false);
                SAY("call %d: its drop lands; the record is %e, fence %d\n", c) }
        :: d_step { (sent[c] & DROP) && drop[c] == DROP_UNKNOWN ->
                in_doubt(c, known[c]);
                SAY("call %d: its drop lands; the record is %e, fence %d\n", c) }
#ifdef MUTANT_UNDO_OF_HEARD
        :: d_step { !own_token[c] && won[c] != 0 ->
                SEND(UNDO, "call %d: its daemon undoes the grant\n") }
#endif
#endif
        od
}

/* ---- the daemons ---------------------------------------------------------- */

#ifdef MUTANT_KEPT_AFTER_STALE
#define ANSWER_ENDS(f)  (st == done && fence == (f))
#else
#define ANSWER_ENDS(f)  true
#endif

/* The kept COMPLETE goes first for its key.  Both OK and STALE end it. */
inline try_kept(d)
{
        i = kept[d];
        settle(i, held[i], done);
        if
        :: ANSWER_ENDS(held[i]) -> kept[d] = 0; behind[d] = 0
        :: else
        fi
}

proctype daemon(bit d) provided (!over)
{
end:    do
        :: d_step { kept[d] != 0 ->
                try_kept(d);
                SAY("daemon %d: its kept COMPLETE lands; the record is %e, fence %d\n", d) }
        /* It crashes: what it kept is lost, and with it what it promised. */
        :: d_step { kept[d] != 0 ->
                kept[d] = 0; behind[d] = 0; printf("daemon %d: crashes\n", d) }
        od
}

/* ---- time ------------------------------------------------------------------ */

#ifdef MUTANT_KEEP_IGNORES_EARLIEST
#define KEEP_WAITS      false
#else
#define KEEP_WAITS      early
#endif

#ifdef MUTANT_UNKNOWN_EXPIRES
#define UNKNOWN_ENDS    true
#else
#define UNKNOWN_ENDS    false
#endif

#ifdef MUTANT_SWEEP_BEFORE_CLOCK
#define SWEEPS          true
#else
#define SWEEPS          (now > fence)
#endif

#define ENDS    (st == claimed && lapsed && (!lapse_unknown || UNKNOWN_ENDS) || \
                 st == unknown && UNKNOWN_ENDS || \
                 st == free && !early || \
                 (st == done || st == failed) && !KEEP_WAITS)

active proctype time() provided (!over)
{
end:    do
        :: d_step { now < TICKS -> now++; printf("time: the clock is %d\n", now) }
        :: d_step { st == claimed && !lapsed ->
                lapsed = true; safe = 0; doubt = doubt || opt_unknown[owner];
                printf("time: the lease lapses\n") }
        :: d_step { early || tick -> early = false; tick = false;
                printf("time: earliest is reached\n") }
        :: d_step { ENDS -> end_record(); printf("time: the record is gone\n") }
        :: d_step { st == absent && fence != 0 && SWEEPS ->
                fence = 0; printf("time: the record is swept\n") }
        od
}

/* ---- the operator ---------------------------------------------------------- */

#define ASK(as, force) \
        :: d_step { st != absent && resolve_as == absent -> \
                resolve_as = as; resolve_fence = fence; resolve_top = top; \
                resolve_force = force; \
                printf("operator: sends RESOLVE as=%e fence=%d force=%d\n", as, fence, force) \
        }

proctype operator() provided (!over)
{
end:    do
        ASK(done, false) ASK(free, false) ASK(done, true)  ASK(free, true)
#ifdef WITH_FAIL
        ASK(failed, false) ASK(failed, true)
#endif
        :: d_step { resolve_as != absent && ROOM ->
                resolve(resolve_as, resolve_fence, resolve_force);
                printf("operator: RESOLVE lands; the record is %e, fence %d\n", st, fence) }
        /* FORGET, and FORGET with force. */
        :: d_step { st != absent && PAST_FENCE && FORGETS ->
                end_record(); fence = 0; tick = false; printf("operator: FORGET\n") }
        :: d_step { st != absent && PAST_FENCE ->
                end_record(); fence = 0; tick = false; doubt = false; safe = 0;
                printf("operator: FORGET force\n") }
        od
}

/* ---- no key is stuck -------------------------------------------------------- */

/*
 * From every state: let the bad luck end, the store answer, and time pass.
 * Then somebody new who asks wins or is told the end, at most after a person
 * resolved, without force, what only a person may.  It asks with fingerprint
 * none, so MISMATCH would be an error too.  All runs that were judged end in
 * one and the same state.
 */
active proctype quiet() provided (!over)
{
end:    d_step {
                printf("quiet: time passes, and somebody new asks\n");
                for (a_fence : 0 .. 1) {
                        if
                        :: kept[a_fence] != 0 -> try_kept(a_fence)
                        :: else
                        fi;
                        assert(kept[a_fence] == 0 || key_stuck)
                }
                doubt = doubt || st == claimed && !lapsed && opt_unknown[owner];
                lapsed = (st == claimed); early = false;
                row = THE_ROW(NEWCOMER);
                if
                :: row == 9 || row == 11 ->
                        assert(doubt || key_stuck);
                        resolve_top = top;
                        resolve(free, fence, false);
                        assert(ok || key_stuck);
                        row = THE_ROW(NEWCOMER)
                :: else
                fi;
                assert(row == 1 || row == 4 || row == 7 || row == 8 ||
                        row == 12 || key_stuck);

                end_record(); fence = 0; now = 0; top = 0; safe = 0; doubt = false; tick = false;
                resolve_as = absent; resolve_fence = 0; resolve_force = false;
                resolve_top = 0;
                for (i : 1 .. CALLS) {
                        via[i] = 0; won[i] = 0; held[i] = 0; sent[i] = 0;
                        opt_unknown[i] = false; opt_atleast[i] = false;
                        own_token[i] = false; drop[i] = 0; cut[i] = 0; known[i] = 0
                }
                over = true
        }
}

init {
        atomic {
                for (i : 1 .. CALLS) {
                        run worker(i); run wire(i)
                }
#ifdef WITH_KEPT
                run daemon(0); run daemon(1);
#endif
#ifdef WITH_OPERATOR
                run operator();
#endif
                i = 0
        }
}
