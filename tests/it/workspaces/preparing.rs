//! Workspaces that are cloned, and cloned before: what a session finds in them, and that the source never changes.

use super::place::{Place, prepare_in, ready, refused, tool, wait, wanted};
use ralphd::model::git::Source;
use ralphd::workspace::git::{Wanted, prepare};

#[test]
fn without_a_repository_there_is_nothing_to_do() {
    let place = Place::new();
    let plain = Wanted {
        source: None,
        ..wanted(&place, "s1")
    };
    let prepared = ready(&place, &plain);
    assert_eq!((prepared.base, prepared.branch), (None, None));
    assert!(!place.path("work/.git").exists());
}

#[test]
fn a_repository_that_an_agent_made_is_used_as_it_is() {
    let place = Place::new();
    place.repository("work");
    let commit = place.commit("work", "a.txt", "one\n");
    place.write("work/new.txt", "new");
    place.write("work/state/handoff.json", "{}");
    let prepared = ready(
        &place,
        &Wanted {
            source: None,
            ..wanted(&place, "s1")
        },
    );
    assert_eq!(prepared.base, Some(commit));
    assert_eq!(prepared.branch.as_deref(), Some("main"));
    assert_eq!(prepared.notes.len(), 1, "{:?}", prepared.notes);
    assert!(
        prepared.notes[0].ends_with(": new.txt"),
        "{:?}",
        prepared.notes
    );
    let refused = refused(&place, &wanted(&place, "s1"));
    assert!(refused.contains("was not cloned from"), "{refused}");
}

#[test]
fn an_empty_workspace_becomes_a_clone_and_the_source_stays_as_it_is() {
    let place = Place::with_source();
    place.write("source/dirty.txt", "not committed");
    let before = place.listing("source");
    place.write("work/state/handoff.json", "{}");
    let prepared = ready(&place, &wanted(&place, "s1"));
    assert_eq!(prepared.base, Some(place.head("source")));
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s1"));
    assert_eq!(prepared.notes, Vec::<String>::new());
    assert_eq!(place.read("work/a.txt"), "one\n");
    assert!(!place.path("work/dirty.txt").exists());
    assert_eq!(place.git("work", &["status", "--porcelain"]), "");
    assert_eq!(
        place.git("work", &["symbolic-ref", "HEAD"]),
        "refs/heads/agent/work-s1"
    );
    let left: Vec<_> = std::fs::read_dir(place.path("work"))
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert_eq!(place.listing("source"), before);
    assert_eq!(ready(&place, &wanted(&place, "s1")), prepared);
    place.git("work", &["fsck", "--strict"]);
}

#[test]
fn every_kind_of_reference() {
    let place = Place::with_source();
    let first = place.head("source");
    place.git("source", &["tag", "light"]);
    place.git("source", &["tag", "-a", "-m", "x", "heavy"]);
    place.git("source", &["checkout", "-q", "-b", "feature/x"]);
    let second = place.commit("source", "b.txt", "two\n");
    place.git("source", &["checkout", "-q", "main"]);
    let third = place.commit("source", "c.txt", "three\n");
    for (number, (reference, commit, own)) in [
        (None, &third, Some("main")),
        (Some("HEAD"), &third, Some("main")),
        (Some("main"), &third, Some("main")),
        (Some("feature/x"), &second, Some("feature/x")),
        (Some("refs/heads/feature/x"), &second, Some("feature/x")),
        (Some("light"), &first, None),
        (Some("heavy"), &first, None),
        (Some(second.as_str()), &second, None),
        (Some(&second[..10]), &second, None),
    ]
    .into_iter()
    .enumerate()
    {
        for shallow in [false, true] {
            if shallow && reference == Some(&second[..10]) {
                continue;
            }
            let wanted = Wanted {
                reference: reference.map(str::to_owned),
                shallow,
                ..wanted(&place, "s1")
            };
            let on_branch = prepare_in(&place, &format!("a{number}{shallow}"), &wanted).unwrap();
            assert_eq!(on_branch.base.as_ref(), Some(commit), "{reference:?}");
            assert_eq!(on_branch.branch.as_deref(), Some("agent/work-s1"));
            let name = format!("b{number}{shallow}");
            let there = prepare_in(
                &place,
                &name,
                &Wanted {
                    branch: None,
                    ..wanted
                },
            )
            .unwrap();
            assert_eq!(there.branch.as_deref(), own, "{reference:?}");
            assert_eq!(place.head(&name), *commit, "{reference:?}");
            assert_eq!(place.git(&name, &["status", "--porcelain"]), "");
            let commits = place.git(&name, &["rev-list", "--count", "HEAD"]);
            let whole = place.git("source", &["rev-list", "--count", commit]);
            assert_eq!(commits, if shallow { "1".to_owned() } else { whole });
        }
    }
}

