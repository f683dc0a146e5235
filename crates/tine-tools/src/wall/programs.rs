//! Programs that git's settings name for filters and merges, behind a wall of their own.
//!
//! Git runs such a program wherever it runs itself, so tine's own git would run it outside of every wall. A [`ProgramWall`] gives settings
//! that put tine's own program in its place: started by git, that runs the command of the setting behind the wall, on the input and output
//! that git gave it. The first such call raises the wall and writes down how; the later ones read that. A program can write its directory for
//! temporary files and the folder of LFS in the repository; it has no network and reads no key store.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::enclosure::Layer;
use super::namespace::{PathText, Rules, STAGE_ARGUMENT, Setup, StageProgram};
use super::scratch::Scratch;
use super::{Ground, Metadata, Missing, Readable, ResourceLimits, Wall, kernel, namespace};

/// The argument after [`STAGE_ARGUMENT`] that asks for such a program.
const GIT_PROGRAM: &str = "git-program";

/// Files in the directory of a wall: the programs, the wall once one was raised, the lock for raising it, and the reason why none stands.
const PROGRAMS: &str = "programs.json";
const STANDS: &str = "wall.json";
const LOCK: &str = "lock";
const FAILURE: &str = "failure";

/// The folder in which LFS keeps what it takes out of files, below the part of a repository that all its checkouts share.
const LFS: &str = "lfs";

/// The shell that runs a command, as git has it.
const SHELL: &str = "sh";

/// Variables by which git tells a program of the repository, and the one by which LFS leaves the pointer of a file that it would have to
/// fetch. Source: git-lfs-smudge(1).
const PASSED: [&str; 2] = ["GIT_DIR", "GIT_WORK_TREE"];
const SKIPPED_DOWNLOADS: (&str, &str) = ("GIT_LFS_SKIP_DOWNLOAD_ERRORS", "1");

/// The exit code of a program whose wall does not stand.
const FAILED: u8 = 125;

/// The letters of git's placeholders in the command of a merge driver, but for those that are asked for only by a command that has them.
/// Source: gitattributes(5), "Defining a custom merge driver".
const MERGE: [char; 5] = ['O', 'A', 'B', 'L', 'P'];
const MERGE_LABELS: [char; 3] = ['S', 'X', 'Y'];

/// The placeholders that name files which a merge driver reads, and of which it writes the second.
const MERGED_FILES: usize = 3;

/// A setting of git's that names a program: `filter.NAME.clean`, `.smudge` or `.process`, or `merge.NAME.driver`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitProgram {
    /// The setting's name.
    pub setting: String,
    /// Its value: a command for a shell.
    pub command: String,
}

/// Why no wall stands around programs of git's settings.
#[derive(Debug, thiserror::Error)]
pub enum ProgramWallError {
    /// This process cannot start its own program once more, because that was replaced or takes no such calls.
    #[error("this program cannot start itself once more")]
    NoProgram,
    /// The kernel has nothing that rules over files.
    #[error("this system can neither make namespaces nor use Landlock")]
    NoFiles,
    /// The programs could not be written down.
    #[error("{0}")]
    Directory(#[from] io::Error),
}

/// A wall around programs of git's settings. The programs can be started as long as it is held.
#[derive(Debug)]
pub struct ProgramWall {
    settings: Vec<(String, String)>,
    /// Its directory, in which nothing behind the wall can write but in what the wall has for temporary files.
    folder: Scratch,
}

/// The programs of one wall, and where they work.
#[derive(Debug, Serialize, Deserialize)]
struct Programs {
    top: PathText,
    common: PathText,
    runs: Vec<Run>,
}

/// The command of a setting, and the letters of the placeholders whose values come as arguments.
#[derive(Debug, Serialize, Deserialize)]
struct Run {
    command: String,
    letters: Vec<char>,
}

/// A wall that was raised.
#[derive(Debug, Serialize, Deserialize)]
struct Raised {
    behind: Behind,
    shell: PathText,
    environment: Vec<(Vec<u8>, Vec<u8>)>,
    temporary: PathText,
}

/// The wall as the stages take it, or its rules alone where no view can be made.
#[derive(Debug, Serialize, Deserialize)]
enum Behind {
    View(Box<Setup>),
    Rules(Rules),
}

impl ProgramWall {
    /// A wall around `programs` of the checkout at `top`, whose repository keeps what all its checkouts share in `common`. It is raised
    /// when the first of them is called.
    pub fn new(
        top: &Path,
        common: &Path,
        programs: &[GitProgram],
    ) -> Result<Self, ProgramWallError> {
        let own = StageProgram::registered().ok_or(ProgramWallError::NoProgram)?;
        let own = own.path().read_link().unwrap_or_else(|_| own.path().to_owned());
        if !own.is_file() {
            return Err(ProgramWallError::NoProgram);
        }
        if kernel::support().landlock == 0 && StageProgram::here().is_none() {
            return Err(ProgramWallError::NoFiles);
        }
        let folder = Scratch::apart()?;
        let runs: Vec<Run> = programs.iter().map(Run::of).collect();
        let named = programs.iter().zip(&runs).enumerate();
        let settings = named
            .map(|(number, (program, run))| {
                (program.setting.clone(), run.text(&own, folder.path(), number))
            })
            .collect();
        let programs = Programs { top: PathText::from(top), common: PathText::from(common), runs };
        write_whole(
            &folder.path().join(PROGRAMS),
            &serde_json::to_vec(&programs).map_err(io::Error::from)?,
        )?;
        Ok(Self { settings, folder })
    }

