//! A plain session as a few words, and what every verb makes of them: what the rows are compared with.

use super::bench::Bench;
use super::happenings::{Deed, Wish};
use proptest::prelude::*;
use ralphd::model::session::{Control, SessionState as S};
use ralphd::model::task::TaskState as T;
use ralphd::store::humans::{self, HumanKind};
use ralphd::store::{sessions, tasks};

/// What can happen to a session of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Claim,
    Do(Deed),
    Wish(Wish),
    AnswerYes,
    Expire,
}

pub fn verbs() -> impl Strategy<Value = Vec<Verb>> {
    let deeds = [
        Deed::GoOn,
        Deed::Fail,
        Deed::Ask(HumanKind::Question),
        Deed::Ask(HumanKind::Question),
        Deed::Ask(HumanKind::Gate),
        Deed::Ask(HumanKind::Gate),
        Deed::Release,
        Deed::ParkPaused,
        Deed::Rescue,
    ];
    let wishes = [
        Wish::Pause,
        Wish::PauseNow,
        Wish::Resume,
        Wish::Resume,
        Wish::Cancel,
        Wish::Answer,
        Wish::Approve,
        Wish::Reject,
    ];
    let verb = prop_oneof![
        4 => Just(Verb::Claim),
        4 => proptest::sample::select(deeds.to_vec()).prop_map(Verb::Do),
        6 => proptest::sample::select(wishes.to_vec()).prop_map(Verb::Wish),
        1 => Just(Verb::AnswerYes),
        1 => Just(Verb::Expire),
    ];
    proptest::collection::vec(verb, 1..20)
}

/// The whole of what a plain session can be: the rows must agree with it after every verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    session: S,
    task: T,
    wish: Option<Control>,
    back: S,
    asked: Option<HumanKind>,
}

/// What follows from a verb: a new model, nothing, or the words of a refusal.
pub enum Outcome {
    Now(Model),
    Nothing,
    Refused(String),
}

impl Model {
    pub const NEW: Model = Model {
        session: S::Created,
        task: T::Pending,
        wish: None,
        back: S::Created,
        asked: None,
    };

    fn ended(self, session: S, task: T) -> Model {
        Model {
            session,
            task,
            wish: None,
            asked: None,
            ..self
        }
    }

    fn refused(self, step: &str) -> Outcome {
        Outcome::Refused(format!("cannot {step} while {}", self.session))
    }

    /// The task is given up, and what was wished meanwhile takes effect.
    fn given_up(self, task: T) -> Model {
        let left = Model { task, ..self };
        match self.wish {
            Some(Control::Cancel) => left.ended(S::Cancelled, T::Cancelled),
            Some(_) => left.paused(),
            None => left,
        }
    }

    fn paused(self) -> Model {
        let back = if self.session == S::AwaitingHuman {
            self.back
        } else {
            self.session
        };
        Model {
            session: S::Paused,
            wish: None,
            back,
            ..self
        }
    }

    pub fn after(self, verb: Verb) -> Outcome {
        match verb {
            Verb::Claim if self.task == T::Pending && self.session != S::Paused => {
                let session = if self.session == S::Created {
                    S::Executing
                } else {
                    self.session
                };
                Outcome::Now(Model {
                    session,
                    task: T::Running,
                    ..self
                })
            }
            Verb::Claim => Outcome::Nothing,
            Verb::Do(_) if self.task != T::Running => Outcome::Nothing,
            Verb::Do(deed) => Outcome::Now(self.done(deed)),
            Verb::Wish(wish) => self.wished(wish),
            Verb::AnswerYes => match self.asked {
                Some(HumanKind::Gate) => self.wished(Wish::Approve),
                _ => self.wished(Wish::Answer),
            },
            Verb::Expire if self.asked.is_some() => {
                Outcome::Now(self.ended(S::Failed, T::Cancelled))
            }
            Verb::Expire => Outcome::Nothing,
        }
    }