#[test]
fn references_and_sources_that_are_not_there() {
    let place = Place::with_source();
    place.git("source", &["branch", "other"]);
    let named = |reference: &str| Wanted {
        reference: Some(reference.to_owned()),
        ..wanted(&place, "s1")
    };
    for (wanted, why) in [
        (
            named("nothing"),
            "has no branch, tag or commit \"nothing\"; its branches are main, other",
        ),
        (
            named("0123456789abcdef0123456789abcdef01234567"),
            "has no branch, tag or commit \"0123",
        ),
        (named("--upload-pack=x"), "must not start with '-'"),
        (
            Wanted {
                source: Some(Source::Path(place.path("missing"))),
                ..wanted(&place, "s1")
            },
            "cannot clone",
        ),
        (
            Wanted {
                source: Some(Source::Path(place.path("home"))),
                ..wanted(&place, "s1")
            },
            "does not appear to be a git repository",
        ),
    ] {
        let refused = refused(&place, &wanted);
        assert!(refused.contains(why), "{refused}");
        assert_eq!(std::fs::read_dir(place.path("work")).unwrap().count(), 0);
    }
    place.write("work/notes.txt", "mine");
    let refused = refused(&place, &wanted(&place, "s1"));
    assert!(
        refused.contains("is not empty and no git repository"),
        "{refused}"
    );
    assert_eq!(place.read("work/notes.txt"), "mine");
}

#[test]
fn a_source_without_commits() {
    let place = Place::new();
    place.repository("source");
    for shallow in [false, true] {
        let wanted = Wanted {
            shallow,
            ..wanted(&place, "s1")
        };
        let name = format!("work{shallow}");
        let prepared = prepare_in(&place, &name, &wanted).unwrap();
        assert_eq!(
            (prepared.base, prepared.branch.as_deref()),
            (None, Some("agent/work-s1"))
        );
        place.commit(&name, "a.txt", "first");
    }
}

#[test]
fn a_source_with_nothing_checked_out() {
    let place = Place::with_source();
    place.git("source", &["symbolic-ref", "HEAD", "refs/heads/not-yet"]);
    let refused = refused(&place, &wanted(&place, "s1"));
    assert!(
        refused.contains("say which ref: its branches are main"),
        "{refused}"
    );
}

#[test]
fn objects_named_by_the_longer_hash() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("source")).unwrap();
    place.git("source", &["init", "-q", "--object-format=sha256", "."]);
    let commit = place.commit("source", "a.txt", "one\n");
    for (name, shallow) in [("whole", false), ("shallow", true)] {
        let wanted = Wanted {
            shallow,
            ..wanted(&place, "s1")
        };
        let prepared = prepare_in(&place, name, &wanted).unwrap();
        assert_eq!(prepared.base.as_ref(), Some(&commit));
    }
}

#[test]
fn by_url_and_from_a_bare_repository() {
    let place = Place::with_source();
    place.git("source", &["clone", "-q", "--bare", ".", "../bare.git"]);
    let url = format!("file://{}", place.path("source").display());
    for (name, source) in [
        ("by-url", Source::read(&url).unwrap()),
        ("from-bare", Source::Path(place.path("bare.git"))),
    ] {
        let wanted = Wanted {
            source: Some(source),
            ..wanted(&place, "s1")
        };
        prepare_in(&place, name, &wanted).unwrap();
        assert_eq!(place.read(&format!("{name}/a.txt")), "one\n");
    }
}

