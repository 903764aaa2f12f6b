//! A kill -9 at every call of git while a workspace is made ready, before it, after it and in its midst: the next go ends right.
//! The one that is killed is this test's own program, started once more; its `git` is a script that does the killing.

use super::place::{Place, prepare_in, tool, wait, wanted_below};
use ralphd::workspace::git::{Prepared, Wanted, prepare};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PLACE: &str = "RALPHD_TEST_KILLED_PLACE";
const SCENE: &str = "RALPHD_TEST_KILLED_SCENE";
/// More calls than any scene has.
const MAX_CALLS: usize = 60;

#[derive(Clone, Copy)]
struct Scene {
    name: &'static str,
    set: fn(&Place),
    wanted: fn(&Path) -> Wanted<'static>,
    workspace: &'static str,
    check: fn(&Place, &Prepared),
}

const SCENES: [Scene; 4] = [
    Scene {
        name: "fresh",
        set: |_| {},
        wanted: first,
        workspace: "work",
        check: is_fresh,
    },
    Scene {
        name: "forward",
        set: used,
        wanted: second,
        workspace: "work",
        check: is_forward,
    },
    Scene {
        name: "switch",
        set: used,
        wanted: other,
        workspace: "work",
        check: is_switched,
    },
    Scene {
        name: "in_place",
        set: dirty,
        wanted: here,
        workspace: "source",
        check: is_kept,
    },
];

fn first(root: &Path) -> Wanted<'static> {
    wanted_below(root, "s1")
}

fn second(root: &Path) -> Wanted<'static> {
    wanted_below(root, "s2")
}

fn other(root: &Path) -> Wanted<'static> {
    Wanted {
        reference: Some("other".to_owned()),
        ..second(root)
    }
}

fn here(root: &Path) -> Wanted<'static> {
    Wanted {
        in_place: true,
        ..first(root)
    }
}

fn used(place: &Place) {
    prepare_in(place, "work", &first(&place.path(""))).unwrap();
    place.commit("source", "b.txt", "news\n");
    place.git("source", &["branch", "other"]);
}

fn dirty(place: &Place) {
    place.write("source/a.txt", "changed");
    place.write("source/new.txt", "new");
}

fn is_fresh(place: &Place, prepared: &Prepared) {
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s1"));
    assert_eq!(place.read("work/a.txt"), "one\n");
}

fn is_forward(place: &Place, prepared: &Prepared) {
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s1"));
    assert_eq!(place.read("work/b.txt"), "news\n");
}

fn is_switched(place: &Place, prepared: &Prepared) {
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s2"));
    assert_eq!(place.read("work/b.txt"), "news\n");
    place.git(
        "work",
        &["rev-parse", "--verify", "refs/heads/agent/work-s1"],
    );
}

fn is_kept(place: &Place, prepared: &Prepared) {
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s1"));
    assert_eq!(place.read("source/a.txt"), "changed");
    let kept = place.git("source", &["show", "refs/ralphd/safety/s1:new.txt"]);
    assert_eq!(kept, "new");
    assert_eq!(
        place.git("source", &["status", "--porcelain"]),
        " M a.txt\n?? new.txt"
    );
}

/// Which calls count, and what is done at the one where the blow falls.
struct Blow {
    counted: &'static str,
    strike: &'static str,
}

const BLOWS: [Blow; 2] = [
    Blow {
        counted: "*",
        strike: "blow",
    },
    // As if in the midst of it, or right after: some of its work is missing, and its lock is still there.
    Blow {
        counted: "clone | fetch | reset | symbolic-ref | update-index | update-ref",
        strike: r#""$real" "$@"
case "$2" in
    reset) rm -f a.txt b.txt .git/index; touch .git/index.lock;;
    clone) rm -f .git/HEAD; touch .git/config.lock;;
    fetch) rm -rf .git/refs/remotes;;
esac
blow"#,
    },
];

fn script(place: &Place, call: usize, blow: &Blow) -> String {
    let root = place.path("");
    let real = Command::new("sh")
        .args(["-c", "command -v git"])
        .output()
        .unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    format!(
        r#"root='{}'; real='{}'
blow() {{ kill -9 $(cat "$root/pid"); exit 1; }}
case "$2" in {}) ;; *) exec "$real" "$@";; esac
calls=$(cat "$root/calls"); calls=$((calls + 1)); echo $calls > "$root/calls"
if [ $calls = {call} ]; then
{}
fi
exec "$real" "$@""#,
        root.display(),
        real.trim(),
        blow.counted,
        blow.strike,
    )
}

/// True where the blow fell before the work was over.
fn strike(place: &Place, scene: &Scene, call: usize, blow: &Blow) -> bool {
    place.write("calls", "0\n");
    place.program("bin/git", &script(place, call, blow));
    let path = std::env::var("PATH").unwrap();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "workspaces::killed::the_one_that_is_killed",
        ])
        .env("PATH", format!("{}:{path}", place.path("bin").display()))
        .env(PLACE, place.path(""))
        .env(SCENE, scene.name)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    !ended.success()
}

#[test]
#[ignore = "started by the tests of this file, to be killed"]
fn the_one_that_is_killed() {
    let Ok(root) = std::env::var(PLACE) else {
        return;
    };
    let root = PathBuf::from(root);
    let name = std::env::var(SCENE).unwrap();
    let scene = SCENES.iter().find(|scene| scene.name == name).unwrap();
    std::fs::write(root.join("pid"), std::process::id().to_string()).unwrap();
    let workspace = root.join(scene.workspace);
    let wanted = (scene.wanted)(&root);
    wait(prepare(&tool(), &workspace, &wanted)).unwrap();
}

fn survives(name: &str) {
    let scene = SCENES.iter().find(|scene| scene.name == name).unwrap();
    for blow in &BLOWS {
        let mut struck = 0;
        for call in 1..MAX_CALLS {
            let place = Place::with_source();
            (scene.set)(&place);
            if !strike(&place, scene, call, blow) {
                break;
            }
            struck = call;
            let wanted = (scene.wanted)(&place.path(""));
            let again = prepare_in(&place, scene.workspace, &wanted)
                .unwrap_or_else(|error| panic!("{name}, call {call}: {error:#}"));
            (scene.check)(&place, &again);
            place.git(scene.workspace, &["fsck", "--strict"]);
            if scene.workspace == "work" {
                assert_eq!(
                    place.git("work", &["status", "--porcelain"]),
                    "",
                    "call {call}"
                );
            }
        }
        assert!(
            struck > 1 && struck < MAX_CALLS - 1,
            "{name}: {struck} blows"
        );
    }
}

#[test]
fn a_clone() {
    survives("fresh");
}

#[test]
fn the_way_forward() {
    survives("forward");
}

#[test]
fn the_way_to_another_reference() {
    survives("switch");
}

#[test]
fn the_way_into_the_users_checkout() {
    survives("in_place");
}
