//! Repositories, and settings around them, that name programs or lead elsewhere: each program leaves a mark when it runs, and none may.

use super::place::{Place, prepare_in, tool, wait, wanted, wanted_below};
use ralphd::model::git::Source;
use ralphd::workspace::git::{Wanted, prepare};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

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

/// Settings that name programs, and attributes that call for them.
const SETTINGS: &[(&str, &[(&str, &str)])] = &[
    ("a monitor", &[("core.fsmonitor", "EVIL")]),
    ("hooks elsewhere", &[("core.hooksPath", "HOOKS")]),
    (
        "filters",
        &[
            ("filter.evil.clean", "EVIL"),
            ("filter.evil.smudge", "EVIL"),
            ("filter.evil.required", "true"),
            ("filter.od.d=na me.process", "EVIL"),
            ("filter..clean", "EVIL"),
            ("filter..smudge", "EVIL"),
        ],
    ),
    (
        "drivers",
        &[
            ("diff.external", "EVIL"),
            ("diff.evil.command", "EVIL"),
            ("diff.evil.textconv", "EVIL"),
            ("merge.evil.driver", "EVIL"),
            ("merge.default", "evil"),
        ],
    ),
    (
        "programs for people",
        &[
            ("core.editor", "EVIL"),
            ("core.pager", "EVIL"),
            ("core.askPass", "EVIL"),
            ("credential.helper", "EVIL"),
            ("credential.https://example.org.helper", "EVIL"),
            ("gpg.program", "EVIL"),
            ("gpg.ssh.program", "EVIL"),
            ("commit.gpgSign", "true"),
            ("merge.verifySignatures", "true"),
            ("alias.status", "!EVIL"),
            ("alias.reset", "!EVIL"),
        ],
    ),
    (
        "packing",
        &[
            ("uploadpack.packObjectsHook", "EVIL"),
            ("core.alternateRefsCommand", "EVIL"),
            ("gc.auto", "1"),
            ("gc.recentObjectsHook", "EVIL"),
        ],
    ),
    (
        "protocols",
        &[
            ("protocol.ext.allow", "always"),
            ("remote.origin.url", "ext::EVIL"),
        ],
    ),
    ("an inclusion", &[("include.path", "INCLUDED")]),
    (
        "a tree elsewhere",
        &[("core.worktree", "/tmp"), ("core.bare", "true")],
    ),
];

const ATTRIBUTES: &str = "a.txt filter=evil diff=evil merge=evil\nb.txt filter=od.d=na\\ me\nc.txt filter=\n* diff=evil\n";

fn armed(trap: &Trap, repository: &str, settings: &[(&str, &str)]) {
    let included = format!(
        "[core]\n\tfsmonitor = {0}\n[filter \"evil\"]\n\tclean = {0}\n\tsmudge = {0}\n",
        trap.evil
    );
    trap.place.write("included", &included);
    trap.hooks("hooks");
    for (name, value) in settings {
        let value = value
            .replace("INCLUDED", trap.place.path("included").to_str().unwrap())
            .replace("HOOKS", trap.place.path("hooks").to_str().unwrap());
        trap.set(repository, &[(name, &value)]);
    }
    trap.place
        .write(&format!("{repository}/.git/info/attributes"), ATTRIBUTES);
}

#[test]
fn programs_that_a_workspace_names() {
    for (what, settings) in SETTINGS {
        // As it is, and with a change of the same size, which git must read to see.
        for change in ["one\n", "eno\n"] {
            let trap = Trap::used();
            armed(&trap, "work", settings);
            trap.place.write("work/a.txt", change);
            trap.holds(what, &wanted(&trap.place, "s2"), "work", "");
        }
    }
}

/// Else the tests of this file would hold of themselves.
#[test]
fn the_traps_are_real() {
    let springing = [
        "a monitor",
        "hooks elsewhere",
        "filters",
        "drivers",
        "an inclusion",
    ];
    for (what, settings) in SETTINGS.iter().filter(|(what, _)| springing.contains(what)) {
        let trap = Trap::used();
        armed(&trap, "work", settings);
        trap.place.write("work/a.txt", "eno\n");
        for words in [&["status"][..], &["diff"], &["checkout", "-q", "main"]] {
            trap.place.try_git("work", words);
        }
        assert!(trap.sprung().is_some(), "{what}");
    }
}

