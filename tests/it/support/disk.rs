//! A disk of its own, small enough to be filled. Only root may have one.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Mounted until it is dropped.
pub struct Disk {
    place: PathBuf,
}

impl Disk {
    /// Nothing where that is not allowed.
    pub fn mount(place: &Path, mebibytes: u32) -> Option<Self> {
        fs::create_dir_all(place).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size={mebibytes}m,mode=0700"))
            .arg("ralphd-test")
            .arg(place)
            .stderr(Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then(|| Self {
            place: place.to_owned(),
        })
    }

    /// Leaves no byte free.
    pub fn fill(&self) {
        let mut ballast = File::create(self.ballast()).unwrap();
        for size in [65536, 1] {
            let error = loop {
                if let Err(error) = ballast.write_all(&vec![0; size]) {
                    break error;
                }
            };
            assert_eq!(error.kind(), ErrorKind::StorageFull);
        }
    }

    pub fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.place.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: whoever may still have a file open there keeps it.
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
    }
}
