//! Which paths hold keys, passwords or what was typed among them: the one list, for the reading tools, for rules and filters,
//! and for the wall around commands.
//!
//! It goes by the words of a path alone, and looks at nothing. Upper and lower case count as the same, because some file
//! systems do not tell them apart; a copy (`.env.bak`, `server.pem~`) counts as what it is a copy of. What has no telling name
//! is not known here.

mod lists;
mod places;
mod telling;

use std::borrow::Cow;
use std::path::{Component, Path};

use lists::{
    BEGINNINGS, COMMON_NAMES, COPIES, DEVICES, ENDINGS, FILE_ENDINGS, FILE_NAMES, FOLDERS,
    KEY_BEGINNINGS, NAMES, OPEN, PLACES, SAMPLE_ENDINGS, SAMPLES, STORES, TEXT_ENDINGS,
};
use places::Places;
use telling::{HISTORY, may_tell};

/// Most endings that are taken off a name: a copy of a copy of one of several.
const COPIES_MAX: usize = 3;

/// Whether the path's own words say that it holds keys or passwords. Homes are known by their usual places (`/root`,
/// `/home/*`, `/Users/*`, `~`); [`is_secret_in`] is for whoever knows another one.
pub fn is_secret(path: &Path) -> bool {
    let words = words(path);
    if path.is_absolute() && Places::public().hold(&words) {
        return false;
    }
    may_tell(path) && has_secret_name(&words)
        || path.is_absolute() && is_secret_place(&words)
        || below_home(path, &words).is_some_and(is_store)
}

/// Returns true if a word of a path is the name of a secret, whatever lies above it.
fn has_secret_name(words: &[Cow<'_, str>]) -> bool {
    words.iter().any(|word| FOLDERS.contains(&word.as_ref()) || is_secret_name(word))
        || words.last().is_some_and(|word| is_secret_file(word))
}

/// Returns true if a name of this kind tells of secrets as the name of a file, and of nothing as that of a folder: sources lie in folders that
/// are called `tokens`.
pub fn names_files_alone(name: &str) -> bool {
    let name = lower(Cow::Borrowed(name));
    is_secret_file(&name) && !is_secret_name(&name) && !FOLDERS.contains(&name.as_ref())
}

/// As [`is_secret`], where `home` is a home too.
pub fn is_secret_in(path: &Path, home: &Path) -> bool {
    is_secret(path) || path.strip_prefix(home).is_ok_and(is_key_store)
}

/// Whether a path below a home, relative to it, is a key store or in one. Names that tell by themselves are
/// [`is_secret`]'s part.
pub fn is_key_store(below_home: &Path) -> bool {
    is_store(&words(below_home))
}

/// Whether a folder below a home, relative to it, has key stores further down; the home itself has.
pub fn leads_to_key_store(below_home: &Path) -> bool {
    leads_to_store(&words(below_home))
}

/// Whether a directory is known to hold secrets somewhere below: the system's places of keys, or a home. `homes` are
/// those that are known beside the usual ones.
pub(crate) fn leads_to_secrets(directory: &Path, homes: &[&Path]) -> bool {
    let words = words(directory);
    let above = |place: &Path| place.starts_with(directory);
    words.is_empty()
        || matches!(words.as_slice(), [top] if ["home", "users", "proc", "dev"].contains(&top.as_ref()))
        || PLACES.iter().any(|place| is_above(&words, place) && place.len() > 1)
        || below_home(directory, &words).is_some_and(leads_to_store)
        || homes
            .iter()
            .any(|home| above(home) || directory.strip_prefix(home).is_ok_and(leads_to_key_store))
}

/// The places of secrets as patterns with `*` for a whole name: those of the system, and those of the usual homes and of `home`.
/// In lower case, without names that tell by themselves.
pub(crate) fn secret_places(home: Option<&Path>) -> impl Iterator<Item = String> {
    let homes = ["/root", "/home/*", "/users/*"].into_iter().map(str::to_owned);
    let homes = homes.chain(home.map(|home| home.to_string_lossy().to_lowercase()));
    let in_homes = homes.flat_map(|home| STORES.iter().map(move |store| format!("{home}/{store}")));
    // A process's number is a name like any other.
    PLACES.iter().map(ToString::to_string).chain(["/proc/*/*".to_owned()]).chain(in_homes)
}

/// The names of secrets as patterns with `*`, in lower case. For a wildcard as wide as `*.yml` without the few names that most
/// directories of a project would be closed for.
pub(crate) fn secret_patterns(wildcard: &str) -> impl Iterator<Item = String> + use<> {
    let common: &[&str] = if wildcard.starts_with("*.") { &[] } else { &COMMON_NAMES };
    let whole = NAMES.iter().chain(common).chain(&FOLDERS).chain(&KEY_BEGINNINGS);
    let endings = ENDINGS.iter().map(|ending| format!("*{ending}"));
    let beginnings = BEGINNINGS.iter().map(|beginning| format!("{beginning}*"));
    let history = ".*_history".to_owned();
    whole.map(ToString::to_string).chain(endings).chain(beginnings).chain([history])
}

/// A name, and what it would be a copy of.
pub(crate) fn copied(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| without_copy(name)).take(COPIES_MAX + 1)
}

