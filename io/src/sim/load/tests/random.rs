//! Whatever the bytes, reading ends with a Scenario or with complaints, never with a panic.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

/// Some acceptance scenarios, as text to be damaged.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let mut texts = Vec::new();
    for room in ["predicates", "topology", "queues", "pipeline"] {
        let entries = fs::read_dir(folder.join(room)).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        texts.extend(paths.into_iter().map(|path| fs::read_to_string(path).unwrap()));
    }
    texts
});

/// Reads bytes as a file would be read, without the file.
fn read_bytes(name: &str, bytes: &[u8]) -> Result<Vec<Scenario>, LoadErrors> {
    let path = PathBuf::from(name);
    let documents = documents::parse(&path, bytes)?;
    let documents = Document::all(vec![File { path: path.clone(), documents }]);
    if documents.iter().any(|document| document.is_scenario) {
        alone(documents)
    } else {
        manifests(documents, &[path]).map(|scenario| vec![scenario])
    }
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Damage {
    Delete { at: usize, length: usize },
    Insert { at: usize, text: &'static str },
    Swap { at: usize, to: usize },
}

fn damage() -> impl Strategy<Value = Damage> {
    let words = prop::sample::select(vec![
        "-1",
        "null",
        "{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "\n",
        "abc",
        "\"",
        "'",
        "&a ",
        "*a ",
        "never",
        "0",
        "99999999999999999999",
        "1e9",
        "!!int ",
        "|",
        "---\n",
        "ü",
        "\t",
        "kind: List",
        "default/x",
        "true",
        "~",
        "<<: ",
    ]);
    let at = || 0..10_000_usize;
    prop_oneof![
        (at(), 0..40_usize).prop_map(|(at, length)| Damage::Delete { at, length }),
        (at(), words).prop_map(|(at, text)| Damage::Insert { at, text }),
        (at(), at()).prop_map(|(at, to)| Damage::Swap { at, to }),
    ]
}

fn apply(text: &mut Vec<char>, damage: &Damage) {
    if text.is_empty() {
        return;
    }
    let length = text.len();
    match *damage {
        Damage::Delete { at, length: count } => {
            let start = at % length;
            text.drain(start..(start + count).min(length));
        }
        Damage::Insert { at, text: word } => {
            let start = at % length;
            text.splice(start..start, word.chars());
        }
        Damage::Swap { at, to } => text.swap(at % length, to % length),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_bytes("f.yaml", &bytes);
        let _ = read_bytes("f.json", &bytes);
    }

    #[test]
    fn random_text_never_panics(text in "[ -~\n]{0,200}") {
        let _ = read_bytes("f.yaml", text.as_bytes());
    }

    #[test]
    fn damaged_scenarios_never_panic(
        index in any::<prop::sample::Index>(),
        changes in prop::collection::vec(damage(), 1..6),
    ) {
        let mut text: Vec<char> = index.get(&TEXTS).chars().collect();
        for change in &changes {
            apply(&mut text, change);
        }
        let text: String = text.into_iter().collect();
        if let Err(LoadErrors(errors)) = read_bytes("f.yaml", text.as_bytes()) {
            prop_assert!(!errors.is_empty());
            prop_assert!(errors.iter().all(|error| !error.problem.is_empty()));
        }
    }
}
