//! What is a secret and what is not. The keys are made up; those of shapes that scanners know are put together here, so that no
//! scanner takes this file for a leak.

use proptest::prelude::*;

use super::*;

/// Letters and digits that look like chance, as many as are asked for.
fn chance(count: usize) -> String {
    "aB3dE5gH7jK9mN2pQ4rS6tU8vW0xY1zC".chars().cycle().take(count).collect()
}

#[test]
fn keys_are_known_by_their_shape() {
    let hex = "0123456789abcdef".repeat(2);
    let cases: Vec<(String, &str)> = vec![
        (format!("sk-ant-api03-{}", chance(40)), "Anthropic key"),
        (format!("sk-proj-{}", chance(48)), "API key"),
        (format!("sk-{hex}"), "API key"),
        (format!("AIza{}", chance(35)), "gcp api key"),
        (format!("AKIA{}", "IOSFODNN7EXAMPLE"), "aws access token"),
        (format!("ghp_{}", chance(36)), "GitHub token"),
        (format!("ghs_{}", chance(36)), "GitHub token"),
        (format!("github_pat_{}_{}", chance(22), chance(59)), "GitHub token"),
        (format!("glpat-{}", chance(20)), "GitLab token"),
        (format!("xoxb-123456789012-{}", chance(24)), "Slack token"),
        (format!("sk_live_{}", chance(24)), "stripe access token"),
        (format!("npm_{}", chance(36)), "npm access token"),
        (format!("pypi-AgEIcHlwaS5vcmc{}", chance(60)), "pypi upload token"),
        (format!("hf_{}", chance(34)), "Hugging Face token"),
        (format!("eyJ{}.eyJ{}.{}", chance(20), chance(60), chance(43)), "JWT"),
        (format!("SG.{}.{}", chance(22), chance(43)), "sendgrid api token"),
        (format!("CCIPAT_{}_{hex}01234567", chance(22)), "CircleCI token"),
        (format!("live_{hex}012"), "Lob key"),
        (format!("pat{}.{hex}{hex}", chance(14)), "Airtable token"),
        (format!("rnd_{}", chance(32)), "Render key"),
        (format!("tfp_{}", chance(44)), "Typeform token"),
    ];
    for (key, kind) in cases {
        let marked = format!("[redacted: {kind}]");
        assert_eq!(redact(&key), marked, "{key}");
        for (before, after) in [
            ("use ", " now"),
            ("(", ")"),
            ("\"", "\""),
            ("\\n", "\\n"),
            ("\x1b[1m", "\x1b[0m"),
            ("é", "é"),
            ("/", "."),
        ] {
            let text = format!("{before}{key}{after}");
            assert_eq!(redact(&text), format!("{before}{marked}{after}"), "{text}");
        }
        let inside = format!("x{key}");
        assert!(!redact(&inside).contains(&marked) || kind == "JWT", "{inside}");
    }
}

#[test]
fn a_private_key_goes_as_a_whole() {
    let body = format!("{}\n{}\n", chance(64), chance(30));
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
    {
        let key = format!("-----BEGIN {label}-----\n{body}-----END {label}-----");
        assert_eq!(redact(&format!("a\n{key}\nb")), "a\n[redacted: private key]\nb", "{label}");
        let coloured = key.replace('\n', "\x1b[0m\n  \x1b[2;31m");
        assert_eq!(redact(&coloured), "[redacted: private key]", "{label}");
        let escaped = key.replace('\n', "\\n");
        assert_eq!(redact(&format!("\"{escaped}\"")), "\"[redacted: private key]\"");
        let twice = key.replace('\n', "\\\\n");
        assert_eq!(redact(&twice), "[redacted: private key]");
        let cut = &key[..key.len() / 2];
        assert_eq!(redact(cut), "[redacted: private key]");
    }
    let headers = format!(
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{body}-----END RSA PRIVATE KEY-----"
    );
    assert_eq!(redact(&headers), "[redacted: private key]");
    for body in ["", "\n", "...\n", "\nMIIE (the key)\n"] {
        let placeholder = format!("-----BEGIN PRIVATE KEY-----{body}-----END PRIVATE KEY-----");
        assert_eq!(redact(&placeholder), placeholder);
    }
    let public = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----";
    assert_eq!(redact(public), public);
}

/// Each piece is rejected, because it has one letter alone. Reading on from every one of them would take hours.
#[test]
fn rejected_pieces_of_a_long_word_are_read_once() {
    let word = format!("AKIA{}-", "A".repeat(16)).repeat(50_000);
    assert_eq!(redact(&word), word);
}

