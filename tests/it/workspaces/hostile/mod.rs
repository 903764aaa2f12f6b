//! Repositories, and settings around them, that name programs or lead elsewhere: each program leaves a mark when it runs, and none may.

mod crafted;
mod elsewhere;
mod programs;
mod surroundings;

use super::place::{Place, prepare_in, wanted};
use ralphd::model::git::Source;
use ralphd::workspace::git::Wanted;

const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// A place with a program that must not be run.
struct Trap {
    place: Place,
    evil: String,
}

impl Trap {
    fn new() -> Self {
        let place = Place::with_source();
        let mark = place.path("MARK");
        let evil = place.program(
            "evil",
            &format!("echo \"$0 $@\" >> {}; cat", mark.display()),
        );
        Self { place, evil }
    }

    /// With a workspace that a session has used, and news in the source.
    fn used() -> Self {
        let trap = Self::new();
        prepare_in(&trap.place, "work", &wanted(&trap.place, "s1")).unwrap();
        trap.place.commit("source", "a.txt", "two\n");
        trap
    }

    fn set(&self, repository: &str, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            let value = value.replace("EVIL", &self.evil);
            self.place
                .git(repository, &["config", "--add", name, &value]);
        }
    }

    fn hooks(&self, directory: &str) {
        for hook in HOOKS {
            self.place.program(
                &format!("{directory}/{hook}"),
                &format!("exec {}", self.evil),
            );
        }
    }

    fn sprung(&self) -> Option<String> {
        std::fs::read_to_string(self.place.path("MARK")).ok()
    }

    /// Makes ready, for the next session; nothing runs, and what is said holds these words. No words: it succeeds.
    fn holds(&self, what: &str, wanted: &Wanted<'_>, workspace: &str, words: &str) {
        let said = match prepare_in(&self.place, workspace, wanted) {
            Ok(_) => String::new(),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(self.sprung(), None, "{what}");
        assert_eq!(said.is_empty(), words.is_empty(), "{what}: {said}");
        assert!(said.contains(words), "{what}: {said}");
    }

    /// In every way that a source is read.
    fn source_holds(&self, what: &str) {
        let by_url = format!("file://{}", self.place.path("source").display());
        let ways = [
            ("plain", wanted(&self.place, "s1")),
            (
                "shallow",
                Wanted {
                    shallow: true,
                    ..wanted(&self.place, "s1")
                },
            ),
            (
                "by-url",
                Wanted {
                    source: Some(Source::Url(by_url)),
                    ..wanted(&self.place, "s1")
                },
            ),
        ];
        for (workspace, wanted) in ways {
            self.holds(what, &wanted, workspace, "");
            let text = self.place.read(&format!("{workspace}/a.txt"));
            assert_eq!(text, self.place.read("source/a.txt"), "{what}");
        }
    }
}
