//! bash and git.

use super::{Bench, has_fence, room};
use ralphd::agent::tool::{External, Fault, Room, toolbox};
use serde_json::json;
use std::time::Duration;

/// The living processes whose command line holds this text.
fn running(text: &str) -> usize {
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        words == format!("sleep {text} ")
    })
    .count()
}

#[tokio::test]
async fn bash_tells_output_and_exit_code() {
    let bench = Bench::new(External::Deny);
    if !has_fence() {
        let said = bench.refused("bash", json!({"command": "true"})).await;
        return assert!(said.contains("external_directory = \"allow\""), "{said}");
    }
    for (command, expected) in [
        (
            "echo one; echo two >&2; echo three",
            "one\ntwo\nthree\n[exit code 0]",
        ),
        ("true", "[no output]\n[exit code 0]"),
        ("printf x; exit 3", "x\n[exit code 3]"),
        ("kill -TERM $$", "[no output]\n[killed by signal 15]"),
        ("cat", "[no output]\n[exit code 0]"),
        (
            "mkdir d && cd d && echo y >f && cat ../d/f",
            "y\n[exit code 0]",
        ),
        (
            "echo $(( 6 / 2 )) | tee >(cat >/dev/null)",
            "3\n[exit code 0]",
        ),
        ("f=$(mktemp) && echo z >$f && cat $f", "z\n[exit code 0]"),
        ("[ -t 0 ] || [[ -w . ]] && echo in", "in\n[exit code 0]"),
    ] {
        let said = bench.done("bash", json!({"command": command})).await;
        assert_eq!(said, expected, "{command}");
    }
    let empty = bench.refused("bash", json!({"command": " "})).await;
    assert_eq!(empty, "The command is empty.");
}

#[tokio::test]
async fn bash_keeps_both_ends_of_a_long_output() {
    let bench = Bench::new(External::Deny);
    if !has_fence() {
        return;
    }
    let command = "echo begin; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end";
    let said = bench.done("bash", json!({"command": command})).await;
    assert!(said.len() < 40_000, "{}", said.len());
    assert!(said.starts_with("begin\nxxx"));
    assert!(said.contains("bytes left out …]"));
    assert!(said.ends_with("xxx\nend\n[exit code 0]"));
}