#[test]
fn names_and_placeholders_of_secrets_stay() {
    for text in [
        r#"let scheme = "https://user:password@example.com";"#,
        "scheme://[user[:password]@][host]",
        r#"Auth::Sha2Password => "caching_sha2_password","#,
        r#"Secret => "CLIENT_TRAFFIC_SECRET_0","#,
        r#".header("authorization", "Bearer password")"#,
        "`CLIENT_TRAFFIC_SECRET`: `secret` encrypts",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn values_are_known_by_their_names() {
    let key = chance(24);
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    let check = |text: &str, expected: &str| assert_eq!(redact(text), expected, "{text}");
    check("export DB_PASSWORD=hunter2 # x", "export DB_PASSWORD=[redacted: password] # x");
    check("PASSWORD=\"correct horse\"", "PASSWORD=\"[redacted: password]\"");
    check(&format!("ACME_API_KEY={key}\n"), "ACME_API_KEY=[redacted: API key]\n");
    check(&format!("ACME_KEY={key}"), "ACME_KEY=[redacted: key]");
    check(&format!("api_key: {key}"), "api_key: [redacted: API key]");
    check(&format!("{{\"apiKey\": \"{key}\"}}"), "{\"apiKey\": \"[redacted: API key]\"}");
    check(&format!("\\\"token\\\":\\\"{key}\\\","), "\\\"token\\\":\\\"[redacted: token]\\\",");
    check(&format!("sonar.login={}", chance(40)), "sonar.login=[redacted: sonar api token]");
    check("password = 'Tr0ub4dor&3'", "password = '[redacted: password]'");
    check("curl --password=hunter2 x", "curl --password=[redacted: password] x");
    check(&format!("?access_token={key}&a=b"), "?access_token=[redacted: token]&a=b");
    check(
        &format!("aws_secret_access_key = {secret}"),
        "aws_secret_access_key = [redacted: access key]",
    );
    check(
        &format!("AKIA{},{secret}\n", "IOSFODNN7EXAMPLE"),
        "[redacted: aws access token],[redacted: AWS secret key]\n",
    );
    check(
        &format!("Authorization: Bearer {key}"),
        "Authorization: Bearer [redacted: authorization]",
    );
    check("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted: authorization]");
    check(&format!("x-api-key: {key}"), "x-api-key: [redacted: API key]");
    check("postgres://me:s3cret@db.local/x?y", "postgres://me:[redacted: password]@db.local/x?y");
    check(
        &format!("//registry.npmjs.org/:_authToken={key}"),
        "//registry.npmjs.org/:_authToken=[redacted: token]",
    );
}

#[test]
fn addresses_with_a_key_in_their_path_lose_it() {
    let uuid = "1a2b3c4d-0000-4000-8000-123456789abc";
    let check = |text: &str, expected: &str| assert_eq!(redact(text), expected, "{text}");
    check(
        &format!("https://discord.com/api/webhooks/123456789012345678/{}", chance(68)),
        "https://discord.com/api/webhooks/[redacted: Discord webhook]",
    );
    check(
        &format!(
            "https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{}/{uuid}",
            "0123456789abcdef".repeat(2)
        ),
        "https://acme.webhook.office.com/webhookb2/[redacted: Teams webhook]",
    );
    check(
        &format!("https://a.logic.azure.com/x?sp=run&sv=1.0&sig={} now", chance(43)),
        "https://a.logic.azure.com/x?sp=run&sv=1.0&sig=[redacted: signature of an address] now",
    );
    check(
        &format!("{{\"auth\": \"{}\"}}", chance(40)),
        "{\"auth\": \"[redacted: registry password]\"}",
    );
}

#[test]
fn what_only_looks_like_chance_stays() {
    let sha = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    let image = format!("data:image/png;base64,{}==", chance(4_000));
    for text in [
        sha,
        "commit da39a3ee5e6b4b0d3255bfef95601890afd80709 (HEAD)",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "1a2b3c4d-0000-4000-8000-123456789abc",
        "toolu_01A09q90qw90lq917835lq9 call_abc123DEF456 msg_01XFDUDYJgAACzvnptvVoYEL",
        &image,
        "max_tokens: 4096, tokens = 12",
        "fn token(&self) -> Option<Token>",
        "let token = next_token(); token: String, TOKEN: &str",
        "password: Option<String>, password = None, PASSWORD=$DB_PASSWORD",
        "api_key = os.environ[\"OPENAI_API_KEY\"]",
        "API_KEY=<your key> TOKEN=${TOKEN} SECRET=******** KEY=%KEY%",
        "key_variable = \"OPENAI_API_KEY\"",
        "sk-learn and sk-folding-cube-animation-long-name",
        "the bearer of bad tidings, basic understanding",
        "https://example.com:8080/a@b http://user@host git@github.com:a/b.git",
        "npm_config_registry npm_package_devDependencies_typescript",
        "PWD=/home/somebody/project",
        "if token == \"end_of_file\" { secret }",
        "\"type\": \"token\", \"password\": \"required\"",
        "PRIMARY_KEY=created_at, SORT_KEY: name",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "eyJhbGciOiJIUzI1NiJ9 alone is a header",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(_)), "{text} -> {}", redact(text));
    }
}