#[test]
fn programs_that_a_source_names() {
    for (what, settings) in SETTINGS {
        if *what == "a tree elsewhere" {
            continue;
        }
        let trap = Trap::new();
        trap.place.commit("source", ".gitattributes", ATTRIBUTES);
        armed(&trap, "source", settings);
        trap.source_holds(what);
    }
}

#[test]
fn programs_that_the_users_checkout_names() {
    for (what, settings) in SETTINGS {
        if *what == "a tree elsewhere" {
            continue;
        }
        let trap = Trap::new();
        armed(&trap, "source", settings);
        trap.hooks("source/.git/hooks");
        trap.place.write("source/a.txt", "eno\n");
        let here = Wanted {
            in_place: true,
            ..wanted(&trap.place, "s1")
        };
        trap.holds(what, &here, "source", "");
    }
}

#[test]
fn hooks_of_every_kind() {
    let trap = Trap::used();
    trap.hooks("work/.git/hooks");
    trap.hooks("source/.git/hooks");
    trap.holds("hooks", &wanted(&trap.place, "s2"), "work", "");
    trap.source_holds("hooks");
}

#[test]
fn a_repository_inside_the_tree_is_not_looked_into() {
    let nest = |trap: &Trap, outer: &str| {
        let inner = format!("{outer}/inner");
        trap.place.repository(&inner);
        trap.place.commit(&inner, "f.txt", "one\n");
        trap.place.git(outer, &["add", "inner"]);
        trap.place.commit(
            outer,
            ".gitmodules",
            "[submodule \"inner\"]\n\tpath = inner\n\turl = ./x\n\tignore = none\n",
        );
        trap.set(
            &inner,
            &[("filter.evil.clean", "EVIL"), ("core.fsmonitor", "EVIL")],
        );
        trap.place
            .write(&format!("{inner}/.git/info/attributes"), "* filter=evil\n");
        trap.place.write(&format!("{inner}/f.txt"), "eno\n");
    };
    let trap = Trap::used();
    nest(&trap, "work");
    trap.holds("a submodule", &wanted(&trap.place, "s2"), "work", "");
    let trap = Trap::new();
    nest(&trap, "source");
    let here = Wanted {
        in_place: true,
        ..wanted(&trap.place, "s1")
    };
    trap.holds("a submodule in place", &here, "source", "");
}

#[test]
fn settings_that_lead_a_fetch_elsewhere() {
    for (name, value) in [
        ("core.sshCommand", "EVIL"),
        ("core.gitProxy", "EVIL"),
        ("url.ext::EVIL.insteadOf", "/"),
        ("http.proxy", "http://127.0.0.1:1"),
        ("http.https://example.org.sslVerify", "false"),
        ("fetch.bundleURI", "file:///dev/null"),
        ("remote.SOURCE.uploadpack", "EVIL"),
        ("remote.SOURCE.url", "ext::EVIL"),
        ("remote.other.vcs", "ext"),
        ("remote.other.uploadpack", "EVIL"),
    ] {
        let trap = Trap::used();
        let source = trap.place.path("source");
        let name = name
            .replace("SOURCE", source.to_str().unwrap())
            .replace("EVIL", &trap.evil);
        trap.set("work", &[(&name, value)]);
        trap.holds(&name, &wanted(&trap.place, "s2"), "work", "lead elsewhere");
    }
    let trap = Trap::used();
    trap.place.write("work/.git/remotes/x", "URL: ext::evil\n");
    trap.holds(
        "remotes",
        &wanted(&trap.place, "s2"),
        "work",
        "addresses of other repositories",
    );
}