    /// Settings that put the wall around each of its programs: names and values.
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
    }

    /// Why a program was not run; `None` while all were. Git may have gone on without it.
    pub fn failure(&self) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(FAILURE)).ok()
    }
}

/// Writes a file that others see whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    std::fs::write(&new, bytes)?;
    std::fs::rename(&new, path)
}

impl Raised {
    /// The wall of a directory, which is raised if it was not. Looks through homes and the checkout for secrets. Blocks.
    fn of(folder: &Path, programs: &Programs) -> io::Result<Self> {
        let lock = std::fs::File::create(folder.join(LOCK))?;
        lock.lock()?;
        let file = folder.join(STANDS);
        if let Ok(text) = std::fs::read(&file) {
            return Ok(serde_json::from_slice(&text)?);
        }
        StageProgram::register_this_program();
        let here = Ground::here(Arc::new(tine_guard::is_secret));
        let ground = Ground { temporary: folder.to_owned(), ..here };
        let lfs = programs.common.path().join(LFS);
        let is_folder = lfs.symlink_metadata().is_ok_and(|about| about.is_dir());
        let wall = Wall {
            writable: is_folder.then_some(lfs).into_iter().collect(),
            readable: Readable::Most,
            metadata: Metadata::Free,
            limits: ResourceLimits::WORKER,
            missing: Missing::RefuseCommands,
            ..Wall::maintenance(Vec::new())
        };
        let enclosure = wall.raise(&programs.top.path(), &ground).map_err(io::Error::other)?;
        if let Some(refusal) = enclosure.refusal() {
            return Err(io::Error::other(refusal));
        }
        let shell = enclosure.find(SHELL).ok_or_else(|| io::Error::other("there is no `sh`"))?;
        let variable =
            |name: &OsStr, value: &OsStr| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let environment = enclosure.environment().iter().map(|(name, value)| variable(name, value));
        let (name, value) = SKIPPED_DOWNLOADS;
        let raised = Self {
            behind: match &enclosure.0.layer {
                Layer::View(view) => Behind::View(serde_json::from_slice(&view.order()?)?),
                Layer::Restriction(_, rules) => Behind::Rules(rules.clone()),
            },
            shell: PathText::from(shell.as_path()),
            environment: environment.chain([variable(name.as_ref(), value.as_ref())]).collect(),
            temporary: PathText::from(enclosure.temporary()),
        };
        write_whole(&file, &serde_json::to_vec(&raised)?)?;
        // Its directory for temporary files goes with the one that it lies in.
        std::mem::forget(enclosure);
        Ok(raised)
    }
}

impl Run {
    fn of(program: &GitProgram) -> Self {
        let letters = match program.setting.rsplit_once('.').map(|(_, of)| of) {
            Some("driver") => {
                let has = |letter: &char| program.command.contains(&format!("%{letter}"));
                MERGE.into_iter().chain(MERGE_LABELS.into_iter().filter(has)).collect()
            }
            // Git puts nothing into the command of a process.
            Some("process") => Vec::new(),
            _ => vec!['f'],
        };
        Self { command: program.command.clone(), letters }
    }

    /// The text of the setting that takes the place of the command. Nothing of the command is in it: git puts quoted text in the place of a
    /// placeholder, which is plain text no more between quotes of ours.
    fn text(&self, own: &Path, folder: &Path, number: usize) -> String {
        let word = |path: &Path| String::from_utf8_lossy(&quoted(path.as_os_str())).into_owned();
        let [own, folder] = [own, folder].map(word);
        let mut text = format!("{own} {STAGE_ARGUMENT} {GIT_PROGRAM} {folder} {number}");
        if !self.letters.is_empty() {
            text = text.replace('%', "%%");
        }
        for letter in &self.letters {
            text.push_str(" %");
            text.push(*letter);
        }
        text
    }

    /// The command with what came for its placeholders, as git would have put it there.
    fn filled(&self, values: &[OsString]) -> Vec<u8> {
        if self.letters.is_empty() {
            return self.command.clone().into_bytes();
        }
        let mut filled = Vec::new();
        let mut letters = self.command.chars();
        while let Some(letter) = letters.next() {
            let mut bytes = [0; 4];
            if letter != '%' {
                filled.extend_from_slice(letter.encode_utf8(&mut bytes).as_bytes());
                continue;
            }
            let rest = letters.as_str();
            let next = rest.chars().next();
            let found = self.letters.iter().position(|letter| Some(*letter) == next);
            match found.and_then(|index| values.get(index)) {
                Some(value) => filled.extend(quoted(value)),
                None => filled.push(b'%'),
            }
            if found.is_some() || next == Some('%') {
                letters.next();
            }
        }
        filled
    }
}

