//! Git's objects as single files, by their published form: a header, the content, its SHA-1 for a name, packed by zlib. What is in a pack
//! is not found here. It must not move a name, and syncs no more than git itself does by default: nothing.

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use ring::digest;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub const ID_BYTES: usize = 20;
/// Of an unpacked object that is read here; whoever meets a larger one asks git.
const MAX_OBJECT_BYTES: u64 = 16 << 20;
/// As git packs them: for speed.
const COMPRESSION: Compression = Compression::fast();

/// The name of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id([u8; ID_BYTES]);

impl Id {
    /// From the bytes that stand in a tree.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// From its forty digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut bytes = [0; ID_BYTES];
        if digits.len() != 2 * ID_BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = u8::try_from(digit(0)? << 4 | digit(1)?).ok()?;
        }
        Some(Self(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Id {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{self}")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Blob,
    Tree,
    Commit,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Blob => "blob",
            Kind::Tree => "tree",
            Kind::Commit => "commit",
        }
    }
}

/// An object that is to be written.
#[derive(Clone, Debug)]
pub struct Object {
    pub id: Id,
    kind: Kind,
    content: Vec<u8>,
}

impl Object {
    pub fn new(kind: Kind, content: Vec<u8>) -> Self {
        Self {
            id: name(kind, &content),
            kind,
            content,
        }
    }
}

fn header(kind: Kind, length: usize) -> String {
    format!("{} {length}\0", kind.word())
}

/// What git would call it.
pub fn name(kind: Kind, content: &[u8]) -> Id {
    // Git's choice, not ours: the formats of repositories are what they are.
    let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    context.update(header(kind, content.len()).as_bytes());
    context.update(content);
    let mut id = [0; ID_BYTES];
    id.copy_from_slice(context.finish().as_ref());
    Id(id)
}

/// The objects of one repository that are files of their own.
#[derive(Clone, Debug)]
pub struct Objects {
    directory: PathBuf,
}

impl Objects {
    pub fn of(git_dir: &Path) -> Self {
        Self {
            directory: git_dir.join("objects"),
        }
    }

    fn place(&self, id: Id) -> (PathBuf, PathBuf) {
        let digits = id.to_string();
        let fan = self.directory.join(&digits[..2]);
        let file = fan.join(&digits[2..]);
        (fan, file)
    }

    /// Writes an object, if it is not there yet: under another name first, so that whoever finds it finds the whole.
    pub fn write(&self, object: &Object) -> Result<()> {
        let (fan, file) = self.place(object.id);
        if file.exists() {
            return Ok(());
        }
        self.write_new(object, &fan, &file)
            .with_context(|| format!("cannot write the object {}", file.display()))
    }

    fn write_new(&self, object: &Object, fan: &Path, file: &Path) -> std::io::Result<()> {
        match DirBuilder::new().create(fan) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // By such names git knows what somebody left who was killed, and prunes it.
        let unfinished = fan.join(format!("tmp_obj_{}", crate::clock::new_id()));
        let write = || {
            let opened = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o444)
                .open(&unfinished)?;
            let mut packed = ZlibEncoder::new(Vec::new(), COMPRESSION);
            packed.write_all(header(object.kind, object.content.len()).as_bytes())?;
            packed.write_all(&object.content)?;
            (&opened).write_all(&packed.finish()?)?;
            std::fs::rename(&unfinished, file)
        };
        write().inspect_err(|_| {
            let _ = std::fs::remove_file(&unfinished);
        })
    }

    /// The content of an object; nothing where it is no file of its own, of another kind, broken, or too large.
    pub fn read(&self, id: Id, kind: Kind) -> Option<Vec<u8>> {
        let (_, file) = self.place(id);
        let unpacked = ZlibDecoder::new(File::open(file).ok()?);
        let mut content = Vec::new();
        unpacked
            .take(MAX_OBJECT_BYTES)
            .read_to_end(&mut content)
            .ok()?;
        let end = memchr::memchr(0, &content)? + 1;
        let rest = content.split_off(end);
        (content == header(kind, rest.len()).as_bytes()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_git() {
        for (kind, content, expected) in [
            (Kind::Tree, "", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
            (Kind::Blob, "", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
            (
                Kind::Blob,
                "hello\n",
                "ce013625030ba8dba906f756967f9e9ca394464a",
            ),
        ] {
            let id = name(kind, content.as_bytes());
            assert_eq!(id.to_string(), expected);
            assert_eq!(Id::parse(expected), Some(id));
        }
        for wrong in ["", "ce01", &"g".repeat(40), &"é".repeat(20)] {
            assert_eq!(Id::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_broken_is_not() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("objects")).unwrap();
        let objects = Objects::of(place.path());
        let object = Object::new(Kind::Blob, b"some\0bytes".to_vec());
        assert_eq!(objects.read(object.id, Kind::Blob), None);
        for _ in 0..2 {
            objects.write(&object).unwrap();
            assert_eq!(
                objects.read(object.id, Kind::Blob),
                Some(object.content.clone())
            );
        }
        assert_eq!(objects.read(object.id, Kind::Tree), None);
        let (fan, file) = objects.place(object.id);
        assert_eq!(std::fs::read_dir(fan).unwrap().count(), 1);
        let whole = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
        assert_eq!(objects.read(object.id, Kind::Blob), None);
    }
}
