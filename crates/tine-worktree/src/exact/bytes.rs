//! Files whose bytes git would not give back: those that a filter, an encoding or a line end changes on the way in, and that are others
//! when they come out again.
//!
//! Attributes and settings say which files git changes at all. Of most of these a look at their sizes is enough; the others are written by git
//! into a scratch directory and compared.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::error::WorktreeError;
use crate::fault;
use crate::git::{Git, joined, parts, path};
use crate::repository::Repository;
use crate::scratch::Scratch;
use crate::snapshot::Entry;
use crate::wary;

/// Most bytes that are written to be compared at a time: of the scratch directory no more is asked for, but for one file.
const COMPARED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Largest file that is kept as bytes. Git itself reads a file whole.
pub(super) const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024 * 1024;

/// Largest note that LFS leaves in the place of a file; its own limit is the same.
const LFS_NOTE_BYTES_MAX: u64 = 1024;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// A regular file of the checkout, with the blob that git has of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Regular<'a> {
    pub(super) entry: &'a Entry,
    pub(super) bytes: u64,
}

/// The change that git makes to a file on its way in and out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    /// Nothing.
    No,
    /// Line ends come out as line feeds.
    ToLf,
    /// Line ends come out as pairs.
    ToCrlf,
    /// One that only a look at the outcome can tell.
    Unknown,
    /// The filter of LFS.
    Lfs,
}

/// Settings about line ends.
#[derive(Debug, Clone, Copy, Default)]
struct LineEnds {
    /// `core.autocrlf`: to pairs, or only from them.
    auto: Option<Conversion>,
    is_crlf: bool,
}

/// Attributes of a file that decide what git does with it, as `git check-attr` tells them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Attributes {
    text: Option<String>,
    crlf: Option<String>,
    eol: Option<String>,
    filter: Option<String>,
    is_other: bool,
}

impl Attributes {
    fn set(&mut self, name: &[u8], value: &[u8]) {
        let word = || Some(String::from_utf8_lossy(value).into_owned());
        match name {
            b"text" => self.text = word(),
            b"crlf" => self.crlf = word(),
            b"eol" => self.eol = word(),
            b"filter" => self.filter = word().filter(|name| name != "unset"),
            b"ident" | b"working-tree-encoding" => self.is_other |= value != b"unset",
            _ => {}
        }
    }

    /// By the order in which git decides.
    fn conversion(&self, ends: LineEnds) -> Conversion {
        match self.filter.as_deref() {
            Some("lfs") if !self.is_other => return Conversion::Lfs,
            Some(_) => return Conversion::Unknown,
            None if self.is_other => return Conversion::Unknown,
            None => {}
        }
        let text = self.text.as_deref().or(self.crlf.as_deref());
        let usual = match (ends.auto, ends.is_crlf) {
            (Some(auto), _) => auto,
            (None, true) => Conversion::ToCrlf,
            (None, false) => Conversion::ToLf,
        };
        match (text, self.eol.as_deref()) {
            (Some("unset"), _) => Conversion::No,
            (_, Some("crlf")) => Conversion::ToCrlf,
            (_, Some("lf")) | (Some("input"), _) => Conversion::ToLf,
            (Some(_), _) => usual,
            (None, _) => ends.auto.unwrap_or(Conversion::No),
        }
    }
}

