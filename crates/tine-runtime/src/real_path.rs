//! Where a path that a tool was given really leads.
//!
//! Guard judges text. A symbolic link inside the working directory may lead out of it, so a call is judged a second time
//! with its path as the system would resolve it. (Between this look and the tool's own opening the link may change;
//! opening relative to a directory handle, which makes both one act, is the tools' part and still to come.)

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use tine_model::RawJson;

/// Most links on one path; the system itself follows no more.
const LINKS_MAX: usize = 40;

/// The arguments of a call with the real path in place of the given one; `None` when they are the same, or when the tool
/// takes no path.
pub(crate) fn with_real_path(tool: &str, input: &RawJson, directory: &Path) -> Option<RawJson> {
    let field = match tool {
        "FileRead" | "FileWrite" | "FileEdit" => "file_path",
        "Glob" | "Grep" => "path",
        _ => return None,
    };
    let mut arguments: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(input.as_str()).ok()?;
    let given = normal(&directory.join(arguments.get(field)?.as_str()?));
    let real = real(&given);
    if real == given {
        return None;
    }
    arguments.insert(field.to_owned(), real.to_string_lossy().into_owned().into());
    RawJson::parse(&serde_json::Value::Object(arguments).to_string()).ok()
}

/// The path without `.` and `..`, resolved in the text as the tools do it.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// The path with every link in it followed, dangling ones too. What does not exist stands for itself; past too many
/// links the path leads nowhere, which is outside of everything.
fn real(path: &Path) -> PathBuf {
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
            return PathBuf::from("/");
        }
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            pending.push_front(part);
        }
    }
    real
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_wherever_they_stand() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let inside = home.join("in");
        std::fs::create_dir_all(inside.join("dir")).unwrap();
        std::fs::create_dir(home.join("out")).unwrap();
        symlink("../out", inside.join("door")).unwrap();
        symlink("door/new.txt", inside.join("twice")).unwrap();
        symlink("nowhere", inside.join("dangling")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        let check = |path: &str, expected: Option<PathBuf>| {
            let input = RawJson::parse(&format!(r#"{{"file_path":"{path}","limit":1}}"#)).unwrap();
            let seen = with_real_path("FileRead", &input, &inside);
            let expected =
                expected.map(|path| format!(r#"{{"file_path":"{}","limit":1}}"#, path.display()));
            assert_eq!(seen.map(|input| input.as_str().to_owned()), expected, "{path}");
        };
        check("dir/a.txt", None);
        check("not/there", None);
        check("door/../dir", None);
        check("door/x", Some(home.join("out/x")));
        check("twice", Some(home.join("out/new.txt")));
        check("dangling", Some(inside.join("nowhere")));
        check("loop/x", Some(PathBuf::from("/")));
    }
}
