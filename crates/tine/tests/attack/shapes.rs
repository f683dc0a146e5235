//! Shapes of keys in a conversation, through every face that shows it: none comes out.

use std::collections::BTreeSet;

use serde_json::json;

use crate::ground::Ground;
use crate::report::Row;
use crate::world::World;

/// Each hole in `<>` becomes so many characters by chance: `A` letters of both cases and digits, `H` hexadecimal digits, `D`
/// digits, `U` capitals and digits, `L` small letters and digits. What is in holes of eight and more characters must not come
/// out. None of these is written as a whole, so that no scanner takes this file for a leak.
const SHAPES: &[&str] = &[
    "sk-ant-api03-<A93>AA",
    "sk-ant-admin01-<A93>AA",
    "sk-proj-<A74>T3BlbkFJ<A74>",
    "sk-<A20>T3BlbkFJ<A20>",
    "sk-or-v1-<H64>",
    "AIza<A35>",
    "gsk_<A52>",
    "xai-<A80>",
    "pplx-<A48>",
    "r8_<A37>",
    "hf_<A34>",
    "AKIA<U16>",
    "ASIA<U16>",
    "ABIA<U16>",
    "ghp_<A36>",
    "gho_<A36>",
    "ghu_<A36>",
    "ghs_<A36>",
    "ghr_<A36>",
    "github_pat_<A22>_<A59>",
    "glpat-<A20>",
    "gldt-<A20>",
    "glrt-<A20>",
    "glptt-<H40>",
    "glsoat-<A20>",
    "glcbt-<A2>_<A20>",
    "glft-<A20>",
    "glagent-<A50>",
    "xoxb-<D12>-<D12>-<A24>",
    "xoxp-<D12>-<D12>-<D12>-<H32>",
    "xoxa-2-<D12>-<D12>-<A24>",
    "xapp-1-<U9>-<D13>-<H64>",
    "https://hooks.slack.com/services/T<U8>/B<U8>/<A24>",
    "https://discord.com/api/webhooks/<D18>/<A68>",
    "https://outlook.webhook.office.com/webhookb2/<H8>-<H4>-<H4>-<H4>-<H12>@<H8>-<H4>-<H4>-<H4>-<H12>/IncomingWebhook/<H32>/<H8>-<H4>-<H4>-<H4>-<H12>",
    "sk_live_<A24>",
    "sk_test_<A24>",
    "rk_live_<A24>",
    "rk_prod_<A24>",
    "npm_<A36>",
    "pypi-AgEIcHlwaS5vcmc<A70>",
    "SG.<A22>.<A43>",
    "key-<H32> mailgun",
    "shpat_<H32>",
    "shpca_<H32>",
    "shppa_<H32>",
    "shpss_<H32>",
    "sq0atp-<A22>",
    "sq0csp-<A43>",
    "EAAA<A60>",
    "hvs.<A95>",
    "hvb.<A150>",
    "dapi<H32>",
    "dop_v1_<H64>",
    "doo_v1_<H64>",
    "dor_v1_<H64>",
    "dckr_pat_<A27>",
    "sbp_<H40>",
    "pscale_tkn_<A43>",
    "pscale_pw_<A43>",
    "pscale_oauth_<A43>",
    "lin_api_<A40>",
    "ntn_<D11><A35>",
    "secret_<A43>",
    "pat<A14>.<H64>",
    "figd_<A40>",
    "PMAK-<H24>-<H34>",
    "NRAK-<U27>",
    "NRJS-<H19>",
    "NRII-<A32>",
    "glc_<A60>",
    "glsa_<A32>_<H8>",
    "eyJrIjoi<A70>",
    "sntrys_eyJpYXQiO<A80>LCJyZWdpb25fdXJs<A30>_<A43>",
    "sntryu_<H64>",
    "dp.pt.<A43>",
    "pul-<H40>",
    "<A14>.atlasv1.<A67>",
    "ATATT3<A186>",
    "rubygems_<H48>",
    "cio<A32>",
    "CCIPAT_<A22>_<H40>",
    "nfp_<A36>",
    "rnd_<A32>",
    "FlyV1 fm2_<A150>",
    "fo1_<A43>",
    "tskey-auth-<A12>-<A32>",
    "tfp_<A44>",
    "ops_eyJ<A280>",
    "A3-<U6>-<U11>-<U5>-<U5>-<U5>",
    "AGE-SECRET-KEY-1<Q58>",
    "EZAK<A54>",
    "EZTK<A54>",
    "FLWSECK_TEST-<H12>",
    "duffel_test_<A43>",
    "dt0c01.<U24>.<U64>",
    "frameio-u: fio-u-<A64>",
    "live_<H35> lob",
    "xkeysib-<H64>-<A16>",
    "shippo_live_<H40>",
    "tk-us-<A48>",
    "v1.0-<H24>-<H146>",
    "LTAI<A20>",
    "p8e-<A32>",
    "ico-<A32>",
    "prefect: pnu_<L36>",
    "rdme_<L70>",
    "sgp_<H40>",
    "tines: hooks?sig=<A40>&sv=2022-11-02&sig=<A43>%3D",
    "-----BEGIN RSA PRIVATE KEY-----\n<A64>\n<A64>\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n<A64>\n<A64>\n-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n<A64>\n<A64>\n-----END PGP PRIVATE KEY BLOCK-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJ<A40>.<A43>",
    "Authorization: Bearer <A40>",
    "Authorization: Basic <A40>",
    "X-Api-Key: <A40>",
    "Cookie: session=<A40>",
    "Set-Cookie: sid=<A40>; HttpOnly",
    "curl -u me:<A20> https://x.example",
    "curl -H 'Authorization: token <A40>' https://x.example",
    "mysql -u root -p<A16> db",
    "sshpass -p <A16> ssh me@x.example",
    "postgres://me:<A16>@db.example/x",
    "mongodb+srv://me:<A16>@c.example/x",
    "redis://:<A16>@r.example:6379",
    "https://me:<A20>@x.example/y.git",
    "amqps://me:<A16>@q.example/v",
    "machine x.example login me password <A16>",
    "//registry.npmjs.org/:_authToken=<A36>",
    "export ACME_API_KEY=<A32>",
    "DB_PASSWORD=<A16>",
    "DB_PASS=<A16>",
    "aws_secret_access_key = <A40>",
    "{\"apiKey\": \"<A32>\"}",
    "{\"client_secret\": \"<A32>\"}",
    "{\"auths\": {\"x.example\": {\"auth\": \"<A40>\"}}}",
    "client-key-data: <A80>",
    "root:$6$<A16>$<A86>:19000:0:99999:7:::",
    "AccountKey=<A86>==",
    "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=<A86>==;EndpointSuffix=core.windows.net",
    "?sv=2022-11-02&ss=b&srt=o&sp=r&se=2030-01-01&sig=<A43>%3D",
];

