//! Where a path really leads: the one place of this crate that follows links. It changes nothing.
//!
//! A symbolic link inside an agent's directory may lead out of it. So a call is judged twice, as it is
//! written and as the system would resolve it, and then only the path that was judged here is opened,
//! without following any link: what changes between the look and the opening makes the opening fail.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use tine_model::RawJson;

use crate::call::{Call, Kind};
use crate::paths::normalise;

/// Most links on one path; the system itself follows no more.
const LINKS_MAX: usize = 40;

/// Why nobody can say where a path leads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RealPathError {
    /// Only a path that begins at the root means one place.
    #[error("`{}` is not an absolute path", .0.display())]
    Relative(PathBuf),
    /// A loop, or a chain that the system would not follow either.
    #[error("`{}` leads through more than {LINKS_MAX} symbolic links", .0.display())]
    TooManyLinks(PathBuf),
}

/// The path with `.` and `..` resolved in its text, as the tools do it, and then every link followed,
/// dangling ones too. What does not exist, or cannot be looked at, stands for itself.
///
/// The result holds no link at the moment of the look, so it can be opened without following any.
pub fn real_path(path: &Path) -> Result<PathBuf, RealPathError> {
    if !path.is_absolute() {
        return Err(RealPathError::Relative(path.to_path_buf()));
    }
    physical_path(&normalise(path))
}

/// The same, with `..` resolved as the system does it: behind a link it leads to the parent of where the
/// link leads.
pub(crate) fn physical_path(path: &Path) -> Result<PathBuf, RealPathError> {
    let mut pending: VecDeque<OsString> = parts(path).collect();
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = pending.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(&part);
        let Ok(target) = std::fs::read_link(&real) else { continue };
        links += 1;
        if links > LINKS_MAX {
            return Err(RealPathError::TooManyLinks(path.to_path_buf()));
        }
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            pending.push_front(part);
        }
    }
    Ok(real)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

/// A call on a path, as the system would resolve it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealCall {
    /// Where the path leads. A tool must open this and nothing else.
    pub path: PathBuf,
    /// The directory that the path is judged from: the agent's, without links.
    pub directory: PathBuf,
    /// The arguments with the real path in place of the written one; `None` where they are the same.
    pub input: Option<RawJson>,
}

/// The call on a path as the system would resolve it. `real_directory` is the call's directory without links as it was when the
/// agent's place was opened. (A directory that is replaced by a link afterwards must not turn into another place.)
///
/// `Ok(None)` says that the tool takes no path, or that the arguments are none that a judge would pass.
pub fn real_call(
    call: &Call<'_>,
    real_directory: &Path,
) -> Result<Option<RealCall>, RealPathError> {
    let Some(field) = Kind::of(call.tool).path_field() else { return Ok(None) };
    let Ok(arguments) = call.arguments() else { return Ok(None) };
    let written = match arguments.text(field) {
        Ok(Some(written)) => normalise(&call.directory.join(written)),
        Ok(None) => normalise(call.directory),
        Err(_) => return Ok(None),
    };
    let path = real_path(&written)?;
    let directory = real_directory.to_path_buf();
    if path == written {
        return Ok(Some(RealCall { path, directory, input: None }));
    }
    let input = with_field(call.input, field, &path);
    Ok(Some(RealCall { path, directory, input }))
}

/// The arguments with another text in one field.
fn with_field(input: &RawJson, field: &str, path: &Path) -> Option<RawJson> {
    let mut arguments: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(input.as_str()).ok()?;
    arguments.insert(field.to_owned(), path.to_string_lossy().into_owned().into());
    RawJson::parse(&serde_json::Value::Object(arguments).to_string()).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory `in` with links of every kind, beside a directory `out`.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        let inside = real.join("in");
        std::fs::create_dir_all(inside.join("dir")).unwrap();
        std::fs::create_dir(real.join("out")).unwrap();
        symlink("../out", inside.join("door")).unwrap();
        symlink("door/new.txt", inside.join("twice")).unwrap();
        symlink("nowhere", inside.join("dangling")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        (home, real)
    }

    #[test]
    fn links_are_followed_wherever_they_stand() {
        let (_home, real) = home();
        let inside = real.join("in");
        let check = |path: &str, expected: PathBuf| {
            assert_eq!(real_path(&inside.join(path)), Ok(expected), "{path}");
        };
        check("dir/a.txt", inside.join("dir/a.txt"));
        check("not/there", inside.join("not/there"));
        check("door/../dir", inside.join("dir"));
        check("door/x", real.join("out/x"));
        check("twice", real.join("out/new.txt"));
        check("dangling", inside.join("nowhere"));
        check("/proc/self/root/etc/../x", PathBuf::from("/x"));
        let looped = real_path(&inside.join("loop/x")).unwrap_err();
        assert_eq!(looped, RealPathError::TooManyLinks(inside.join("loop/x")));
        assert_eq!(real_path(Path::new("a")), Err(RealPathError::Relative("a".into())));
    }

    #[test]
    fn a_chain_is_followed_as_far_as_the_system_does() {
        let (_home, real) = home();
        std::fs::write(real.join("end"), "").unwrap();
        symlink("end", real.join("0")).unwrap();
        for number in 1..=LINKS_MAX {
            symlink(format!("{}", number - 1), real.join(number.to_string())).unwrap();
        }
        let chain = |links: usize| real_path(&real.join((links - 1).to_string()));
        assert_eq!(chain(LINKS_MAX), Ok(real.join("end")));
        assert!(std::fs::metadata(real.join((LINKS_MAX - 1).to_string())).is_ok());
        assert!(chain(LINKS_MAX + 1).is_err());
        assert!(std::fs::metadata(real.join(LINKS_MAX.to_string())).is_err());
    }

    #[test]
    fn a_call_is_resolved_with_its_other_arguments_kept() {
        let (_home, real) = home();
        let inside = real.join("in");
        let check = |tool: &str, input: &str| {
            let input = RawJson::parse(input).unwrap();
            let call = real_call(&Call::new(tool, &input, &inside), &inside).unwrap();
            call.map(|call| {
                let shown = |text: String| text.replace(&real.display().to_string(), "HOME");
                let input = call.input.map_or("as written".to_owned(), |input| input.to_string());
                shown(format!("{} {input}", call.path.display()))
            })
        };
        insta::assert_snapshot!(check("FileRead", r#"{"file_path":"door/x","limit":1}"#).unwrap(), @r#"HOME/out/x {"file_path":"HOME/out/x","limit":1}"#);
        insta::assert_snapshot!(check("FileEdit", r#"{"file_path":"dir/../x"}"#).unwrap(), @"HOME/in/x as written");
        insta::assert_snapshot!(check("Grep", r#"{"pattern":"x"}"#).unwrap(), @"HOME/in as written");
        insta::assert_snapshot!(check("Glob", r#"{"pattern":"x","path":"door"}"#).unwrap(), @r#"HOME/out {"pattern":"x","path":"HOME/out"}"#);
        assert_eq!(check("Bash", r#"{"command":"ls"}"#), None);
        assert_eq!(check("FileRead", r#"{"file_path":1}"#), None);
        assert_eq!(check("FileRead", r#"{"file_path":"a","file_path":"b"}"#), None);
    }
}
