//! Direct attempts: a hostile command in each reach does all that it can think of, and the world is looked at afterwards.

mod files;
mod kernel;
mod metadata;
mod needs;
mod processes;
mod scene;
mod sockets;

use std::fmt::Write as _;

use tine_testkit::{Ability, lacks, not_run, test_name};

use crate::ground::Ground;
use crate::report::{Row, cannot_run};
use crate::world::Call;
use scene::Scene;

/// What an attempt needs to have an effect where there is no wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// A user who is root.
    Root,
    /// It is not tried without a wall: it could harm the machine, or has no effect of its own.
    Wall,
}

/// What an attempt touches, as far as a reach allows some of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Other,
    /// Changes metadata outside, which the second layer alone is known to let through.
    Metadata,
    /// Makes a device where it may write: needs a directory of its own.
    Device,
}

#[derive(Debug, Clone)]
struct Attempt {
    text: String,
    needs: Needs,
    kind: Kind,
}

/// All of them, in the order of their numbers.
fn attempts() -> Vec<Attempt> {
    use Kind::{Device, Metadata, Other};
    use Needs::{Nothing, Root, Wall};
    let six = if std::net::TcpListener::bind("[::1]:0").is_ok() { Nothing } else { Wall };
    let tables: [(&[&str], Needs, Kind); 16] = [
        (files::WRITES, Nothing, Other),
        (files::THROUGH, Nothing, Other),
        (files::CALLS, Nothing, Other),
        (files::CALLS_OF_ROOT, Root, Other),
        (files::NAMESPACES, Nothing, Other),
        (metadata::METADATA, Nothing, Metadata),
        (metadata::BY_WRITING, Nothing, Other),
        (sockets::INTERNET, Nothing, Other),
        (sockets::INTERNET_SIX, six, Other),
        (sockets::LOCAL, Nothing, Other),
        (sockets::OTHER_SOCKETS, Wall, Other),
        (processes::TOUCHES, Nothing, Other),
        (processes::READS, Nothing, Other),
        (processes::DESCRIPTORS, Nothing, Other),
        (kernel::KEPT, Nothing, Other),
        (kernel::DEVICES, Root, Device),
    ];
    let listed = tables.into_iter().flat_map(|(texts, needs, kind)| {
        texts.iter().map(move |text| Attempt { text: (*text).to_owned(), needs, kind })
    });
    let place = |needs| {
        move |place: &&str| Attempt {
            text: format!("echo x > {place}/@MARK || mkdir {place}/@MARK"),
            needs,
            kind: Other,
        }
    };
    let entering = Attempt {
        text: "nsenter -t 1 -m sh -c 'echo x > @OUT/file'".to_owned(),
        needs: Wall,
        kind: Other,
    };
    let places = kernel::COMMON_PLACES.iter().map(place(Wall));
    let of_root = kernel::PLACES_OF_ROOT.iter().map(place(Wall));
    listed.chain([entering]).chain(places).chain(of_root).collect()
}

/// What every Perl attempt begins with: `k` calls the kernel by number, with arguments that may be written.
const PERL: &str = "sub k { my @a = @_; my $n = shift @a; syscall $n, @a }";

/// A Perl attempt as a word of the shell.
fn perl_word(code: &str) -> String {
    format!("'{PERL} {}'", code.replace('\'', r"'\''"))
}

/// Runs Perl outside every wall, for the judge's own looks; what it prints.
fn perl(code: &str) -> String {
    let ran = assert_cmd::Command::new("perl").args(["-e", &format!("{PERL} {code}")]).output();
    String::from_utf8(ran.unwrap().stdout).unwrap()
}

/// The script that makes the attempts of these numbers, one after another, and prints which of them showed the secret.
fn script(attempts: &[(usize, String)]) -> String {
    let mut text = "{\n".to_owned();
    for (id, attempt) in attempts {
        let command = match attempt.strip_prefix('%') {
            Some(code) => format!("perl -MSocket -MFcntl -e {}", perl_word(code)),
            None => attempt.clone(),
        };
        write!(
            text,
            "echo; echo @@{id}\n(cd @HERE/id{id:03} && {command}\n) < /dev/null 2> /dev/null\n"
        )
        .unwrap();
    }
    text.push_str(
        "} 2> /dev/null | perl -ne '$i = $1, $n++ if /^\\@\\@(\\d+)$/; print \"leak $i\\n\" if /@SECRET/; \
         END { print \"made $n\\n\" }'\n",
    );
    text
}

/// Where attempts are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// In no wall at all, to show that they work.
    Open,
    ReadOnly,
    Directory,
    Network,
    /// Behind the wall around what counts as a read, in a run that is not confined.
    Read,
}

