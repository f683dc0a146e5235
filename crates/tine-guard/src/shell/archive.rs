//! Looking into archives, compressed and binary files: `tar` and `unzip` only list, the compressors only list, test or print,
//! `xxd` only prints.

use super::refusal::Refusal;
use super::utility::ReadPath;
use super::word::{Word, refuse};

type Judged = Result<Vec<ReadPath>, Refusal>;

/// `tar`: one cluster of letters that lists, then a local archive, then names inside it.
pub(super) fn tar(arguments: &[Word]) -> Judged {
    let [cluster, archive, members @ ..] = arguments else {
        return match arguments {
            [only] if matches!(only.text.as_str(), "--version" | "--help") => Ok(Vec::new()),
            [only, ..] => refuse(only, "`tar` may only list one archive, as in `tar -tf FILE`"),
            [] => {
                Err(Refusal::new(0, "tar", "`tar` may only list one archive, as in `tar -tf FILE`"))
            }
        };
    };
    let letters = cluster.text.strip_prefix('-').unwrap_or(&cluster.text);
    let lists =
        letters.contains('t') && letters.ends_with('f') && letters.matches('f').count() == 1;
    if !lists || !letters.chars().all(|c| "tvzjJf".contains(c)) {
        return refuse(cluster, "`tar` may only list one archive, as in `tar -tf FILE`");
    }
    // A colon would name another machine.
    if archive.glob.is_some()
        || archive.text.contains(':')
        || (archive.text.starts_with('-') && archive.text != "-")
    {
        return refuse(archive, "the archive must be a file that is named here");
    }
    match members.iter().find(|word| word.glob == Some(0) || word.text.starts_with('-')) {
        Some(word) => refuse(word, "not on the list of options that only read"),
        None => Ok(vec![ReadPath::of(archive, true)]),
    }
}

/// `gzip`, `bzip2`, `xz`, `zstd`: to list, to test, or to decompress to the output.
pub(super) fn compressor(arguments: &[Word]) -> Judged {
    compressed(arguments, "dc")
}

/// `gunzip` and its like, which decompress without being told.
pub(super) fn decompressor(arguments: &[Word]) -> Judged {
    compressed(arguments, "c")
}

/// One cluster of letters with one thing to do, then files. Where several are asked for, the programs differ on which one
/// counts, and without any the file is replaced.
fn compressed(arguments: &[Word], prints: &str) -> Judged {
    let [cluster, files @ ..] = arguments else {
        return Err(Refusal::new(0, "", "it may only list, test or print, as in `gzip -l FILE`"));
    };
    let letters = cluster.text.strip_prefix('-').unwrap_or_default();
    let asked: String = letters.chars().filter(|c| !matches!(c, 'v' | 'q')).collect();
    let shows = asked == "l" || asked == "t";
    let shown = asked == prints || prints.len() == 2 && asked == "cd";
    if cluster.text == "--version" || cluster.text == "--help" {
        return Ok(Vec::new());
    }
    if cluster.glob.is_some() || !(shows || shown) {
        return refuse(cluster, "it may only list, test or print, as in `gzip -l FILE`");
    }
    let option = |word: &&Word| word.text.starts_with('-') && word.text != "-";
    match files.iter().find(|word| word.glob == Some(0) || option(word)) {
        Some(word) => refuse(word, "not on the list of options that only read"),
        None => Ok(files.iter().map(|word| ReadPath::of(word, shown)).collect()),
    }
}

/// `unzip`: to list, to test, or to print what is inside.
pub(super) fn unzip(arguments: &[Word]) -> Judged {
    let [option, archive, ..] = arguments else {
        let at = arguments.first().map_or(0, |word| word.at);
        return Err(Refusal::new(at, "unzip", "`unzip` may only list, as in `unzip -l FILE`"));
    };
    if !matches!(option.text.as_str(), "-l" | "-v" | "-lv" | "-Z" | "-Z1" | "-t" | "-p" | "-c") {
        return refuse(option, "`unzip` may only list, as in `unzip -l FILE`");
    }
    match arguments[1..].iter().find(|word| word.glob == Some(0) || word.text.starts_with('-')) {
        Some(word) => refuse(word, "not on the list of options that only read"),
        None if archive.glob.is_some() => {
            refuse(archive, "the archive must be a file that is named here")
        }
        None => Ok(vec![ReadPath::of(archive, true)]),
    }
}

/// `xxd`: its options are whole words and stand before the file; `-r` turns back and writes, and what stands behind the file is
/// written, whatever it looks like.
pub(super) fn xxd(arguments: &[Word]) -> Judged {
    const ALONE: [&str; 14] = words!("-a -b -C -d -E -e -i -p -ps -plain -postscript -u -v -h");
    const WITH_NUMBER: [&str; 5] = ["-c", "-g", "-l", "-o", "-s"];
    let is_number = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'+'))
    };
    let mut file: Option<&Word> = None;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if word.glob.is_some() {
            return refuse(word, "a wildcard may become more operands than `xxd` may have");
        }
        if file.is_some() {
            return refuse(word, "what stands behind the file would be written");
        }
        if !text.starts_with('-') || text == "-" {
            file = Some(word);
        } else if WITH_NUMBER.contains(&text) {
            match rest.next() {
                Some(value) if is_number(value.text.strip_prefix('-').unwrap_or(&value.text)) => {}
                _ => return refuse(word, "the number of this option is missing"),
            }
        } else {
            let attached = WITH_NUMBER.iter().find_map(|option| text.strip_prefix(option));
            if !ALONE.contains(&text) && !attached.is_some_and(is_number) {
                return refuse(word, "not on the list of options that only read");
            }
        }
    }
    Ok(file.map(|word| ReadPath::of(word, true)).into_iter().collect())
}
