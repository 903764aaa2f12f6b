//! Ten thousand deliveries that are almost genuine: none of them becomes a session.

use super::*;

const ROUNDS: usize = 2_500;

/// A generator that anybody can run again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    /// Another text of the same length: one bit of one letter is changed, and it stays a letter of ASCII that can be sent.
    fn flipped(&mut self, text: &str) -> String {
        loop {
            let mut bytes = text.as_bytes().to_vec();
            let at = self.roll(bytes.len());
            bytes[at] ^= 1 << self.roll(7);
            if bytes[at].is_ascii_graphic() {
                return String::from_utf8(bytes).unwrap();
            }
        }
    }

    fn cut(&mut self, text: &str) -> String {
        text[..self.roll(text.len())].to_owned()
    }
}

/// What is wrong with a body that differs from the one that was signed.
fn other_body(post: &mut Post, dice: &mut Dice) {
    let length = post.body.len();
    match dice.roll(6) {
        0 | 1 => post.body[dice.roll(length)] ^= 1 << dice.roll(8),
        2 => post.body.truncate(dice.roll(length)),
        3 => post.body.push(b' '),
        4 => post.body.reverse(),
        _ => post.body.insert(dice.roll(length), b'{'),
    }
}

/// A proof that is not that of the delivery.
fn other_proof(post: Post, name: &str, kind: &str, dice: &mut Dice, stranger: &Post) -> Post {
    let value = post.header(name).to_owned();
    let proof = value.strip_prefix(kind).unwrap();
    match dice.roll(9) {
        0..=2 => post.changed(name, Some(&format!("{kind}{}", dice.flipped(proof)))),
        3 => post.changed(name, Some(&format!("{kind}{}", dice.cut(proof)))),
        4 => post.changed(name, Some(&format!("{kind}{}", proof.to_uppercase()))),
        5 => post.changed(name, Some(proof)),
        6 => post.changed(name, None),
        7 => post.changed(name, Some(["", " ", kind][dice.roll(3)])),
        // Signed by somebody else, or sent twice.
        _ if dice.roll(2) == 0 => post.changed(name, Some(stranger.header(name))),
        _ => post.with(name, &value),
    }
}

fn mutated_github(post: &Post, stranger: &Post, dice: &mut Dice) -> Post {
    let mut post = post.clone();
    match dice.roll(3) {
        0 => other_body(&mut post, dice),
        1 => post = other_proof(post, "x-hub-signature-256", "sha256=", dice, stranger),
        _ => {
            // Another scheme's proof, however good, is none.
            let other = Post::standard(STANDARD_SECRET, "x", r#"{"text": "x"}"#);
            post.headers = other.headers;
        }
    }
    post
}

fn mutated_standard(post: &Post, stranger: &Post, dice: &mut Dice) -> Post {
    let mut post = post.clone();
    let sent: i64 = post.header("webhook-timestamp").parse().unwrap();
    match dice.roll(6) {
        0 => other_body(&mut post, dice),
        1 | 2 => post = other_proof(post, "webhook-signature", "v1,", dice, stranger),
        3 => {
            let other = match dice.roll(3) {
                0 => dice.flipped(post.header("webhook-timestamp")),
                1 => format!("0{sent}"),
                _ => (sent + 1 + dice.roll(600) as i64).to_string(),
            };
            post = post.changed("webhook-timestamp", Some(&other));
        }
        4 => {
            let other = match dice.roll(3) {
                0 => dice.flipped(post.header("webhook-id")),
                1 => format!("{}.{sent}", post.header("webhook-id")),
                _ => dice.cut(post.header("webhook-id")),
            };
            post = post.changed("webhook-id", Some(&other));
        }
        // As it was, but too late or too early.
        _ => {
            let away = 300_001 + dice.roll(1_000_000_000) as i64;
            post.at_ms = sent * 1000 + if dice.roll(2) == 0 { away } else { -away };
        }
    }
    post
}

fn mutated_bearer(post: &Post, _: &Post, dice: &mut Dice) -> Post {
    let value = match dice.roll(6) {
        0..=2 => format!("Bearer {}", dice.flipped(BEARER_SECRET)),
        3 => format!("Bearer {}", dice.cut(BEARER_SECRET)),
        4 => format!("Bearer {BEARER_SECRET}{BEARER_SECRET}"),
        _ => ["", "Bearer", BEARER_SECRET, "Basic dXNlcjpwYXNz"][dice.roll(4)].to_owned(),
    };
    post.clone().changed("authorization", Some(&value))
}

type Mutation = fn(&Post, &Post, &mut Dice) -> Post;

#[tokio::test(flavor = "multi_thread")]
async fn none_of_ten_thousand_forgeries_is_taken() {
    let desk = Desk::open(site());
    let body = r#"{"text": "genuine"}"#;
    let other = "whsec_c2VjcmV0LW9mLXNvbWVib2R5LWVsc2U=";
    let cases: [(&str, Post, Post, Mutation, usize); 3] = [
        (
            "github",
            Post::github(GITHUB_SECRET, "g1", body),
            Post::github("somebody else's", "g1", body),
            mutated_github,
            ROUNDS,
        ),
        (
            "standard",
            Post::standard(STANDARD_SECRET, "s1", body),
            Post::standard(other, "s1", body),
            mutated_standard,
            2 * ROUNDS,
        ),
        (
            "bearer",
            Post::bearer(BEARER_SECRET, body),
            Post::bearer("somebody-else's", body),
            mutated_bearer,
            ROUNDS,
        ),
    ];
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut tried = 0;
    for (hook, genuine, stranger, mutation, rounds) in &cases {
        for round in 0..*rounds {
            // Half of them before the genuine one was ever seen: then nothing can be known again either.
            if round == rounds / 2 {
                desk.started(hook, genuine).await;
            }
            let forged = mutation(genuine, stranger, &mut dice);
            let received = desk.send(hook, &forged).await;
            assert!(
                matches!(received, Received::Refused(_)),
                "{received:?}: {forged:?}"
            );
            tried += 1;
        }
    }
    assert_eq!(tried, 4 * ROUNDS);
    assert_eq!(desk.sessions(), 3);
}

#[tokio::test]
async fn what_is_not_signed_makes_nothing_new() {
    let desk = Desk::open(site());
    let genuine = Post::github(GITHUB_SECRET, "g1", r#"{"text": "genuine"}"#);
    let id = desk.started("github", &genuine).await;
    let mut dice = Dice(7);
    for _ in 0..300 {
        let renamed = dice.flipped("0f7a9c1e-again");
        let copy = match dice.roll(3) {
            0 => genuine.clone().changed("x-github-delivery", None),
            1 => genuine.clone().with("user-agent", &renamed),
            _ => genuine.clone().changed("x-github-delivery", Some(&renamed)),
        };
        assert_eq!(desk.send("github", &copy).await, already(&id), "{copy:?}");
    }
    assert_eq!(desk.sessions(), 1);
}
