use super::specs::SPECS;
use super::*;

#[test]
fn declarations_are_frozen_and_in_name_order() {
    let list: Vec<String> = SPECS
        .iter()
        .map(|spec| {
            let text = format!("{}\n{}\n{}", spec.name, spec.description, spec.schema);
            let hash = blake3::hash(text.as_bytes()).to_hex();
            format!("{} {:?} {}", spec.name, spec.effect, &hash[..12])
        })
        .collect();
    // A new hash here means that every running conversation loses its cached prefix.
    insta::assert_snapshot!(list.join("\n"), @"
    Agent Spawns 0abaddaf139b
    TaskCancel Spawns 4e1990bd2ab1
    TaskClear Spawns 5ec35b477266
    TaskList Reads eaf6776ffc7e
    TaskOutput Reads 733f44f9f875
    TaskSend Spawns d20002bbf287
    TaskStart Spawns 41e6cdd2d859
    TaskWait Reads b9d78af39cf3
    ");
    assert!(SPECS.is_sorted_by_key(|spec| spec.name));
    assert!(SPECS.iter().all(|spec| CrewTool::named(spec.name).is_some()));
}
