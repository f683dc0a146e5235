//! Rules about manifests: dependencies have reasons; crates have a description, our lints, and a place on the map.

use super::Violation;
use crate::workspace::{Package, Workspace};

/// The section of the root manifest that holds every version.
const DEPENDENCY_TABLE: &str = "[workspace.dependencies]";

/// Every line of `[workspace.dependencies]` has a comment above it, or above an earlier line of its group. A group
/// ends at an empty line. Our own crates, given by path, explain themselves.
pub(super) fn dependencies_have_a_reason(manifest: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let (mut inside, mut has_reason) = (false, false);
    for (number, line) in (1..).zip(manifest.lines()) {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line == DEPENDENCY_TABLE;
        }
        match line {
            "" => has_reason = false,
            _ if !inside || line.starts_with('[') => {}
            _ if line.starts_with('#') => has_reason = true,
            _ if has_reason || line.contains('#') || line.contains("path = ") => {}
            _ => {
                let Some((name, _)) = line.split_once('=') else { continue };
                violations.push(Violation {
                    path: "Cargo.toml".to_owned(),
                    line: Some(number),
                    cause: format!("the dependency {} has no reason", name.trim()),
                    hint: "say in a comment above it why it is needed".to_owned(),
                });
            }
        }
    }
    violations
}

/// Every crate says in its manifest what it is for.
pub(super) fn crates_are_described(packages: &[Package]) -> Vec<Violation> {
    let missing = packages
        .iter()
        .filter(|package| package.description.as_deref().unwrap_or_default().is_empty());
    let violation = |package: &Package| Violation {
        path: package.manifest.clone(),
        line: None,
        cause: "the crate has no description".to_owned(),
        hint: "add `description = \"…\"` to [package]".to_owned(),
    };
    missing.map(violation).collect()
}

/// Every crate takes the lints of the workspace.
pub(super) fn crates_use_workspace_lints(workspace: &Workspace) -> Vec<Violation> {
    let violation = |package: &Package| Violation {
        path: package.manifest.clone(),
        line: None,
        cause: "the crate does not use the lints of the workspace".to_owned(),
        hint: "add `[lints]` with `workspace = true`".to_owned(),
    };
    let deviates = |package: &&Package| {
        !uses_workspace_lints(workspace.text(&package.manifest).unwrap_or_default())
    };
    workspace.packages.iter().filter(deviates).map(violation).collect()
}

fn uses_workspace_lints(manifest: &str) -> bool {
    let Ok(manifest) = manifest.parse::<toml::Table>() else { return false };
    let setting = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    setting.and_then(toml::Value::as_bool) == Some(true)
}

/// `ARCHITECTURE.md` names every crate. Nothing is found while there is no such file; the caller says so.
pub(super) fn crates_are_on_the_map(
    packages: &[Package],
    architecture: Option<&str>,
) -> Vec<Violation> {
    let Some(architecture) = architecture else { return Vec::new() };
    let violation = |package: &Package| Violation {
        path: "ARCHITECTURE.md".to_owned(),
        line: None,
        cause: format!("the crate {} is not on the map", package.name),
        hint: format!("give `{}` a line with its one job", package.name),
    };
    packages.iter().filter(|package| !names(architecture, &package.name)).map(violation).collect()
}

/// Whether the text has the name as code or as a folder; the plain word `tine` is also the product's name.
fn names(text: &str, name: &str) -> bool {
    let folder = format!("crates/{name}");
    let ends =
        |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
    text.contains(&format!("`{name}`"))
        || text.match_indices(&folder).any(|(at, _)| ends(&text[at + folder.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_covers_its_group() {
        let manifest = "[workspace.dependencies]\ntine-model = { path = \"crates/tine-model\" }\n\n\
            # Why.\na = \"1\"\nb = \"1\"\n\nc = \"1\"\nd = \"1\" # Why.\n\n[profile.dev]\ndebug = true\n";
        let found: Vec<String> =
            dependencies_have_a_reason(manifest).iter().map(ToString::to_string).collect();
        let hint = "hint: say in a comment above it why it is needed";
        assert_eq!(found, [format!("error: Cargo.toml:8: the dependency c has no reason\n{hint}")]);
    }

    #[test]
    fn lints_are_read_in_either_spelling() {
        assert!(uses_workspace_lints("[lints]\nworkspace = true\n"));
        assert!(uses_workspace_lints("lints.workspace = true\n"));
        assert!(!uses_workspace_lints("[lints.rust]\nunsafe_code = \"deny\"\n"));
        assert!(!uses_workspace_lints("not toml"));
    }

    #[test]
    fn the_map_names_crates_and_not_only_words() {
        let package = |name: &str| Package {
            name: name.to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            description: Some(String::new()),
            dependencies: vec![],
            benches: vec![],
        };
        let packages = [package("tine"), package("tine-model"), package("tine-wire")];
        let found =
            crates_are_on_the_map(&packages, Some("tine has `tine-model` and crates/tine-wire."));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cause, "the crate tine is not on the map");
        assert!(crates_are_on_the_map(&packages, None).is_empty());
        assert_eq!(crates_are_described(&packages).len(), 3);
    }
}
