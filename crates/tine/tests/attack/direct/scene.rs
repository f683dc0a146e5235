//! A world in which each attempt has its own files, its own stranger and its own names, so that an effect tells whose it is.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Attempt, Reach, kernel};
use crate::ground::Ground;
use crate::listen::Listeners;
use crate::look::{Look, devices};
use crate::stranger::Stranger;
use crate::world::{Call, Played, SECRET, World, id_word, ids_in, part_below};

/// Scenes that this process has made.
static SCENES: AtomicUsize = AtomicUsize::new(0);

/// What tells the strangers of all scenes apart.
fn stranger_number(scene: usize, id: usize) -> String {
    format!("{}{scene:02}{id:03}", std::process::id())
}

/// Everything that attempts could have an effect on.
pub(super) struct Scene {
    /// Of the scenes of this process.
    number: usize,
    world: World,
    listeners: Listeners,
    strangers: RefCell<BTreeMap<usize, Stranger>>,
    /// Open in this process, and inherited by what it starts.
    inherited: (File, File),
    before: RefCell<Option<Look>>,
}

/// What was found afterwards.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) ids: BTreeSet<usize>,
    /// Effects that no attempt can be named for.
    pub(super) others: Vec<String>,
}

impl Scene {
    pub(super) fn new() -> Self {
        let world = World::new();
        world.write("keys/.ssh/key", SECRET);
        world.write("held", "");
        std::fs::create_dir_all(world.home().join("sockets")).unwrap();
        let listeners = Listeners::open(&world.home().join("sockets"));
        let read = File::open(world.home().join("keys/.ssh/key")).unwrap();
        let write = File::options().append(true).open(world.home().join("held")).unwrap();
        for file in [&read, &write] {
            rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
        }
        let (strangers, before) = (RefCell::default(), RefCell::new(None));
        let number = SCENES.fetch_add(1, Ordering::Relaxed);
        Self { number, world, listeners, strangers, inherited: (read, write), before }
    }

    /// The attempts of these numbers with their holes filled, and what they need made.
    pub(super) fn filled(&self, all: &[Attempt], ids: &[usize]) -> Vec<(usize, String)> {
        let keys = self.world.home().join("keys/.ssh");
        let fill = |id: &usize| {
            let word = id_word(*id);
            for (name, text) in
                [("file", "theirs\n"), ("program", "true\n"), ("dir/inner", "theirs\n")]
            {
                self.world.write(&format!("outside/{word}/{name}"), text);
            }
            let (out, here) = (self.world.outside().join(&word), self.world.work().join(&word));
            std::fs::create_dir(out.join("empty")).unwrap();
            std::fs::set_permissions(out.join("program"), PermissionsExt::from_mode(0o755))
                .unwrap();
            std::fs::create_dir(&here).unwrap();
            std::fs::write(here.join("own"), "mine\n").unwrap();
            let mut text = all[*id].text.clone();
            if ["@PID", "@NUMBER", "/proc/[0-9]"].iter().any(|hole| text.contains(hole)) {
                let stranger = Stranger::new(&stranger_number(self.number, *id), SECRET, &keys);
                text = text.replace("@PID", &stranger.pid().to_string());
                self.strangers.borrow_mut().insert(*id, stranger);
            }
            let (read, write) = &self.inherited;
            let text = text
                .replace("@OUT", out.to_str().unwrap())
                .replace("@KEYS", keys.to_str().unwrap())
                .replace("@KEY", &kernel::key(self.number, *id).to_string())
                .replace("@SOCKETS", self.world.home().join("sockets").to_str().unwrap())
                .replace("@ID", &word)
                .replace("@NUMBER", &stranger_number(self.number, *id))
                .replace("@MARK", &kernel::mark(self.number, *id))
                .replace("@READ", &read.as_raw_fd().to_string())
                .replace("@WRITE", &write.as_raw_fd().to_string());
            (*id, self.listeners.fill(&text))
        };
        ids.iter().map(fill).collect()
    }

