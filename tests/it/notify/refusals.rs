//! What is refused: names that nobody configured, and addresses that only the daemon could reach, by whatever spelling.

use super::{HERE, calling_back, done_at_once, shown};
use crate::support::receiver::Receiver;
use crate::support::{Daemon, wait_for};

#[test]
fn an_unknown_name_is_refused_with_the_known_ones() {
    let site = done_at_once().configure("[notify.ops]\nkind = \"exec\"\ncommand = [\"true\"]\n");
    let ran = site.ralphd(&["submit", "--notify", "opps", "--objective", "Go."]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr
            .contains("notify: there is no [notify.opps], only ops; did you mean ops?"),
        "{ran:?}"
    );
}

#[test]
fn addresses_of_ones_own_are_refused_at_submission() {
    let site = done_at_once();
    for url in [
        "http://127.0.0.1:9000/done",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://0.0.0.0/",
        "http://10.0.0.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://224.0.0.1/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://localhost/",
        "http://api.localhost:8080/",
        "http://me:word@example.org/",
        "ftp://example.org/",
    ] {
        let file = calling_back(url);
        std::fs::write(site.file("job.md"), file).unwrap();
        let path = site.file("job.md").display().to_string();
        let ran = site.ralphd(&["submit", &path]);
        assert_eq!(ran.code, Some(2), "{url}: {ran:?}");
        assert!(ran.stderr.contains("callback_url"), "{url}: {ran:?}");
    }
    assert_eq!(site.count("SELECT count(*) FROM sessions"), 0);
}

#[test]
fn and_again_at_each_delivery() {
    let receiver = Receiver::answering(|_, _| 500.into());
    let mut daemon = Daemon::start(done_at_once().configure(HERE));
    daemon.drop_file("door.md", &calling_back(&receiver.url("/done")));
    let session = daemon.ended("door");
    wait_for("a try", || (!receiver.received().is_empty()).then_some(()));
    daemon.kill9();
    let config = daemon.read("ralphd.toml");
    let strict = config.replace("allow_private = true", "allow_private = false");
    std::fs::write(daemon.file("ralphd.toml"), strict).unwrap();
    let before = receiver.received().len();
    daemon.restart();
    let refused = "refused: 127.0.0.1 is a loopback address; set allow_private = true under [callbacks] to allow it";
    wait_for("the refusal", || {
        let error = shown(&daemon, &session.id)[0]["last_error"].clone();
        (error == refused).then_some(())
    });
    assert_eq!(receiver.received().len(), before);
}

#[test]
fn doctor_looks_whether_secrets_are_there() {
    let site = done_at_once().configure(
        "[notify.ops]\nkind = \"webhook\"\nurl = \"https://a.example/\"\nsecret_env = \"NOT_THERE\"\n[notify.me]\nkind = \"exec\"\ncommand = [\"true\"]\n",
    );
    let ran = site.ralphd(&["doctor"]);
    let line = |name: &str| {
        let found = ran.stdout.lines().find(|line| line.contains(name));
        found.unwrap_or_default().to_owned()
    };
    let ops = line("notify.ops");
    assert!(
        ops.starts_with("FAIL") && ops.contains("the variable NOT_THERE is not set"),
        "{ran:?}"
    );
    assert!(line("notify.me").starts_with("ok"), "{ran:?}");
}