/// Returns those of `files` whose bytes git would not give back. `git`: with an index that has every file. `had_others`: whether the
/// files may have had other attributes when git last read them. It does not read a file again because of that.
pub(super) fn lost<'a>(
    repository: &Repository,
    git: &Git,
    scratch: &Scratch,
    (files, had_others): (&[Regular<'a>], bool),
) -> Result<Vec<Regular<'a>>, WorktreeError> {
    let (top, ends) = (repository.top(), line_ends(git)?);
    let attributes = attributes(git, files)?;
    let of = |file: &Regular<'_>| {
        let found = attributes.get(&file.entry.path);
        found.map_or_else(|| Attributes::default().conversion(ends), |it| it.conversion(ends))
    };
    let converted: Vec<(Regular<'a>, Conversion)> = files
        .iter()
        .map(|file| (*file, of(file)))
        .filter(|(_, it)| had_others || *it != Conversion::No)
        .collect();
    if converted.is_empty() {
        return Ok(Vec::new());
    }
    let sizes = sizes(git, &converted)?;
    let (mut lost, mut doubtful) = (Vec::new(), Vec::new());
    let mut large = Vec::new();
    for ((file, conversion), blob_bytes) in converted.into_iter().zip(sizes) {
        let is_same_size = file.bytes == blob_bytes;
        match conversion {
            Conversion::No if is_same_size => {}
            Conversion::No => lost.push(file),
            // On the way in line ends only become shorter, and on the way out they stay.
            Conversion::ToLf if is_same_size => {}
            Conversion::ToCrlf
                if has_only_pairs(&top.join(&file.entry.path), blob_bytes).unwrap_or(false) => {}
            Conversion::Lfs if blob_bytes <= LFS_NOTE_BYTES_MAX => match is_same_size {
                // The note itself stands there; git would fetch the file.
                true => lost.push(file),
                false => large.push(file),
            },
            Conversion::ToLf | Conversion::ToCrlf | Conversion::Unknown | Conversion::Lfs => {
                doubtful.push(file);
            }
        }
    }
    // To ask LFS for those would be to ask the network.
    lost.extend(not_in_lfs(repository, git, &large)?);
    for group in groups(&doubtful) {
        lost.extend(differing(top, git, scratch, group)?);
    }
    Ok(lost)
}

fn line_ends(git: &Git) -> Result<LineEnds, WorktreeError> {
    let asked = ["config", "--null", "--get-regexp", r"^core\.(autocrlf|eol)$"];
    let (_, said) = git.answer(asked, &[])?;
    let mut ends = LineEnds::default();
    for entry in parts(&said) {
        let entry = String::from_utf8_lossy(entry).to_lowercase();
        match entry.split_once('\n').unwrap_or((&entry, "true")) {
            ("core.autocrlf", "input") => ends.auto = Some(Conversion::ToLf),
            ("core.autocrlf", "false" | "no" | "off" | "0" | "") => ends.auto = None,
            ("core.autocrlf", _) => ends.auto = Some(Conversion::ToCrlf),
            ("core.eol", eol) => ends.is_crlf = eol == "crlf",
            _ => {}
        }
    }
    Ok(ends)
}

/// Files that have any attribute which counts here.
fn attributes(
    git: &Git,
    files: &[Regular<'_>],
) -> Result<HashMap<PathBuf, Attributes>, WorktreeError> {
    let names = joined(files.iter().map(|file| &file.entry.path));
    let mut found: HashMap<PathBuf, Attributes> = HashMap::new();
    if names.is_empty() {
        return Ok(found);
    }
    let said = git.fed(["check-attr", "--all", "-z", "--stdin"], &names)?;
    let fields: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
    for fields in fields.chunks_exact(3) {
        let [name, attribute, value] = fields else { continue };
        found.entry(path(name)).or_default().set(attribute, value);
    }
    Ok(found)
}

/// Returns the number of bytes that git has of each.
fn sizes(git: &Git, files: &[(Regular<'_>, Conversion)]) -> Result<Vec<u64>, WorktreeError> {
    let asked: String = files.iter().map(|(file, _)| format!("{}\n", file.entry.object)).collect();
    let said =
        git.fed(["cat-file", "--batch-check=%(objectsize)", "--buffer"], asked.as_bytes())?;
    let said = String::from_utf8_lossy(&said);
    let sizes: Vec<u64> = said.lines().filter_map(|line| line.trim().parse().ok()).collect();
    if sizes.len() == files.len() {
        Ok(sizes)
    } else {
        Err(WorktreeError::Output { what: "list of sizes", text: first_line(&said) })
    }
}

fn first_line(said: &str) -> String {
    said.lines().next().unwrap_or_default().to_owned()
}

/// Returns true if all line ends of a file are pairs, which git takes one byte each of, and nothing in it lets git doubt that it is text.
fn has_only_pairs(file: &Path, blob_bytes: u64) -> io::Result<bool> {
    let mut file = wary::open(file, FILE_BYTES_MAX)?;
    let (mut bytes, mut pairs, mut is_after_return) = (0_u64, 0_u64, false);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(!is_after_return && bytes == blob_bytes.saturating_add(pairs));
        }
        for byte in &chunk[..read] {
            match (byte, is_after_return) {
                (b'\n', true) => pairs += 1,
                (b'\n' | 0, _) | (_, true) => return Ok(false),
                _ => {}
            }
            is_after_return = *byte == b'\r';
        }
        bytes = bytes.saturating_add(u64::try_from(read).unwrap_or(0));
    }
}

/// Of files that are in LFS those that it has not at hand: it would have to fetch them.
fn not_in_lfs<'a>(
    repository: &Repository,
    git: &Git,
    files: &[Regular<'a>],
) -> Result<Vec<Regular<'a>>, WorktreeError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let objects: Vec<&str> = files.iter().map(|file| file.entry.object.as_str()).collect();
    let notes = super::blobs(git, &objects)?;
    let store = repository.common_dir().join("lfs").join("objects");
    let is_there = |file: &Regular<'_>, note: &[u8]| {
        lfs_file(note, &store).is_some_and(|(kept, bytes)| {
            bytes == file.bytes && fs::metadata(kept).is_ok_and(|about| about.len() == bytes)
        })
    };
    let missing = files.iter().zip(&notes).filter(|(file, note)| !is_there(file, note));
    Ok(missing.map(|(file, _)| *file).collect())
}

