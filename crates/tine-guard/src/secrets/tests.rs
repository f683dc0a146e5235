use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Each holds keys, passwords, or what was typed among them.
const SECRET: &str = "
.env .ENV .env~ .env.bak .env.1 .env-prod .env.production deploy/.env.local .env_old ..env.swp #.env# .envrc .envrc.old prod.env
server.pem server.PEM server.pem.bak server.pem~ server.key x.key.old tls.key.2024 keyboard.key example.com.key a.p12 a.pfx.orig
release.jks app.keystore vault.kdbx key.ppk secring.gpg terraform.tfstate terraform.tfstate.backup prod.tfvars client.ovpn host.keytab
id_rsa id_rsa.old keys/id_ed25519_work id_ecdsa.bak .id_rsa.swp a/.ssh/config .ssh .SSH/known_hosts x/.gnupg/pubring.kbx .aws/config
.kube/config .docker/config.json .azure/x .password-store/mail.gpg .oci/config
.netrc .netrc.save _netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .htpasswd .vault-token credentials credentials.json
credentials-prod.json credentials.json.bak secrets.yml config/secrets.production.yml .credentials.json client_secret.json
service-account.json authorized_keys kubeconfig .bash_history .zsh_history.old .psql_history .python_history key4.db logins.json
profile/cookies.sqlite
.dev.vars serviceAccountKey.json client_secret_x.json kubeconfig.yaml .vault_pass.txt keystore.properties appsettings.Production.json
.secrets token deploy/token deploy_rsa keys/deploy_ed25519.bak
/home/user/.config/opencode/auth.json /home/user/.config/cursor/auth.json /home/user/.vercel/auth.json
/home/user/.local/share/mkcert/rootCA-key.pem /home/user/.tsh/keys/a /home/user/.step/secrets/a /home/user/.influxdbv2/configs
/home/user/.sentryclirc /home/user/.config/helm/registry/config.json /home/user/.config/environment.d/a.conf
/home/user/.config/fish/fish_variables /home/user/.curlrc /home/user/.bashrc /home/user/.zshrc
/etc/shadow /etc/shadow- /etc/shadow.bak /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/sudoers.d/me /etc/sudoers~
/etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ed25519_key /etc/ssl/private/x /etc/security/opasswd /etc/krb5.keytab /etc/wireguard/wg0.conf
/etc/NetworkManager/system-connections/home.nmconnection /etc/letsencrypt/live/a/fullchain.pem /etc/kubernetes/admin.conf
/run/secrets/token /run/secrets /var/run/secrets/kubernetes.io/serviceaccount/token /run/user/1000/keyring/control /run/credentials/a/b
/var/backups/shadow.bak /var/lib/docker/x
/proc/self/environ /proc/self/maps /proc/self/mem /proc/self/fd/3 /proc/self /proc/thread-self/maps /proc/1/cmdline /proc/4711/root/x
/proc/kcore /proc/keys /dev/mem /dev/sda1 /dev/nvme0n1 /dev/mapper/root /dev/fd/3
~/.aws/config ~/.config/gh/hosts.yml ~root/.config/gh /home/user/.config/gh /home/user/.config/gcloud/a.db
/Users/me/.config/gh/hosts.yml /Users/me/Library/Keychains/login.keychain-db /home/user/.claude/.credentials.json
/home/user/.claude/projects/x/y.jsonl /home/user/.claude/settings.json /home/user/.claude.json /home/user/.vault-token /home/user/.codex/auth.json
/home/user/.mozilla/firefox/x/prefs.js /home/user/.config/google-chrome/Default/Cookies /home/user/.local/share/keyrings/login.keyring
/home/user/.config/Code/User/globalStorage/state.vscdb /home/user/.m2/settings.xml /home/user/.gradle/gradle.properties
/home/user/.terraform.d/x /home/user/.kaggle/kaggle.json /home/user/.cargo/credentials.toml /var/home/user/.config/gh/hosts.yml
";

/// Each is read every day.
const PLAIN: &str = "
.env.example .env.sample .env.template .env.dist .env-example example.env credentials.example.json credentials.yml.enc server.key.example
id_rsa.pub id_ed25519.pub keys/id_ed25519_work.pub /etc/ssh/ssh_host_rsa_key.pub src/id_rsa_parser.rs
src/env.rs src/environment.ts environment.md tokens.rs credentials_test.go src/credentials.rs secrets.rs secret_test.py keyboard.rs
src/token/mod.rs src/tokens/a.rs src/crypto_rsa/lib.rs client_secret_test.py src/keys.rs docs/secrets.md password.ts src/auth/token.go key.md README.md README.md.bak notes.1 CHANGELOG.md~ main.tf config.json
Cargo.toml Cargo.lock package.json package-lock.json .gitignore .gitattributes .github/workflows/x.yml .github/workflows/secrets-scan.yml
.claude/agents/x.md .claude/settings.json .claude/CLAUDE.md .vscode/settings.json .editorconfig .eslintrc.json .tool-versions Makefile
Dockerfile docker-compose.yml docker/config.json config/database.example.yml src/history.rs shell_history.md
/etc/os-release /etc/hosts /etc/passwd /etc/group /etc/fstab /etc/resolv.conf /etc/ssh/sshd_config /etc/ssh/ssh_config /etc/ssl/openssl.cnf
/etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/x.pem /usr/share/keyrings/debian-archive-keyring.gpg /etc /etc/ssl /etc/sudo.conf
/proc/cpuinfo /proc/meminfo /proc/version /proc/loadavg /proc/sys/kernel/hostname /proc /sys/class/net /dev/null /dev/stdin /dev
/usr/include/stdio.h /usr/lib/python3/dist-packages/x.py /var/log/syslog /var/log/dpkg.log.1 /tmp/x /opt/app/config.yml
/home/user/project/src/main.rs /home/user/project/.config/gh/hosts.yml /home/user/.gitconfig /home/user/.config/nvim/init.lua
/home/user /home/user/.config /home/user/.claude /home/user/.claude/CLAUDE.md /home/user/.claude/agents/x.md /home/user/.cargo/config.toml
/home/user/.cargo/registry/src/x/lib.rs /srv/.config/gh/hosts.yml ~/notes/a.md ~
";

