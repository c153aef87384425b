//! A page of the documentation as data: its fenced blocks, and whether one shows what was printed.

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Line of its first fence, counted from 1.
    pub line: usize,
    /// The word after the fence.
    pub language: String,
    /// What follows that word.
    pub mark: String,
    /// What is between the fences.
    pub text: String,
}

/// A line that stands for any number of lines, and in JSON the character for whatever is left out.
const GAP: &str = "…";

const FENCE: &str = "```";

/// The blocks of a page, in order.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (at, line) in page.lines().enumerate() {
        match (open.as_mut(), line.strip_prefix(FENCE)) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text.extend([line, "\n"]),
            (None, Some(info)) => {
                let (language, mark) = info.trim().split_once(' ').unwrap_or((info.trim(), ""));
                open = Some(Block {
                    line: at + 1,
                    language: language.to_owned(),
                    mark: mark.trim().to_owned(),
                    text: String::new(),
                });
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed: {open:?}");
    blocks
}

/// How much of what was printed a block shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it, from the first line to the last.
    Whole,
    /// Some lines in a row.
    Part,
}

/// Does a block show what was printed, gaps and times aside? If not, the first stretch of it that is
/// not there.
pub fn shows(shown: &str, printed: &str, extent: Extent) -> Result<(), String> {
    let lines = |text: &str| -> Vec<String> { text.lines().map(timeless).collect() };
    let (shown, printed) = (lines(shown), lines(printed));
    let stretches: Vec<&[String]> = shown.split(|line| line.trim() == GAP).collect();
    let whole = extent == Extent::Whole;
    let mut from = 0;
    for (at, stretch) in stretches.iter().enumerate() {
        let (first, last) = (whole && at == 0, whole && at + 1 == stretches.len());
        let rest = &printed[from..];
        let found = if stretch.is_empty() {
            Some(0)
        } else if first {
            rest.starts_with(stretch).then_some(0)
        } else if last {
            rest.ends_with(stretch).then(|| rest.len() - stretch.len())
        } else {
            rest.windows(stretch.len()).position(|window| window == *stretch)
        };
        let Some(found) = found else { return Err(stretch.join("\n")) };
        from += found + stretch.len();
        if first && last && from < printed.len() {
            return Err(format!("the end of the block; then comes\n{}", printed[from]));
        }
    }
    Ok(())
}

/// A line of a report without the time something took.
fn timeless(line: &str) -> String {
    let measured = ["✓ ", "✗ "].iter().any(|mark| line.starts_with(mark))
        || line.contains(" of scheduling")
        || line.contains(" Scenario");
    let line = line.trim_end();
    if !measured {
        return line.to_owned();
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    for at in 1..words.len() {
        let unit = words[at].trim_end_matches(',');
        if ["µs", "ms", "s"].contains(&unit) && words[at - 1].parse::<f64>().is_ok() {
            words[at - 1] = "0";
            words[at] = "ms";
        }
    }
    words.join(" ")
}

/// Does every part of a JSON block that is between gaps stand in what was printed, spaces and
/// durations aside? If not, the first that does not.
pub fn shows_json(shown: &str, printed: &str) -> Result<(), String> {
    let printed = dense(printed);
    let parts = shown.split(GAP).map(dense).filter(|part| !part.is_empty());
    match parts.into_iter().find(|part| !printed.contains(part.as_str())) {
        None => Ok(()),
        Some(part) => Err(part),
    }
}

/// JSON without the spaces between its values, and every duration as zero.
fn dense(json: &str) -> String {
    let (mut dense, mut quoted, mut escaped) = (String::new(), false, false);
    for c in json.chars() {
        if quoted || !c.is_whitespace() {
            dense.push(c);
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
    }
    let mut parts = dense.split("\"durationUs\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{text}\"durationUs\":0{rest}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_line_language_and_mark() {
        let found = blocks("# A\n\n```yaml a.yaml\nx: 1\n```\n\n```text\ny\nz\n```\n");
        let texts: Vec<_> =
            found.iter().map(|block| (block.line, &*block.mark, &*block.text)).collect();
        assert_eq!(texts, [(3, "a.yaml", "x: 1\n"), (7, "", "y\nz\n")]);
        assert_eq!(found[1].language, "text");
    }

    #[test]
    fn a_part_is_shown_wherever_it_stands_and_gaps_leave_lines_out() {
        let printed = "a\nb\nc\nd\ne\n";
        assert_eq!(shows("b\nc\n", printed, Extent::Part), Ok(()));
        assert_eq!(shows("b\n…\ne\n", printed, Extent::Part), Ok(()));
        assert_eq!(shows("b\nd\n", printed, Extent::Part), Err("b\nd".into()));
        assert_eq!(shows("d\n…\na\n", printed, Extent::Part), Err("a".into()));
    }

    #[test]
    fn the_whole_begins_and_ends_where_the_output_does() {
        let printed = "a\nb\nc\n";
        assert_eq!(shows("a\nb\nc\n", printed, Extent::Whole), Ok(()));
        assert_eq!(shows("a\n…\n", printed, Extent::Whole), Ok(()));
        assert_eq!(shows("…\nc\n", printed, Extent::Whole), Ok(()));
        assert_eq!(shows("a\n…\nc\n", printed, Extent::Whole), Ok(()));
        assert!(shows("a\nb\n", printed, Extent::Whole).is_err());
        assert!(shows("b\nc\n", printed, Extent::Whole).is_err());
        assert!(shows("a\n…\nb\n", printed, Extent::Whole).is_err());
    }

    #[test]
    fn only_times_that_were_measured_may_differ() {
        let timed = |took: &str| format!("✓ x  4 cycles  {took}\n\n1 Scenario: 1 passed in {took}");
        assert_eq!(shows(&timed("1.2 ms"), &timed("3 µs"), Extent::Whole), Ok(()));
        assert!(shows("600 s left", "599 s left", Extent::Whole).is_err());
        assert!(shows("✓ x  4 cycles  1 s", "✓ x  5 cycles  1 s", Extent::Whole).is_err());
    }

    #[test]
    fn json_is_compared_without_its_layout() {
        let printed = r#"{"a":[{"durationUs":17,"b":"x \" y"},{"c":2}]}"#;
        assert_eq!(
            shows_json("{\"a\": [{\"durationUs\": 3,\n \"b\": \"x \\\" y\"}, …", printed),
            Ok(())
        );
        assert_eq!(shows_json("…, {\"c\": 2}]}", printed), Ok(()));
        assert!(shows_json("{\"a\": […, \"b\": \"x \\\"  y\"", printed).is_err());
        assert!(shows_json("{\"c\": 3}", printed).is_err());
    }
}
