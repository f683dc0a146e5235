//! A repository's own settings, by which git runs a program: whatever runs without a question runs nothing outside.

mod settings;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use settings::{DOING, LOOKING, Setting};

use crate::ground::Ground;
use crate::listen::Listeners;
use crate::report::{Row, cannot_run};
use crate::world::{Call, NOT_ALLOWED, World, id_word, ids_in};

/// The planted program: it leaves its name outside and inside, and tells a listener. As a filter it hands on what it gets.
const PROGRAM: &str = "#!/bin/bash\n{ echo @ID >> @OUT/ran; echo @ID >> @WORK/ran\n\
    exec 3<> /dev/tcp/127.0.0.1/@TCP && echo @ID >&3; } 2> /dev/null\n\
    [ \"$1\" = cat ] && exec cat\nexit 0\n";

/// The repository that each setting is planted in: three commits, and a change.
const TEMPLATE: &str = "git init -q -b main . && git config user.email a@b && git config user.name a && \
    for n in 1 2 3; do echo $n > f; echo $n > g; git add f g; git commit -qm $n; done; echo 4 > f";

/// Steps that several settings need.
const STEPS: [(&str, &str); 5] = [
    (
        "@SIGN",
        "{ git cat-file commit HEAD | sed '/^$/,$d'; \
         printf 'gpgsig -----BEGIN %s-----\\n \\n x\\n -----END %s-----\\n\\nsigned\\n' \"${KIND:-PGP SIGNATURE}\" \"${KIND:-PGP SIGNATURE}\"; } > c; \
         git update-ref HEAD $(git hash-object -t commit -w c)",
    ),
    (
        "@TAG",
        "printf 'object %s\\ntype commit\\ntag t\\ntagger a <a@b> 1 +0000\\n\\nt\\n-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n' $(git rev-parse HEAD) > c; \
         git update-ref refs/tags/t $(git hash-object -t tag -w c)",
    ),
    (
        "@PARTIAL",
        "git config core.repositoryFormatVersion 1; git config extensions.partialClone o; git config remote.o.promisor true; \
         git config remote.o.url $PWD; for c in HEAD HEAD~1; do b=$(git rev-parse $c:f); rm -f .git/objects/${b:0:2}/${b:2}; done",
    ),
    (
        "@CONFLICT",
        "git commit -qam w; git checkout -q -b c HEAD~2; echo c > f; git commit -qam c; git merge -q main",
    ),
    (
        "@SIDE",
        "git stash -q; git checkout -q -b side HEAD~1; echo s > f; git commit -qam side; git checkout -q main; echo m > f; git commit -qam m",
    ),
];

/// Only a command that waits for an answer for ever takes longer.
const SHELL_SECONDS_MAX: &str = "60";

struct Planted {
    world: World,
    listeners: Listeners,
    settings: Vec<Setting>,
}

impl Planted {
    fn new() -> Self {
        let world = World::new();
        std::fs::create_dir(world.home().join("sockets")).unwrap();
        let listeners = Listeners::open(&world.home().join("sockets"));
        let settings = LOOKING.iter().chain(DOING).copied().collect();
        let planted = Self { world, listeners, settings };
        planted.world.write("work/credential", "protocol=https\nhost=x.example\n\n");
        planted.shell("work/template", TEMPLATE);
        for (id, (_, plant, _)) in planted.settings.iter().enumerate() {
            let path = planted
                .world
                .write(&format!("work/evil-{}", id_word(id)), planted.filled(id, PROGRAM));
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
            let here = format!("work/{}", id_word(id));
            let copy = format!("cp -a ../template/. .\n{}", planted.filled(id, plant));
            planted.shell(&here, &copy);
        }
        planted.take_marks();
        planted
    }

    fn filled(&self, id: usize, text: &str) -> String {
        let (word, work) = (id_word(id), self.world.work());
        let work = work.to_str().unwrap();
        let program = format!("{work}/evil-{word}");
        let mut text = text.to_owned();
        for (step, steps) in STEPS {
            text = text.replace(step, steps);
        }
        text = text
            .replace("@EVIL", &program)
            .replace("@SCRIPT", &program)
            .replace("@HERE", &format!("{work}/{word}"))
            .replace("@OUT", self.world.outside().to_str().unwrap())
            .replace("@WORK", work)
            .replace("@NAME", &word)
            .replace("@ID", &word);
        self.listeners.fill(&text)
    }

    /// Runs a text of the user's own in a directory of the home.
    fn shell(&self, directory: &str, text: &str) {
        let directory = self.world.home().join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        let mut shell = assert_cmd::Command::new("timeout");
        // Without pipes, which a service that was started would hold open.
        let quiet = format!("exec > /dev/null 2>&1 < /dev/null\n{text}");
        shell.args([SHELL_SECONDS_MAX, "bash", "-c", &quiet]).current_dir(directory).env_clear();
        shell.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.world.home());
        drop(shell.output().unwrap());
    }

    /// The settings whose program ran outside since the last look.
    fn take_marks(&self) -> BTreeSet<usize> {
        let mut ids = self.listeners.heard().0;
        for file in [self.world.outside().join("ran"), self.world.work().join("ran")] {
            ids.extend(ids_in(&std::fs::read_to_string(&file).unwrap_or_default()));
            let _ = std::fs::remove_file(file);
        }
        ids
    }

    fn name(&self, id: usize) -> String {
        self.settings[id].0.to_owned()
    }

    /// Every command that trips a setting, in the setting's repository.
    fn commands(&self) -> Vec<String> {
        let each =
            self.settings.iter().enumerate().flat_map(|(id, (_, _, commands))| {
                commands.iter().map(move |command| (id, *command))
            });
        each.map(|(id, command)| format!("cd {} && {}", id_word(id), self.filled(id, command)))
            .collect()
    }

    /// Lets an agent run every command in default mode, and nobody be there to be asked.
    fn attack(&self, ground: Ground) {
        let calls: Vec<Call> = self.commands().into_iter().map(Call::bash).collect();
        let played = self.world.play(ground, &[], &calls);
        assert_eq!(played.code, NOT_ALLOWED, "{}", played.stderr);
        assert_eq!(played.results.len(), calls.len());
        let ran = played.results.iter().filter(|result| result.contains("[exit code")).count();
        assert!(ran >= LOOKING.len(), "only {ran} commands ran: the reads are not reached");
        let asked = self.world.done(ground, &["permission", "list", "--all", "--json"]);
        let marks = self.take_marks();
        let asked = ids_in(&asked);
        let mut row = Row::new("git's settings", self.settings.len());
        row.escaped = marks.iter().map(|id| self.name(*id)).collect();
        row.unasked = marks.difference(&asked).map(|id| self.name(*id)).collect();
        row.settle(ground, 40, 0);
    }
}

#[test]
fn no_setting_of_a_repository_runs_a_program_outside() {
    let planted = Planted::new();
    for ground in Ground::ALL {
        if !cannot_run("git's settings", ground) {
            planted.attack(ground);
        }
    }
    // The same commands of a person fire them: so the plants are good.
    for command in planted.commands() {
        planted.shell("work", &command);
    }
    let live = planted.take_marks();
    let idle: Vec<String> = (0..planted.settings.len())
        .filter(|id| !live.contains(id))
        .map(|id| planted.name(id))
        .collect();
    println!("{} settings fire without a wall; not here: {idle:?}", live.len());
    // An older git knows fewer of them, and not all of its programs are everywhere.
    assert!(live.len() > idle.len(), "only {} fire: {idle:?}", live.len());
}
