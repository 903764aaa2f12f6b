//! What a repository's own settings may not do to us. Git reads them whatever we say, and an agent, or whoever made the repository, may have
//! put programs there; what we say on top of them wins. Pure: names of settings in, settings out.

/// Over everything that a repository says of itself.
pub const ALWAYS: &[(&str, &str)] = &[
    ("advice.detachedHead", "false"),
    ("commit.gpgSign", "false"),
    ("core.alternateRefsCommand", ""),
    ("core.askPass", ""),
    ("core.editor", "false"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("color.ui", "false"),
    // An empty value empties the list of helpers.
    ("credential.helper", ""),
    ("diff.external", ""),
    // Otherwise git starts itself in repositories inside, by their own settings.
    ("diff.ignoreSubmodules", "dirty"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("i18n.commitEncoding", "UTF-8"),
    ("init.templateDir", ""),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("merge.conflictStyle", "merge"),
    ("merge.renameLimit", "10000"),
    ("protocol.allow", "user"),
    ("protocol.ext.allow", "never"),
    ("push.gpgSign", "false"),
    ("push.recurseSubmodules", "no"),
    ("rerere.enabled", "false"),
    ("safe.bareRepository", "explicit"),
    ("safe.directory", "*"),
    ("submodule.recurse", "false"),
    ("tag.gpgSign", "false"),
    ("uploadpack.packObjectsHook", ""),
];

/// What is said on top of the settings of a repository, given their names as git lists them.
pub fn overrides<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    let mut over: Vec<(String, String)> = ALWAYS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let mut dulled: Vec<(String, String)> = names.flat_map(dull).collect();
    dulled.sort();
    dulled.dedup();
    over.extend(dulled);
    over
}

/// A setting that names a program, made to name none.
fn dull(name: &str) -> Vec<(String, String)> {
    let Some((section, rest)) = name.split_once('.') else {
        return Vec::new();
    };
    let Some((subsection, key)) = rest.rsplit_once('.') else {
        return Vec::new();
    };
    let section = section.to_ascii_lowercase();
    let key = key.to_ascii_lowercase();
    let say = |key: &str, value: &str| (format!("{section}.{subsection}.{key}"), value.to_owned());
    match (section.as_str(), key.as_str()) {
        // With an empty `process` git looks at neither of the other two.
        ("filter", _) => vec![say("process", ""), say("required", "false")],
        ("diff", "command" | "textconv") => vec![say("command", ""), say("textconv", "")],
        // A driver cannot be taken away; one that fails leaves an honest conflict.
        ("merge", "driver") => vec![say("driver", "false")],
        ("credential", "helper") => vec![say("helper", "")],
        ("gpg", "program") => vec![say("program", "false")],
        // Newer gits know hooks by their settings too.
        ("hook", _) => vec![say("command", "true"), say("enabled", "false")],
        _ => Vec::new(),
    }
}

/// A setting that would lead a fetch or a push elsewhere than it was told, or start a program for it.
pub fn redirects(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let (section, key) = (
        name.split('.').next().unwrap_or_default(),
        name.rsplit('.').next().unwrap_or_default(),
    );
    match section {
        "url" => matches!(key, "insteadof" | "pushinsteadof"),
        "core" => matches!(key, "sshcommand" | "gitproxy"),
        "ssh" => key == "variant",
        "remote" => matches!(key, "uploadpack" | "receivepack" | "vcs" | "proxy"),
        "http" => matches!(
            key,
            "proxy" | "sslverify" | "sslcainfo" | "extraheader" | "cookiefile"
        ),
        _ => false,
    }
}

/// What stands in the text of settings that say anything of the above. Names are never escaped there, so a search for them is enough.
const TELLING: &[&str] = &[
    "[credential",
    "[diff",
    "[filter",
    "[gpg",
    "[hook",
    "[http",
    "[include",
    "[merge",
    "[ssh",
    "[url",
    "gitproxy",
    "proxy",
    "receivepack",
    "sshcommand",
    "uploadpack",
    "vcs",
];

/// Whether the text of a repository's settings names no program, leads nowhere and includes no other text: then git need not be asked.
pub fn is_harmless(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    TELLING
        .iter()
        .all(|word| memchr::memmem::find(&text, word.as_bytes()).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_repository_are_made_to_name_none() {
        for (name, expected) in [
            ("core.bare", vec![]),
            ("user.name", vec![]),
            ("remote.origin.url", vec![]),
            (
                "filter.evil.clean",
                vec![
                    ("filter.evil.process", ""),
                    ("filter.evil.required", "false"),
                ],
            ),
            (
                "filter.with.dots=and such.smudge",
                vec![
                    ("filter.with.dots=and such.process", ""),
                    ("filter.with.dots=and such.required", "false"),
                ],
            ),
            (
                "diff.pdf.textconv",
                vec![("diff.pdf.command", ""), ("diff.pdf.textconv", "")],
            ),
            ("merge.ours.driver", vec![("merge.ours.driver", "false")]),
            (
                "credential.https://example.org.helper",
                vec![("credential.https://example.org.helper", "")],
            ),
        ] {
            let expected: Vec<(String, String)> = expected
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            assert_eq!(dull(name), expected, "{name}");
        }
    }

    #[test]
    fn texts_that_git_need_not_be_asked_about() {
        for (text, harmless) in [
            (
                "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = /a\n",
                true,
            ),
            ("[branch \"main\"]\n\tmerge = refs/heads/main\n", true),
            ("[FILTER \"x\"] clean = y", false),
            ("[core] x = 1 [filter.x] clean = y", false),
            ("[includeIf \"gitdir:/\"]\n\tpath = /x", false),
            ("[core]\n\tsshCommand = x", false),
            ("[remote \"origin\"]\n\tuploadPack = x", false),
        ] {
            assert_eq!(is_harmless(text.as_bytes()), harmless, "{text}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_known() {
        for (name, leads) in [
            ("url.https://evil.example/.insteadof", true),
            ("core.sshcommand", true),
            ("http.https://example.org.proxy", true),
            ("remote.origin.uploadpack", true),
            ("http.postbuffer", false),
            ("remote.origin.url", false),
        ] {
            assert_eq!(redirects(name), leads, "{name}");
        }
    }
}
