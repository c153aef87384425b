//! Text to documents: YAML or JSON, any number in one file.

use std::path::Path;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::Value;
use serde_saphyr::Options;

use super::error::LoadError;
use crate::objects::drop_nulls;

/// The documents of a file's bytes, nulls taken out of every mapping, empty documents left out.
pub(crate) fn parse(file: &Path, bytes: &[u8]) -> Result<Vec<Value>, LoadError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|problem| {
        let good = &bytes[..problem.valid_up_to()];
        let line = good.split(|&byte| byte == b'\n').count();
        error(file, Some(line), "is not UTF-8 text".to_owned())
    })?;
    let is_json = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let mut documents = if is_json { parse_json(file, text) } else { parse_yaml(file, text) }?;
    documents.iter_mut().for_each(drop_nulls);
    Ok(documents)
}

fn parse_json(file: &Path, text: &str) -> Result<Vec<Value>, LoadError> {
    let documents = serde_json::Deserializer::from_str(text).into_iter();
    let parsed: Result<Vec<Value>, _> = documents.collect();
    let parsed = parsed.map_err(|problem| {
        let message = problem.to_string();
        error(file, Some(problem.line()), format!("is not JSON: {}", without_place(&message)))
    })?;
    Ok(parsed.into_iter().filter(|document| !document.is_null()).collect())
}

fn parse_yaml(file: &Path, text: &str) -> Result<Vec<Value>, LoadError> {
    let chunks: Vec<Result<Vec<Value>, _>> =
        chunks(text).into_par_iter().map(parse_chunk).collect();
    let mut documents = Vec::new();
    let mut lines_before = 0;
    for (parsed, chunk) in chunks.into_iter().zip(self::chunks(text)) {
        documents.extend(parsed.map_err(|problem| {
            let line = problem.location().map(|location| lines_before + location.line() as usize);
            let message = problem.without_snippet().to_string();
            error(file, line, format!("is not YAML: {}", without_place(message.trim())))
        })?);
        lines_before += chunk.matches('\n').count();
    }
    Ok(documents)
}

/// The message without the place at its end: it counts from the beginning of a part of the file.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

fn parse_chunk(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    serde_saphyr::from_multiple_with_options(text, options())
}

/// Least size of a part that is parsed on its own.
const CHUNK_BYTES: usize = 1 << 20;

/// The text in parts of whole documents, so that a dump of a large cluster is parsed on all cores.
/// A line of three dashes always starts a document, even within a block or quoted scalar; only a
/// directive before it belongs to the document after it, so a text with directives stays whole.
fn chunks(text: &str) -> Vec<&str> {
    if text.len() < 2 * CHUNK_BYTES || text.starts_with('%') || text.contains("\n%") {
        return vec![text];
    }
    let mut chunks = Vec::new();
    let mut rest = text;
    while let Some(cut) = document_start(rest, CHUNK_BYTES) {
        let (chunk, tail) = rest.split_at(cut);
        chunks.push(chunk);
        rest = tail;
    }
    chunks.push(rest);
    chunks
}

/// Where the first document that starts at or after a byte begins.
fn document_start(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    let bytes = text.as_bytes();
    loop {
        at += find(bytes.get(at..)?, b"\n---")? + 1;
        if bytes.get(at + 3).is_none_or(u8::is_ascii_whitespace) {
            return Some(at);
        }
    }
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

/// The limits of a file that a user names on the command line: large enough for a big cluster, while
/// depth and alias expansion stay bounded, since those turn a small file into a huge one.
pub(super) fn options() -> Options {
    let budget = serde_saphyr::budget! {
        max_events: 1_000_000_000,
        max_nodes: 500_000_000,
        max_documents: 50_000_000,
        max_total_scalar_bytes: 16 << 30,
        max_aliases: 10_000_000,
        max_anchors: 1_000_000,
        max_recorded_anchor_events: 50_000_000,
        max_recorded_anchor_bytes: 1 << 30,
        enforce_alias_anchor_ratio: false,
        max_depth: 128,
    };
    let alias_limits = serde_saphyr::alias_limits! {
        max_total_replayed_events: 100_000_000,
    };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: alias_limits,
        with_snippet: false,
        // Else a node set named `n` would be named `false`.
        strict_booleans: true,
    }
}

fn error(file: &Path, line: Option<usize>, problem: String) -> LoadError {
    LoadError { file: file.to_owned(), document: None, line, field: String::new(), problem }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(name: &str, text: &str) -> Result<Vec<Value>, String> {
        parse(Path::new(name), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn one_letter_names_stay_names() {
        let read = parsed("f", "{name: n, other: y, on: off, yes: true}").unwrap();
        assert_eq!(read, [json!({"name": "n", "other": "y", "on": "off", "yes": true})]);
    }

    #[test]
    fn numbers_and_quoted_numbers_differ() {
        let read = parsed("f", "{a: 8, b: \"8\", c: 0.5, d: 16Gi, e: 1e3}").unwrap();
        assert_eq!(read, [json!({"a": 8, "b": "8", "c": 0.5, "d": "16Gi", "e": 1000.0})]);
    }

    #[test]
    fn documents_are_told_apart_and_empty_ones_left_out() {
        let read =
            parsed("f", "---\na: 1\n---\n---\n# nothing\n---\nb: &x {c: 1}\nd: *x\n").unwrap();
        assert_eq!(read, [json!({"a": 1}), json!({"b": {"c": 1}, "d": {"c": 1}})]);
        let read = parsed("f.json", "{\"a\": 1}\n{\"b\": null}\nnull").unwrap();
        assert_eq!(read, [json!({"a": 1}), json!({})]);
    }

    #[test]
    fn a_large_text_reads_as_its_documents_one_by_one() {
        let document = |index: usize| {
            format!("---\nindex: {index}\ntext: |\n  x\n   ---\n----: {}\n", "y".repeat(5000))
        };
        let text: String = (0..700).map(document).collect();
        assert!(chunks(&text).len() > 2);
        assert_eq!(chunks(&text).concat(), text);
        let read = parsed("f", &text).unwrap();
        let whole: Vec<Value> = parse_chunk(&text).unwrap();
        assert_eq!(read, whole);
        let broken = format!("{text}---\na: [\n");
        let problem = parsed("f", &broken).unwrap_err();
        assert_eq!(problem, "f:4202: is not YAML: unclosed bracket '['");
    }

    #[test]
    fn a_text_that_is_neither_names_the_line() {
        let problem = parsed("f.yaml", "a: 1\nb: [1, 2\nc: }\n").unwrap_err();
        assert!(problem.starts_with("f.yaml:3: is not YAML: "), "{problem}");
        let problem = parsed("f.json", "{\n\"a\": ?").unwrap_err();
        assert_eq!(problem, "f.json:2: is not JSON: expected value");
        let problem = parse(Path::new("f"), b"a: 1\n\xff").unwrap_err().to_string();
        assert_eq!(problem, "f:2: is not UTF-8 text");
    }
}
