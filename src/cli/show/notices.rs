//! Who was told of a session, who is owed it still, and why that is.

use crate::cli::output::{self, Style};
use crate::cli::table::Table;
use crate::model::notice::NoticeStatus;
use crate::store::notices::Notice;

const TITLES: &[&str] = &["FOR", "OCCASION", "STATUS", "TRIES", "WHEN", "LAST ERROR"];

/// One line for each notice.
pub(super) fn notices(all: &[Notice], now_ms: i64) -> Table {
    let mut table = Table::new(TITLES, TITLES.len() - 1);
    for notice in all {
        let (style, when) = match (notice.status, notice.settled_at_ms) {
            (NoticeStatus::Owed, _) if notice.next_at_ms <= now_ms => {
                (Style::Notice, "next try: now".to_owned())
            }
            (NoticeStatus::Owed, _) => {
                let next = output::clock_time(notice.next_at_ms, now_ms);
                (Style::Notice, format!("next try: {next}"))
            }
            (NoticeStatus::Delivered, settled) => (Style::Good, at(settled)),
            (NoticeStatus::GivenUp, settled) => (Style::Bad, at(settled)),
        };
        table.row(vec![
            notice.target.clone().into(),
            notice.occasion.as_str().replace('_', " ").into(),
            (notice.status.as_str().replace('_', " "), style).into(),
            notice.attempt_count.to_string().into(),
            when.into(),
            output::first_line(notice.last_error.as_deref().unwrap_or_default()).into(),
        ]);
    }
    table
}

fn at(settled_at_ms: Option<i64>) -> String {
    settled_at_ms.map(output::local_time).unwrap_or_default()
}
