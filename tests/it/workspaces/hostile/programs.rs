//! Programs that settings, attributes and hooks of a repository name.

use super::Trap;
use crate::workspaces::place::wanted;
use ralphd::workspace::git::Wanted;

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
