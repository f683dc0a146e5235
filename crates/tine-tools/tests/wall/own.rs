//! What processes of a worker's command have for themselves: a loopback device, and terminals.

use tine_model::NetworkReach;
use tine_tools::{Ground, Wall};

use super::network::Listeners;
use super::world::{World, lacks_wall, run};

/// A server on a port of the loopback device, and a client of it.
const TCP: &str = "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", Listen => 1) or die \"no: $!\"; \
    if (fork) { $c = $s->accept; print <$c> } else { $c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport) or die; \
    print $c \"came\\n\" }'";
const UDP: &str = "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", Proto => \"udp\") or die \"no: $!\"; \
    IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport, Proto => \"udp\")->send(\"came\"); $s->recv($b, 9); print $b'";

#[tokio::test]
async fn servers_of_a_command_are_reached_by_itself_and_nobody_elses_are() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let listeners = Listeners::new(&world);
    for network in ["", "localhost:9"] {
        let network = match network {
            "" => NetworkReach::none(),
            hosts => hosts.parse().unwrap(),
        };
        let place = world.behind(&Wall { network, ..Wall::worker(&world.path("work")) });
        for command in [TCP, UDP] {
            let told = run(&place, command).await.text;
            assert!(told.starts_with("came"), "{command}: {told}");
        }
        let listeners = &listeners;
        run(
            &place,
            &listeners
                .fill(&world, "echo x > /dev/tcp/127.0.0.1/@TCP; echo x > /dev/udp/127.0.0.1/@UDP"),
        )
        .await;
        assert!(!listeners.somebody_came());
    }
}

#[tokio::test]
async fn terminals_of_a_command_are_its_own() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let make = "perl -e 'use POSIX; open(M, \"+<\", \"/dev/ptmx\") or die \"no: $!\"; $n = pack(\"i\", 0); ioctl(M, 0x40045431, $n) // die; \
        ioctl(M, 0x80045430, $n) // die; $n = unpack(\"i\", $n); open(S, \"+<\", \"/dev/pts/$n\") or die \"no: $!\"; \
        syswrite(S, \"came\\n\"); sysread(M, $b, 9); print \"$n $b\"'; ls /dev/pts";
    for _ in 0..2 {
        let told = run(&world.worker(), make).await.text;
        // The first of all, whatever terminals there are outside.
        assert!(told.starts_with("0 came"), "{told}");
        assert!(told.contains("ptmx"), "{told}");
    }
}

/// A server at a socket file, and a client of it.
const LOCAL: &str = "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die \"no: $!\"; \
    if (fork) { $c = $s->accept; print <$c> } else { $c = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die; print $c \"came\\n\" }' ";

#[tokio::test]
async fn socket_files_work_where_a_worker_writes() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let place = world.worker();
    for file in ["own.sock", "$TMPDIR/own.sock", "@OUT/../shared-tmp/own.sock"] {
        let told = run(&place, &world.fill(&format!("{LOCAL} {file}"))).await.text;
        assert!(told.starts_with("came"), "{file}: {told}");
    }
    // Its own from an earlier command are no others'.
    let serve = "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => \"two.sock\", Listen => 1) or die'; test -S two.sock";
    assert!(!run(&place, serve).await.is_error);
    assert!(!run(&place, "test -S two.sock && rm two.sock").await.is_error);
}

