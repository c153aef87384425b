//! Progress on standard error: a bar on a terminal, a line a step elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// A step that is under way; dropping it takes its bar away.
pub(crate) struct Step(ProgressBar);

impl Step {
    /// Begins a step of so many parts.
    pub(crate) fn begin(text: &str, parts: usize) -> Self {
        if !std::io::stderr().is_terminal() {
            eprintln!("e2e: {text}");
        }
        let style = ProgressStyle::with_template("{elapsed:>4} {msg} {wide_bar} {pos}/{len}");
        let bar = ProgressBar::new(parts as u64);
        bar.set_style(style.expect("the template is valid"));
        bar.set_message(text.to_owned());
        Self(bar)
    }

    /// So many parts are done.
    pub(crate) fn at(&self, done: usize) {
        self.0.set_position(done as u64);
    }

    /// One more part is done.
    pub(crate) fn next(&self) {
        self.0.inc(1);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