/// Letters that a hole of this kind is made of.
fn alphabet(kind: u8) -> &'static [u8] {
    match kind {
        b'H' => b"0123456789abcdef",
        b'D' => b"0123456789",
        b'U' => b"ABCDEFGHJKLMNPQRSTUVWXYZ234567",
        b'L' => b"abcdefghijklmnopqrstuvwxyz0123456789",
        b'Q' => b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        _ => b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    }
}

/// A shape with its holes filled, and what must not come out of it.
fn filled(shape: &str, seed: usize) -> (String, Vec<String>) {
    let mut state = seed as u64 * 7_919 + 12_345;
    let mut chance = |kind: u8, count: usize| -> String {
        let letters = alphabet(kind);
        let mut letter = || {
            // The usual linear generator; any would do.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            letters[(state >> 33) as usize % letters.len()] as char
        };
        (0..count).map(|_| letter()).collect()
    };
    let (mut text, mut secrets) = (String::new(), Vec::new());
    let mut rest = shape;
    while let Some((before, behind)) = rest.split_once('<') {
        let (hole, after) = behind.split_once('>').unwrap();
        let count: usize = hole[1..].parse().unwrap();
        let secret = chance(hole.as_bytes()[0], count);
        text.push_str(before);
        text.push_str(&secret);
        if count >= 12 {
            secrets.push(secret);
        }
        rest = after;
    }
    text.push_str(rest);
    (text, secrets)
}

#[test]
fn no_shape_of_a_key_comes_out_of_any_face() {
    // No command is confined here.
    let ground = Ground::Namespaces;
    let world = World::new();
    let filled: Vec<(String, Vec<String>)> =
        SHAPES.iter().enumerate().map(|(seed, shape)| filled(shape, seed)).collect();
    let mut messages = Vec::new();
    for (number, (text, _)) in filled.iter().enumerate() {
        let (id, input) = (format!("t{number}"), json!({ "command": format!("echo {text}") }));
        let call = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": input });
        let result =
            json!({ "type": "tool_result", "tool_use_id": id, "content": format!("a\n{text}\nb") });
        messages.push(json!({ "role": "user", "content": format!("here: {text}") }));
        messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": format!("so {text}") }, call] }));
        messages.push(json!({ "role": "user", "content": [result] }));
        messages.push(json!({ "role": "assistant", "content": "yes" }));
    }
    world.write("keys.json", serde_json::to_string(&messages).unwrap());
    world.done(ground, &["import", "../keys.json", "--model", "sim/echo", "--name", "a"]);
    let faces: [&[&str]; 7] = [
        &["show", "a"],
        &["show", "a", "--full"],
        &["show", "a", "--json"],
        &["export", "a"],
        &["logs", "a"],
        &["logs", "a", "--json"],
        &["ps", "--all", "--json"],
    ];
    let mut missed = BTreeSet::new();
    for face in faces {
        let told = world.done(ground, face);
        for (shape, (_, secrets)) in SHAPES.iter().zip(&filled) {
            if secrets.iter().any(|secret| told.contains(secret)) {
                missed.insert(*shape);
            }
        }
    }
    // With the keys left in, they are all there: so nothing was overlooked for another reason.
    let raw = world.done(ground, &["export", "a", "--raw"]);
    let kept =
        filled.iter().filter(|(_, secrets)| secrets.iter().all(|secret| raw.contains(secret)));
    assert_eq!(kept.count(), SHAPES.len());
    let mut row = Row::new("shapes of keys", SHAPES.len());
    row.escaped = missed.into_iter().map(str::to_owned).collect();
    row.settle(ground, 100, 0);
}