#[tokio::test]
async fn no_socket_file_of_another_process_is_reached() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let bind = |name: &str| {
        let listener = std::os::unix::net::UnixListener::bind(world.path(name)).unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    };
    for name in ["work/deep/folder", "home/.agent"] {
        std::fs::create_dir_all(world.path(name)).unwrap();
    }
    let before = ["outside/a.sock", "work/b.sock", "work/deep/folder/c.sock", "home/.agent/d.sock"];
    let listeners: Vec<_> = before.iter().map(|name| bind(name)).collect();
    let renamed = bind("outside/new.sock");
    std::fs::rename(world.path("outside/new.sock"), world.path("outside/e.sock")).unwrap();
    let place = world.worker();
    // A service that begins while the worker works.
    let later = bind("outside/later.sock");
    let linked = bind("outside/linked.sock");
    std::os::unix::fs::symlink(world.path("outside"), world.path("work/link")).unwrap();
    let reach = |path: &str| {
        format!(
            "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => $ARGV[0]) or die \"no: $!\"; print \"came\"' {path}"
        )
    };
    for command in [
        reach("@OUT/a.sock"),
        reach("b.sock"),
        reach("deep/folder/c.sock"),
        format!("mv deep moved; {}", reach("moved/folder/c.sock")),
        reach("moved/folder/c.sock"),
        reach("@HOME/.agent/d.sock"),
        reach("@OUT/e.sock"),
        reach("@OUT/later.sock"),
        reach("link/linked.sock"),
        format!(
            "cp -a b.sock copy.sock; ln b.sock hard.sock; {}; {}",
            reach("copy.sock"),
            reach("hard.sock")
        ),
    ] {
        let told = run(&place, &world.fill(&command)).await.text;
        assert!(!told.contains("came"), "{command}: {told}");
    }
    let all = listeners.iter().chain([&renamed, &later, &linked]);
    assert!(all.map(|listener| listener.accept()).all(|came| came.is_err()));
    let told = run(&world.open(), &world.fill(&reach("@OUT/a.sock"))).await.text;
    assert!(told.contains("came"), "without a wall it is reached: {told}");
}

#[tokio::test]
async fn a_commit_in_a_checkout_that_signs_and_an_identity_of_the_environment_work() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let make = "git init -q .; git config commit.gpgsign true; git config tag.gpgsign true; git config gpg.program /none";
    run(&world.open(), make).await;
    let mut ground = world.ground();
    for (name, value) in [("GIT_AUTHOR_NAME", "Ann"), ("GIT_COMMITTER_NAME", "Bob")] {
        ground.variables.push((name.into(), value.into()));
        ground.variables.push((name.replace("NAME", "EMAIL").into(), "a@b".into()));
    }
    let work = world.path("work");
    let place = world.open().with_enclosure(Wall::worker(&work).raise(&work, &ground).unwrap());
    let commit = "git commit -q --allow-empty -m 1 && git tag -m t t && git log --format='%an %cn'";
    let told = run(&place, commit).await.text;
    assert!(told.starts_with("Ann Bob\n"), "{told}");
}

#[tokio::test]
async fn temporary_files_are_written_wherever_the_directory_and_its_programs_lie() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let ground = |world: &World| {
        let mut ground = world.ground();
        ground.private = vec![world.path("")];
        ground.variables.retain(|(name, _)| name != "PATH");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", world.path("outside").display());
        ground.variables.push(("PATH".into(), path.into()));
        ground
    };
    let work = world.path("work");
    let wall = Wall::worker(&work).raise(&work, &ground(&world)).unwrap();
    let place = world.open().with_enclosure(wall);
    let root = world.path("").display().to_string();
    let told =
        run(&place, &format!("echo 1 > {root}/x && cat {root}/x && echo 2 > own && cat own"))
            .await
            .text;
    assert!(told.starts_with("1\n2\n"), "{told}");
    assert!(!world.path("x").exists());
    let told = run(&place, &world.fill("echo x > @OUT/file")).await;
    assert!(told.is_error, "programs are found there, and nothing is written: {}", told.text);
}

#[tokio::test]
async fn caches_of_tools_are_the_commands_own_and_certificates_are_shown() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    std::fs::write(world.path("home/credentials.toml"), "certificate\n").unwrap();
    let mut ground = world.ground();
    let file = world.path("home/credentials.toml");
    ground.variables.push(("NODE_EXTRA_CA_CERTS".into(), file.into()));
    let work = world.path("work");
    let place = world.open().with_enclosure(Wall::worker(&work).raise(&work, &ground).unwrap());
    let told = run(&place, "cat $NODE_EXTRA_CA_CERTS; for d in $npm_config_cache $PNPM_HOME $YARN_GLOBAL_FOLDER $XDG_CACHE_HOME; do mkdir -p $d && touch $d/x && echo ok; done").await;
    assert!(told.text.starts_with("certificate\nok\nok\nok\nok\n"), "{}", told.text);
}

