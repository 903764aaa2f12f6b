//! Ways out of the workspace, tried through the tools: nothing outside is read, written or even named.

use crate::tools::{Bench, fence_version, has_fence};
use ralphd::agent::tool::{External, Fault};
use rustix::fs::{CWD, FileType, Mode, RenameFlags};
use serde_json::{Value as Json, json};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const CANARY: &str = "canary-6b1f-sings";
const NAME: &str = "unheard-of-name";

/// A workspace full of links, and things outside that must not be touched.
struct Site {
    bench: Bench,
}

impl Site {
    fn new() -> Self {
        let site = Self {
            bench: Bench::new(External::Deny),
        };
        for name in ["outside", "home/.ssh", "home/.config"] {
            let directory = site.bench.root().join(name);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(NAME), CANARY).unwrap();
            std::fs::write(directory.join("canary"), CANARY).unwrap();
        }
        let bench = &site.bench;
        bench.put("inside.txt", "harmless\n");
        bench.put("deep/er/file.txt", "harmless\n");
        let canary = site.outside("canary");
        for (link, target) in [
            ("link", PathBuf::from("../outside/canary")),
            ("absolute", canary),
            ("directory", PathBuf::from("../outside")),
            ("chain", PathBuf::from("directory/canary")),
            ("deep/up", PathBuf::from("../../outside/canary")),
            ("new", PathBuf::from("../outside/made")),
            ("root", PathBuf::from("/")),
            ("kernel", PathBuf::from("/proc/self/environ")),
            ("own-root", PathBuf::from("/proc/self/root")),
            ("own-place", PathBuf::from("/proc/self/cwd")),
            ("loop", PathBuf::from("loop")),
            ("good", PathBuf::from("deep/er/../er/file.txt")),
        ] {
            symlink(target, bench.path(link)).unwrap();
        }
        site
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.bench.root().join("outside").join(name)
    }

    /// All that lies outside, with its content.
    fn picture(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut open = vec![
            self.bench.root().join("outside"),
            self.bench.root().join("home"),
        ];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path.clone());
                }
                found.push((path.clone(), std::fs::read(&path).unwrap_or_default()));
            }
        }
        found.sort();
        found
    }
}

fn words(said: &Result<String, Fault>) -> &str {
    match said {
        Ok(words) | Err(Fault::Wrong(words) | Fault::Passing(words)) => words,
    }
}

