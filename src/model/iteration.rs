//! One fresh-context run of an agent: the words for how it was judged.
//! Pure words; `engine/ralph` gives the verdicts.

use super::words::words;

words! {
    /// How an iteration was judged.
    pub enum Verdict {
        /// The promise was said; whether it is believed is the verification's word.
        Promised => "promised",
        /// The turn ended without the promise.
        Unfinished => "unfinished",
        /// No final words.
        Empty => "empty",
        RateLimited => "rate_limited",
        /// The agent crashed or reported an error.
        Failed => "failed",
        TimedOut => "timed_out",
        DoomLoop => "doom_loop",
        /// Ended on purpose: cancel, pause or shutdown.
        Cancelled => "cancelled",
        /// The turn vanished with its shim, as in a reboot.
        Lost => "lost",
    }
}