/// Returns the path at which LFS has the file that a note of it stands for, and the size of that file.
fn lfs_file(note: &[u8], store: &Path) -> Option<(PathBuf, u64)> {
    let note = std::str::from_utf8(note).ok()?;
    let value = |key: &str| note.lines().find_map(|line| line.strip_prefix(key));
    let hash = value("oid sha256:")
        .filter(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let bytes = value("size ")?.parse().ok()?;
    Some((store.join(&hash[..2]).join(&hash[2..4]).join(hash), bytes))
}

/// Groups of files that are compared together.
fn groups<'a, 'b>(files: &'b [Regular<'a>]) -> Vec<&'b [Regular<'a>]> {
    let (mut groups, mut first, mut sum) = (Vec::new(), 0, 0_u64);
    for (number, file) in files.iter().enumerate() {
        if number > first && sum.saturating_add(file.bytes) > COMPARED_BYTES_MAX {
            groups.push(&files[first..number]);
            (first, sum) = (number, 0);
        }
        sum = sum.saturating_add(file.bytes);
    }
    if first < files.len() {
        groups.push(&files[first..]);
    }
    groups
}

/// Lets git write these files elsewhere. Where it writes others, or nothing, it would not give the file back.
fn differing<'a>(
    top: &Path,
    git: &Git,
    scratch: &Scratch,
    files: &[Regular<'a>],
) -> Result<Vec<Regular<'a>>, WorktreeError> {
    let written = scratch.place("written");
    let failed = |source| WorktreeError::file("make the directory", &written, source);
    fault::step().and_then(|()| fs::create_dir(&written)).map_err(failed)?;
    let names = joined(files.iter().map(|file| &file.entry.path));
    let prefix = [b"--prefix=", written.as_os_str().as_encoded_bytes(), b"/"].concat();
    let plain = ["checkout-index", "--quiet", "--force", "-z", "--stdin"].map(Into::into);
    let arguments = plain.into_iter().chain([path(&prefix).into_os_string()]);
    // A filter that fails leaves out its file, and perhaps others.
    if let Err(error) = git.fed(arguments, &names) {
        tracing::debug!(%error, "git cannot write some files");
    }
    let is_same = |file: &&Regular<'a>| {
        let path = &file.entry.path;
        !is_same(&top.join(path), &written.join(path)).unwrap_or(false)
    };
    let differing = files.iter().filter(is_same).copied().collect();
    fault::step().and_then(|()| fs::remove_dir_all(&written)).map_err(failed)?;
    Ok(differing)
}

