//! Keys and passwords as services make them and as files hold them: each is taken out. All are made up, and put together here, so that
//! no scanner takes this file for a leak.

use tine_guard::redact;

/// Letters and digits that look like chance.
fn chance(count: usize) -> String {
    "aB3dE5gH7jK9mN2pQ4rS6tU8vW0xY1zC".chars().cycle().take(count).collect()
}

fn upper(count: usize) -> String {
    "A3D5G7J2M4P6S3V5Y7B2".chars().cycle().take(count).collect()
}

fn lower(count: usize) -> String {
    "a3d5g7j9m2p4s6v8y1b4".chars().cycle().take(count).collect()
}

fn hex(count: usize) -> String {
    "0a4d8f2c6b1e9375".chars().cycle().take(count).collect()
}

fn digits(count: usize) -> String {
    "1203948576".chars().cycle().take(count).collect()
}

fn uuid() -> String {
    format!("{}-{}-4{}-8{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12))
}

/// A shape: its name, a text that holds the secret at `{}`, and the secret.
type Shape = (&'static str, &'static str, String);

/// Keys that their own shape gives away.
fn keys() -> Vec<Shape> {
    let (c, h) = (chance, hex);
    vec![
        ("anthropic", "{}", format!("sk-ant-{}", format_args!("api03-{}", c(95)))),
        ("anthropic admin", "{}", format!("sk-ant-{}", format_args!("admin01-{}", c(95)))),
        ("openai", "{}", format!("sk-{}", c(48))),
        ("openai project", "{}", format!("sk-proj-{}", c(120))),
        ("openai service", "{}", format!("sk-svcacct-{}", c(80))),
        ("openrouter", "{}", format!("sk-or-v1-{}", h(64))),
        ("deepseek", "{}", format!("sk-{}", h(32))),
        ("groq", "{}", format!("gsk_{}", c(52))),
        ("xai", "{}", format!("xai-{}", c(80))),
        ("perplexity", "{}", format!("pplx-{}", c(48))),
        ("replicate", "{}", format!("r8_{}", c(37))),
        ("hugging face", "{}", format!("hf_{}", c(34))),
        ("langsmith", "{}", format!("lsv2_pt_{}_{}", h(32), h(10))),
        ("elevenlabs", "{}", format!("sk_{}", h(48))),
        ("google", "{}", format!("AIza{}", c(35))),
        ("google oauth", "{}", format!("ya29.{}", c(60))),
        ("google refresh", "{}", format!("1//0{}", c(60))),
        ("google secret", "{}", format!("GOCSPX-{}", c(28))),
        ("aws id", "{}", format!("AKIA{}", upper(16))),
        ("aws session id", "{}", format!("ASIA{}", upper(16))),
        ("github classic", "{}", format!("ghp_{}", c(36))),
        ("github oauth", "{}", format!("gho_{}", c(36))),
        ("github user", "{}", format!("ghu_{}", c(36))),
        ("github app", "{}", format!("ghs_{}", c(36))),
        ("github refresh", "{}", format!("ghr_{}", c(76))),
        ("github fine", "{}", format!("github_pat_{}_{}", c(22), c(59))),
        ("gitlab", "{}", format!("glpat-{}", c(20))),
        ("gitlab deploy", "{}", format!("gldt-{}", c(20))),
        ("gitlab runner", "{}", format!("glrt-{}", c(20))),
        ("gitlab job", "{}", format!("glcbt-{}_{}", h(2), c(20))),
        ("gitlab trigger", "{}", format!("glptt-{}", h(40))),
        ("bitbucket", "{}", format!("ATBB{}", c(32))),
        ("atlassian", "{}", format!("ATATT3{}", c(180))),
        ("slack bot", "{}", format!("xoxb-{}-{}-{}", digits(12), digits(12), c(24))),
        (
            "slack user",
            "{}",
            format!("xoxp-{}-{}-{}-{}", digits(12), digits(12), digits(12), h(32)),
        ),
        ("slack app", "{}", format!("xapp-1-{}-{}-{}", upper(11), digits(13), h(64))),
        (
            "slack webhook",
            "https://hooks.slack.com/services/{}",
            format!("T{}/B{}/{}", upper(8), upper(8), c(24)),
        ),
        ("discord webhook", "https://discord.com/api/webhooks/120394857612039485/{}", c(68)),
        ("discord bot", "DISCORD={}", format!("MT{}.{}.{}", c(24), c(6), c(38))),
        ("telegram bot", "{}", format!("{}:AA{}", digits(10), c(33))),
        (
            "teams webhook",
            "https://a.webhook.office.com/webhookb2/{}",
            format!("{}@{}/IncomingWebhook/{}/{}", uuid(), uuid(), h(32), uuid()),
        ),
        ("twilio", "{}", format!("SK{}", h(32))),
        ("sendgrid", "{}", format!("SG.{}.{}", c(22), c(43))),
        ("mailgun", "{}", format!("key-{}", h(32))),
        ("mailchimp", "{}", format!("{}-us12", h(32))),
        ("sendinblue", "{}", format!("xkeysib-{}-{}", h(64), lower(16))),
        ("postman", "{}", format!("PMAK-{}-{}", h(24), h(34))),
        ("stripe", "{}", format!("sk_live_{}", c(24))),
        ("stripe restricted", "{}", format!("rk_live_{}", c(24))),
        ("stripe test", "{}", format!("sk_test_{}", c(24))),
        ("stripe webhook", "{}", format!("whsec_{}", c(32))),
        ("square", "{}", format!("sq0atp-{}", c(22))),
        ("square secret", "{}", format!("sq0csp-{}", c(43))),
        ("shopify", "{}", format!("shpat_{}", h(32))),
        ("shopify shared", "{}", format!("shpss_{}", h(32))),
        ("plaid", "{}", format!("access-production-{}", uuid())),
        ("vault", "{}", format!("hvs.{}", c(95))),
        ("vault batch", "{}", format!("hvb.{}", c(140))),
        ("databricks", "{}", format!("dapi{}", h(32))),
        ("digitalocean", "{}", format!("dop_v1_{}", h(64))),
        ("docker", "{}", format!("dckr_pat_{}", c(27))),
        ("supabase", "{}", format!("sbp_{}", h(40))),
        ("planetscale", "{}", format!("pscale_tkn_{}", c(43))),
        ("planetscale password", "{}", format!("pscale_pw_{}", c(43))),
        ("netlify", "{}", format!("nfp_{}", c(40))),
        ("linear", "{}", format!("lin_api_{}", c(40))),
        ("notion", "{}", format!("ntn_{}{}", digits(11), c(35))),
        ("notion old", "{}", format!("secret_{}", c(43))),
        ("airtable", "airtable {}", format!("pat{}.{}", c(14), h(64))),
        ("figma", "{}", format!("figd_{}", c(40))),
        ("new relic", "{}", format!("NRAK-{}", upper(27))),
        ("grafana", "{}", format!("glsa_{}_{}", c(32), h(8))),
        ("grafana cloud", "{}", format!("glc_{}", c(60))),
        ("sentry", "{}", format!("sntrys_{}", c(120))),
        ("sentry user", "{}", format!("sntryu_{}", h(64))),
        ("doppler", "{}", format!("dp.pt.{}", c(43))),
        ("pulumi", "{}", format!("pul-{}", h(40))),
        ("terraform cloud", "{}", format!("{}.atlasv1.{}", c(14), c(64))),
        ("rubygems", "{}", format!("rubygems_{}", h(48))),
        ("crates.io", "{}", format!("cio{}", c(32))),
        ("npm", "{}", format!("npm_{}", c(36))),
        ("pypi", "{}", format!("pypi-AgEIcHlwaS5vcmc{}", c(80))),
        (
            "age",
            "{}",
            format!("AGE-SECRET-KEY-1{}", &"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".repeat(2)[..58]),
        ),
        ("tailscale", "{}", format!("tskey-auth-{}-{}", c(12), c(32))),
        ("jwt", "{}", format!("eyJ{}.eyJ{}.{}", c(20), c(60), c(43))),
        ("1password", "{}", format!("ops_eyJ{}", c(260))),
    ]
}

/// Secrets that what stands around them gives away.
fn told() -> Vec<Shape> {
    let (c, h) = (chance, hex);
    let word = || format!("hunter{}x!", digits(4));
    let basic = || "dXNlcjpodW50ZXIyMDM5".to_owned();
    vec![
        (
            "private key",
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
            c(64),
        ),
        (
            "openssh key",
            "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----",
            c(64),
        ),
        (
            "azure sas",
            "https://a.blob.core.windows.net/c?sv=2024-11-04&sig={}",
            format!("{}%3D", c(43)),
        ),
        (
            "azure storage",
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=x",
            format!("{}==", c(86)),
        ),
        ("bearer", "Authorization: Bearer {}", c(40)),
        ("basic", "Authorization: Basic {}", basic()),
        ("cookie", "Cookie: session={}", c(32)),
        ("set-cookie", "Set-Cookie: sid={}; Path=/; HttpOnly", c(32)),
        ("curl -u", "curl -s -u admin:{} https://api.example.com/x", word()),
        ("mysql -p", "mysql -h db -u root -p{} app", word()),
        ("sshpass -p", "sshpass -p {} ssh me@host", word()),
        ("netrc", "machine api.example.com\n  login me\n  password {}", word()),
        (
            "dockercfg",
            "{\"auths\": {\"https://index.docker.io/v1/\": {\"auth\": \"{}\"}}}",
            basic(),
        ),
        ("kubeconfig", "    client-key-data: {}", format!("LS0tLS1CRUdJTiBS{}", c(120))),
        ("htpasswd", "me:{}", format!("$apr1${}${}", lower(8), c(22))),
        ("shadow", "root:{}:19000:0:99999:7:::", format!("$6${}${}", c(16), c(86))),
        ("DB_PASS", "DB_PASS={}", word()),
        ("variable", "export DATABASE_PASSWORD={}", word()),
        ("yaml", "db:\n  user: app\n  password: {}\n", word()),
        ("ini", "[db]\nuser = app\npassword = {}\n", word()),
        ("properties", "spring.datasource.username=app\nspring.datasource.password={}\n", word()),
        ("json", "{\"user\": \"app\", \"password\": \"{}\"}", word()),
        ("address", "postgres://app:{}@db.internal:5432/app", word()),
        ("git remote", "origin\thttps://x-access-token:{}@github.com/a/b.git (fetch)", c(30)),
        ("git config", "remote.origin.url=https://me:{}@example.com/a.git", word()),
        ("aws secret", "aws_secret_access_key = {}", c(40)),
        ("heroku", "HEROKU_API_KEY={}", uuid()),
        ("datadog", "DD_API_KEY={}", h(32)),
        ("npmrc", "//registry.npmjs.org/:_authToken={}", uuid()),
        ("x-api-key", "x-api-key: {}", c(32)),
    ]
}

#[test]
fn known_shapes_are_taken_out() {
    let shapes = [keys(), told()].concat();
    let shown = |shape: &Shape| redact(&shape.1.replace("{}", &shape.2)).into_owned();
    let missed: Vec<_> = shapes.iter().filter(|shape| shown(shape).contains(&shape.2)).collect();
    let told: Vec<String> =
        missed.iter().map(|shape| format!("{}: {}", shape.0, shown(shape))).collect();
    assert_eq!(told, Vec::<String>::new(), "of {}", shapes.len());
    assert!(shapes.len() >= 107, "{}", shapes.len());
}

#[test]
fn nothing_of_a_key_is_left_in_a_sentence() {
    for (name, _, key) in keys() {
        for (before, after) in
            [("use ", " now"), ("(", ")"), ("`", "`,"), ("\\n", "\\n"), ("=", ".")]
        {
            let text = format!("discord airtable {before}{key}{after}");
            // What a webhook's address holds is a secret only there.
            if name.ends_with("webhook") {
                continue;
            }
            let redacted = redact(&text);
            assert!(!redacted.contains(&key[key.len() - 6..]), "{name}: {redacted}");
            assert!(redacted.ends_with(after), "{name}: {redacted}");
        }
    }
}
