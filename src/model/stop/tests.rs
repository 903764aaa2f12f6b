//! Why the loop stops, as tables.

use super::*;
use crate::model::failure::FailureClass;

fn standing() -> Standing {
    Standing {
        iterations: Gauge {
            used: 1,
            limit: Some(10),
            next: 1,
        },
        transient_retries: 3,
        transient_backoff_ms: 1000,
        stagnation_threshold: 3,
        ..Standing::default()
    }
}

fn promised(verify_passed: Option<bool>) -> LastTurn {
    LastTurn {
        verdict: Some(Verdict::Promised),
        verify_passed,
        ..LastTurn::default()
    }
}

fn failed(class: FailureClass, reset_at_ms: Option<i64>) -> LastTurn {
    let failure = Some(Failure {
        class,
        detail: "exit 1".to_owned(),
        reset_at_ms,
    });
    LastTurn {
        verdict: Some(Verdict::Failed),
        failure,
        ended_at_ms: 5000,
        ..LastTurn::default()
    }
}

#[test]
fn nothing_stops_a_healthy_loop() {
    assert_eq!(why_stop(&standing()), None);
}

#[test]
fn turns_that_vanish_do_not_go_on_for_ever() {
    for (lost_streak, stops) in [(0, false), (2, false), (3, true), (4, true)] {
        let standing = Standing {
            lost_streak,
            ..standing()
        };
        let poisoned = matches!(why_stop(&standing), Some(Stop::Poison(_)));
        assert_eq!(poisoned, stops, "{lost_streak}");
    }
}

#[test]
fn repetition_ends_the_loop_when_fresh_starts_do_not_help() {
    for (doom_streak, max_iterations, stops) in
        [(0, 10, false), (2, 10, false), (3, 10, true), (1, 1, true)]
    {
        let standing = Standing {
            doom_streak,
            iterations: Gauge {
                used: doom_streak,
                limit: Some(max_iterations),
                next: 1,
            },
            ..standing()
        };
        let ended = why_stop(&standing) == Some(Stop::DoomLoop);
        assert_eq!(ended, stops, "{doom_streak} of {max_iterations}");
    }
}

#[test]
fn the_promise_comes_before_everything() {
    let full = Gauge {
        used: 10,
        limit: Some(10),
        next: 1,
    };
    let on_the_last = Standing {
        last: promised(None),
        iterations: full,
        cancel: true,
        stagnant_streak: 9,
        ..standing()
    };
    assert_eq!(why_stop(&on_the_last), Some(Stop::Done(Verified::Claimed)));
    let verified = Standing {
        last: promised(Some(true)),
        iterations: full,
        ..standing()
    };
    assert_eq!(why_stop(&verified), Some(Stop::Done(Verified::Verified)));
    let refuted = Standing {
        last: promised(Some(false)),
        iterations: full,
        ..standing()
    };
    assert_eq!(
        why_stop(&refuted),
        Some(Stop::Limit(EndReason::MaxIterations))
    );
    let refuted_early = Standing {
        last: promised(Some(false)),
        ..standing()
    };
    assert_eq!(why_stop(&refuted_early), None);
}

#[test]
fn an_unread_word_holds_up_the_end() {
    let told = Standing {
        last: promised(Some(true)),
        unread_guidance: true,
        ..standing()
    };
    assert_eq!(why_stop(&told), None);
}

#[test]
fn tampering() {
    let last = LastTurn {
        tampered: vec!["tests/a".to_owned()],
        ..promised(Some(true))
    };
    for (needs, accepted, expected) in [
        (false, None, Some(Stop::Done(Verified::Tampered))),
        (
            true,
            None,
            Some(Stop::AskAboutTampering(vec!["tests/a".to_owned()])),
        ),
        (true, Some(true), Some(Stop::Done(Verified::Tampered))),
        (true, Some(false), None),
    ] {
        let standing = Standing {
            last: last.clone(),
            tampering_needs_a_person: needs,
            tampering_accepted: accepted,
            ..standing()
        };
        assert_eq!(why_stop(&standing), expected);
    }
}

#[test]
fn caps() {
    let spent = Gauge {
        used: 5,
        limit: Some(5),
        next: 0,
    };
    for (standing, reason) in [
        (
            Standing {
                iterations: Gauge {
                    used: 10,
                    limit: Some(10),
                    next: 1,
                },
                ..standing()
            },
            EndReason::MaxIterations,
        ),
        (
            Standing {
                usd: Gauge {
                    used: 2.0,
                    limit: Some(2.5),
                    next: 0.6,
                },
                ..standing()
            },
            EndReason::BudgetUsd,
        ),
        (
            Standing {
                tokens: spent,
                ..standing()
            },
            EndReason::BudgetTokens,
        ),
        (
            Standing {
                tool_calls: spent,
                ..standing()
            },
            EndReason::BudgetToolCalls,
        ),
        (
            Standing {
                wall_ms: spent,
                ..standing()
            },
            EndReason::BudgetWall,
        ),
    ] {
        assert_eq!(why_stop(&standing), Some(Stop::Limit(reason)));
    }
}

