//! Where files are looked for, and from where paths in them begin.

use super::*;

#[test]
fn a_relative_key_file_is_left_for_the_credentials_directory() {
    let key = |file: &str| {
        let text = format!("[agents.a]\npreset = 'claude'\napi_key_file = '{file}'");
        let config = read(&text, &[("HOME", "/home/u")]).unwrap();
        let agent = &config.agents["a"];
        assert_eq!(agent.key_variable(), Some("ANTHROPIC_API_KEY"));
        agent.api_key_file.clone().unwrap()
    };
    assert_eq!(key("anthropic"), Path::new("anthropic"));
    assert_eq!(key("~/a.key"), Path::new("/home/u/a.key"));
    assert_eq!(key("/etc/a.key"), Path::new("/etc/a.key"));
}

#[test]
fn relative_paths_begin_at_the_file() {
    let text = "state = '~/s'\n[prompts]\ndir = 'p/q'\n[workflows]\ndir = 'w'\n[[inboxes]]\npath = '/abs'\n[[inboxes]]\npath = '../in'\n";
    let config = read(text, &[("HOME", "/home/u")]).unwrap();
    assert_eq!(config.state.as_deref(), Some(Path::new("/home/u/s")));
    assert_eq!(
        config.prompts.dir.as_deref(),
        Some(Path::new("/etc/ralphd/p/q"))
    );
    assert_eq!(
        config.workflows.dir.as_deref(),
        Some(Path::new("/etc/ralphd/w"))
    );
    let inboxes: Vec<_> = config
        .inboxes
        .iter()
        .map(|inbox| inbox.path.to_str().unwrap())
        .collect();
    assert_eq!(inboxes, ["/abs", "/etc/ralphd/../in"]);
}

#[test]
fn the_first_file_that_exists_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let write = |name: &str, parallel: u32| {
        std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        std::fs::write(at(name), format!("[queue]\nmax_parallel = {parallel}\n")).unwrap();
    };
    write("flag.toml", 11);
    write("named.toml", 12);
    write("xdg/ralphd/ralphd.toml", 13);
    write("home/.config/ralphd/ralphd.toml", 14);
    let environment: Environment = [
        ("RALPHD_CONFIG", at("named.toml")),
        ("XDG_CONFIG_HOME", at("xdg")),
        ("HOME", at("home")),
    ]
    .into_iter()
    .collect();
    let without = |names: &[&str]| -> Environment {
        let all = [("XDG_CONFIG_HOME", at("xdg")), ("HOME", at("home"))];
        all.into_iter()
            .filter(|(name, _)| !names.contains(name))
            .collect()
    };
    for (flag, environment, parallel) in [
        (Some(at("flag.toml")), environment.clone(), 11),
        (None, environment, 12),
        (None, without(&[]), 13),
        (None, without(&["XDG_CONFIG_HOME"]), 14),
    ] {
        let loaded = Config::load(flag.as_deref(), &environment).unwrap();
        assert_eq!(loaded.config.queue.max_parallel, parallel);
        assert!(loaded.file.unwrap().is_absolute());
    }
}

#[test]
fn a_named_file_must_be_readable() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("none.toml");
    let environment: Environment = [("RALPHD_CONFIG", &missing)].into_iter().collect();
    for error in [
        Config::load(Some(&missing), &Environment::default()).unwrap_err(),
        Config::load(None, &environment).unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            format!("{}: there is no such file", missing.display())
        );
    }
    let binary = directory.path().join("binary.toml");
    std::fs::write(&binary, [0xff, 0xfe]).unwrap();
    for path in [directory.path(), &binary] {
        let error = Config::load(Some(path), &Environment::default()).unwrap_err();
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }
}

#[test]
fn the_state_directory_is_found() {
    let all = [
        ("STATE_DIRECTORY", "/sd:/other"),
        ("XDG_STATE_HOME", "/xdg"),
        ("HOME", "/home/u"),
    ];
    for (flag, configured, variables, expected) in [
        (Some("/flag"), Some("/conf"), &all[..], Some("/flag")),
        (None, Some("/conf"), &all[..], Some("/conf")),
        (None, None, &all[..], Some("/sd")),
        (None, None, &all[1..], Some("/xdg/ralphd")),
        (None, None, &all[2..], Some("/home/u/.local/state/ralphd")),
        (
            None,
            None,
            &[("XDG_STATE_HOME", "relative"), ("HOME", "/h")][..],
            Some("/h/.local/state/ralphd"),
        ),
        (None, None, &[("HOME", "")][..], None),
    ] {
        let environment = variables.iter().copied().collect();
        let found =
            paths::state_directory(flag.map(Path::new), configured.map(Path::new), &environment);
        assert_eq!(found.ok(), expected.map(PathBuf::from));
    }
}
