//! Finds the files that a conversation of another program shows whole, as they are now.

use std::path::PathBuf;

use tine_model::SeenFile;

use crate::disk;
use crate::place::Place;

/// A result of a call that names a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFile {
    /// The path of the call's arguments.
    pub path: String,
    /// The result's text.
    pub text: String,
}

/// Returns, for each result, the file that it shows: its numbered lines are all lines of the file as it is now. Others are left out,
/// and so is everything where `directory` is not absolute. Nothing is read but the named files.
pub async fn files_shown_whole(directory: PathBuf, shown: Vec<ShownFile>) -> Vec<Option<SeenFile>> {
    let count = shown.len();
    let look = move || {
        let place = Place::new(&directory).ok()?;
        Some(shown.iter().map(|shown| seen(&place, shown)).collect())
    };
    // A panic in there costs the marks, and the files are read again.
    tokio::task::spawn_blocking(look).await.ok().flatten().unwrap_or_else(|| vec![None; count])
}

fn seen(place: &Place, ShownFile { path, text }: &ShownFile) -> Option<SeenFile> {
    let lines = numbered_lines(text);
    if lines.is_empty() {
        return None;
    }
    let spot = place.spot("path", path).ok()?;
    let content = disk::find(&spot).ok()??.content;
    if !str::from_utf8(&content).ok()?.lines().eq(lines) {
        return None;
    }
    place.remember(spot.real, &content);
    place.take_seen().pop()
}

/// The lines that a text shows with their numbers from 1 on, without the numbers. What follows the last of them is somebody's remark.
fn numbered_lines(text: &str) -> Vec<&str> {
    (1..).zip(text.lines()).map_while(|(number, line)| without_number(number, line)).collect()
}

fn without_number(number: usize, line: &str) -> Option<&str> {
    let line = line.trim_start_matches(' ').strip_prefix(&number.to_string())?;
    line.strip_prefix('\t').or_else(|| line.strip_prefix('→'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::fixture::Fixture;

    #[tokio::test]
    async fn a_result_counts_where_it_shows_all_of_the_file_as_it_is() {
        let fixture = Fixture::new();
        fixture.write("a.txt", "one\n\n2\ttwo\n");
        let directory = fixture.place.directory().to_path_buf();
        let check = async |path: &str, text: &str| {
            let shown = ShownFile { path: path.to_owned(), text: text.to_owned() };
            let seen = files_shown_whole(directory.clone(), vec![shown]).await.remove(0);
            seen.map(|seen| (seen.path, seen.lines.len()))
        };
        let known = Some(("a.txt".to_owned(), 3));
        assert_eq!(check("a.txt", "     1\tone\n     2\t\n     3\t2\ttwo").await, known);
        let absolute = fixture.path("a.txt").canonicalize().unwrap();
        let absolute = absolute.to_str().unwrap();
        let remark =
            "     1→one\n     2→\n     3→2\ttwo\n\n<system-reminder>\nlook\n</system-reminder>";
        assert_eq!(check(absolute, remark).await, known);
        for other in
            ["     1\tone\n     2\t", "     1\tone\n     2\t\n     3\ttwo", "one\n\n2\ttwo", ""]
        {
            assert_eq!(check("a.txt", other).await, None, "{other}");
        }
        assert_eq!(check("none.txt", "     1\tone").await, None);
        assert_eq!(check(".", "     1\tone").await, None);
    }
}