#[test]
fn failures_wait_then_end() {
    for (class, streak, now_ms, expected) in [
        (
            FailureClass::Auth,
            1,
            9000,
            Some(Stop::Failed("exit 1".to_owned())),
        ),
        (
            FailureClass::Crash,
            1,
            5500,
            Some(Stop::Wait {
                until_ms: 6000,
                reason: "exit 1".to_owned(),
            }),
        ),
        (FailureClass::Crash, 1, 6000, None),
        // The clock was set back.
        (FailureClass::Crash, 1, 4999, None),
        (
            FailureClass::Crash,
            3,
            6000,
            Some(Stop::Wait {
                until_ms: 9000,
                reason: "exit 1".to_owned(),
            }),
        ),
        (
            FailureClass::Crash,
            4,
            6000,
            Some(Stop::Failed("exit 1 (4 times in a row)".to_owned())),
        ),
    ] {
        let standing = Standing {
            last: failed(class, None),
            transient_streak: streak,
            now_ms,
            ..standing()
        };
        assert_eq!(why_stop(&standing), expected, "{class} {streak} {now_ms}");
    }
}

fn colleague(name: &str, until_ms: Option<i64>) -> Colleague {
    let class = FailureClass::UsageLimit;
    Colleague {
        name: name.to_owned(),
        limit: until_ms.map(|until_ms| Limit { class, until_ms }),
        fit: true,
    }
}

#[test]
fn limits_are_waited_out_or_somebody_else_goes_on() {
    let limit = Some(Limit {
        class: FailureClass::UsageLimit,
        until_ms: 9_000,
    });
    let wait = Stop::Wait {
        until_ms: 9_000,
        reason: "usage limit of claude".to_owned(),
    };
    let codex = Stop::HandOver {
        to: "codex".to_owned(),
        limit,
    };
    let alone = vec![colleague("claude", Some(9_000))];
    let two = vec![colleague("claude", Some(9_000)), colleague("codex", None)];
    for (colleagues, now_ms, expected) in [
        (&alone, 6_000, Some(wait)),
        (&alone, 9_000, None),
        (&two, 6_000, Some(codex)),
        (&two, 9_000, None),
    ] {
        let standing = Standing {
            last: failed(FailureClass::UsageLimit, Some(9_000)),
            agent: "claude".to_owned(),
            colleagues: colleagues.clone(),
            now_ms,
            ..standing()
        };
        assert_eq!(why_stop(&standing), expected, "{now_ms}");
    }
}

#[test]
fn one_that_stands_in_does_not_end_the_session() {
    for (class, streak) in [(FailureClass::Auth, 0), (FailureClass::Crash, 9)] {
        let mut standing = Standing {
            last: LastTurn {
                agent: "codex".to_owned(),
                ..failed(class, None)
            },
            agent: "codex".to_owned(),
            colleagues: vec![colleague("claude", Some(9_000)), colleague("codex", None)],
            transient_streak: streak,
            now_ms: 6_000,
            ..standing()
        };
        standing.colleagues[1].fit = false;
        let waits = matches!(
            why_stop(&standing),
            Some(Stop::Wait {
                until_ms: 9_000,
                ..
            })
        );
        assert!(waits, "{class}");
        // Handed back to the one that was asked for, it is not held against it.
        standing.agent = "claude".to_owned();
        standing.now_ms = 9_000;
        assert_eq!(why_stop(&standing), None, "{class}");
    }
}

#[test]
fn people_and_the_daemon() {
    let asks = LastTurn {
        asks: true,
        ..LastTurn::default()
    };
    for (standing, expected) in [
        (
            Standing {
                cancel: true,
                pause: true,
                ..standing()
            },
            Stop::Cancelled,
        ),
        (
            Standing {
                last: asks.clone(),
                pause: true,
                ..standing()
            },
            Stop::Ask,
        ),
        (
            Standing {
                pause: true,
                shutdown: true,
                ..standing()
            },
            Stop::Paused,
        ),
        (
            Standing {
                shutdown: true,
                ..standing()
            },
            Stop::Shutdown,
        ),
        (
            Standing {
                stagnant_streak: 3,
                ..standing()
            },
            Stop::Stagnated,
        ),
    ] {
        assert_eq!(why_stop(&standing), Some(expected));
    }
}

#[test]
fn a_sub_agent_has_the_next_word_unless_the_loop_ends_or_rests() {
    let delegates = || Standing {
        last: LastTurn {
            verdict: Some(Verdict::Unfinished),
            delegates: true,
            ..LastTurn::default()
        },
        ..standing()
    };
    assert_eq!(why_stop(&delegates()), Some(Stop::Delegate));
    let limit = Stop::Limit(EndReason::MaxIterations);
    let mut cases = vec![(delegates(), Stop::Delegate); 5];
    (cases[0].0.cancel, cases[0].1) = (true, Stop::Cancelled);
    (cases[1].0.iterations.used, cases[1].1) = (10, limit);
    (cases[2].0.last.asks, cases[2].1) = (true, Stop::Ask);
    (cases[3].0.pause, cases[3].1) = (true, Stop::Paused);
    (cases[4].0.shutdown, cases[4].1) = (true, Stop::Shutdown);
    for (standing, expected) in cases {
        assert_eq!(why_stop(&standing), Some(expected));
    }
    // The window of the day is for the sub-agent's own loop to look at.
    let closed = Standing {
        closed_until: Some((9000, "outside the window".to_owned())),
        ..delegates()
    };
    assert_eq!(why_stop(&closed), Some(Stop::Delegate));
}
