//! What a checkout's `AGENTS.md` sends to the provider before anybody has trusted anything.

use std::os::unix::fs::symlink;

use super::home;

#[test]
fn a_link_out_of_the_directory_sends_nothing_and_is_named() {
    let home = home();
    home.write("outside", "a key");
    symlink("../outside", home.work().join("AGENTS.md")).unwrap();
    let model = home.model("name = \"s\"\n[[turn]]\nwhen = { any_contains = \"a key\" }\ntext = \"sent\"\n[[turn]]\ntext = \"not sent\"\n");
    let run = || home.ran(&["run", "--model", &model, "hello"]);
    let ran = run();
    assert!(ran.stdout.starts_with("not sent"), "{}", ran.stdout);
    let note = format!(
        "note: {work}/AGENTS.md does not count: it is a link to {home}/outside, outside its directory\n",
        work = home.work().display(),
        home = home.path().display(),
    );
    assert!(ran.stderr.starts_with(&note), "{}", ran.stderr);
    // A file of the directory itself is read without trust.
    std::fs::remove_file(home.work().join("AGENTS.md")).unwrap();
    home.write("work/AGENTS.md", "a key");
    let ran = run();
    assert!(ran.stdout.starts_with("sent"), "{}", ran.stdout);
}
