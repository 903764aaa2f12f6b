//! What the tools of others print, as lines of a shell script.

/// What Claude Code prints at a usage limit that ends in so many seconds.
pub fn usage_limit(seconds: &str) -> String {
    let event = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%s,"rateLimitType":"five_hour"}}\n"#;
    let result = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"api_error":"usage_limit_reached","result":"You hit your limit","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0}}\n"#;
    format!("printf '{event}' $(($(date +%s) + {seconds})); printf '{result}'; exit 1")
}

/// A whole turn of codex with these last words, and the sums of its thread.
pub fn codex(words: &str) -> String {
    format!(
        r#"echo '{{"type":"thread.started","thread_id":"t"}}'
        printf '%s\n' '{{"type":"item.completed","item":{{"id":"i","type":"agent_message","text":"{words}"}}}}'
        echo '{{"type":"turn.completed","usage":{{"input_tokens":1000000,"cached_input_tokens":800000,"output_tokens":100000}}}}'"#
    )
}