#[test]
fn a_workspace_whose_repository_is_not_its_own() {
    type Set = fn(&Place);
    let cases: [(&str, Set, &str); 9] = [
        (
            "a link",
            |place| move_git(place, |to, from| symlink(to, from).unwrap()),
            "is not a directory of its own",
        ),
        (
            "a file",
            |place| {
                move_git(place, |to, from| {
                    std::fs::write(from, format!("gitdir: {}\n", to.display())).unwrap()
                })
            },
            "is not a directory of its own",
        ),
        (
            "shared",
            |place| place.write("work/.git/commondir", "../../source/.git\n"),
            "shares the repository",
        ),
        (
            "linked refs",
            |place| link_inside(place, "refs/heads"),
            "is a link or a pipe",
        ),
        (
            "a linked index",
            |place| link_inside(place, "index"),
            "is a link or a pipe",
        ),
        (
            "linked settings",
            |place| link_inside(place, "config"),
            "is a link or a pipe",
        ),
        (
            "linked objects",
            |place| link_inside(place, "objects"),
            "is a link or a pipe",
        ),
        (
            "a linked record",
            |place| link_inside(place, "ralphd-prepared"),
            "is a link or a pipe",
        ),
        (
            "a linked place of notes",
            |place| link_inside(place, "info"),
            "is a link or a pipe",
        ),
    ];
    for (what, set, words) in cases {
        let trap = Trap::used();
        set(&trap.place);
        let before = trap.place.listing("source");
        trap.holds(what, &wanted(&trap.place, "s2"), "work", words);
        assert_eq!(trap.place.listing("source"), before, "{what}");
    }
}

fn move_git(place: &Place, lead: fn(PathBuf, PathBuf)) {
    std::fs::remove_dir_all(place.path("work/.git")).unwrap();
    lead(place.path("source/.git"), place.path("work/.git"));
}

fn link_inside(place: &Place, name: &str) {
    let (own, other) = (
        place.path("work/.git").join(name),
        place.path("source/.git").join(name),
    );
    match own.is_dir() {
        true => std::fs::remove_dir_all(&own).unwrap(),
        false => std::fs::remove_file(&own).unwrap(),
    }
    symlink(other, own).unwrap();
}

#[test]
fn a_pipe_is_not_waited_for() {
    let trap = Trap::used();
    std::fs::remove_file(trap.place.path("work/.git/config")).unwrap();
    let made = Command::new("mkfifo")
        .arg(trap.place.path("work/.git/config"))
        .status();
    assert!(made.unwrap().success());
    trap.holds(
        "a pipe",
        &wanted(&trap.place, "s2"),
        "work",
        "is a link or a pipe",
    );
}

#[test]
fn a_record_that_an_agent_wrote() {
    for (branch, commit) in [
        ("main", "--output=x"),
        ("../../x", "0123456789"),
        ("a b", "0123456789"),
    ] {
        let trap = Trap::used();
        let file = "work/.git/ralphd-prepared";
        let mut record: serde_json::Value = serde_json::from_str(&trap.place.read(file)).unwrap();
        record["under_way"] = serde_json::json!({"branch": branch, "commit": commit});
        trap.place.write(file, &record.to_string());
        trap.holds(
            commit,
            &wanted(&trap.place, "s2"),
            "work",
            "what ralphd never wrote",
        );
    }
}

/// A commit of entries that no honest git makes: `mode kind name`, each with the same content.
fn crafted(trap: &Trap, entries: &[(&str, &str)]) {
    let place = &trap.place;
    place.write("source/payload", "payload\n");
    let blob = place.git("source", &["hash-object", "-w", "payload"]);
    let mut tree = Vec::new();
    for (mode, name) in entries {
        tree.extend(format!("{mode} {name}\0").bytes());
        let object = match *mode {
            "40000" => below(trap, &blob),
            "120000" => link(trap),
            _ => blob.clone(),
        };
        tree.extend(
            object
                .as_bytes()
                .chunks(2)
                .map(|hex| u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap()),
        );
    }
    std::fs::write(place.path("tree"), tree).unwrap();
    let tree = place.git(
        "source",
        &["hash-object", "-t", "tree", "-w", "--literally", "../tree"],
    );
    let commit = place.git("source", &["commit-tree", &tree, "-m", "crafted"]);
    place.git("source", &["update-ref", "refs/heads/main", &commit]);
}

