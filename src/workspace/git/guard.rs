//! What a repository's own settings may not do to us. Git reads them whatever we say, and an agent, or whoever made the repository, may have
//! put programs there; what we say on top of them wins. Pure: names of settings in, settings out.

/// Over everything that a repository says of itself.
pub const ALWAYS: &[(&str, &str)] = &[
    ("advice.detachedHead", "false"),
    ("commit.gpgSign", "false"),
    ("core.alternateRefsCommand", ""),
    ("core.askPass", ""),
    // Else the user's own files of these kinds are read.
    ("core.attributesFile", "/dev/null"),
    ("core.editor", "false"),
    ("core.excludesFile", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    // Spellings of `.git` that other systems take for it.
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("core.quotePath", "false"),
    ("color.ui", "false"),
    // An empty value empties the list of helpers.
    ("credential.helper", ""),
    // A submodule's own settings may name programs, and git would go there to look. What `.gitmodules` says is still stronger:
    // calls that look at the tree say it once more in their words.
    ("diff.ignoreSubmodules", "dirty"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("gpg.program", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("init.templateDir", ""),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("merge.conflictStyle", "merge"),
    ("merge.renameLimit", "10000"),
    ("merge.verifySignatures", "false"),
    ("protocol.allow", "user"),
    ("protocol.ext.allow", "never"),
    ("push.gpgSign", "false"),
    ("push.recurseSubmodules", "no"),
    ("rerere.enabled", "false"),
    ("safe.bareRepository", "explicit"),
    ("safe.directory", "*"),
    ("status.submoduleSummary", "false"),
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
        // Not said always: a diff dies of it, unless its words say `--no-ext-diff`.
        let external = name.eq_ignore_ascii_case("diff.external");
        return external
            .then(|| (name.to_owned(), String::new()))
            .into_iter()
            .collect();
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
        // Options, of which a strategy is a program.
        ("branch", "mergeoptions") => vec![say("mergeoptions", "")],
        ("credential", "helper") => vec![say("helper", "")],
        ("gpg", "program") => vec![say("program", "false")],
        // Newer gits know hooks by their settings too.
        ("hook", _) => vec![say("command", "true"), say("enabled", "false")],
        _ => Vec::new(),
    }
}

/// What may be said of HTTP without leading anywhere.
const HARMLESS_HTTP: &[&str] = &[
    "lowspeedlimit",
    "lowspeedtime",
    "maxrequests",
    "minsessions",
    "postbuffer",
    "useragent",
    "version",
];

/// A setting that would lead a fetch or a push elsewhere than it was told, or start a program for it.
pub fn redirects(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let (section, rest) = name.split_once('.').unwrap_or((&name, ""));
    let (subsection, key) = rest.rsplit_once('.').unwrap_or(("", rest));
    match section {
        "url" => matches!(key, "insteadof" | "pushinsteadof"),
        "core" => matches!(key, "sshcommand" | "gitproxy"),
        "ssh" => key == "variant",
        "http" => !HARMLESS_HTTP.contains(&key),
        "fetch" => key == "bundleuri",
        // A remote may be named like the address that is told, and its settings then hold for it.
        "remote" => {
            subsection.contains(['/', ':'])
                || matches!(key, "uploadpack" | "receivepack" | "vcs" | "proxy")
        }
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
    "bundleuri",
    "gitproxy",
    "proxy",
    "receivepack",
    "sshcommand",
    "uploadpack",
    "vcs",
];

/// Any other remote may be named like an address.
const REMOTE: &[u8] = b"[remote";
const ORIGIN: &[u8] = b"[remote \"origin\"]";

/// Whether the text of a repository's settings names no program, leads nowhere and includes no other text: then git need not be asked.
pub fn is_harmless(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    let mut remotes = memchr::memmem::find_iter(&text, REMOTE);
    let plain_remotes = remotes.all(|at| text[at..].starts_with(ORIGIN));
    plain_remotes
        && TELLING
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
            ("diff.external", vec![("diff.external", "")]),
            ("merge.ours.driver", vec![("merge.ours.driver", "false")]),
            (
                "branch.a/b.mergeOptions",
                vec![("branch.a/b.mergeoptions", "")],
            ),
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
            ("[remote \"https://example.org/x\"]\n\turl = y", false),
            ("[fetch]\n\tbundleURI = x", false),
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
            ("http.postbuffer", false),
            ("http.curloptresolve", true),
            ("fetch.bundleuri", true),
            ("remote.origin.url", false),
            ("remote.origin.fetch", false),
            ("remote.origin.uploadpack", true),
            ("remote.https://example.org/x.url", true),
            ("remote.me@example.org:x.url", true),
        ] {
            assert_eq!(redirects(name), leads, "{name}");
        }
    }
}