/// Paths that lead out, however written.
fn ways_out(site: &Site) -> Vec<String> {
    let root = site.bench.root().display().to_string();
    let mut ways: Vec<String> = [
        "../outside/canary",
        "./../outside/canary",
        "deep/../../outside/canary",
        "deep/er/../../../outside/canary",
        "link",
        "./link",
        "absolute",
        "directory/canary",
        "chain",
        "deep/up",
        "directory/../outside/canary",
        "own-place/inside.txt",
        "kernel",
        "loop",
        "~/.ssh/canary",
        "~",
        "/etc/passwd",
        "/etc/shadow",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/inside.txt",
        "/proc/1/environ",
        "/dev/stdin",
        "/dev/fd/0",
        "..",
        "../",
        "/",
        "inside.txt\0../outside/canary",
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    ways.extend([
        format!("{root}/outside/canary"),
        format!("{root}/work/../outside/canary"),
        format!("{root}/work/link"),
        format!("{root}/work/directory/canary"),
        format!("{root}//work/./../outside/canary"),
        format!("{root}/workspace-of-another/x"),
        format!("root{root}/outside/canary"),
        format!("own-root{root}/outside/canary"),
        format!("/proc/self/root{root}/outside/canary"),
        format!("/proc/{}/root{root}/outside/canary", std::process::id()),
        "a".repeat(5_000),
        "b/".repeat(2_000) + "../".repeat(2_001).as_str() + "outside/canary",
        "c".repeat(300),
    ]);
    ways
}

#[tokio::test]
async fn no_path_leads_out_for_the_file_tools() {
    let site = Site::new();
    let before = site.picture();
    let ways = ways_out(&site);
    assert!(ways.len() >= 40, "{}", ways.len());
    for way in &ways {
        for (tool, arguments) in [
            ("read", json!({"path": way})),
            ("write", json!({"path": way, "content": "stolen"})),
            (
                "edit",
                json!({"path": way, "old_string": CANARY, "new_string": "stolen"}),
            ),
            ("grep", json!({"pattern": ".", "path": way})),
            ("glob", json!({"pattern": "*", "path": way})),
        ] {
            // Names that are merely missing may be written.
            let harmless = way.starts_with('c') && way.len() == 300;
            let said = site.bench.call(tool, arguments).await;
            assert!(
                matches!(said, Err(Fault::Wrong(_))) || harmless,
                "{tool} {way:?}: {said:?}"
            );
            let words = words(&said);
            assert!(!words.contains(CANARY), "{tool} {way:?}: {words}");
            assert!(!words.contains(NAME), "{tool} {way:?}: {words}");
        }
    }
    for way in [
        "new",
        "directory/made",
        "directory/a/b/made",
        "root/tmp/made",
    ] {
        let call = json!({"path": way, "content": "stolen"});
        site.bench.refused("write", call).await;
    }
    for pattern in ["../outside/*", "/etc/*", "~/*", "deep/../../*", "!../*"] {
        site.bench
            .refused("glob", json!({"pattern": pattern}))
            .await;
        let call = json!({"pattern": ".", "glob": pattern});
        site.bench.refused("grep", call).await;
    }
    assert_eq!(site.picture(), before);
    let good = site.bench.done("read", json!({"path": "good"})).await;
    assert!(good.contains("harmless"), "a link that stays inside works");
}

#[tokio::test]
async fn searches_follow_no_link() {
    let site = Site::new();
    let said = site.bench.done("grep", json!({"pattern": CANARY})).await;
    assert!(said.starts_with("No line matches"), "{said}");
    for pattern in ["*", "**/canary", NAME, "directory/**"] {
        let said = site.bench.done("glob", json!({"pattern": pattern})).await;
        let mut listed = said.lines().filter(|line| !line.starts_with("No file"));
        assert!(
            !listed.any(|line| line.contains(NAME) || line.starts_with("directory/")),
            "{said}"
        );
    }
}

#[tokio::test]
async fn what_is_no_file_does_not_hang() {
    let site = Site::new();
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(CWD, site.bench.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(site.bench.path("socket")).unwrap();
    for path in ["pipe", "socket"] {
        for (tool, arguments) in [
            ("read", json!({"path": path})),
            ("write", json!({"path": path, "content": "x"})),
            (
                "edit",
                json!({"path": path, "old_string": "a", "new_string": "b"}),
            ),
            ("grep", json!({"pattern": "x", "path": path})),
        ] {
            let said = site.bench.refused(tool, arguments).await;
            assert!(said.contains("not a file"), "{tool} {path}: {said}");
        }
    }
    let said = site
        .bench
        .done("grep", json!({"pattern": "harmless"}))
        .await;
    assert!(said.contains("inside.txt:1:harmless"), "{said}");
}

/// Commands that name what is outside in plain words, and commands that hide it from a look.
fn commands(site: &Site) -> Vec<String> {
    let root = site.bench.root().display().to_string();
    let outside = format!("{root}/outside");
    let hidden = outside.replace("outside", "out''side");
    let hex: String = format!("cat {outside}/canary")
        .bytes()
        .map(|byte| format!("\\x{byte:02x}"))
        .collect();
    vec![
        format!("cat {outside}/canary"),
        "cat ../outside/canary".to_owned(),
        "cat link".to_owned(),
        "cat directory/canary".to_owned(),
        "cat deep/../../outside/canary".to_owned(),
        "cat ~/.ssh/canary".to_owned(),
        "cat $HOME/.ssh/canary".to_owned(),
        "cat \"${HOME}\"/.config/canary".to_owned(),
        "cd .. && cat outside/canary".to_owned(),
        "cd ../outside; cat canary".to_owned(),
        "cd; cat .ssh/canary".to_owned(),
        "cd directory && cat canary".to_owned(),
        format!("ls {outside}"),
        "ls ..".to_owned(),
        "ls ../*".to_owned(),
        "ls -R ~".to_owned(),
        format!("echo stolen >{outside}/made"),
        "echo stolen >../outside/made".to_owned(),
        "echo stolen >>link".to_owned(),
        "echo stolen >new".to_owned(),
        "echo stolen | tee directory/made".to_owned(),
        format!("dd if={outside}/canary"),
        format!("tar cf - --directory={outside} ."),
        format!("cp {outside}/canary stolen && cat stolen"),
        "cp -rL directory stolen; cat stolen/canary".to_owned(),
        "bash -c 'cat ../outside/canary'".to_owned(),
        "cat $(echo ../outside/canary)".to_owned(),
        "cat <../outside/canary".to_owned(),
        "ln ../outside/canary hard && cat hard".to_owned(),
        "mv ../outside/canary .".to_owned(),
        "rm -rf ../outside".to_owned(),
        // From here on only the fence can hold it.
        format!("cat {hidden}/canary"),
        format!("printf '{hex}' | bash"),
        "p=.; p=$p.; cat $p/outside/canary; ls $p/outside".to_owned(),
        "x=$(printf '\\056\\056'); cat $x/outside/canary".to_owned(),
        "p=.; p=$p.; echo stolen >$p/outside/made".to_owned(),
        "p=.; p=$p.; ln $p/outside/canary hard; cat hard".to_owned(),
        "p=.; p=$p.; mv $p/outside/canary taken; cat taken".to_owned(),
        "p=.; p=$p.; rm -rf $p/outside $p/home".to_owned(),
        "p=.; p=$p.; truncate -s 0 $p/outside/canary".to_owned(),
        "p=.; p=$p.; : >$p/outside/canary".to_owned(),
        "p=.; p=$p.; mkdir $p/outside/made; touch $p/outside/made2; ln -s x $p/outside/made3; mkfifo $p/outside/made4".to_owned(),
        "p=.; p=$p.; cp inside.txt $p/outside/made".to_owned(),
        "p=.; p=$p.; mv inside.txt $p/outside/made".to_owned(),
        "eval \"cat ..\"/outside/canary".to_owned(),
        "printf 'cat ../outside/canary' >s.sh; sh s.sh".to_owned(),
        "printf '#!/bin/sh\\ncat ../outside/canary ~/.ssh/canary\\n' >t.sh; chmod +x t.sh; ./t.sh".to_owned(),
        "find -L . -name canary -exec cat {} +".to_owned(),
        "grep -rs canary- .. directory/".to_owned(),
        "p=.; p=$p.; cd $p && cat outside/canary".to_owned(),
        "tar chf - --exclude=own-place . | tar tf - ; tar chf - --exclude=own-place . | tar xOf -".to_owned(),
        "cat own-root/etc/shadow; cat kernel".to_owned(),
        "p=/pro; p=${p}c/$$/root; cat $p/etc/shadow; ls $p/root $p/home".to_owned(),
        "git -c core.excludesFile=x diff --no-index /dev/null $PWD/../outside/canary".to_owned(),
        "GIT_DIR=$PWD/../outside git status; git --work-tree=$PWD/.. status".to_owned(),
        "python3 -c 'import os; print(open(os.pardir + \"/outside/canary\").read())'".to_owned(),
        "perl -e 'open(F, \"<..\".\"/outside/canary\"); print <F>'".to_owned(),
        "exec 3<>$PWD/../outside/canary; cat <&3".to_owned(),
        "(setsid sh -c 'p=.; p=$p.; cat $p/outside/canary; echo stolen >$p/outside/made' & wait)".to_owned(),
    ]
}

#[tokio::test]
async fn no_command_leads_out() {
    let site = Site::new();
    if !has_fence() {
        return;
    }
    let before = site.picture();
    for command in commands(&site) {
        let said = site.bench.call("bash", json!({"command": command})).await;
        let words = words(&said);
        assert!(!words.contains(CANARY), "{command}: {words}");
        assert!(!words.contains(NAME), "{command}: {words}");
        assert_eq!(site.picture(), before, "{command}");
    }
}

#[tokio::test]
async fn keys_in_the_environment_of_others_stay_there() {
    if !has_fence() {
        return;
    }
    let mut holder = Holder::start();
    let pid = holder.0.id();
    let open = Bench::new(External::Allow);
    let site = Site::new();
    let hidden = format!(
        "d=/pro; d=${{d}}c; for p in {pid} $PPID; do tr '\\0' '\\n' <$d/$p/environ; done; \
         grep -sah -e MODEL_KEY -e CARGO_MANIFEST_DIR $d/[1-9]*/environ"
    );
    let visible = open.done("bash", json!({"command": hidden})).await;
    let guarded = site.bench.done("bash", json!({"command": hidden})).await;
    let plain = format!("cat /proc/{pid}/environ");
    let named = site.bench.refused("bash", json!({"command": plain})).await;
    if fence_version() >= 6 {
        let kill = format!("kill -9 {pid}; kill -9 $PPID; echo still");
        let said = site.bench.done("bash", json!({"command": kill})).await;
        assert!(
            said.contains("not permitted") && said.contains("still\n"),
            "{said}"
        );
    }
    assert!(
        visible.contains(CANARY),
        "the trial itself works: {visible}"
    );
    assert!(!guarded.contains(CANARY), "{guarded}");
    assert!(!guarded.contains("CARGO_MANIFEST_DIR="), "{guarded}");
    assert!(guarded.contains("Permission denied"), "{guarded}");
    assert!(named.contains("outside the workspace"), "{named}");
    let alive = holder.0.try_wait().unwrap().is_none();
    assert!(alive, "no command may end what is not its own");
}

/// A process with a key in its environment.
struct Holder(std::process::Child);

impl Holder {
    fn start() -> Self {
        let mut sleep = std::process::Command::new("sleep");
        Self(sleep.arg("600").env("MODEL_KEY", CANARY).spawn().unwrap())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Swaps a directory of the workspace for a link to the outside and back, all the time.
struct Swapping {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
}

impl Swapping {
    fn start(site: &Site) -> Self {
        site.bench.put("flip/canary", "harmless\n");
        symlink(site.outside(""), site.bench.path("flop")).unwrap();
        let (flip, flop) = (site.bench.path("flip"), site.bench.path("flop"));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut swaps = 0;
            while !stopped.load(Ordering::Relaxed) {
                let how = RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, &flip, CWD, &flop, how).unwrap();
                swaps += 1;
            }
            swaps
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    fn end(&mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        thread.map_or(0, |thread| thread.join().unwrap_or(0))
    }
}

impl Drop for Swapping {
    fn drop(&mut self) {
        self.end();
    }
}

#[tokio::test]
async fn a_directory_swapped_for_a_link_leaks_nothing() {
    const ROUNDS: usize = 300;
    let site = Site::new();
    let before = site.picture();
    let mut swapping = Swapping::start(&site);
    let mut went_well = 0;
    for round in 0..ROUNDS {
        let calls: [(&str, Json); 5] = [
            ("read", json!({"path": "flip/canary"})),
            (
                "write",
                json!({"path": format!("flip/{}", round % 7), "content": "x"}),
            ),
            (
                "edit",
                json!({"path": "flip/canary", "old_string": "harmless", "new_string": "harmless "}),
            ),
            ("grep", json!({"pattern": "canary-|harmless"})),
            ("glob", json!({"pattern": "fl*/**"})),
        ];
        for (tool, arguments) in calls {
            let said = site.bench.call(tool, arguments).await;
            went_well += usize::from(said.is_ok());
            let words = words(&said);
            assert!(!words.contains(CANARY), "{tool}: {words}");
            assert!(!words.contains(NAME), "{tool}: {words}");
        }
    }
    let swaps = swapping.end();
    assert_eq!(site.picture(), before);
    assert!(
        swaps > 0 && went_well > 0,
        "{swaps} swaps, {went_well} went well"
    );
}
