//! The settings of the user and of whoever started us.

use super::Trap;
use crate::workspaces::place::{tool, wait, wanted_below};
use ralphd::workspace::git::prepare;
use std::path::PathBuf;
use std::process::{Command, Stdio};

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
            "workspaces::hostile::surroundings::the_one_with_settings",
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