/// A tree with a hook in it.
fn below(trap: &Trap, blob: &str) -> String {
    trap.place.write(
        "source/index-lines",
        &format!("100755 {blob}\tpost-checkout\n"),
    );
    let index = trap.place.path("other-index");
    let made = Command::new("sh")
        .args([
            "-c",
            "git update-index --index-info < index-lines && git write-tree",
        ])
        .current_dir(trap.place.path("source"))
        .env("GIT_INDEX_FILE", index)
        .output()
        .unwrap();
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// A link that leads out of the tree.
fn link(trap: &Trap) -> String {
    std::fs::create_dir_all(trap.place.path("outside")).unwrap();
    trap.place
        .write("source/leads", trap.place.path("outside").to_str().unwrap());
    trap.place.git("source", &["hash-object", "-w", "leads"])
}

#[test]
fn paths_that_leave_the_tree() {
    for (name, mode) in [
        ("..", "40000"),
        (".", "40000"),
        ("../escaped", "100644"),
        ("/escaped", "100644"),
        ("a/../../escaped", "100644"),
        (".git", "40000"),
        (".GIT", "40000"),
        (".Git", "100644"),
        ("git~1", "40000"),
        (".g\u{200c}it", "40000"),
        (".git ", "40000"),
        (".git/config", "100644"),
    ] {
        let trap = Trap::new();
        crafted(&trap, &[(mode, name)]);
        let before = trap.place.listing("source");
        trap.holds(
            name,
            &wanted(&trap.place, "s1"),
            "work",
            "cannot be checked out",
        );
        trap.holds(
            name,
            &wanted(&trap.place, "s1"),
            "work",
            "cannot be checked out",
        );
        for escaped in [
            "escaped",
            "work/escaped",
            "post-checkout",
            "work/.git/post-checkout",
        ] {
            assert!(!trap.place.path(escaped).exists(), "{name}: {escaped}");
        }
        assert_eq!(trap.place.listing("source"), before);
    }
}

#[test]
fn a_link_in_the_tree_is_not_written_through() {
    let trap = Trap::new();
    crafted(&trap, &[("120000", "out"), ("40000", "out")]);
    let _ = prepare_in(&trap.place, "work", &wanted(&trap.place, "s1"));
    assert_eq!(trap.place.listing("outside"), Vec::new());
    let trap = Trap::new();
    crafted(&trap, &[("120000", "out")]);
    trap.holds("a link", &wanted(&trap.place, "s1"), "work", "");
    assert!(trap.place.path("work/out").is_symlink());
    trap.place.write("work/out/inside.txt", "by the agent");
    trap.holds("a link", &wanted(&trap.place, "s2"), "work", "");
}

#[test]
fn submodules_are_left_alone() {
    for url in [
        "ext::sh -c EVIL",
        "--upload-pack=EVIL",
        "-u./evil",
        "../../source",
    ] {
        let trap = Trap::new();
        let url = url.replace("EVIL", &trap.evil);
        let modules = format!(
            "[submodule \"x\"]\n\tpath = x\n\turl = {url}\n\tupdate = !{}\n",
            trap.evil
        );
        let head = trap.place.head("source");
        trap.place.git(
            "source",
            &[
                "update-index",
                "--add",
                "--cacheinfo",
                &format!("160000,{head},x"),
            ],
        );
        trap.place.commit("source", ".gitmodules", &modules);
        trap.source_holds(&url);
        let prepared = prepare_in(&trap.place, "plain", &wanted(&trap.place, "s2")).unwrap();
        assert_eq!(prepared.notes, ["submodules are not fetched: x"]);
    }
}

#[test]
fn sources_whose_repository_is_elsewhere_are_only_read() {
    for by_link in [true, false] {
        let trap = Trap::new();
        trap.place.git(
            "source",
            &[
                "config",
                "core.worktree",
                trap.place.path("source").to_str().unwrap(),
            ],
        );
        std::fs::rename(trap.place.path("source/.git"), trap.place.path("real")).unwrap();
        match by_link {
            true => symlink(trap.place.path("real"), trap.place.path("source/.git")).unwrap(),
            false => trap.place.write(
                "source/.git",
                &format!("gitdir: {}\n", trap.place.path("real").display()),
            ),
        }
        let before = trap.place.listing("real");
        trap.source_holds("elsewhere");
        assert_eq!(trap.place.listing("real"), before);
    }
    let trap = Trap::new();
    let objects = trap.place.path("source/.git/objects");
    std::fs::rename(&objects, trap.place.path("objects")).unwrap();
    symlink(trap.place.path("objects"), &objects).unwrap();
    let _ = prepare_in(&trap.place, "work", &wanted(&trap.place, "s1"));
    assert_eq!(trap.sprung(), None);
}

#[test]
fn branches_that_are_named_like_options() {
    let trap = Trap::new();
    let name = "--upload-pack=evil".to_owned();
    let full = format!("refs/heads/{name}");
    trap.place.git("source", &["update-ref", &full, "HEAD"]);
    trap.place.git("source", &["symbolic-ref", "HEAD", &full]);
    trap.source_holds("an option as the branch of HEAD");
    let there = Wanted {
        branch: None,
        ..wanted(&trap.place, "s1")
    };
    trap.holds("on that branch", &there, "there", "");
    trap.place.commit("source", "b.txt", "two\n");
    let there = Wanted {
        branch: None,
        ..wanted(&trap.place, "s2")
    };
    trap.holds("forward on that branch", &there, "there", "");
    assert!(trap.place.path("there/b.txt").exists());
    let asked = Wanted {
        reference: Some(name),
        ..wanted(&trap.place, "s3")
    };
    trap.holds("asked for", &asked, "asked", "must not start with '-'");
}

#[test]
fn a_repository_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let trap = Trap::new();
    for path in ["source", "source/.git"] {
        std::os::unix::fs::chown(trap.place.path(path), Some(12345), Some(12345)).unwrap();
    }
    trap.holds(
        "a source",
        &wanted(&trap.place, "s1"),
        "work",
        "belongs to another user",
    );
    let shallow = Wanted {
        shallow: true,
        ..wanted(&trap.place, "s1")
    };
    trap.holds("a source", &shallow, "work", "belongs to another user");
    let here = Wanted {
        in_place: true,
        ..wanted(&trap.place, "s1")
    };
    trap.holds("in place", &here, "source", "belongs to another user");
}