#[tokio::test]
async fn who_meets_the_wall_is_told_also_where_the_command_goes_on() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let place = world.worker();
    for command in ["touch @OUT/x || true", "touch @OUT/x 2>&1 | cat"] {
        let told = run(&place, &world.fill(command)).await;
        assert!(!told.is_error, "{command}: {}", told.text);
        let line = "; a person allows more by --network HOST:PORT and confine.writable]";
        assert!(
            told.text.contains("[confined: writes only") && told.text.ends_with(line),
            "{}",
            told.text
        );
    }
    assert!(!run(&place, "false || true").await.text.contains("[confined"));
}

#[tokio::test]
async fn git_packs_and_says_what_keeps_its_settings_as_they_are() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let make = "git init -q .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1";
    run(&world.open(), make).await;
    let place = world.worker();
    let packed = run(&place, "git gc -q && git log --format=%s").await;
    assert!(packed.text.starts_with("1\n"), "{}", packed.text);
    let set = run(&place, "git config user.name x").await;
    assert!(set.is_error && set.text.contains("such as .git/config"), "{}", set.text);
}

#[tokio::test]
async fn sockets_that_come_and_go_keep_no_command_from_running() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let place = world.worker();
    let names = [0, 1, 2, 3].map(|number| world.path(&format!("outside/{number}.sock")));
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let come_and_go = std::thread::spawn(move || {
        while is_over.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            for name in &names {
                drop(std::os::unix::net::UnixListener::bind(name).unwrap());
                std::fs::remove_file(name).unwrap();
            }
        }
    });
    let mut told = Vec::new();
    for _ in 0..40 {
        told.push(run(&place, "true").await.text);
    }
    drop(over);
    come_and_go.join().unwrap();
    told.retain(|told| told != "[exit code 0]");
    assert_eq!(told, [""; 0]);
}

#[tokio::test]
async fn a_command_is_told_what_it_sees_only_in_part_and_what_it_does_not_get() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let mut ground = world.ground();
    ground.variables.push(("DATABASE_URL".into(), "postgres://x".into()));
    let place = world.open();
    let wall = Wall::worker(&world.path("work"));
    let enclosure = wall.raise(place.directory(), &ground).unwrap();
    let place = place.with_enclosure(enclosure);
    insta::assert_snapshot!(run(&place, "echo \"<$DATABASE_URL>\"").await.text, @r"
    <>
    [exit code 0]
    [set outside, and not passed to commands here: DATABASE_URL; a person passes more by `confine.variables`]
    ");
    insta::assert_snapshot!(run(&place, "echo $DATABASE_URL; true || ps aux").await.text, @r"

    [exit code 0]
    [behind this wall ps sees this command's own processes, network, mounts and limits, not the machine's]
    ");
}

#[tokio::test]
async fn a_read_of_a_confined_run_finds_what_its_other_commands_left_for_a_while() {
    if lacks_wall() || !crate::HAS_VIEW {
        return;
    }
    let world = World::new();
    std::fs::create_dir_all(world.path("home/.cache")).unwrap();
    let place = world.worker();
    let places = ["$TMPDIR", "SHARED", "$HOME/.cache"]
        .map(|path| path.replace("SHARED", world.path("shared-tmp").to_str().unwrap()));
    for path in &places {
        let output = run(&place, &format!("echo kept > {path}/file")).await;
        assert!(!output.is_error, "{path}: {}", output.text);
    }
    let ground = Ground { beside: place.enclosure().cloned(), ..world.ground() };
    let wall = Wall::reading(vec![]).raise(place.directory(), &ground).unwrap();
    let reader = world.open().with_enclosure(wall);
    for path in &places {
        assert_eq!(
            run(&reader, &format!("cat {path}/file")).await.text,
            "kept\n[exit code 0]",
            "{path}"
        );
    }
    let alone = world.behind(&Wall::reading(vec![]));
    for path in &places {
        assert!(run(&alone, &format!("cat {path}/file")).await.is_error, "{path}");
    }
}