/// Returns true if two files hold the same bytes.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let [mut one, mut other] =
        [wary::open(one, FILE_BYTES_MAX)?, wary::open(other, FILE_BYTES_MAX)?];
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut mine, mut theirs) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    loop {
        let read = one.read(&mut mine)?;
        if read == 0 {
            return Ok(other.read(&mut theirs)? == 0);
        }
        match other.read_exact(&mut theirs[..read]) {
            Ok(()) if mine[..read] == theirs[..read] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversion(attributes: &[(&str, &str)], ends: LineEnds) -> Conversion {
        let mut found = Attributes::default();
        attributes.iter().for_each(|(name, value)| found.set(name.as_bytes(), value.as_bytes()));
        found.conversion(ends)
    }

    #[test]
    fn attributes_and_settings_say_what_git_changes() {
        let (no, input) =
            (LineEnds::default(), LineEnds { auto: Some(Conversion::ToLf), is_crlf: false });
        let auto = LineEnds { auto: Some(Conversion::ToCrlf), is_crlf: false };
        let eol = LineEnds { auto: None, is_crlf: true };
        for (attributes, ends, expected) in [
            (&[][..], no, Conversion::No),
            (&[], eol, Conversion::No),
            (&[], input, Conversion::ToLf),
            (&[], auto, Conversion::ToCrlf),
            (&[("text", "auto")], no, Conversion::ToLf),
            (&[("text", "set")], eol, Conversion::ToCrlf),
            (&[("text", "auto")], auto, Conversion::ToCrlf),
            (&[("text", "unset")], auto, Conversion::No),
            (&[("text", "auto"), ("eol", "lf")], auto, Conversion::ToLf),
            (&[("eol", "crlf")], no, Conversion::ToCrlf),
            (&[("crlf", "input")], auto, Conversion::ToLf),
            (&[("crlf", "unset")], auto, Conversion::No),
            (&[("ident", "set")], no, Conversion::Unknown),
            (&[("ident", "unset")], no, Conversion::No),
            (&[("working-tree-encoding", "UTF-16")], no, Conversion::Unknown),
            (&[("text", "unset"), ("filter", "lfs")], no, Conversion::Lfs),
            (&[("filter", "strip")], no, Conversion::Unknown),
            (&[("diff", "unset")], no, Conversion::No),
        ] {
            assert_eq!(conversion(attributes, ends), expected, "{attributes:?} {ends:?}");
        }
    }

    #[test]
    fn only_files_whose_line_ends_are_all_pairs_are_certain() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        for (content, blob_bytes, expected) in [
            ("", 0, true),
            ("a\r\nb\r\n", 4, true),
            ("a\r\nb", 3, true),
            ("a\r\nb\n", 4, false),
            ("a\rb\r\n", 5, false),
            ("a\r\n\0", 3, false),
            ("a\r\n\r", 3, false),
            ("a\r\n", 3, false),
        ] {
            fs::write(&file, content).unwrap();
            assert_eq!(has_only_pairs(&file, blob_bytes).unwrap(), expected, "{content:?}");
        }
    }

    #[test]
    fn notes_of_lfs_lead_to_its_files() {
        let hash = "ab12".repeat(16);
        let note =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize 5\n");
        let (file, bytes) = lfs_file(note.as_bytes(), Path::new("/s")).unwrap();
        assert_eq!((file, bytes), (PathBuf::from(format!("/s/ab/12/{hash}")), 5));
        for other in ["", "oid sha256:..\nsize 5\n", "size 5\n"] {
            assert_eq!(lfs_file(other.as_bytes(), Path::new("/s")), None, "{other}");
        }
    }

    #[test]
    fn files_are_compared_by_their_bytes() {
        let home = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| home.path().join(name));
        let long = "x".repeat(200_000);
        for (mine, theirs, expected) in [
            ("", "", true),
            ("a", "b", false),
            ("a", "ab", false),
            (long.as_str(), long.as_str(), true),
            (long.as_str(), &(long[1..].to_owned() + "y"), false),
        ] {
            fs::write(&one, mine).unwrap();
            fs::write(&other, theirs).unwrap();
            assert_eq!(is_same(&one, &other).unwrap(), expected);
        }
    }
}
