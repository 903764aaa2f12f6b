//! `ralphd logs ID`: what the agent said, iteration by iteration, as it lies in the files. It only looks.
//! Memory stays flat however long a log is.

use super::arguments::Logs;
use super::desk::Desk;
use super::exit::{Exit, Failure};
use super::output::{self, Look, Style};
use crate::model::harmless::whole_characters;
use crate::process::Growing;
use crate::store::Store;
use crate::store::iterations::{self, Iteration};
use crate::store::sessions::{self, Session};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(200);
const CHUNK_BYTES: usize = 64 * 1024;

/// Prints the output, or the prompts, of a session's iterations.
pub fn logs(desk: Desk, which: Logs) -> Result<Exit> {
    let store = desk.existing_store()?;
    let look = Look::of_stdout();
    let form = match (desk.global.json, look.terminal) {
        (true, _) => Form::Json,
        (false, true) => Form::Harmless,
        (false, false) => Form::Raw,
    };
    desk.block_on(async {
        let given = which.which.id.clone();
        let id = store
            .read(move |sql| sessions::resolve(sql, &given))
            .await?;
        let mut reader = Reader {
            id,
            which,
            look,
            form,
            open: None,
            printed: 0,
            mid_line: false,
        };
        reader.run(&store).await
    })
}

/// How bytes of an agent become bytes on stdout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Raw,
    Harmless,
    Json,
}

struct Reader {
    id: String,
    which: Logs,
    look: Look,
    form: Form,
    /// The iteration that is being printed.
    open: Option<Copying>,
    printed: usize,
    /// The last iteration printed did not end its line.
    mid_line: bool,
}

impl Reader {
    async fn run(&mut self, store: &Store) -> Result<Exit> {
        let follow = self.which.follow;
        loop {
            let (session, mut next) = self.look(store).await?;
            // The rows were read first: what they call over has written its last byte.
            self.copy()?;
            if !next.is_empty() {
                self.close()?;
                let several =
                    self.which.iteration.is_none() && (self.printed > 0 || next.len() > 1);
                self.begin(next.swap_remove(0), several)?;
                continue;
            }
            if session.status.is_terminal() || !follow || self.is_only_one_over(store).await? {
                self.copy()?;
                return self.leave(&session);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The session and what comes next: the iteration to be printed, and one more to see whether there is one.
    async fn look(&self, store: &Store) -> Result<(Session, Vec<Iteration>)> {
        let id = self.id.clone();
        let done = self.open.as_ref().map(|open| open.number);
        let only = self.which.iteration;
        let after = done
            .or(only.map(|number| number.saturating_sub(1)))
            .unwrap_or(0);
        store
            .read(move |sql| {
                let mut next = iterations::after(sql, &id, after, 2)?;
                next.retain(|iteration| only.is_none_or(|only| only == iteration.number));
                Ok((sessions::expect(sql, &id)?, next))
            })
            .await
    }

    /// Only one iteration was asked for, and it has ended.
    async fn is_only_one_over(&self, store: &Store) -> Result<bool> {
        let (Some(number), Some(_)) = (self.which.iteration, &self.open) else {
            return Ok(false);
        };
        let id = self.id.clone();
        let found = store
            .read(move |sql| iterations::after(sql, &id, number - 1, 1))
            .await?;
        Ok(found
            .iter()
            .all(|iteration| iteration.ended_at_ms.is_some()))
    }

    fn begin(&mut self, iteration: Iteration, several: bool) -> Result<()> {
        if several && self.form != Form::Json {
            let head = format!("── iteration {} ──", iteration.number);
            let line_end = if self.mid_line { "\n" } else { "" };
            output::print_line(&format!("{line_end}{}", self.look.paint(Style::Dim, &head)))?;
        }
        let path = match self.which.prompt {
            true => iteration.prompt_file,
            false => iteration.output_file,
        };
        self.printed += 1;
        self.mid_line = false;
        self.open = Some(Copying {
            number: iteration.number,
            path,
            file: None,
            carry: Vec::new(),
            mid_line: false,
        });
        Ok(())
    }

    fn copy(&mut self) -> Result<()> {
        if let Some(open) = &mut self.open {
            open.copy(self.form)?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        match self.open.take() {
            Some(open) => {
                self.mid_line = open.mid_line;
                open.close(self.form)
            }
            None => Ok(()),
        }
    }

    fn leave(&mut self, session: &Session) -> Result<Exit> {
        if let (Some(number), None) = (self.which.iteration, &self.open) {
            bail!(Failure(format!(
                "there is no iteration {number}; see 'ralphd show {}'",
                self.which.which.id
            )));
        }
        if self.open.is_none() {
            output::remark("no iteration has started yet");
        }
        self.close()?;
        match self.which.follow && session.status.is_terminal() {
            true => Ok(Exit::of_session(session)),
            false => Ok(Exit::Done),
        }
    }
}

/// One file on its way to stdout.
struct Copying {
    number: i64,
    path: String,
    /// Opened once it is there: the row of an iteration comes before its output.
    file: Option<Growing>,
    /// The start of a character whose end has not come yet.
    carry: Vec<u8>,
    mid_line: bool,
}

impl Copying {
    /// Prints what is there and was not printed yet.
    fn copy(&mut self, form: Form) -> Result<()> {
        if self.file.is_none() {
            self.file = Growing::open(Path::new(&self.path)).ok();
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut stdout = std::io::stdout().lock();
        loop {
            let count = file
                .read(&mut chunk)
                .with_context(|| format!("cannot read {}", self.path))?;
            if count == 0 {
                return Ok(stdout.flush()?);
            }
            self.mid_line = chunk[count - 1] != b'\n';
            if form == Form::Raw {
                stdout.write_all(&chunk[..count])?;
                continue;
            }
            self.carry.extend_from_slice(&chunk[..count]);
            let text = whole_characters(&mut self.carry);
            write_text(&mut stdout, form, self.number, &text)?;
        }
    }

    /// Says that nothing more comes; a file that never was there is said, not fatal.
    fn close(mut self, form: Form) -> Result<()> {
        if self.file.is_none() {
            output::remark(&format!(
                "iteration {}: {} is not there",
                self.number, self.path
            ));
        }
        if self.carry.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.carry)).into_owned();
        write_text(&mut std::io::stdout().lock(), form, self.number, &text)
    }
}

fn write_text(stdout: &mut impl Write, form: Form, number: i64, text: &str) -> Result<()> {
    match form {
        Form::Json => {
            let line = json!({"iteration": number, "text": text}).to_string();
            writeln!(stdout, "{}", output::harmless_json(&line))?;
        }
        _ => stdout.write_all(output::harmless_lines(text).as_bytes())?,
    }
    Ok(())
}
