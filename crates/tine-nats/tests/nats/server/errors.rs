//! The texts that people read when a connection fails.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tine_nats::{Cluster, Settings};
use tine_testkit::nats::NATS_SERVER;
use tine_testkit::{scratch, until_some};

use crate::house::{House, words};

async fn refused(settings: Settings, house: Option<&House>) -> String {
    match Cluster::connect(settings, "test").await {
        Err(error) => words(&error, house),
        Ok(_) => "it connects".to_owned(),
    }
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn errors_say_what_is_wrong_and_show_no_password() {
    let house = House::with("authorization { user: ann, password: secret }");
    let port = house.node.address().port();
    let at = |user: &str| Settings::new(format!("nats://{user}127.0.0.1:{port}"));
    assert_eq!(refused(at("ann:secret@"), Some(&house)).await, "it connects");
    let missing = PathBuf::from("nowhere.creds");
    let refusals = [
        refused(at("ann:wrong@"), Some(&house)).await,
        refused(at(""), Some(&house)).await,
        refused(Settings::new("nats://ann:secret@a b:c"), None).await,
        refused(Settings { credentials: Some(missing), ..at("") }, None).await,
    ];
    insta::assert_snapshot!(refusals.join("\n"), @r"
    the NATS server at nats://127.0.0.1:PORT refuses these credentials: authorization violation: nats: authorization violation
    the NATS server at nats://127.0.0.1:PORT refuses these credentials: authorization violation: nats: authorization violation
    `nats://a b:c` is not an address of a NATS server, such as nats://host:4222: NATS server URL is invalid: invalid domain character
    cannot read `nowhere.creds`: loading creds file 'nowhere.creds': No such file or directory (os error 2)
    ");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_server_that_is_gone_is_unreachable() {
    let mut house = House::new();
    house.node.kill();
    let gone = refused(house.settings(), Some(&house)).await;
    insta::assert_snapshot!(gone, @"no NATS server answers at nats://127.0.0.1:PORT: IO error: Connection refused (os error 111)");
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_user_without_jetstream_is_told_so() {
    let config = "accounts { plain { users: [{user: ann, password: secret}] } }";
    let house = House::with(config);
    let port = house.node.address().port();
    let settings = Settings::new(format!("nats://ann:secret@127.0.0.1:{port}"));
    let without = refused(settings, Some(&house)).await;
    insta::assert_snapshot!(without, @"the NATS server runs without JetStream: jetstream error: JetStream not enabled for account (code 503, error code 10039)");
}

/// A server without JetStream, on a port that it chooses.
#[expect(clippy::disallowed_methods, reason = "the server runs beside the test")]
fn plain_server(directory: &Path) -> (Child, String) {
    let program = std::env::var_os(NATS_SERVER).unwrap();
    let mut command = Command::new(program);
    command.args(["-a", "127.0.0.1", "-p", "-1", "--ports_file_dir"]).arg(directory);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let server = command.spawn().unwrap();
    let url = until_some("the server has a port", || {
        let file = std::fs::read_dir(directory).ok()?.next()?.ok()?;
        let ports: Value = serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok()?;
        Some(ports["nats"][0].as_str()?.to_owned())
    });
    (server, url)
}

#[tokio::test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
async fn a_server_without_jetstream_is_named_as_such() {
    let place = scratch();
    let (mut server, url) = plain_server(place.path());
    let without = refused(Settings::new(url), None).await;
    server.kill().unwrap();
    server.wait().unwrap();
    insta::assert_snapshot!(without, @"the NATS server runs without JetStream: jetstream unavailable");
}