#[test]
fn a_source_that_borrows_objects_is_copied_whole() {
    let place = Place::with_source();
    place.git("source", &["clone", "-q", "--shared", ".", "../borrower"]);
    let source = Some(Source::Path(place.path("borrower")));
    ready(
        &place,
        &Wanted {
            source,
            ..wanted(&place, "s1")
        },
    );
    assert!(!place.path("work/.git/objects/info/alternates").exists());
    std::fs::remove_dir_all(place.path("source")).unwrap();
    std::fs::remove_dir_all(place.path("borrower")).unwrap();
    place.git("work", &["fsck", "--strict"]);
}

#[test]
fn a_named_workspace_goes_forward_where_nobody_is_in_the_way() {
    let place = Place::with_source();
    ready(&place, &wanted(&place, "s1"));
    let news = place.commit("source", "b.txt", "two\n");
    let prepared = ready(&place, &wanted(&place, "s1"));
    assert_ne!(
        prepared.base,
        Some(news.clone()),
        "in the midst of a session"
    );
    let prepared = ready(&place, &wanted(&place, "s2"));
    assert_eq!(prepared.base, Some(news));
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s1"));
    assert_eq!(prepared.notes, ["brought forward by 1 commit of main"]);
    assert_eq!(place.read("work/b.txt"), "two\n");
    assert_eq!(place.git("work", &["status", "--porcelain"]), "");
}

#[test]
fn own_commits_stay_and_a_divergence_is_told() {
    let place = Place::with_source();
    ready(&place, &wanted(&place, "s1"));
    let own = place.commit("work", "mine.txt", "mine");
    let prepared = ready(&place, &wanted(&place, "s2"));
    assert_eq!(
        (prepared.base, prepared.notes),
        (Some(own.clone()), Vec::new())
    );
    place.commit("source", "b.txt", "two\n");
    place.commit("source", "b.txt", "three\n");
    let prepared = ready(&place, &wanted(&place, "s3"));
    assert_eq!(prepared.base, Some(own));
    assert_eq!(prepared.notes, ["diverged from main: ahead 1, behind 2"]);
}

#[test]
fn uncommitted_work_stays_and_is_told() {
    let place = Place::with_source();
    ready(&place, &wanted(&place, "s1"));
    place.write("work/a.txt", "changed");
    place.write("work/new.txt", "new");
    place.commit("source", "a.txt", "two\n");
    let prepared = ready(&place, &wanted(&place, "s2"));
    assert!(
        prepared.notes[0].ends_with(": a.txt, new.txt"),
        "{:?}",
        prepared.notes
    );
    assert_eq!(
        prepared.notes[1],
        "behind main by 1 commit, and not brought forward"
    );
    assert_eq!(place.read("work/a.txt"), "changed");
    let other = Wanted {
        reference: Some("main".to_owned()),
        ..wanted(&place, "s3")
    };
    let refused = refused(&place, &other);
    assert!(
        refused.contains("uncommitted changes (a.txt, new.txt)"),
        "{refused}"
    );
}

#[test]
fn another_reference_gets_a_branch_of_its_own_and_the_old_one_stays() {
    let place = Place::with_source();
    ready(&place, &wanted(&place, "s1"));
    let own = place.commit("work", "mine.txt", "mine");
    place.git("source", &["checkout", "-q", "-b", "feature"]);
    let feature = place.commit("source", "f.txt", "feature");
    place.git("source", &["tag", "late"]);
    let to = |reference: &str, session| Wanted {
        reference: Some(reference.to_owned()),
        ..wanted(&place, session)
    };
    let prepared = ready(&place, &to("feature", "s2"));
    assert_eq!(prepared.base, Some(feature.clone()));
    assert_eq!(prepared.branch.as_deref(), Some("agent/work-s2"));
    assert_eq!(
        prepared.notes,
        ["the branch agent/work-s1 is kept as it was"]
    );
    assert_eq!(place.git("work", &["rev-parse", "agent/work-s1"]), own);
    assert!(!place.path("work/mine.txt").exists());
    let prepared = ready(&place, &to("late", "s3"));
    assert_eq!(
        (prepared.base, prepared.branch.as_deref()),
        (Some(feature), Some("agent/work-s3"))
    );
    let refused = refused(&place, &to("nothing", "s4"));
    assert!(
        refused.contains("its branches are feature, main"),
        "{refused}"
    );
    // The branch of a session that was here before is picked up again.
    let prepared = ready(&place, &to("main", "s1"));
    assert_eq!(
        (prepared.base, prepared.branch.as_deref()),
        (Some(own), Some("agent/work-s1"))
    );
}