#[tokio::test]
async fn bash_leaves_nothing_running() {
    let bench = Bench::new(External::Deny);
    if !has_fence() {
        return;
    }
    let time = format!("701.{}", std::process::id());
    let daemon = format!(
        "(env -i setsid sh -c 'sleep {time} & exec sleep {time}' >/dev/null 2>&1 &); echo started"
    );
    let said = bench.done("bash", json!({"command": daemon})).await;
    assert!(said.starts_with("started\n["), "{said}");
    assert!(said.contains("left running ended with the call"), "{said}");
    assert_eq!(running(&time), 0);
    let hang = format!("echo before; setsid sleep {time} & sleep {time}");
    let call = json!({"command": hang, "timeout_s": "1"});
    let said = bench.refused("bash", call).await;
    assert!(said.starts_with("before\n[ended after 1 s"), "{said}");
    assert_eq!(running(&time), 0);
    let stubborn = format!("trap '' TERM HUP INT; sleep {time}; sleep {time}");
    tokio::select! {
        _ = bench.call("bash", json!({"command": stubborn})) => panic!("it ended"),
        () = until(|| running(&time) == 1) => {}
    }
    until(|| running(&time) == 0).await;
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn git_tells_how_the_repository_stands() {
    let bench = Bench::new(External::Deny);
    if !has_fence() {
        return;
    }
    let plain = bench.refused("git_status", json!({})).await;
    assert!(
        plain.starts_with("The workspace is not a git repository."),
        "{plain}"
    );
    let make = "git init -q -b main . && git config user.name N && git config user.email e@x.org";
    bench.done("bash", json!({"command": make})).await;
    assert_eq!(
        bench.done("git_log", json!({})).await,
        "There is no commit yet."
    );
    let first =
        "echo one >a && git add a && git commit -q -m 'First words' && echo two >a && echo new >b";
    let said = bench.done("bash", json!({"command": first})).await;
    assert!(said.ends_with("[exit code 0]"), "{said}");
    let status = bench.done("git_status", json!(null)).await;
    assert_eq!(status, "## main\n M a\n?? b\n");
    let diff = bench.done("git_diff", json!({"ref": null})).await;
    assert!(diff.contains("-one\n+two"), "{diff}");
    let log = bench.done("git_log", json!({"count": "5"})).await;
    assert!(
        log.ends_with("First words") && log.lines().count() == 1,
        "{log}"
    );
    bench
        .done("bash", json!({"command": "git commit -qam second"}))
        .await;
    let diff = bench.done("git_diff", json!({"ref": "HEAD~1..HEAD"})).await;
    assert!(diff.contains("-one\n+two"), "{diff}");
    let none = bench.done("git_diff", json!({})).await;
    assert!(none.starts_with("No difference."), "{none}");
    for reference in [
        "--output=stolen",
        "-O/etc/passwd",
        "nosuch",
        "HEAD nosuch",
        "--no-index",
        "a",
        "HEAD\n",
    ] {
        let call = json!({"ref": reference});
        match bench.call("git_diff", call).await {
            Err(Fault::Wrong(words)) => assert!(words.contains("Give a commit"), "{words}"),
            Ok(_) if reference == "HEAD\n" => {}
            other => panic!("{reference:?}: {other:?}"),
        }
    }
    assert!(!bench.path("stolen").exists());
}

#[tokio::test]
async fn git_runs_nothing_that_the_repository_names() {
    let bench = Bench::new(External::Deny);
    if !has_fence() {
        return;
    }
    let trap = bench.path("trap.sh");
    bench.put("trap.sh", "#!/bin/sh\ntouch sprung\n");
    std::fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let trap = trap.display();
    let make = format!(
        "git init -q . && git config user.name N && git config user.email e@x.org && echo '*.x diff=odd' >.gitattributes \
         && echo 1 >a.x && git add . && git commit -qm one && echo 2 >a.x \
         && git config diff.external {trap} && git config diff.odd.command {trap} && git config diff.odd.textconv {trap} \
         && git config core.fsmonitor {trap} && git config core.pager {trap} && git config core.hooksPath . && git config log.showSignature true && git config gpg.program {trap}"
    );
    let said = bench.done("bash", json!({"command": make})).await;
    assert!(said.ends_with("[exit code 0]"), "{said}");
    std::fs::remove_file(bench.path("sprung")).ok();
    for tool in ["git_status", "git_diff", "git_log"] {
        bench.done(tool, json!({})).await;
    }
    assert!(!bench.path("sprung").exists());
}

#[tokio::test]
async fn git_takes_no_files_of_the_workspace_for_a_repository() {
    let bench = Bench::new(External::Deny);
    if !has_fence() {
        return;
    }
    // All of it could be made by `write`, which may not touch .git.
    let make = "git init -q . && echo 1 >a && git add a && git config filter.f.clean 'touch sprung; cat' \
                && git config core.worktree . && mv .git/* . && rmdir .git \
                && echo '* filter=f' >.gitattributes && echo 22 >a";
    let said = bench.done("bash", json!({"command": make})).await;
    assert!(said.ends_with("[exit code 0]"), "{said}");
    for tool in ["git_status", "git_diff", "git_log"] {
        let said = bench.refused(tool, json!({})).await;
        assert!(said.contains("not a git repository"), "{tool}: {said}");
    }
    assert!(!bench.path("sprung").exists());
}

#[tokio::test]
async fn build_tools_have_a_cache_they_can_write() {
    if !has_fence() {
        return;
    }
    let bench = Bench::new(External::Deny);
    let command = "for c in \"$XDG_CACHE_HOME\" \"$npm_config_cache\"; do mkdir -p \"$c/x\" || exit; done; echo $XDG_CACHE_HOME";
    let said = bench.done("bash", json!({"command": command})).await;
    let temporary = bench.root().join("temporary").display().to_string();
    assert!(said.starts_with(&temporary), "{said}");
    let own = bench.root().join("outside").display().to_string();
    for (writable, kept) in [(vec![own.clone().into()], true), (vec![], false)] {
        let mut room = room(bench.root(), External::Deny);
        room.writable = writable;
        room.environment
            .push(("XDG_CACHE_HOME".to_owned(), own.clone()));
        let tools = toolbox(room).unwrap();
        let said = tools[3]
            .call(json!({"command": "echo $XDG_CACHE_HOME"}))
            .await
            .unwrap();
        assert_eq!(said.starts_with(&own), kept, "{said}");
    }
}

#[tokio::test]
async fn what_the_fence_denied_is_explained() {
    if !has_fence() {
        return;
    }
    let bench = Bench::new(External::Deny);
    // At the end of a pipe nobody sees that it failed.
    for end in ["", " | tail -1"] {
        let command = format!("p=.; p=$p.; (echo x >$p/outside/x) 2>&1{end}");
        let said = bench.done("bash", json!({"command": command})).await;
        assert!(said.contains("nothing can be written"), "{said}");
        assert!(said.contains("CARGO_HOME=$TMPDIR/cargo"), "{said}");
    }
}

#[tokio::test]
async fn more_ground_can_be_given() {
    if !has_fence() {
        return;
    }
    let bench = Bench::new(External::Deny);
    let shared = bench.root().join("outside");
    std::fs::write(shared.join("x"), "shared").unwrap();
    for (readable, writable, reads, writes) in [
        (vec![shared.clone()], vec![], true, false),
        (vec![], vec![shared.clone()], true, true),
        (vec![], vec![], false, false),
    ] {
        let tools = toolbox(Room {
            readable,
            writable,
            ..room(bench.root(), External::Deny)
        })
        .unwrap();
        let bash = &tools[3];
        let path = shared.join("x").display().to_string();
        let read = bash.call(json!({"command": format!("cat {path}")})).await;
        assert_eq!(read.is_ok_and(|said| said.starts_with("shared")), reads);
        // Hidden from the look, so that the fence answers.
        let write = "x=.; x=$x.; echo shared >$x/outside/x && echo done";
        let wrote = bash.call(json!({"command": write})).await.unwrap();
        assert_eq!(wrote.starts_with("done"), writes, "{wrote}");
    }
}