    /// Puts the script where commands find it; the command that runs it in this reach. From then on every change is an effect.
    pub(super) fn plant(&self, script: &str, reach: Reach) -> String {
        let here = self.world.work();
        let script = script.replace("@HERE", here.to_str().unwrap()).replace("@SECRET", SECRET);
        let path = self.world.write("work/attack.sh", script);
        let command = format!("bash {}", path.display());
        let command = match reach {
            // A read that runs a program of the checkout, if it can.
            Reach::Read => {
                self.git(&["init", "-q", "."]);
                self.git(&["add", "attack.sh"]);
                self.git(&["config", "diff.external", &command]);
                let mut script = std::fs::read(&path).unwrap();
                script.extend(b"# changed\n");
                std::fs::write(&path, script).unwrap();
                "git diff attack.sh".to_owned()
            }
            Reach::Open | Reach::ReadOnly | Reach::Directory | Reach::Network => command,
        };
        *self.before.borrow_mut() = Some(self.look(reach));
        command
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = assert_cmd::Command::new("git");
        git.args(arguments).current_dir(self.world.work()).assert().success();
    }

    /// Runs the script as a command of the user.
    pub(super) fn without_wall(&self, script: &str) {
        let command = self.plant(script, Reach::Open);
        let mut shell = assert_cmd::Command::new("sh");
        shell.args(["-c", &command]).current_dir(self.world.work()).env("HOME", self.world.home());
        let ran = shell.output().unwrap();
        let told = String::from_utf8_lossy(&ran.stdout).into_owned();
        self.world.write("told", told);
    }

    /// Lets an agent of this reach make the calls.
    pub(super) fn play(&self, ground: Ground, reach: Reach, calls: &[Call]) -> Played {
        self.world.play(ground, reach.options(), calls)
    }

    /// What attempts of these numbers have changed. Without a wall, the secrets that came out are among it.
    pub(super) fn effects(&self, ids: &[usize], reach: Reach) -> Effects {
        let before = self.before.borrow_mut().take().unwrap();
        let mut effects = Effects::default();
        let (outside, work) = (self.world.outside(), self.world.work());
        for path in before.changes(&self.look(reach)) {
            let part = part_below(&outside, &path).or_else(|| part_below(&work, &path));
            match part.map(ids_in).unwrap_or_default().first() {
                Some(id) => drop(effects.ids.insert(*id)),
                // A directory changes with its entries, which are looked at themselves.
                None if path == outside || path == work => {}
                None => effects.others.push(format!("changed: {}", path.display())),
            }
        }
        let held = std::fs::read_to_string(self.world.home().join("held")).unwrap();
        effects.ids.extend(ids_in(&held));
        for path in devices(&work) {
            effects.ids.extend(part_below(&work, &path).map(ids_in).unwrap_or_default());
        }
        let (heard, silent) = self.listeners.heard();
        effects.ids.extend(heard);
        if silent > 0 {
            effects.others.push(format!("{silent} callers that said nothing"));
        }
        for (id, stranger) in self.strangers.borrow_mut().iter_mut() {
            if stranger.is_touched() {
                effects.ids.insert(*id);
            }
        }
        effects.ids.extend(kernel::left(self.number, ids));
        let told = std::fs::read_to_string(self.world.home().join("told")).unwrap_or_default();
        effects.ids.extend(leaks_in(&told));
        effects
    }

    /// Everything that the reach does not let anybody write.
    fn look(&self, reach: Reach) -> Look {
        let home = self.world.home();
        let mut without = vec![self.world.own(), home.join("told"), home.join("held")];
        if reach.may_write_here() {
            without.push(self.world.work());
        }
        Look::without(&home, &without)
    }
}

/// The attempts that have shown the secret, as the script tells.
pub(super) fn leaks_in(told: &str) -> BTreeSet<usize> {
    told.lines().filter_map(|line| line.strip_prefix("leak ")?.parse().ok()).collect()
}
