//! A directory as people read it in a list.

use std::path::Path;

use tine_tui::words::one_line;

/// The directory from where the person is and from their home: `.`, `./below`, `~/elsewhere`, or whole.
pub(crate) fn place(directory: &str, here: &Path, home: Option<&Path>) -> String {
    let path = Path::new(directory);
    let from = |root: &Path, sign: &str| {
        let rest = path.strip_prefix(root).ok()?.to_string_lossy();
        Some(if rest.is_empty() { sign.to_owned() } else { format!("{sign}/{rest}") })
    };
    let near = from(here, ".").or_else(|| from(home?, "~"));
    one_line(&near.unwrap_or_else(|| directory.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_said_from_here_or_from_home() {
        let home = Path::new("/home/user");
        let said = |path| place(path, Path::new("/home/user/a"), Some(home));
        let paths = ["/home/user/a", "/home/user/a/b", "/home/user", "/home/user/ab", "/srv"];
        assert_eq!(paths.map(said).join(" "), ". ./b ~ ~/ab /srv");
        assert_eq!(place("/srv", Path::new("/"), None), "./srv");
    }
}
