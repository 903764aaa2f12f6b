//! A fence of the kernel (Landlock) around a program: which files it and all it starts may read and write.
//! It must not stand open by accident: what the kernel cannot keep is an error before anything is run.

mod ground;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    Scope, path_beneath_rules,
};

pub use ground::{system_ground, tool_ground};

/// The first version that also keeps files from being truncated: Linux 6.2.
const NEEDED: ABI = ABI::V3;

/// What root can do around the fence, by number: `CAP_DAC_READ_SEARCH`, `SYS_MODULE`, `SYS_RAWIO`, `SYS_PTRACE`, `SYS_ADMIN`,
/// `SYS_BOOT`, `MKNOD`, `PERFMON`, `BPF`, `CHECKPOINT_RESTORE`. Since Linux 6.14 `PERFMON` and `SYS_ADMIN` read the environment of
/// any process, though the fence forbids it.
const GIVEN_UP: &[libc::c_ulong] = &[2, 16, 17, 19, 21, 22, 27, 38, 39, 40];

/// What a program may reach beneath. What does not exist is left out.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// Read and run.
    pub readable: Vec<PathBuf>,
    /// Read, run and change.
    pub writable: Vec<PathBuf>,
}

/// A ready fence; any number of programs may be started within it.
pub struct Fence {
    rules: OwnedFd,
}

impl Fence {
    /// Network and the sockets of other services are not its matter; signals to strangers are stopped where the kernel can.
    /// Nor does Landlock keep the mode, owner and times of files outside, or that they exist.
    pub fn around(ground: &Ground) -> Result<Self, String> {
        let build = || {
            let rules = Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(NEEDED))?
                .set_compatibility(CompatLevel::BestEffort)
                .scope(Scope::Signal | Scope::AbstractUnixSocket)?
                .create()?
                .add_rules(path_beneath_rules(
                    &ground.readable,
                    AccessFs::from_read(NEEDED),
                ))?;
            rules.add_rules(path_beneath_rules(
                &ground.writable,
                AccessFs::from_all(NEEDED),
            ))
        };
        let why = "this kernel has no Landlock that keeps files from being read and written (Linux 6.2 or newer, with landlock among its `lsm`)";
        let built = build().map_err(|error: landlock::RulesetError| format!("{why}: {error}"))?;
        let rules: Option<OwnedFd> = built.into();
        rules.map(|rules| Self { rules }).ok_or(why.to_owned())
    }

    /// For the child between fork and exec: system calls only. There is no way back.
    pub fn enter(&self) -> io::Result<()> {
        give_up_capabilities()?;
        rustix::thread::set_no_new_privs(true)?;
        // SAFETY: a plain call with a descriptor of our own.
        let done = unsafe {
            libc::syscall(
                libc::SYS_landlock_restrict_self,
                self.rules.as_raw_fd(),
                0_u32,
            )
        };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

/// What is no longer within bounds is gone with the exec. Who is not root has none of it to begin with.
fn give_up_capabilities() -> io::Result<()> {
    for capability in GIVEN_UP {
        // SAFETY: plain calls with numbers; a capability that the kernel does not know is answered with -1.
        let kept = unsafe {
            libc::prctl(libc::PR_CAPBSET_DROP, *capability, 0, 0, 0) != 0
                && libc::prctl(libc::PR_CAPBSET_READ, *capability, 0, 0, 0) == 1
        };
        if kept && rustix::process::geteuid().is_root() {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
    }
    Ok(())
}
