//! Links: out, in, dangling, hard, in chains and in loops.

use crate::support::{House, file, list, search, write};

#[test]
fn an_unjudged_call_follows_links_only_inside_the_directory() {
    let house = House::new();
    house.link("sub", "in/here");
    house.link("../out", "in/door");
    house.link("../out/f", "in/out.txt");
    insta::assert_snapshot!(house.run("FileRead", &file("here/f")), @"     1	inside");
    insta::assert_snapshot!(house.run("FileRead", &file("door/f")), @"error: `door/f` leads through a symbolic link to `HOUSE/out/f`; name that path itself");
    insta::assert_snapshot!(house.run("FileRead", &file("out.txt")), @"error: `out.txt` leads through a symbolic link to `HOUSE/out/f`; name that path itself");
    insta::assert_snapshot!(house.run("FileWrite", &write("door/new")), @"error: `door/new` leads through a symbolic link to `HOUSE/out/new`; name that path itself");
    insta::assert_snapshot!(house.run("Grep", &search("door")), @"error: `door` leads through a symbolic link to `HOUSE/out`; name that path itself");
    insta::assert_snapshot!(house.run("Glob", &list("door")), @"error: `door` leads through a symbolic link to `HOUSE/out`; name that path itself");
    assert_eq!(house.names("out"), ["f"]);
}

#[test]
fn a_judged_call_opens_where_the_link_leads() {
    let house = House::new();
    house.link("../out", "in/door");
    insta::assert_snapshot!(house.run_judged("FileRead", &file("door/f")), @"     1	outside");
    insta::assert_snapshot!(house.run_judged("Grep", &search("door")), @"door/f:1:outside");
    insta::assert_snapshot!(house.run_judged("Glob", &list("door")), @"door/f");
    insta::assert_snapshot!(house.run_judged("FileWrite", &write("door/new")), @"created `door/new` (1 line)");
    assert_eq!(house.names("out"), ["f", "new"]);
}

#[test]
fn a_walk_names_links_and_goes_through_none() {
    let house = House::new();
    house.link("../out", "in/door");
    house.link("../out/f", "in/out.txt");
    insta::assert_snapshot!(house.run("Grep", &search(".")), @"sub/f:1:inside");
    insta::assert_snapshot!(house.run("Glob", &list(".")).replace('\n', " "), @"door out.txt sub/f");
}

#[test]
fn a_dangling_link_is_written_where_it_leads_and_nowhere_else() {
    let house = House::new();
    house.link("sub/later", "in/inner");
    house.link("../out/later", "in/outer");
    insta::assert_snapshot!(house.run("FileRead", &file("inner")), @"error: `inner` does not exist (it leads through a symbolic link to `HOUSE/in/sub/later`)");
    insta::assert_snapshot!(house.run("FileWrite", &write("inner")), @"created `inner` (1 line)");
    insta::assert_snapshot!(house.run("FileWrite", &write("outer")), @"error: `outer` leads through a symbolic link to `HOUSE/out/later`; name that path itself");
    assert_eq!(house.names("in/sub"), ["f", "later"]);
    assert_eq!(house.names("out"), ["f"]);
}

#[test]
fn a_hard_link_is_given_a_file_of_its_own_instead_of_being_written_through() {
    let house = House::new();
    std::fs::hard_link(house.path("out/f"), house.path("in/hard")).unwrap();
    house.run("FileRead", &file("hard"));
    let output = house.run("FileWrite", &write("hard"));
    assert!(output.starts_with("replaced `hard`"), "{output}");
    let edit =
        serde_json::json!({ "file_path": "hard", "old_string": "written", "new_string": "again" });
    assert!(house.run("FileEdit", &edit).starts_with("edited `hard`"));
    assert_eq!(std::fs::read_to_string(house.path("out/f")).unwrap(), "outside\n");
    assert_eq!(std::fs::read_to_string(house.path("in/hard")).unwrap(), "again\n");
}

#[test]
fn a_loop_and_a_chain_beyond_the_systems_limit_lead_nowhere() {
    let house = House::new();
    house.link("loop", "in/loop");
    house.link("sub/f", "in/0");
    for number in 1..=40 {
        house.link((number - 1).to_string(), &format!("in/{number}"));
    }
    insta::assert_snapshot!(house.run("FileRead", &file("39")), @"     1	inside");
    insta::assert_snapshot!(house.run("FileRead", &file("40")), @"error: `HOUSE/in/40` leads through more than 40 symbolic links");
    insta::assert_snapshot!(house.run("FileWrite", &write("loop/x")), @"error: `HOUSE/in/loop/x` leads through more than 40 symbolic links");
}