#[test]
fn work_on_no_branch_keeps_a_name() {
    let place = Place::with_source();
    let first = place.head("source");
    let at = |reference: &str, session| Wanted {
        reference: Some(reference.to_owned()),
        branch: None,
        ..wanted(&place, session)
    };
    ready(&place, &at(&first, "s1"));
    let own = place.commit("work", "mine.txt", "mine");
    assert_eq!(
        ready(&place, &at("main", "s2")).branch.as_deref(),
        Some("main")
    );
    let kept = place.git(
        "work",
        &["for-each-ref", "--contains", &own, "--format=%(refname)"],
    );
    assert_eq!(kept, format!("refs/ralphd/left/{own}"));
}

#[test]
fn another_source_is_refused_and_one_out_of_reach_is_told() {
    let place = Place::with_source();
    ready(&place, &wanted(&place, "s1"));
    place.repository("other");
    let other = Some(Source::Path(place.path("other")));
    let refused = refused(
        &place,
        &Wanted {
            source: other,
            ..wanted(&place, "s2")
        },
    );
    assert!(refused.contains("was cloned from"), "{refused}");
    std::fs::rename(place.path("source"), place.path("moved")).unwrap();
    let prepared = ready(&place, &wanted(&place, "s2"));
    assert!(
        prepared.notes[0].contains("could not be fetched"),
        "{:?}",
        prepared.notes
    );
    assert!(prepared.base.is_some());
}

#[test]
fn a_shallow_workspace_goes_forward_as_well() {
    let place = Place::with_source();
    place.commit("source", "b.txt", "two\n");
    let shallow = |session| Wanted {
        shallow: true,
        ..wanted(&place, session)
    };
    ready(&place, &shallow("s1"));
    assert_eq!(place.git("work", &["rev-list", "--count", "HEAD"]), "1");
    let news = place.commit("source", "b.txt", "three\n");
    assert_eq!(ready(&place, &shallow("s2")).base, Some(news));
    assert_eq!(place.git("work", &["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn letters_are_no_part_of_the_work() {
    for (file, excluded) in [
        ("a.txt", "/state/\n"),
        (
            "state/kept.txt",
            "/state/handoff.json\n/state/question.json\n/state/spawn.json\n",
        ),
    ] {
        let place = Place::with_source();
        place.commit("source", file, "x");
        ready(&place, &wanted(&place, "s1"));
        assert_eq!(place.read("work/.git/info/exclude"), excluded);
        place.write("work/state/handoff.json", "{}");
        assert_eq!(place.git("work", &["status", "--porcelain"]), "");
        ready(&place, &wanted(&place, "s2"));
        assert_eq!(place.read("work/.git/info/exclude"), excluded);
    }
    let place = Place::with_source();
    place.commit("source", "state", "a file");
    let refused = refused(&place, &wanted(&place, "s1"));
    assert!(refused.contains("a file \"state\""), "{refused}");
}

#[test]
fn what_is_not_fetched_is_told() {
    let place = Place::with_source();
    place.commit("source", "sub/.gitattributes", "*.bin filter=lfs\n");
    let modules = "[submodule \"x\"]\n\tpath = libs/x\n\turl = https://example.org/x\n";
    place.commit("source", ".gitmodules", modules);
    let prepared = ready(&place, &wanted(&place, "s1"));
    let expected = [
        "submodules are not fetched: libs/x",
        "files under Git LFS are pointers here, their content is not fetched",
    ];
    assert_eq!(prepared.notes, expected);
}

#[test]
fn many_clones_of_one_source_at_once() {
    let place = Place::with_source();
    let (tool, wanted) = (tool(), wanted(&place, "s1"));
    let paths: Vec<_> = (0..8)
        .map(|number| place.path(&format!("work{number}")))
        .collect();
    let all = paths.iter().map(|path| prepare(&tool, path, &wanted));
    for prepared in wait(futures_util::future::join_all(all)) {
        assert_eq!(prepared.unwrap().base, Some(place.head("source")));
    }
}
