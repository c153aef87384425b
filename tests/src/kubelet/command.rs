//! What a container would do, from its image and command: how long it runs and how it ends.
//!
//! Enough of a shell for the commands tests give their pods: `sleep 10s && exit 3`, `sleep 5; …`,
//! programs that serve for ever, programs that work for a while, and names that are no program.

use std::time::Duration;

/// The life of a container from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// When it ends by itself, and its exit code; `None` for one that serves.
    pub ends: Option<(Duration, i32)>,
    /// Does it end when asked to? The first process of a container does only if it was written to:
    /// servers are, a shell or `sleep` is not.
    pub heeds_signals: bool,
}

/// How long a program takes that computes something.
const WORK: Duration = Duration::from_secs(5);

/// Exit code of the shell for a program that is not there.
const NOT_FOUND: i32 = 127;
/// Exit code of the shell for a script that is not there.
const NO_SCRIPT: i32 = 2;

/// The life of a container with that image and that command line (its command and arguments).
pub fn life(image: &str, line: &[&str]) -> Life {
    match line {
        // A shell without a terminal has nothing to read and ends at once.
        [] if program_name(image).starts_with("busybox") => ended(Duration::ZERO, 0),
        [] => Life { ends: None, heeds_signals: true },
        [shell, "-c", script, ..] if is_shell(shell) => run_script(script),
        words => match run(words) {
            Outcome::Ends(after, code) => ended(after, code),
            Outcome::Serves => Life { ends: None, heeds_signals: true },
        },
    }
}

fn ended(after: Duration, code: i32) -> Life {
    Life { ends: Some((after, code)), heeds_signals: false }
}

/// What one command does.
enum Outcome {
    Ends(Duration, i32),
    Serves,
}

fn run_script(script: &str) -> Life {
    let (mut time, mut code) = (Duration::ZERO, 0);
    for (when, text) in commands(script) {
        let skipped = match when {
            When::Always => false,
            When::Succeeded => code != 0,
            When::Failed => code == 0,
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        if skipped || words.is_empty() {
            continue;
        }
        if words[0] == "exit" {
            let given = words.get(1).and_then(|word| word.parse().ok());
            return ended(time, given.unwrap_or(code));
        }
        match run(&words) {
            Outcome::Ends(after, with) => (time, code) = (time + after, with),
            Outcome::Serves => return Life { ends: None, heeds_signals: false },
        }
    }
    ended(time, code)
}

fn run(words: &[&str]) -> Outcome {
    let at_once = |code| Outcome::Ends(Duration::ZERO, code);
    let Some((first, rest)) = words.split_first() else { return at_once(0) };
    if first.contains('=') {
        return at_once(0);
    }
    match program_name(first) {
        "sleep" => rest
            .first()
            .and_then(|word| span(word))
            .map_or(at_once(1), |time| Outcome::Ends(time, 0)),
        "sshd" if rest.contains(&"-D") => Outcome::Serves,
        "nginx" | "ray" => Outcome::Serves,
        "mpiexec" | "mpirun" | "python" | "python3" => Outcome::Ends(WORK, 0),
        "true" | "echo" | "export" | "mkdir" | "cat" | "date" | "ulimit" | "sshd" => at_once(0),
        "false" => at_once(1),
        shell if is_shell(shell) => at_once(NO_SCRIPT),
        _ => at_once(NOT_FOUND),
    }
}

/// A time as `sleep` takes it.
fn span(word: &str) -> Option<Duration> {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &word[digits.len()..] {
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(digits.parse::<f64>().ok()? * unit).ok()
}

fn is_shell(word: &str) -> bool {
    ["sh", "bash", "ash"].contains(&program_name(word))
}

/// The last part of a path, or of the name of an image.
fn program_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a command runs depends on the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    Succeeded,
    Failed,
}

/// The commands of a script, each with when it runs. What is quoted is one word's business.
fn commands(script: &str) -> Vec<(When, &str)> {
    let mut found = Vec::new();
    let (mut begin, mut when, mut quote) = (0, When::Always, None);
    let mut letters = script.char_indices();
    while let Some((at, letter)) = letters.next() {
        let rest = &script[at..];
        let next = match (quote, letter) {
            (_, '\\') => {
                letters.next();
                continue;
            }
            (Some(open), letter) => {
                quote = (open != letter).then_some(open);
                continue;
            }
            (None, '\'' | '"' | '`') => {
                quote = Some(letter);
                continue;
            }
            _ if rest.starts_with("&&") => When::Succeeded,
            _ if rest.starts_with("||") => When::Failed,
            (None, ';' | '\n') => When::Always,
            _ => continue,
        };
        found.push((when, &script[begin..at]));
        begin = at + 1;
        if next != When::Always {
            letters.next();
            begin += 1;
        }
        when = next;
    }
    found.push((when, &script[begin..]));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Option<(u64, i32)> {
        let life = life("busybox", &["/bin/sh", "-c", script]);
        assert!(!life.heeds_signals, "a shell does not hear the signal");
        life.ends.map(|(after, code)| (after.as_secs(), code))
    }

    #[test]
    fn a_script_takes_as_long_as_its_commands_and_ends_as_the_last() {
        assert_eq!(shell("sleep 10"), Some((10, 0)));
        assert_eq!(shell("sleep 10s && exit 3"), Some((10, 3)));
        assert_eq!(shell("sleep 10s && xxx"), Some((10, 127)));
        assert_eq!(shell("false && sleep 10"), Some((0, 1)));
        assert_eq!(shell("false || sleep 2m"), Some((120, 0)));
        assert_eq!(shell("xxx; sleep 1\nsleep 2"), Some((3, 0)));
        assert_eq!(shell("sh fake.sh"), Some((0, 2)));
        assert_eq!(shell("sleep long"), Some((0, 1)));
    }

    #[test]
    fn what_is_quoted_does_not_end_a_command() {
        assert_eq!(commands(r#"echo "a; b" && c"#).len(), 2);
        assert_eq!(commands(r"A=`sed 's/^/x/;s/$/y/'`; b").len(), 2);
        assert_eq!(commands(r"echo a\;b").len(), 1);
    }

    #[test]
    fn servers_serve_and_programs_work_for_a_while() {
        assert_eq!(shell("mkdir -p /var/run/sshd; /usr/sbin/sshd -D;"), None);
        let master = "mkdir -p /run; /usr/sbin/sshd;\nmpiexec -np 2 hello > out";
        assert_eq!(shell(master), Some((5, 0)));
        assert_eq!(life("nginx:1.29.3-alpine", &[]), Life { ends: None, heeds_signals: true });
        assert_eq!(life("docker.io/busybox", &[]).ends, Some((Duration::ZERO, 0)));
        assert_eq!(life("busybox", &["sleep", "7"]).ends, Some((Duration::from_secs(7), 0)));
    }
}