#[test]
fn a_second_look_takes_no_marker_for_a_secret() {
    let two = "db://pwd=SSTTT78x:hunter2@host";
    assert_eq!(redact(two), "db://pwd=[redacted: password][redacted: password]@host");
    let once = redact("pwd=S://:((@:").into_owned();
    assert_eq!(once, "pwd=S://:[redacted: password]@:");
    assert_eq!(redact(&once), once);
}

#[test]
fn json_stays_json_and_keeps_what_is_no_secret() {
    let key = format!("sk-ant-api03-{}", chance(40));
    let text = format!(
        r#"[ {{"role":"user","content":"my \"key\" is {key}\n","n":1.0}}, {{"type":"thinking","signature":"{key}","password":"Tr0ub4dor&3"}},{{"arguments":"{{\"api_key\":\"{}\",\"n\":2}}"}} ]"#,
        chance(30)
    );
    let expected = r#"[ {"role":"user","content":"my \"key\" is [redacted: Anthropic key]\n","n":1.0}, {"type":"thinking","signature":"KEY","password":"[redacted: password]"},{"arguments":"{\"api_key\":\"[redacted: API key]\",\"n\":2}"} ]"#;
    assert_eq!(redact_json(&text), expected.replace("KEY", &key));
    for plain in ["", "[1, 2 ,3]", "not json \"", r#"{"a":"b\u0000"}"#, "\"\\"] {
        assert!(matches!(redact_json(plain), Cow::Borrowed(_)), "{plain}");
    }
}

#[test]
fn hostile_repetition_ends_in_time() {
    let pieces = [
        "sk-",
        "eyJ",
        "://",
        "TOKEN=",
        "password: ",
        "Bearer ",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN ",
        "\\",
        "\"",
        "a",
        "=",
        " ",
        "AKIA",
        "eyJaaaaaaaaaaaaaa.",
        "x:y@",
        "\\n",
        "curl -u a:b ",
        "mysql ",
        "machine a login b ",
        "a: ",
        "zendesk=",
    ];
    for piece in pieces {
        let text = piece.repeat(100_000 / piece.len());
        let _ = redact(&text);
        let _ = redact_json(&text);
    }
}

/// Texts in which secrets are likely.
fn likely() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -~\n\t]{0,12}",
        2 => "\\PC{0,4}",
        2 => prop::sample::select(vec![
            "sk-", "sk-ant-", "AIza", "ghp_", "eyJ", ".eyJ", "://", "u:p@", "TOKEN=", "\"api_key\":\"", "Bearer ",
            "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "\\n", "\\\"", "\"", "AKIA",
        ]).prop_map(str::to_owned),
        3 => "[A-Za-z0-9]{8,45}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_second_look_finds_nothing_new(text in likely()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once).into_owned(), once);
    }

    #[test]
    fn json_stays_json_with_the_same_shape(text in likely(), field in "[a-z_]{0,12}") {
        fn shape(value: &serde_json::Value) -> String {
            match value {
                serde_json::Value::Object(map) => map.iter().map(|(key, value)| format!("{key}:{}", shape(value))).collect(),
                other => std::mem::discriminant(other).eq(&std::mem::discriminant(&serde_json::Value::Null)).to_string(),
            }
        }
        let inner = serde_json::json!({ (field.as_str()): text }).to_string();
        let value = serde_json::json!({ "arguments": inner, "text": text });
        let redacted: serde_json::Value = serde_json::from_str(&redact_json(&value.to_string())).unwrap();
        prop_assert_eq!(shape(&redacted), shape(&value));
        let inner: Result<serde_json::Value, _> = serde_json::from_str(redacted["arguments"].as_str().unwrap());
        prop_assert!(inner.is_ok(), "{}", redacted["arguments"]);
    }

    #[test]
    fn nothing_but_finds_is_taken_away(text in likely()) {
        // What stands between two markers stands in the text, in the same order.
        let redacted = redact(&text).into_owned();
        let mut from = 0;
        for piece in redacted.split("[redacted: ").flat_map(|piece| piece.rsplit(']').take(1)) {
            let found = text[from..].find(piece);
            prop_assert!(found.is_some(), "{piece:?} of {redacted:?}");
            from += found.unwrap_or_default() + piece.len();
        }
    }
}
