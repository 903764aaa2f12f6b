//! Published vectors, and everything else by which a delivery is judged before it is read.

use super::headers;
use crate::model::webhook::{Headers, Refusal, Scheme, Secret, identity, payload, signature};
use serde_json::json;

fn checked(
    scheme: Scheme,
    secrets: &[&str],
    pairs: &[(&str, &str)],
    body: &str,
    at_ms: i64,
) -> Result<(), Refusal> {
    let secrets: Vec<Secret> = secrets
        .iter()
        .map(|text| Secret::new(scheme, text).unwrap())
        .collect();
    let headers = headers(pairs);
    signature::check(
        scheme,
        &secrets,
        &Headers::new(&headers),
        body.as_bytes(),
        at_ms,
    )
}

/// The secret and signature that GitHub's documentation gives for testing.
const GITHUB_SECRET: &str = "It's a Secret to Everybody";
const GITHUB_BODY: &str = "Hello, World!";
const GITHUB_SIGNATURE: &str =
    "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

#[test]
fn githubs_vector() {
    let check = |secrets: &[&str], signature: &str, body: &str| {
        checked(
            Scheme::Github,
            secrets,
            &[("x-hub-signature-256", signature)],
            body,
            0,
        )
    };
    assert_eq!(
        check(&[GITHUB_SECRET], GITHUB_SIGNATURE, GITHUB_BODY),
        Ok(())
    );
    assert_eq!(
        check(
            &["another one", GITHUB_SECRET],
            GITHUB_SIGNATURE,
            GITHUB_BODY
        ),
        Ok(()),
        "while the secret is changed"
    );
    let upper = GITHUB_SIGNATURE.to_uppercase().replace("SHA256", "sha256");
    for (secrets, signature, body) in [
        (&["another one"][..], GITHUB_SIGNATURE, GITHUB_BODY),
        (&[], GITHUB_SIGNATURE, GITHUB_BODY),
        (&[GITHUB_SECRET], GITHUB_SIGNATURE, "Hello, World"),
        (&[GITHUB_SECRET], &upper, GITHUB_BODY),
        (&[GITHUB_SECRET], &GITHUB_SIGNATURE[7..], GITHUB_BODY),
        (&[GITHUB_SECRET], &GITHUB_SIGNATURE[..70], GITHUB_BODY),
        (&[GITHUB_SECRET], "sha256=", GITHUB_BODY),
        (
            &[GITHUB_SECRET],
            &GITHUB_SIGNATURE.replace("sha256", "sha1"),
            GITHUB_BODY,
        ),
    ] {
        assert_eq!(
            check(secrets, signature, body),
            Err(Refusal::BadSignature),
            "{signature}"
        );
    }
    let missing = checked(
        Scheme::Github,
        &[GITHUB_SECRET],
        &[("x-hub-signature", "sha1=1")],
        "",
        0,
    );
    assert!(
        matches!(missing, Err(Refusal::MissingSignature(words)) if words.contains("X-Hub-Signature-256"))
    );
    let twice = [("x-hub-signature-256", GITHUB_SIGNATURE); 2];
    let twice = checked(Scheme::Github, &[GITHUB_SECRET], &twice, GITHUB_BODY, 0);
    assert!(matches!(twice, Err(Refusal::MissingSignature(_))));
}

/// The vector of the reference implementations of Standard Webhooks.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const TIMESTAMP: &str = "1614265330";
const BODY: &str = r#"{"test": 2432232314}"#;
const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const AT_MS: i64 = 1_614_265_330_000;

fn standard(id: &str, timestamp: &str, signature: &str, at_ms: i64) -> Result<(), Refusal> {
    let pairs = [
        ("webhook-id", id),
        ("webhook-timestamp", timestamp),
        ("webhook-signature", signature),
    ];
    checked(Scheme::Standard, &[SECRET], &pairs, BODY, at_ms)
}

#[test]
fn the_vector_of_standard_webhooks() {
    let window = i64::try_from(signature::WINDOW_MS).unwrap();
    let wrong = "v1,AAAM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    for (signature, at_ms, expected) in [
        (SIGNATURE.to_owned(), AT_MS, Ok(())),
        (SIGNATURE.to_owned(), AT_MS + window, Ok(())),
        (SIGNATURE.to_owned(), AT_MS - window, Ok(())),
        (
            SIGNATURE.to_owned(),
            AT_MS + window + 1,
            Err(Refusal::Stale),
        ),
        (
            SIGNATURE.to_owned(),
            AT_MS - window - 1,
            Err(Refusal::Stale),
        ),
        (
            format!("{wrong} v2,{} v1a,x {SIGNATURE}", &SIGNATURE[3..]),
            AT_MS,
            Ok(()),
        ),
        (wrong.to_owned(), AT_MS, Err(Refusal::BadSignature)),
        // The signature comes first: whether a forged one is stale is nobody's business.
        (wrong.to_owned(), 0, Err(Refusal::BadSignature)),
        ("v1,".to_owned(), AT_MS, Err(Refusal::BadSignature)),
        (
            SIGNATURE.replace("OE=", "OF="),
            AT_MS,
            Err(Refusal::BadSignature),
        ),
        (
            SIGNATURE.replace('=', ""),
            AT_MS,
            Err(Refusal::BadSignature),
        ),
    ] {
        assert_eq!(
            standard(ID, TIMESTAMP, &signature, at_ms),
            expected,
            "{signature} {at_ms}"
        );
    }
    let bare = SECRET.strip_prefix("whsec_").unwrap();
    let pairs = [
        ("webhook-id", ID),
        ("webhook-timestamp", TIMESTAMP),
        ("webhook-signature", SIGNATURE),
    ];
    assert_eq!(
        checked(Scheme::Standard, &[bare], &pairs, BODY, AT_MS),
        Ok(())
    );
}

