//! The live view in a real terminal, which tmux keeps: what it shows, what its keys do, and that the terminal is given back.

use crate::support::{Daemon, Site, wait_for};
use std::process::{Command, Stdio};

/// A terminal of its own, with a command in it.
struct Terminal {
    socket: String,
}

impl Terminal {
    /// Runs `ralphd watch` in a terminal of a size; afterwards says how it ended and whether the terminal is as it was.
    fn watch(site: &Site, size: (u32, u32), arguments: &[&str]) -> Self {
        let socket = site.file("tmux").display().to_string();
        let all = [&["watch"], arguments].concat();
        let command = site.command(&all);
        let words = command
            .get_args()
            .map(|word| quoted(&word.to_string_lossy()));
        let words: Vec<String> = words.collect();
        let script = format!(
            "{} {}; echo \"left with $?\"; stty -a | grep -o ' -*icanon' ; exec sleep 1000",
            quoted(&command.get_program().to_string_lossy()),
            words.join(" ")
        );
        let terminal = Self { socket };
        let (width, height) = (size.0.to_string(), size.1.to_string());
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &width,
            "-y",
            &height,
            "sh",
            "-c",
            &script,
        ]);
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-S", &self.socket])
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the screen shows all of this.
    fn shows(&self, expected: &[&str]) -> String {
        wait_for(&format!("{expected:?} on the screen"), || {
            let screen = self.screen();
            expected
                .iter()
                .all(|text| screen.contains(text))
                .then_some(screen)
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the screen\n{}", self.screen());
        }
        self.tmux(&["kill-server"]);
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn no_tmux() -> bool {
    let missing = Command::new("tmux").arg("-V").output().is_err();
    if missing {
        eprintln!("SKIPPED: there is no tmux");
    }
    missing
}

/// One agent that asks first and is done then, and one that works until it is told to stop.
fn site() -> Site {
    Site::new()
        .agent(
            "asker",
            r#"case $TURNS in
  1) mkdir -p state; echo '{"question": "Blue or red?", "options": ["blue", "red"]}' > state/question.json;;
  *) echo "the answer is there"; echo TASK_COMPLETE;;
esac"#,
        )
        .agent(
            "worker",
            r#"printf 'first line \033[31mred\n'; echo 'working hard'; while [ ! -e "$HERE/stop" ]; do sleep 0.05; done"#,
        )
}

#[test]
fn sessions_are_seen_and_acted_upon() {
    if no_tmux() {
        return;
    }
    let daemon = Daemon::start(site());
    daemon.drop_file("asks.md", "---\nagent: asker\n---\nChoose a colour.");
    let asks = daemon.in_state("asks", "awaiting_human");
    daemon.drop_file("works.md", "---\nagent: worker\n---\nWork until told.");
    let works = daemon.in_state("works", "executing");
    let terminal = Terminal::watch(&daemon, (120, 40), &[]);
    // What waits for a person comes first.
    let screen = terminal.shows(&[
        "2 open",
        &asks.id,
        "Blue or red?",
        "[2] red",
        works.short_id(),
    ]);
    assert!(screen.contains("Choose a colour."), "{screen}");
    terminal.press(&["?"]);
    terminal.shows(&["pause, resume", "scroll the log"]);
    terminal.press(&["Escape"]);
    terminal.press(&["a"]);
    terminal.shows(&["Enter sends the answer"]);
    terminal.press(&["2", "Enter"]);
    let answered = daemon.ended("asks");
    assert_eq!(answered.ending(), ("completed", "completed"));
    let answer: Option<String> = daemon.cell(
        "SELECT answer FROM human_requests WHERE session_id = ?1",
        [&asks.id],
    );
    assert_eq!(answer.as_deref(), Some("red"));
    // The one that works comes first now.
    terminal.press(&["g"]);
    terminal.shows(&[&works.id, "working hard", "iteration 1 of 10", "␛[31mred"]);
    terminal.press(&["p"]);
    terminal.shows(&["will pause after its running iteration"]);
    terminal.press(&["r"]);
    terminal.shows(&["resumed"]);
    terminal.press(&["c"]);
    terminal.shows(&[&format!("cancel {}? y/n", works.short_id())]);
    terminal.press(&["n"]);
    terminal.shows(&["↑↓ choose"]);
    assert_eq!(daemon.session("works").unwrap().status, "executing");
    terminal.press(&["c"]);
    terminal.shows(&["? y/n"]);
    terminal.press(&["y"]);
    let cancelled = daemon.ended("works");
    assert_eq!(cancelled.ending(), ("cancelled", "cancelled"));
    terminal.press(&["q"]);
    let screen = terminal.shows(&["left with 0", " icanon"]);
    assert!(!screen.contains("↑↓ choose"), "{screen}");
}

#[test]
fn one_session_is_watched_to_its_end_on_a_narrow_terminal() {
    if no_tmux() {
        return;
    }
    let daemon = Daemon::start(site());
    daemon.drop_file(
        "works.md",
        "---\nagent: worker\nmax_iterations: 1\n---\nWork until told.",
    );
    let works = daemon.in_state("works", "executing");
    let terminal = Terminal::watch(&daemon, (50, 16), &[works.short_id()]);
    terminal.shows(&["working hard", "iteration 1 of 1", "Work until told."]);
    std::fs::write(daemon.file("stop"), "").unwrap();
    daemon.ended("works");
    terminal.shows(&["failed: max_iterations", "left with 4", " icanon"]);
}

#[test]
fn a_signal_gives_the_terminal_back() {
    if no_tmux() {
        return;
    }
    let daemon = Daemon::start(site());
    let terminal = Terminal::watch(&daemon, (80, 24), &[]);
    terminal.shows(&["0 open", "no sessions yet"]);
    terminal.press(&["C-c"]);
    terminal.shows(&["left with 130", " icanon"]);
}