    fn done(self, deed: Deed) -> Model {
        match deed {
            Deed::GoOn => self.ended(S::Completed, T::Completed),
            Deed::Fail => self.ended(S::Failed, T::Failed),
            Deed::Ask(kind) => {
                let asking = Model {
                    session: S::AwaitingHuman,
                    back: self.session,
                    asked: Some(kind),
                    ..self
                };
                asking.given_up(T::HumanRequired)
            }
            // Its next claimant obeys.
            Deed::Rescue => Model {
                task: T::Pending,
                ..self
            },
            _ => self.given_up(T::Pending),
        }
    }

    fn wished(self, wish: Wish) -> Outcome {
        let terminal = self.session.is_terminal();
        let cancelled = self.wish == Some(Control::Cancel);
        match wish {
            Wish::Cancel if terminal => self.refused("cancel"),
            Wish::Cancel if self.task == T::Running => Outcome::Now(Model {
                wish: Some(Control::Cancel),
                ..self
            }),
            Wish::Cancel => Outcome::Now(self.ended(S::Cancelled, T::Cancelled)),
            Wish::Pause | Wish::PauseNow if cancelled => {
                Outcome::Refused("cannot pause while being cancelled".to_owned())
            }
            Wish::Pause | Wish::PauseNow if terminal || self.session == S::Paused => {
                self.refused("pause")
            }
            Wish::Pause if self.task == T::Running => Outcome::Now(Model {
                wish: Some(Control::Pause),
                ..self
            }),
            Wish::PauseNow if self.task == T::Running => Outcome::Now(Model {
                wish: Some(Control::PauseNow),
                ..self
            }),
            Wish::Pause | Wish::PauseNow => Outcome::Now(self.paused()),
            Wish::Resume if cancelled => {
                Outcome::Refused("cannot resume while being cancelled".to_owned())
            }
            Wish::Resume if self.wish.is_some() => Outcome::Now(Model { wish: None, ..self }),
            Wish::Resume if self.session == S::Paused => Outcome::Now(self.resumed()),
            Wish::Resume => self.refused("resume"),
            Wish::Answer => self.answered("answer", HumanKind::Question),
            Wish::Approve => self.answered("approve", HumanKind::Gate),
            Wish::Reject => self.rejected(),
        }
    }

    fn resumed(self) -> Model {
        match (self.asked, self.task) {
            (Some(_), _) => Model {
                session: S::AwaitingHuman,
                ..self
            },
            // The gate that was shut is asked at anew.
            (None, T::HumanRequired) => Model {
                session: self.back,
                task: T::Pending,
                ..self
            },
            (None, _) => Model {
                session: self.back,
                ..self
            },
        }
    }

    fn answered(self, step: &str, kind: HumanKind) -> Outcome {
        match self.asked {
            Some(asked) if asked != kind => self.misunderstood(step),
            Some(_) if self.session == S::Paused => self.refused("answer"),
            Some(_) => Outcome::Now(Model {
                session: self.back,
                task: T::Pending,
                asked: None,
                ..self
            }),
            None => self.refused(step),
        }
    }

    fn misunderstood(self, step: &str) -> Outcome {
        Outcome::Refused(match step {
            "answer" => humans::NoAnswer.to_string(),
            _ => format!("cannot {step} while waiting for an answer"),
        })
    }

    fn rejected(self) -> Outcome {
        match self.asked {
            Some(HumanKind::Question) => self.misunderstood("reject"),
            Some(_) if self.session == S::Paused => self.refused("pause"),
            Some(_) => Outcome::Now(Model {
                asked: None,
                ..self.paused()
            }),
            None => self.refused("reject"),
        }
    }

    /// The same, read from the rows. Where it would go back to matters only while it is away.
    pub fn found(bench: &Bench, id: &str, expected: Model) -> Model {
        let id = id.to_owned();
        let (session, task, asked) = bench.read(move |sql| {
            let session = sessions::expect(sql, &id)?;
            let task = tasks::of_session(sql, &id)?.remove(0);
            Ok((session, task, humans::waiting(sql, &id)?))
        });
        Model {
            session: session.status,
            task: task.status,
            wish: session.control,
            asked: asked.map(|asked| asked.kind),
            ..expected
        }
    }
}