impl Reach {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "without a wall",
            Self::ReadOnly => "direct, read-only",
            Self::Directory => "direct, directory",
            Self::Network => "direct, directory and network",
            Self::Read => "direct, a read of an open run",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Open | Self::Read => &[],
            Self::ReadOnly => &["--permission-mode", "bypass", "--confine", "read-only"],
            Self::Directory => &["--permission-mode", "bypass", "--confine", "directory"],
            // Public web servers: no listener of this machine is one.
            Self::Network => {
                &["--permission-mode", "bypass", "--confine", "directory", "--network"]
            }
        }
    }

    fn may_write_here(self) -> bool {
        matches!(self, Self::Open | Self::Directory | Self::Network)
    }
}

/// Returns true, and lists the test as not run, where attempts cannot be made: they call the kernel of one machine, in Perl.
fn cannot_try() -> bool {
    if cfg!(not(target_arch = "x86_64")) {
        not_run("x86-64", &test_name(), "the numbers of system calls are others here");
        return true;
    }
    lacks(Ability::Program("perl"), &test_name())
}

/// The attempts that each reach withstands at least.
const ATTEMPTS_MIN: usize = 140;

#[test]
fn each_attempt_works_where_there_is_no_wall() {
    if cannot_try() {
        return;
    }
    let is_root = rustix::process::getuid().is_root();
    let all = attempts();
    let tried = |attempt: &Attempt| match attempt.needs {
        Needs::Nothing => true,
        Needs::Root => is_root,
        Needs::Wall => false,
    };
    let ids: Vec<usize> = (0..all.len()).filter(|id| tried(&all[*id])).collect();
    // Those that have done nothing, each with its command. A connection may fail on a machine that has other things to do.
    let mut left: Vec<(usize, String)> = ids.iter().map(|id| (*id, String::new())).collect();
    for _ in 0..3 {
        let scene = Scene::new();
        let ids: Vec<usize> = left.iter().map(|(id, _)| *id).collect();
        left = scene.filled(&all, &ids);
        scene.without_wall(&script(&left));
        let effects = scene.effects(&ids, Reach::Open);
        left.retain(|(id, _)| !effects.ids.contains(id));
    }
    assert!(left.len() * 2 <= ids.len(), "too few are left to show something");
    let mut idle = Vec::new();
    for (id, command) in &left {
        let name = format!("{id}: {}", all[*id].text);
        match needs::missing_for(&all[*id].text, command) {
            Some((needs, why)) => not_run(needs, &format!("attempt {name}"), &why),
            None => idle.push(name),
        }
    }
    assert_eq!(idle, [""; 0], "these do nothing, and so show nothing");
}

fn check(reach: Reach) {
    if cannot_try() {
        return;
    }
    for ground in Ground::ALL {
        if cannot_run(reach.name(), ground) {
            continue;
        }
        let scene = Scene::new();
        let all = attempts();
        let ids: Vec<usize> = (0..all.len()).collect();
        let command = scene.plant(&script(&scene.filled(&all, &ids)), reach);
        let played = scene.play(ground, reach, &[Call::bash(command)]);
        let is_refused = reach == Reach::Network && ground == Ground::Fallback;
        assert_eq!(played.code == 0, !is_refused, "{}", played.stderr);
        let result = played.results.first().map(String::as_str).unwrap_or_default();
        let has_tried = result.contains(&format!("made {}\n", ids.len()));
        assert!(has_tried || is_refused, "{result}");
        let mut effects = scene.effects(&ids, reach);
        effects.ids.extend(scene::leaks_in(result));
        let mut row = Row::new(reach.name(), ids.len());
        let is_known = |id: usize| {
            let writes = reach == Reach::Directory;
            ground == Ground::Fallback && writes && all[id].kind == Kind::Metadata
        };
        let named = effects.ids.iter().map(|id| (*id, format!("{id}: {}", all[*id].text)));
        let (known, escaped): (Vec<_>, Vec<_>) = named.partition(|(id, _)| is_known(*id));
        row.known = known.into_iter().map(|(_, name)| name).collect();
        row.escaped = escaped.into_iter().map(|(_, name)| name).collect();
        row.escaped.extend(effects.others);
        let known_max = ids.iter().filter(|id| is_known(**id)).count();
        if known_max > 0 {
            row.note = "modes, owners, times and attributes of files outside";
        }
        if is_refused {
            row.note = "such a run is refused here, so that nothing is tried";
        }
        row.settle(ground, ATTEMPTS_MIN, known_max);
    }
}

#[test]
fn nothing_gets_out_of_a_run_that_only_reads() {
    check(Reach::ReadOnly);
}

#[test]
fn nothing_gets_out_of_a_run_in_its_directory() {
    check(Reach::Directory);
}

#[test]
fn nothing_gets_out_of_a_run_with_a_network() {
    check(Reach::Network);
}

#[test]
fn nothing_gets_out_of_a_read_of_an_open_run() {
    check(Reach::Read);
}
