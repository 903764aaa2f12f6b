//! What the jail says when it refuses: what was wrong, and what to do instead.

use super::MAX_PATH_BYTES;
use crate::agent::tool::Fault;
use crate::files::kind_in_words;
use rustix::fs::FileType;
use rustix::io::Errno;

const INSTEAD: &str = "Give a path beneath the workspace, relative to it, like src/main.rs.";

fn shown(written: &str) -> String {
    crate::agent::tool::show::line(&written.escape_debug().to_string(), 200).into_owned()
}

/// What no path can be, whatever the disk holds.
pub fn unusable(written: &str) -> Option<Fault> {
    let why = match written {
        "" => "The path is empty.".to_owned(),
        path if path.contains('\0') => {
            format!("\"{}\" is no path: it holds a NUL byte.", shown(path))
        }
        path if path.len() > MAX_PATH_BYTES => {
            format!("The path is too long: {} bytes.", path.len())
        }
        path if path == "~" || path.starts_with("~/") => {
            format!(
                "\"{}\" lies outside the workspace: ~ is the home directory.",
                shown(path)
            )
        }
        _ => return None,
    };
    Some(Fault::Wrong(format!("{why} {INSTEAD}")))
}

pub fn outside(written: &str) -> Fault {
    Fault::Wrong(format!(
        "{} lies outside the workspace, and nothing outside may be read or written. {INSTEAD}",
        shown(written)
    ))
}

pub fn missing(written: &str, nearest: Option<&str>) -> Fault {
    let instead = match nearest {
        Some(nearest) => format!("Did you mean {nearest}?"),
        None => "Look with glob for what there is.".to_owned(),
    };
    Fault::Wrong(format!("There is no {}. {instead}", shown(written)))
}

pub fn not_a_file(written: &str, kind: FileType) -> Fault {
    let shown = shown(written);
    Fault::Wrong(match kind {
        FileType::Directory => format!(
            "{shown} is a directory. List it with glob, for example {{\"pattern\": \"*\", \"path\": \"{shown}\"}}."
        ),
        kind => format!(
            "{shown} is {}, not a file: it cannot be read or written.",
            kind_in_words(kind)
        ),
    })
}

pub fn of_the_kernel(written: &str) -> Fault {
    Fault::Wrong(format!(
        "{} is not a file on disk but the kernel's view of processes: it is not shown.",
        shown(written)
    ))
}

pub fn in_git(written: &str) -> Fault {
    Fault::Wrong(format!(
        "{} belongs to git's own files: what is written there could run as a program later. Use git by bash instead.",
        shown(written)
    ))
}

pub fn read_only(written: &str, mode: u32) -> Fault {
    Fault::Wrong(format!(
        "{} is marked read-only (mode {mode:04o}). If it is meant to be changed all the same, make it writable first (chmod u+w).",
        shown(written)
    ))
}

pub fn dangling(written: &str) -> Fault {
    Fault::Wrong(format!(
        "{} is a symbolic link to nothing, or to the outside. Write to another path, or remove the link first.",
        shown(written)
    ))
}

pub fn upwards(written: &str) -> Fault {
    Fault::Wrong(format!(
        "{} holds \"..\" and names a directory that does not exist. Write the path without \"..\".",
        shown(written)
    ))
}

pub fn not_written(written: &str, error: Errno) -> Fault {
    match error {
        Errno::NOSPC | Errno::DQUOT => Fault::Wrong(format!(
            "{} was not written: the disk is full.",
            shown(written)
        )),
        Errno::ROFS => Fault::Wrong(format!(
            "{} was not written: the file system is read-only.",
            shown(written)
        )),
        other => not_opened(written, other),
    }
}

pub fn not_opened(written: &str, error: Errno) -> Fault {
    let shown = shown(written);
    Fault::Wrong(match error {
        Errno::XDEV => format!(
            "{shown} leads out of the workspace (by \"..\" or a symbolic link), and nothing outside may be read or written. {INSTEAD}"
        ),
        Errno::LOOP => format!(
            "{shown} leads through symbolic links in a circle, or through one of the kernel's own. {INSTEAD}"
        ),
        Errno::NOENT => format!("There is no {shown}. Look with glob for what there is."),
        Errno::NOTDIR => format!(
            "A part of {shown} is a file, not a directory. Look with glob for what there is."
        ),
        Errno::NAMETOOLONG => format!("{shown} is too long for a path or a file name. {INSTEAD}"),
        Errno::ACCESS | Errno::PERM => format!("{shown} may not be opened: permission denied."),
        Errno::NXIO => {
            format!("{shown} is a socket or a device, not a file: it cannot be read or written.")
        }
        Errno::ISDIR => return not_a_file(written, FileType::Directory),
        Errno::AGAIN => {
            return Fault::Passing(format!(
                "{shown} is being moved about; it could not be opened."
            ));
        }
        other => format!("{shown} cannot be opened: {other}."),
    })
}