/// The words of a path in lower case.
fn words(path: &Path) -> Vec<Cow<'_, str>> {
    let words = path.components().filter_map(|component| match component {
        Component::Normal(word) => Some(lower(word.to_string_lossy())),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    });
    words.collect()
}

/// The same in lower case. Most words are, and cost nothing.
fn lower(word: Cow<'_, str>) -> Cow<'_, str> {
    let is_lower = word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lower { word } else { Cow::Owned(word.to_lowercase()) }
}

fn is_secret_name(name: &str) -> bool {
    if let Some((stem, ending)) = name.rsplit_once('.')
        && !stem.is_empty()
        && let Some(stem) = without_copy(stem)
        && is_telling(&format!("{stem}.{ending}"))
    {
        // `credentials-prod.json`
        return true;
    }
    copied(name).any(is_telling)
}

fn is_secret_file(name: &str) -> bool {
    copied(name).any(|name| {
        FILE_NAMES.contains(&name) || FILE_ENDINGS.iter().any(|ending| name.ends_with(ending))
    })
}

fn is_telling(name: &str) -> bool {
    let is_text = || TEXT_ENDINGS.iter().any(|ending| name.ends_with(ending));
    let is_key = |key: &&str| name.starts_with(key) && !name.ends_with(".pub") && !is_text();
    let tells = NAMES.binary_search(&name).is_ok()
        || COMMON_NAMES.binary_search(&name).is_ok()
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || KEY_BEGINNINGS.iter().any(is_key)
        || without_ending(name, &ENDINGS).is_some()
        || name.starts_with('.') && name.ends_with(HISTORY);
    tells && !is_sample(name)
}

/// The beginning of a name that ends with one of these sorted endings, the longest. Each begins with a mark, one of `.`, `-` and
/// `~`, and has at most two.
fn without_ending<'a>(name: &'a str, endings: &[&str]) -> Option<&'a str> {
    let mark = |name: &str| name.bytes().rposition(|byte| matches!(byte, b'.' | b'-' | b'~'));
    let last = mark(name)?;
    let places = [mark(&name[..last]), Some(last)];
    let place =
        places.into_iter().flatten().find(|at| endings.binary_search(&&name[*at..]).is_ok())?;
    Some(&name[..place])
}

/// Whether the last word of a name, or the last before a common ending, says that it is a sample.
fn is_sample(name: &str) -> bool {
    let mut parts = name.rsplit(['.', '-', '_']);
    let last = parts.next().unwrap_or_default();
    SAMPLES.contains(&last)
        || SAMPLE_ENDINGS.contains(&last)
            && parts.next().is_some_and(|part| SAMPLES.contains(&part))
}

/// The name of which this one says that it is a copy: `server.pem` of `server.pem.bak`, `#server.pem#` and `server.pem.3`.
fn without_copy(name: &str) -> Option<&str> {
    let plain = |rest: &&str| !rest.is_empty();
    if let Some(rest) = name.strip_prefix('#').and_then(|rest| rest.strip_suffix('#')) {
        return Some(rest).filter(plain);
    }
    if let Some(rest) = name.strip_prefix(".#").filter(plain) {
        return Some(rest);
    }
    if let Some(rest) = name.strip_suffix(".swp").and_then(|rest| rest.strip_prefix('.'))
        && !is_telling(&name[..name.len() - ".swp".len()])
    {
        return Some(rest).filter(plain);
    }
    let numbered = || {
        let (rest, number) = name.rsplit_once(['.', '-', '_'])?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(rest)
    };
    without_ending(name, &COPIES).or_else(numbered).filter(plain)
}

/// What of a path lies below a home, by the usual places of homes.
fn below_home<'a, 'p>(path: &Path, words: &'a [Cow<'p, str>]) -> Option<&'a [Cow<'p, str>]> {
    let first = words.first()?.as_ref();
    let depth = match (path.is_absolute(), first) {
        (false, first) if first.starts_with('~') => 1,
        (true, "root") => 1,
        (true, "home" | "users") => 2,
        (true, "var") if words.get(1).is_some_and(|word| word == "home") => 3,
        (true, "var") if words.get(1).is_some_and(|word| word == "root") => 2,
        (_, _) => return None,
    };
    words.get(depth..)
}

fn is_store(below: &[Cow<'_, str>]) -> bool {
    Places::stores().hold(below)
        && !Places::open().hold(below)
        && !OPEN.iter().any(|open| is_above(below, open))
}

fn leads_to_store(below: &[Cow<'_, str>]) -> bool {
    below.is_empty()
        || STORES.iter().any(|store| is_above(below, store))
        || OPEN.iter().any(|open| is_above(below, open))
}

fn is_secret_place(words: &[Cow<'_, str>]) -> bool {
    let Some((top, [next, ..])) = words.split_first() else {
        return Places::private().hold(words);
    };
    match top.as_ref() {
        "proc" if next.bytes().all(|byte| byte.is_ascii_digit()) => true,
        "dev" => !DEVICES.contains(&next.as_ref()),
        _ => Places::private().hold(words),
    }
}

/// Whether `place` lies further down than the words.
fn is_above(words: &[Cow<'_, str>], place: &str) -> bool {
    let mut parts = place.split('/').filter(|part| !part.is_empty());
    words.iter().all(|word| parts.next() == Some(word.as_ref())) && parts.next().is_some()
}

#[cfg(test)]
mod tests;
