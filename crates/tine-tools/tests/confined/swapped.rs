//! What changes between the judgement and the opening.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::CWD;

use crate::support::{House, file, list, search, write};

/// Puts a link to `out` where `in/sub` was.
fn swap(house: &House) {
    std::fs::rename(house.path("in/sub"), house.path("in/kept")).unwrap();
    house.link("../out", "in/sub");
}

#[test]
fn a_parent_that_became_a_link_is_not_followed() {
    let after_swap = |tool: &str, input: &serde_json::Value| {
        let house = House::new();
        let output = house.run_after((tool, input), || swap(&house));
        assert_eq!(house.names("out"), ["f"], "{tool}");
        assert_eq!(std::fs::read_to_string(house.path("out/f")).unwrap(), "outside\n");
        output
    };
    insta::assert_snapshot!(after_swap("FileRead", &file("sub/f")), @"error: cannot read `sub/f`: its path changed after it was judged, a symbolic link is in it now; look where it leads and make the call again");
    insta::assert_snapshot!(after_swap("FileWrite", &write("sub/new")), @"error: cannot read `sub/new`: its path changed after it was judged, a symbolic link is in it now; look where it leads and make the call again");
    insta::assert_snapshot!(after_swap("FileWrite", &write("sub/deep/new")), @"error: cannot read `sub/deep/new`: its path changed after it was judged, a symbolic link is in it now; look where it leads and make the call again");
    insta::assert_snapshot!(after_swap("Grep", &search("sub")), @"error: cannot search `sub`: its path changed after it was judged, a symbolic link is in it now; look where it leads and make the call again");
    insta::assert_snapshot!(after_swap("Grep", &search("sub/f")), @"error: cannot search `sub/f`: its path changed after it was judged, a symbolic link is in it now; look where it leads and make the call again");
    insta::assert_snapshot!(after_swap("Glob", &list("sub")), @"error: cannot list `sub`: its path changed after it was judged, a symbolic link is in it now; look where it leads and make the call again");
}

#[test]
fn a_file_that_became_a_link_is_not_followed() {
    let house = House::new();
    let output = house.run_after(("FileRead", &file("sub/f")), || {
        std::fs::remove_file(house.path("in/sub/f")).unwrap();
        house.link("../../out/f", "in/sub/f");
    });
    assert!(output.contains("its path changed after it was judged"), "{output}");
    let house = House::new();
    let output = house.run_after(("FileWrite", &write("sub/new")), || {
        house.link("../../out/new", "in/sub/new");
    });
    assert!(output.contains("its path changed after it was judged"), "{output}");
    assert_eq!(house.names("out"), ["f"]);
}

#[test]
fn a_link_that_led_in_and_now_leads_out_opens_what_was_judged() {
    let house = House::new();
    house.link("sub", "in/door");
    let output = house.run_after(("FileRead", &file("door/f")), || {
        std::fs::remove_file(house.path("in/door")).unwrap();
        house.link("../out", "in/door");
    });
    insta::assert_snapshot!(output, @"     1	inside");
}

#[test]
fn the_working_directory_stays_the_one_that_was_opened() {
    let house = House::new();
    std::fs::rename(house.path("in"), house.path("moved")).unwrap();
    house.link("out", "in");
    // What is behind the link is judged from the directory as it was, so it is outside.
    let output = house.run("FileRead", &file("f"));
    insta::assert_snapshot!(output, @"error: `f` leads through a symbolic link to `HOUSE/out/f`; name that path itself");
    std::fs::remove_file(house.path("in")).unwrap();
    std::fs::create_dir(house.path("in")).unwrap();
    insta::assert_snapshot!(house.run("FileRead", &file("sub/f")), @"     1	inside");
    std::fs::remove_dir_all(house.path("moved")).unwrap();
    insta::assert_snapshot!(house.run("FileRead", &file("sub/f")), @"error: the working directory `HOUSE/in` was removed while this run was using it");
    insta::assert_snapshot!(house.run("FileWrite", &write("new")), @"error: the working directory `HOUSE/in` was removed while this run was using it");
    assert!(house.names("in").is_empty());
}

/// Rounds of the race below: enough to meet the swap in the middle many times, in a second or two.
const ROUNDS: usize = 400;

/// Runs `work` while another thread swaps `in/sub` with a link to `out`, each time in one step.
fn racing(house: &House, work: impl Fn(usize)) {
    let over = AtomicBool::new(false);
    let (sub, link) = (house.path("in/sub"), house.path("link"));
    house.link("../out", "link");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, &sub, CWD, &link, exchange).unwrap();
            }
        });
        // Ends the thread also when the work fails.
        let _over = OnDrop(&over);
        (0..ROUNDS).for_each(work);
    });
}

struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_race_never_reads_or_writes_outside() {
    let house = House::new();
    racing(&house, |round| {
        let read = house.run("FileRead", &file("sub/f"));
        assert!(!read.contains("outside"), "{read}");
        house.run("FileWrite", &write(&format!("sub/deep{}/new{round}", round % 7)));
        let found = house.run("Grep", &search("."));
        assert!(!found.contains("outside"), "{found}");
    });
    assert_eq!(house.names("out"), ["f"]);
    assert_eq!(std::fs::read_to_string(house.path("out/f")).unwrap(), "outside\n");
}

#[test]
fn a_race_never_lists_names_from_outside() {
    let house = House::new();
    std::fs::write(house.path("out/only-outside"), "").unwrap();
    racing(&house, |_| {
        let found = house.run("Glob", &list("."));
        assert!(!found.contains("only-outside"), "{found}");
    });
}