/// A value as one word of a shell.
fn quoted(value: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in value.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(br"'\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// Runs a program of git's settings if the arguments behind [`STAGE_ARGUMENT`] ask for one. The process must have one thread.
pub(super) fn run_git_program(arguments: &[OsString]) -> Option<ExitCode> {
    let [kind, folder, rest @ ..] = arguments else { return None };
    if kind != GIT_PROGRAM {
        return None;
    }
    let folder = Path::new(folder);
    let code = run(folder, rest).unwrap_or_else(|error| {
        // Git may go on without the program; whoever has called git looks here.
        let _ = write_whole(&folder.join(FAILURE), error.to_string().as_bytes());
        FAILED
    });
    Some(ExitCode::from(code))
}

fn run(folder: &Path, arguments: &[OsString]) -> io::Result<u8> {
    let wrong = || io::Error::other("a call that git did not make");
    let [number, values @ ..] = arguments else { return Err(wrong()) };
    let programs: Programs = serde_json::from_slice(&std::fs::read(folder.join(PROGRAMS))?)?;
    let number: usize = number.to_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
    let run = programs.runs.get(number).ok_or_else(wrong)?;
    let raised = Raised::of(folder, &programs)?;
    if run.letters.first() != MERGE.first() {
        return raised.run(&run.filled(values));
    }
    // A driver works on copies: where git has the files, nothing can be written.
    let copies = Scratch::new(&raised.temporary.path())?;
    let mut inside = values.to_vec();
    let files = values.get(..MERGED_FILES).ok_or_else(wrong)?;
    for (number, (value, copy)) in files.iter().zip(&mut inside).enumerate() {
        let path = copies.path().join(number.to_string());
        std::fs::copy(value, &path)?;
        *copy = path.into_os_string();
    }
    let code = raised.run(&run.filled(&inside))?;
    let handle = std::fs::File::open(copies.path())?;
    // A link would bring in what the driver may not read.
    let merged = crate::beneath::open_regular(&handle, OsStr::new("1"))?;
    let (mut merged, _) = merged.ok_or_else(|| io::Error::other("the driver left no file"))?;
    let mut ours = std::fs::OpenOptions::new().write(true).truncate(true).open(&files[1])?;
    io::copy(&mut merged, &mut ours)?;
    Ok(code)
}

impl Raised {
    /// Runs a command behind the wall, with this process's input and output. Returns its exit code.
    fn run(&self, command: &[u8]) -> io::Result<u8> {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let (command, shell) = (text(command), self.shell.path());
        let passed =
            PASSED.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        let own = self.environment.iter().map(|(name, value)| (text(name), text(value)));
        let environment: Vec<(OsString, OsString)> = own.chain(passed).collect();
        #[cfg(target_os = "linux")]
        match &self.behind {
            Behind::View(setup) => {
                let here = PathText::from(std::env::current_dir()?.as_path());
                let setup = Setup { directory: here, ..(**setup).clone() };
                namespace::run_on_own_input(&setup, (&shell, SHELL), &command, &environment)
            }
            Behind::Rules(rules) => {
                namespace::run_restricted(rules, &shell, &command, &environment)
            }
        }
        #[cfg(not(target_os = "linux"))]
        {
            drop((command, shell, environment));
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(setting: &str, command: &str) -> Run {
        Run::of(&GitProgram { setting: setting.to_owned(), command: command.to_owned() })
    }

    fn filled(setting: &str, command: &str, values: &[&str]) -> String {
        let values: Vec<OsString> = values.iter().map(OsString::from).collect();
        String::from_utf8(program(setting, command).filled(&values)).unwrap()
    }

    #[test]
    fn a_command_gets_what_git_would_put_into_it() {
        assert_eq!(
            filled("filter.a.clean", "x %f 100%% %d %", &["a'b; c"]),
            r"x 'a'\''b; c' 100% %d %"
        );
        assert_eq!(filled("filter.a.process", "x %f", &[]), "x %f");
        let values = ["o", "a", "b", "7", "p q"];
        assert_eq!(
            filled("merge.a.driver", "m %A %O %B %L %P", &values),
            "m 'a' 'o' 'b' '7' 'p q'"
        );
        let values = ["o", "a", "b", "7", "p", "base"];
        assert_eq!(filled("merge.a.driver", "m %S %A", &values), "m 'base' 'a'");
    }

    #[test]
    fn nothing_of_a_command_stands_in_the_setting() {
        let text =
            |setting| program(setting, "evil %f").text(Path::new("/o'n"), Path::new("/1%/f"), 3);
        assert_eq!(text("filter.a.clean"), r"'/o'\''n' __wall-stage git-program '/1%%/f' 3 %f");
        assert_eq!(text("filter.a.process"), r"'/o'\''n' __wall-stage git-program '/1%/f' 3");
        assert_eq!(
            text("merge.a.driver"),
            r"'/o'\''n' __wall-stage git-program '/1%%/f' 3 %O %A %B %L %P"
        );
    }
}
