//! A progress bar on standard error; nothing where that is no terminal.

use std::cell::RefCell;

use bindery_lab::measure::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// One bar, for one piece of work after the other.
pub(crate) struct Bar {
    bar: RefCell<ProgressBar>,
    style: ProgressStyle,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        // A template that cannot be read falls back to indicatif's own: a bar is no reason to fail.
        let style = ProgressStyle::with_template("{elapsed:>4} [{bar:24}] {percent:>3} % {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        Bar { bar: RefCell::new(ProgressBar::hidden()), style }
    }

    /// Takes the bar away, so that something else can be written.
    pub(crate) fn clear(&self) {
        self.bar.borrow().finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, steps: u64) {
        self.clear();
        let bar = ProgressBar::new(steps).with_style(self.style.clone()).with_message(what.to_owned());
        bar.tick();
        *self.bar.borrow_mut() = bar;
    }

    fn advance(&self, steps: u64) {
        self.bar.borrow().inc(steps);
    }
}
