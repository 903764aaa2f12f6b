//! How all pages look, and to whom: on a phone, by night, by keyboard, to a screen reader.

use super::browser::browser;
use super::{DONE, ENDLESS, showcase};
use crate::support::{Daemon, Site};

/// A scenario that goes through all pages.
fn look(scenario: &str) {
    let Some(browser) = browser() else { return };
    let (stage, pages) = showcase::open();
    browser.play(scenario, &stage, &[("pages", &pages)]);
}

#[test]
fn everything_fits_a_phone_and_can_be_tapped() {
    look("phone");
}

#[test]
fn pages_are_light_by_day_and_dark_by_night() {
    look("colours");
}

#[test]
fn axe_finds_nothing_serious() {
    look("accessible");
}

#[test]
fn all_pages_have_landmarks_titles_and_one_heading() {
    look("outline");
}

#[test]
fn the_keyboard_alone_is_enough() {
    let Some(browser) = browser() else { return };
    let site = Site::new().agent("worker", ENDLESS).agent("quick", DONE);
    let daemon = Daemon::start(site);
    daemon.drop_file("roses.md", "---\nagent: quick\n---\nWater the roses.");
    daemon.drop_file("fence.md", "Paint the fence.");
    daemon.ended("roses");
    daemon.in_state("fence", "executing");
    browser.play("keyboard", &daemon, &[]);
}
