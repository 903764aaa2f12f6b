//! Which variables of the daemon's own environment a program may see. It must not add or change any.

const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    // Certificates and proxies of the house: each kind of program has its own names for them.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];
const ALLOWED_PREFIX: &str = "LC_";

/// The allow-list and the named extras, as far as they are set. A value that is not UTF-8 is left out.
pub fn allowed_environment(extra_names: &[String]) -> Vec<(String, String)> {
    let own = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    select(own, extra_names)
}

fn select(
    own: impl Iterator<Item = (String, String)>,
    extra_names: &[String],
) -> Vec<(String, String)> {
    own.filter(|(name, _)| {
        ALLOWED.contains(&name.as_str())
            || name.starts_with(ALLOWED_PREFIX)
            || extra_names.contains(name)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lets_through_only_what_is_named() {
        for (name, passes) in [
            ("PATH", true),
            ("LC_ALL", true),
            ("no_proxy", true),
            ("EXTRA_TOKEN", true),
            ("EXTRA_TOKEN_2", false),
            ("ANTHROPIC_API_KEY", false),
            ("NOTIFY_SOCKET", false),
            ("LISTEN_FDS", false),
            ("INVOCATION_ID", false),
            ("LD_PRELOAD", false),
            ("path", false),
        ] {
            let own = [(name.to_owned(), "value".to_owned())];
            let selected = select(own.into_iter(), &["EXTRA_TOKEN".to_owned()]);
            assert_eq!(!selected.is_empty(), passes, "{name}");
        }
    }
}