#[test]
fn what_a_standard_webhook_must_have() {
    for (id, timestamp, signature, words) in [
        ("", TIMESTAMP, SIGNATURE, "webhook-id is empty"),
        (ID, "", SIGNATURE, "webhook-timestamp is empty"),
        (ID, TIMESTAMP, "", "webhook-signature is empty"),
        (ID, TIMESTAMP, "v1a,abc v2,def", "no v1 signature; v1a"),
        (ID, TIMESTAMP, &SIGNATURE[3..], "no v1 signature"),
        (ID, "+1614265330", SIGNATURE, "seconds"),
        (ID, "1614265330.0", SIGNATURE, "seconds"),
        (ID, "99999999999999999999", SIGNATURE, "seconds"),
        ("a.b", TIMESTAMP, SIGNATURE, "full stop"),
    ] {
        match standard(id, timestamp, signature, AT_MS) {
            Err(Refusal::MissingSignature(said)) => assert!(said.contains(words), "{said}"),
            other => panic!("{words}: {other:?}"),
        }
    }
    for (text, words) in [
        ("whsec_", "too short"),
        ("whsec_dGVzdA==", "too short"),
        ("whsec_not base64!", "base64"),
        ("whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v1a"),
    ] {
        let refused = Secret::new(Scheme::Standard, text).unwrap_err();
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn bearers() {
    let check = |value: &str| {
        checked(
            Scheme::Bearer,
            &["old-token", "new-token"],
            &[("authorization", value)],
            "",
            0,
        )
    };
    for good in ["Bearer new-token", "bearer old-token", "Bearer  new-token "] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
    for bad in [
        "Bearer ",
        "Bearer new-toke",
        "Bearer new-token-",
        "Bearer NEW-TOKEN",
    ] {
        assert!(check(bad).is_err(), "{bad}");
    }
    for other in ["new-token", "Basic new-token", ""] {
        assert!(
            matches!(check(other), Err(Refusal::MissingSignature(_))),
            "{other}"
        );
    }
}

#[test]
fn without_a_secret_only_neighbours_are_heard() {
    for (loopback, pairs, admitted) in [
        (true, &[("content-type", "application/json")][..], true),
        (false, &[], false),
        (true, &[("origin", "https://example.org")], false),
        (true, &[("x-forwarded-for", "192.0.2.1")], false),
        (true, &[("sec-fetch-site", "cross-site")], false),
    ] {
        let headers = headers(pairs);
        let headers = Headers::new(&headers);
        assert_eq!(
            Scheme::None.admits(loopback, &headers),
            admitted,
            "{pairs:?}"
        );
        assert!(Scheme::Github.admits(loopback, &headers));
    }
}

#[test]
fn bodies_in_either_form() {
    let read = |kind: &str, body: &str| {
        let headers = headers(&[("content-type", kind)]);
        payload::read(&Headers::new(&headers), body.as_bytes())
    };
    let form = "application/x-www-form-urlencoded; charset=utf-8";
    let expected = Ok(json!({"a": "b c&d"}));
    assert_eq!(read("application/json", r#"{"a": "b c&d"}"#), expected);
    assert_eq!(
        read(form, "x=1&payload=%7B%22a%22%3A+%22b%20c%26d%22%7D"),
        expected
    );
    assert_eq!(read(form, r#"{"a": "b c&d"}"#), expected, "curl -d");
    assert_eq!(read("text/plain", " \n"), Ok(json!({})));
    for (kind, body) in [
        (form, "x=1"),
        ("application/json", "{"),
        ("application/json", "a=b"),
    ] {
        assert!(
            matches!(read(kind, body), Err(Refusal::Malformed(_))),
            "{body}"
        );
    }
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(matches!(
        read("application/json", &deep),
        Err(Refusal::Malformed(_))
    ));
}

#[test]
fn a_delivery_is_known_by_its_id_and_what_github_signs_by_its_body_too() {
    let of = |scheme, pairs: &[(&str, &str)]| {
        let headers = headers(pairs);
        identity::of(scheme, &Headers::new(&headers), b"{}")
    };
    let hash = "body:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let github = of(Scheme::Github, &[("x-github-delivery", "abc")]).unwrap();
    assert_eq!(github.keys, ["id:abc", hash]);
    assert_eq!(github.clone().under("7").unwrap().keys, ["key:7", hash]);
    assert_eq!(of(Scheme::Github, &[]).unwrap().keys, [hash]);
    let standard = of(Scheme::Standard, &[("webhook-id", "m1")]).unwrap();
    assert_eq!(
        (standard.keys, standard.idempotency_key),
        (vec!["id:m1".to_owned()], None)
    );
    let bearer = of(Scheme::Bearer, &[("idempotency-key", "k")]).unwrap();
    assert_eq!(bearer.idempotency_key.as_deref(), Some("k"));
    assert_eq!(bearer.keys, ["id:k"]);
    assert!(of(Scheme::None, &[]).unwrap().keys.is_empty());
    let long = "x".repeat(256);
    for bad in ["", &long, "a\u{1b}b"] {
        assert!(matches!(
            of(Scheme::Bearer, &[("idempotency-key", bad)]),
            Err(Refusal::Malformed(_))
        ));
        assert!(github.clone().under(bad).is_err());
    }
}
