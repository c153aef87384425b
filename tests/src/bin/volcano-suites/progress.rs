//! Progress on standard error: a line for each case that has ended.

/// How the log of a suite marks the end of a case that did not pass.
const FAILED: [&str; 5] =
    ["• [FAILED]", "• [PANICKED]", "• [TIMEDOUT]", "• [INTERRUPTED]", "• [ABORTED]"];
/// How it marks one that passed.
const PASSED: &str = "• [";

/// Says something to whoever waits.
pub(crate) fn say(suite: &str, text: &str) {
    eprintln!("volcano-suites: {suite}: {text}");
}

/// What has been told already.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    lines: usize,
    ended: usize,
}

impl Progress {
    /// Tells which cases have ended since the last time, from everything the suite has said.
    pub(crate) fn tell(&mut self, suite: &str, log: &str) {
        for text in self.news(log) {
            say(suite, &text);
        }
    }

    fn news(&mut self, log: &str) -> Vec<String> {
        // The last line may not be whole yet, and the line after a failure has the case's name.
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        let lines: Vec<&str> = whole.lines().collect();
        let mut news = Vec::new();
        while let Some(line) = lines.get(self.lines) {
            let failed = FAILED.iter().any(|mark| line.starts_with(mark));
            if failed && self.lines + 1 == lines.len() {
                break;
            }
            if failed {
                self.ended += 1;
                news.push(format!("{}: FAILED {}", self.ended, lines[self.lines + 1].trim()));
            } else if let Some(time) = line.strip_prefix(PASSED) {
                self.ended += 1;
                news.push(format!("{}: passed [{time}", self.ended));
            }
            self.lines += 1;
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_told_once_and_a_failure_by_its_name() {
        let mut progress = Progress::default();
        let log = "Will run 2 of 3 specs\n• [2.5 seconds]\n---\n• [FAILED] [9.1 seconds]\nReclaim";
        assert_eq!(progress.news(log), ["1: passed [2.5 seconds]"]);
        let log = format!("{log} Case 1\n");
        assert_eq!(progress.news(&log), ["2: FAILED Reclaim Case 1"]);
        let log = format!("{log}---\n• [INTERRUPTED] [3.2 seconds]\nReclaim Case 2\n");
        assert_eq!(progress.news(&log), ["3: FAILED Reclaim Case 2"]);
        assert_eq!(progress.news(&log), [""; 0]);
    }
}
