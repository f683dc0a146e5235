//! Every example, run against the simulator, and the program of the crate outside the workspace.

#![expect(
    clippy::duplicate_mod,
    reason = "each example is a program of its own and brings its parent"
)]

macro_rules! examples {
    ($($name:ident, $path:literal, @$told:literal;)+) => {$(
        #[path = $path]
        #[expect(dead_code, reason = "its `main` prints what `run` returns")]
        mod $name;

        #[test]
        fn $name() {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            insta::assert_snapshot!(runtime.block_on($name::run()).unwrap(), @$told);
        }
    )+};
}

examples! {
    quick_fork, "../examples/quick_fork.rs", @"completed in 1 turn: Three: a barge, a tug and the ferry.";
    dream, "../examples/dream.rs", @"1 note (Ships come in before noon.), escaped: false; Noted when ships come in.";
    eight_siblings, "../examples/eight_siblings.rs", @"
    Check berth 1: done.
    Check berth 2: done.
    Check berth 3: done.
    Check berth 4: done.
    Check berth 5: done.
    Check berth 6: done.
    Check berth 7: done.
    Check berth 8: done.
    6 times as many tokens were read from the cache as written to it
    ";
    delegation, "../examples/delegation.rs", @"asked and told `The Gannet.`: The ferry is the Gannet.";
    custom_tools, "../examples/custom_tools.rs", @"2 calls, rung 1 time: The tide is in, and the bell was rung.";
    custom_client, "../examples/custom_client.rs", @"You sent 23 kB in the format anthropic.";
    embed, "../embed/src/main.rs", @"It is rising. (1 call, 4 messages), aborted, lost";
}
