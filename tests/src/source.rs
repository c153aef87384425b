//! The repository as text: its files, and what a Rust file imports.

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package is a folder of the root")
}

/// Every file whose name ends in one of the extensions, as a path from the root, sorted. Build
/// output and hidden folders are left out.
pub fn files(extensions: &[&str]) -> impl Iterator<Item = PathBuf> + use<> {
    let mut found = Vec::new();
    walk(root(), &mut found);
    let extensions: Vec<String> = extensions.iter().map(|&name| name.to_owned()).collect();
    found.retain(|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.iter().any(|name| name == extension))
    });
    found.sort();
    found.into_iter()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the repository can be read");
    for entry in entries {
        let path = entry.expect("the repository can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            walk(&path, found);
        } else if path.is_file() {
            found.push(path.strip_prefix(root()).unwrap_or(&path).to_owned());
        }
    }
}

/// The text of a file given from the root.
pub fn read(path: &Path) -> String {
    let text = std::fs::read_to_string(root().join(path));
    text.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A Rust file without its comments. Texts that contain two slashes lose their end, which no rule
/// here minds.
pub fn code(text: &str) -> String {
    let line = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    text.lines().map(line).collect()
}

/// The part of a Rust file before its tests.
pub fn before_tests(code: &str) -> &str {
    code.split("#[cfg(test)]").next().unwrap_or(code)
}

/// Everything the code imports, each as a full path: groups are taken apart, and `self`, `super`
/// and `crate` are resolved to `crate::…` by where the file is.
pub fn imports(file: &Path, code: &str) -> Vec<String> {
    let module = module_of(file);
    let mut paths = Vec::new();
    for statement in code.split(';') {
        let Some(at) = statement.rfind("use ") else { continue };
        let line_start = statement[..at].rfind('\n').map_or(0, |end| end + 1);
        let lead = statement[line_start..at].trim();
        if lead.is_empty() || lead.starts_with("pub") {
            let tree: String = statement[at + 4..].split_whitespace().collect();
            expand("", &tree, &mut paths);
        }
    }
    paths.into_iter().map(|path| resolve(&module, &path)).collect()
}

/// The module path of a file of `core/src` or `io/src`, without the crate.
fn module_of(file: &Path) -> Vec<String> {
    let inside = file.iter().skip_while(|part| *part != "src").skip(1);
    let mut module: Vec<String> =
        inside.map(|part| part.to_string_lossy().trim_end_matches(".rs").to_owned()).collect();
    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        module.pop();
    }
    module
}

/// Takes `a::{b, c::{d, e}}` apart.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, rest)) = tree.split_once('{') else {
        return paths.push(format!("{prefix}{tree}"));
    };
    let inside = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&format!("{prefix}{head}"), &inside[start..at], paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < inside.len() {
        expand(&format!("{prefix}{head}"), &inside[start..], paths);
    }
}

fn resolve(module: &[String], path: &str) -> String {
    let mut parts = path.split("::").peekable();
    let mut base = match parts.peek() {
        Some(&"self" | &"super") => module.to_vec(),
        _ => return path.to_owned(),
    };
    while let Some(&part) = parts.peek() {
        match part {
            "super" => drop(base.pop()),
            "self" => {}
            _ => break,
        }
        parts.next();
    }
    base.insert(0, "crate".to_owned());
    base.into_iter().chain(parts.map(Into::into)).collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_taken_apart_and_resolved() {
        let code = "use std::fmt;\npub(crate) use super::{a::{B, C as D}, e};\nuse self::f::*;\n";
        let found = imports(Path::new("core/src/x/y.rs"), code);
        let want =
            ["std::fmt", "crate::x::a::B", "crate::x::a::CasD", "crate::x::e", "crate::x::y::f::*"];
        assert_eq!(found, want);
    }

    #[test]
    fn what_stands_above_a_file_is_found_from_a_folder_s_own_file() {
        let found = imports(Path::new("core/src/x/mod.rs"), "use super::z::Z;\n");
        assert_eq!(found, ["crate::z::Z"]);
    }
}
