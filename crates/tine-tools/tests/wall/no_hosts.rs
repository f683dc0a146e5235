//! Without a network of its own a command cannot be kept to the hosts that were named, and so it is given none.

use tine_tools::{Missing, Wall, WallError};

use super::world::{World, lacks_whole_wall};

#[test]
fn a_wall_with_a_network_is_not_raised() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    for hosts in ["internet", "crates.io:443", "localhost:5432"] {
        for missing in [Missing::Accept, Missing::Refuse] {
            let network = hosts.parse().unwrap();
            let wall = Wall { network, missing, ..Wall::worker(&world.path("work")) };
            let raised = wall.raise(&world.path("work"), &world.ground());
            assert!(matches!(raised, Err(WallError::Network)), "{hosts}");
        }
    }
}