const PLACE: &str = "RALPHD_TEST_HOSTILE_PLACE";

/// The settings of the user and of whoever started us: seen by a program of its own, started for it.
#[test]
fn settings_of_the_user_have_no_say() {
    let trap = Trap::used();
    trap.hooks("template/hooks");
    trap.hooks("hooks");
    trap.place.repository("");
    let evil = &trap.evil;
    let (template, hooks) = (trap.place.path("template"), trap.place.path("hooks"));
    let settings = format!(
        "[init]\n\ttemplateDir = {}\n[core]\n\thooksPath = {}\n\tfsmonitor = {evil}\n\tsshCommand = {evil}\n\
         [url \"ext::{evil} \"]\n\tinsteadOf = /\n[alias]\n\tclone = !{evil}\n[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\
         [uploadpack]\n\tpackObjectsHook = {evil}\n[protocol]\n\tallow = always\n",
        template.display(),
        hooks.display()
    );
    for file in ["home/.gitconfig", "home/.config/git/config", ".git/config"] {
        trap.place.write(file, &settings);
    }
    trap.place
        .write("home/.config/git/attributes", "* filter=evil\n");
    let ended = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "workspaces::hostile::the_one_with_settings",
        ])
        .env("HOME", trap.place.path("home"))
        .env("GIT_DIR", trap.place.path("source/.git"))
        .env("GIT_TEMPLATE_DIR", template)
        .env("GIT_SSH_COMMAND", evil)
        .env("GIT_EXTERNAL_DIFF", evil)
        .env(
            "GIT_CONFIG_PARAMETERS",
            format!("'core.fsmonitor'='{evil}'"),
        )
        .env(PLACE, trap.place.path(""))
        .stdout(Stdio::null())
        .status();
    assert!(ended.unwrap().success());
    assert_eq!(trap.sprung(), None);
    assert_eq!(trap.place.read("new/a.txt"), "two\n");
    assert_eq!(trap.place.read("work/a.txt"), "two\n");
    assert!(!trap.place.path("new/.git/hooks").exists());
}

#[test]
#[ignore = "started by another test of this file, with settings of its own"]
fn the_one_with_settings() {
    let Ok(root) = std::env::var(PLACE) else {
        return;
    };
    let root = PathBuf::from(root);
    for workspace in ["new", "work"] {
        let wanted = wanted_below(&root, "s2");
        wait(prepare(&tool(), &root.join(workspace), &wanted)).unwrap();
    }
}
