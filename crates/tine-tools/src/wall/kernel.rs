//! The kernel's side of a wall: a thread enters it, and what that thread starts is inside for good.
//!
//! Landlock domains, privileges and system call filters belong to a thread and are inherited. So no unsafe code has to run between
//! `fork` and `exec`: the thread that starts the command restricts itself first, and is used for nothing else.

use std::io;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    RestrictSelf, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};
use seccompiler::sock_filter;

use super::grants::{Access, Grant};
use super::support::Support;
use super::{Metadata, Sockets, calls, filter};

/// What this kernel has.
pub(super) fn support() -> Support {
    // Restricts nothing: it is the crate's way to say what there is.
    let status = RestrictSelf::default().no_new_privs(false).apply();
    let landlock = match status.map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, kernel_abi }) => kernel_abi
            .and_then(|version| u32::try_from(version).ok())
            .unwrap_or(effective_abi as u32),
        Ok(LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) | Err(_) => 0,
    };
    let filter = filter::is_known_machine()
        && std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail").exists();
    Support { landlock, filter, namespaces: false }
}

/// A wall as the kernel knows it. Any number of threads may enter it, one after another or at the same time.
pub(super) struct Restriction {
    version: ABI,
    files: Option<RulesetCreated>,
    filter: Option<Vec<sock_filter>>,
    privileges: CapabilitySet,
}

impl Restriction {
    /// Tells the kernel what is granted. `support` may say less than the kernel has, never more.
    pub(super) fn build(
        grants: &[Grant],
        (sockets, metadata): (Sockets, Metadata),
        support: Support,
    ) -> io::Result<Self> {
        let files = match known(support.landlock) {
            ABI::Unsupported => None,
            version => Some(rules(grants, version)?),
        };
        let filter =
            if support.filter { filter::program(&calls::rules(sockets, metadata)) } else { None };
        let privileges = match metadata {
            Metadata::Kept => CapabilitySet::empty(),
            // Root may work in a directory that belongs to somebody else, as it does in containers.
            Metadata::Free => {
                CapabilitySet::CHOWN
                    | CapabilitySet::DAC_OVERRIDE
                    | CapabilitySet::FOWNER
                    | CapabilitySet::FSETID
            }
        };
        Ok(Self { version: known(support.landlock), files, filter, privileges })
    }

    /// Puts the calling thread, and what it starts, where it can signal nobody outside, and restricts nothing else. A wall that is
    /// entered from there is inside: what is behind it can be told by who may be signalled from here, and cannot reach back.
    pub(super) fn enter_outer(&self) -> io::Result<()> {
        let mut outer = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .scope(Scope::Signal)
            .and_then(|outer| outer.handle_access(AccessFs::Refer))
            .and_then(Ruleset::create)
            .map_err(io::Error::other)?;
        // Every domain refuses to move files between directories unless it is told otherwise.
        let root = openat2(
            CWD,
            "/",
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::empty(),
        )?;
        outer =
            outer.add_rule(PathBeneath::new(root, AccessFs::Refer)).map_err(io::Error::other)?;
        if self.version >= LOGS_SINCE {
            // Each process that is not inside would be a line in the system's log.
            outer = outer.log_same_exec(false).map_err(io::Error::other)?;
        }
        let status = outer.restrict_self().map_err(io::Error::other)?;
        match status.ruleset {
            RulesetStatus::FullyEnforced => Ok(()),
            _ => Err(io::Error::other("the kernel did not confine signals")),
        }
    }

    /// Restricts the calling thread, and whatever it starts from now on. There is no way back.
    pub(super) fn enter(&self) -> io::Result<()> {
        drop_privileges(self.privileges)?;
        if let Some(files) = &self.files {
            let status = files.try_clone()?.restrict_self().map_err(io::Error::other)?;
            if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
                return Err(io::Error::other("the kernel did not take all rules over files"));
            }
        }
        if let Some(filter) = &self.filter {
            seccompiler::apply_filter(filter).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// The version since which the kernel logs what it refuses. What a wall enforces is whole with the one before.
const LOGS_SINCE: ABI = ABI::V7;

/// The newest version that a wall makes use of.
fn known(version: u32) -> ABI {
    match version {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        _ => LOGS_SINCE,
    }
}

fn rules(grants: &[Grant], version: ABI) -> io::Result<RulesetCreated> {
    let hard = CompatLevel::HardRequirement;
    let mut ruleset = Ruleset::default()
        .set_compatibility(hard)
        .handle_access(AccessFs::from_all(version))
        .map_err(io::Error::other)?;
    if !Scope::from_all(version).is_empty() {
        ruleset = ruleset.scope(Scope::from_all(version)).map_err(io::Error::other)?;
    }
    let mut created = ruleset.create().map_err(io::Error::other)?;
    for grant in grants {
        // No symbolic link anywhere on the way: a path that has become one since it was looked at is not granted.
        let opened = openat2(
            CWD,
            &grant.path,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        );
        let file = match opened {
            Ok(file) => file,
            Err(Errno::NOENT | Errno::LOOP | Errno::ACCESS | Errno::NOTDIR) => continue,
            Err(error) => return Err(error.into()),
        };
        let is_directory = rustix::fs::fstat(&file)?.st_mode & libc::S_IFMT == libc::S_IFDIR;
        let mut rights = rights(grant.access, version);
        if !is_directory {
            rights &= AccessFs::from_file(version);
        }
        if !rights.is_empty() {
            created = created.add_rule(PathBeneath::new(file, rights)).map_err(io::Error::other)?;
        }
    }
    Ok(created)
}

fn rights(access: Access, version: ABI) -> BitFlags<AccessFs> {
    let all = AccessFs::from_all(version);
    match access {
        Access::List => AccessFs::ReadDir.into(),
        Access::Look => AccessFs::ReadFile | AccessFs::ReadDir,
        Access::Read => AccessFs::from_read(version),
        Access::Full => all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev),
        Access::Device => all & (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev),
    }
}

/// Leaves `kept` of the privileges, here and for every program started from here. For most users there are none.
fn drop_privileges(kept: CapabilitySet) -> io::Result<()> {
    let now = capabilities(None)?;
    if now.permitted.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().iter() {
            if !kept.contains(capability) {
                match remove_capability_from_bounding_set(capability) {
                    // A privilege that this kernel does not know, or one beyond those that exist.
                    Ok(()) | Err(Errno::INVAL) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    clear_ambient_capability_set()?;
    let left = now.permitted & kept;
    let sets =
        CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}
