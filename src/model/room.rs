//! Whether there is room for one more task, and whose it may be: the caps on sessions and on each agent, beside the one on tasks.
//! Pure; the claim itself is one statement in `store/tasks`.

/// How much may be under way at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Sessions; none means as many as there are tasks.
    pub sessions: Option<u32>,
    /// Every agent, with the turns it may take at once; none means any number.
    pub agents: Vec<(String, Option<u32>)>,
}

impl Caps {
    /// Whether an agent has a cap of its own.
    pub fn by_agent(&self) -> bool {
        self.agents.iter().any(|(_, most)| most.is_some())
    }

    /// Whether there is anything to hold to.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_none() && !self.by_agent()
    }
}

/// A task that is being worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    pub session: String,
    pub agent: Option<String>,
}

/// Whose task may be taken next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    Anybody,
    /// Of these agents: the others are as busy as they may be.
    Agents(Vec<String>),
    /// Of sessions that are under way already, and of these agents.
    Sessions(Vec<String>, Vec<String>),
}

/// Whose task may be taken next, given what is under way.
pub fn admission(caps: &Caps, busy: &[Busy]) -> Admission {
    let has_room = |(name, most): &(String, Option<u32>)| {
        let turns = busy.iter().filter(|task| task.agent.as_ref() == Some(name));
        most.is_none_or(|most| turns.count() < most as usize)
    };
    let names = |(name, _): &(String, Option<u32>)| name.clone();
    let free: Vec<String> = caps
        .agents
        .iter()
        .filter(|agent| has_room(agent))
        .map(names)
        .collect();
    let mut sessions: Vec<String> = busy.iter().map(|task| task.session.clone()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let full = caps
        .sessions
        .is_some_and(|most| sessions.len() >= most as usize);
    match (full, free.len() == caps.agents.len()) {
        (true, _) => Admission::Sessions(sessions, free),
        (false, true) => Admission::Anybody,
        (false, false) => Admission::Agents(free),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(of: &[(&str, &str)]) -> Vec<Busy> {
        let task = |(session, agent): &(&str, &str)| Busy {
            session: (*session).to_owned(),
            agent: Some((*agent).to_owned()),
        };
        of.iter().map(task).collect()
    }

    #[test]
    fn who_may_come_next() {
        let list = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let agents = |names: &[&str]| Admission::Agents(list(names));
        let sessions = |ids: &[&str], names: &[&str]| Admission::Sessions(list(ids), list(names));
        for (most_sessions, most_a, under_way, expected) in [
            (
                None,
                None,
                &[("1", "a"), ("2", "a")][..],
                Admission::Anybody,
            ),
            (None, Some(2), &[("1", "a")], Admission::Anybody),
            (None, Some(2), &[("1", "a"), ("2", "b")], Admission::Anybody),
            (None, Some(2), &[("1", "a"), ("2", "a")], agents(&["b"])),
            (None, Some(1), &[("1", "a"), ("2", "a")], agents(&["b"])),
            (Some(2), None, &[("1", "a")], Admission::Anybody),
            (Some(2), None, &[("1", "a"), ("1", "b")], Admission::Anybody),
            (
                Some(2),
                None,
                &[("2", "a"), ("1", "b"), ("2", "a")],
                sessions(&["1", "2"], &["a", "b"]),
            ),
            (Some(1), Some(1), &[("1", "a")], sessions(&["1"], &["b"])),
            (Some(2), Some(1), &[("1", "a")], agents(&["b"])),
        ] {
            let caps = Caps {
                sessions: most_sessions,
                agents: vec![("a".to_owned(), most_a), ("b".to_owned(), None)],
            };
            assert_eq!(
                admission(&caps, &busy(under_way)),
                expected,
                "{under_way:?}"
            );
        }
    }

    #[test]
    fn no_caps_at_all() {
        assert!(Caps::default().is_empty());
        let agents = vec![("a".to_owned(), None)];
        assert!(
            Caps {
                sessions: None,
                agents
            }
            .is_empty()
        );
        let agents = vec![("a".to_owned(), Some(1))];
        assert!(
            !Caps {
                sessions: None,
                agents
            }
            .is_empty()
        );
    }
}
