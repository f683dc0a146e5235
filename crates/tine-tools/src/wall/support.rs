//! What the kernel can enforce, and what is missing for a whole wall.

/// What there is to build a wall with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock's interface; 0 where there is none.
    pub landlock: u32,
    /// Whether system calls can be filtered.
    pub filter: bool,
    /// Whether commands can be given a view of their own: namespaces that this user may make, and a program that builds it.
    pub namespaces: bool,
}

/// Something that a wall cannot keep here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Nothing rules over files.
    Files,
    /// A file that may not be written may still be emptied.
    Truncate,
    /// Devices that may be opened may be told anything.
    Devices,
    /// Other processes of the user can be signalled.
    Signals,
    /// Nothing rules over system calls.
    Calls,
    /// What may be read cannot be kept to a list.
    Listed,
    /// There are too many files to find all secrets and settings among them.
    Unsearched,
    /// There is no view of the machine for the command alone.
    View,
    /// The directory holds the home directory, and with it everything that is to be protected.
    Home,
}

impl Gap {
    /// What follows from it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Files => {
                "the kernel has no Landlock: commands can write and read whatever the user can"
            }
            Self::Truncate => {
                "the kernel's Landlock is older than 6.2: commands can empty files outside"
            }
            Self::Devices => {
                "the kernel's Landlock is older than 6.10: commands can control devices they can open"
            }
            Self::Signals => {
                "the kernel's Landlock is older than 6.12: commands can end other processes of the user"
            }
            Self::Calls => {
                "system calls cannot be filtered here: commands can reach the network, services of the session, and files' metadata"
            }
            Self::Listed => {
                "the kernel has no Landlock: commands can read more than programs and their directory"
            }
            Self::Unsearched => {
                "there are more files than are searched: commands can read secrets, and write settings that start programs, that were not found"
            }
            Self::View => {
                "no mount namespaces can be made here: commands can change modes, owners and times of the user's files outside, \
                 write settings of git and editors in their directory, and read secrets that lie deep; runs with `--network` are refused"
            }
            Self::Home => {
                "the working directory holds the home directory: commands can write to all of it, key stores included"
            }
        }
    }
}

impl Support {
    /// The version up to which all that a wall uses is there. Later ones add nothing that the filter does not refuse.
    pub const LANDLOCK_WHOLE: u32 = 6;

    /// What this kernel has.
    pub fn of_this_kernel() -> Self {
        let namespaces = super::StageProgram::here().is_some();
        Self { namespaces, ..super::kernel::support() }
    }

    /// What a wall cannot keep with this.
    pub fn gaps(self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        // A view keeps files and processes by itself, apart from what only a list may show: see `Wall::gaps`.
        if self.landlock == 0 && !self.namespaces {
            gaps.push(Gap::Files);
        }
        let older_than = |version: u32| (1..version).contains(&self.landlock);
        if older_than(3) && !self.namespaces {
            gaps.push(Gap::Truncate);
        }
        if older_than(5) {
            gaps.push(Gap::Devices);
        }
        if older_than(Self::LANDLOCK_WHOLE) && !self.namespaces {
            gaps.push(Gap::Signals);
        }
        if !self.filter {
            gaps.push(Gap::Calls);
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_kernel_has_gaps_in_words() {
        let gaps = |landlock, filter| Support { landlock, filter, namespaces: false }.gaps();
        assert_eq!(gaps(6, true), []);
        assert_eq!(gaps(9, true), []);
        assert_eq!(gaps(0, true), [Gap::Files]);
        assert_eq!(gaps(2, false), [Gap::Truncate, Gap::Devices, Gap::Signals, Gap::Calls]);
        assert_eq!(gaps(5, true), [Gap::Signals]);
        assert_eq!(Support { landlock: 0, filter: false, namespaces: true }.gaps(), [Gap::Calls]);
    }
}