#[test]
fn secrets_are_known_by_name_and_place() {
    let (secret, plain) = (SECRET.split_whitespace(), PLAIN.split_whitespace());
    let missed: Vec<&str> = secret.clone().filter(|path| !is_secret(Path::new(path))).collect();
    let wrong: Vec<&str> = plain.clone().filter(|path| is_secret(Path::new(path))).collect();
    assert_eq!((missed, wrong), (vec![], vec![]));
    let root = |name: &str| is_secret(&Path::new("/root").join(name));
    assert!(root(".config/gh/hosts.yml") && root(".vault-token") && !root("project/a.rs"));
    assert!(secret.count() > 120 && plain.count() > 90);
}

#[test]
fn a_home_elsewhere_is_known_to_those_who_say_so() {
    let home = Path::new("/srv/ci");
    let is_secret = |path: &str| is_secret_in(Path::new(path), home);
    assert!(
        is_secret("/srv/ci/.config/gh/hosts.yml") && is_secret("/srv/ci/.claude/history.jsonl")
    );
    assert!(!is_secret("/srv/ci") && !is_secret("/srv/ci/project/.claude/settings.json"));
    assert!(is_secret("/etc/shadow") && !is_secret("/srv/other/.config/gh/hosts.yml"));
}

#[test]
fn what_lies_above_secrets_is_known() {
    let home = Path::new("/srv/ci");
    let leads = |path: &str| leads_to_secrets(Path::new(path), &[home]);
    for path in [
        "/",
        "/etc",
        "/etc/ssl",
        "/home",
        "/home/user",
        "/home/user/.config",
        "/home/user/.config/Code",
        "/root",
        "/Users",
        "/home/user/.claude",
        "/proc",
        "/dev",
        "/run",
        "/var",
        "/var/lib",
        "/srv",
        "/srv/ci",
        "/srv/ci/.local",
    ] {
        assert!(leads(path), "{path}");
    }
    for path in [
        "/srv/app",
        "/usr",
        "/usr/share",
        "/etc/apt",
        "/etc/ssh",
        "/home/user/project",
        "/home/user/.config/nvim",
        "/var/log",
        "/srv/ci/project",
        "/proc/sys",
        "/tmp",
        "/home/user/.claude/agents",
    ] {
        assert!(!leads(path), "{path}");
    }
}

proptest! {
    /// Names of the lists, their copies, and other writings of them.
    #[test]
    fn the_quick_look_passes_over_no_name_of_a_secret(
        name in select([&FOLDERS[..], &NAMES, &COMMON_NAMES, &ENDINGS, &BEGINNINGS, &FILE_NAMES, &FILE_ENDINGS, &KEY_BEGINNINGS].concat()),
        before in select(vec!["", "x", "a/b/", "#", ".", "/home/user/"]),
        copies in vec(select([&COPIES[..], &[".3", "x", "#", "/c.rs", "\u{212a}"]].concat()), 0..4),
        is_upper: bool,
    ) {
        let plain = match name.rsplit_once('.') {
            // `credentials-prod.json`
            Some((stem, ending)) if !stem.is_empty() => format!("{before}{stem}{}.{ending}", copies.concat()),
            _ => format!("{before}{name}{}", copies.concat()),
        };
        let path = if is_upper { plain.to_uppercase() } else { plain };
        let path = Path::new(&path);
        prop_assert!(may_tell(path) || !has_secret_name(&words(path)), "{}", path.display());
    }
}

#[test]
fn the_lists_are_written_as_they_are_compared() {
    for sorted in [&FOLDERS[..], &NAMES, &COMMON_NAMES, &ENDINGS, &COPIES] {
        assert!(sorted.is_sorted());
    }
    for ending in ENDINGS.iter().chain(&COPIES) {
        assert_eq!(without_ending(&format!("x.y-z{ending}"), &[ending]), Some("x.y-z"), "{ending}");
    }
    let all =
        [&FOLDERS[..], &NAMES, &COMMON_NAMES, &ENDINGS, &STORES, &OPEN, &PLACES, &lists::PUBLIC];
    for text in all.concat() {
        assert_eq!(text, text.to_lowercase());
    }
    for (open, below) in OPEN.iter().map(|open| (open, words(Path::new(open)))) {
        assert!(Places::stores().hold(&below), "{open} opens nothing");
    }
}
