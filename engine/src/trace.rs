//! What an operation touched: the hook that the laboratory measures through.
//!
//! A [`Trace`] is handed down with the operation; nothing is kept process-wide. Operations that nobody
//! measures run with [`bindery_index::Untraced`], which counts nothing.

use bindery_index::{PageId, PageKind, PageVisitor};

/// One page access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The page.
    pub page: PageId,
    /// What it holds.
    pub kind: PageKind,
    /// Its size in memory, in bytes.
    pub bytes: u32,
    /// Whether it was changed, rather than read.
    pub dirty: bool,
}

/// The accesses of one or more operations, in order, and the work they did.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Every page dereferenced or changed, in order; a page appears as often as it was touched.
    pub accesses: Vec<Access>,
    /// What the operations examined and changed.
    pub work: Work,
}

/// Work counted beside pages, in the words of MongoDB's `explain`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Index entries looked at.
    pub keys_examined: u64,
    /// Documents fetched or scanned.
    pub docs_examined: u64,
    /// Bytes of those documents.
    pub doc_bytes: u64,
    /// Index entries inserted or removed.
    pub index_entries_written: u64,
}

impl Work {
    /// Adds what another operation did.
    pub fn add(&mut self, other: Work) {
        self.keys_examined += other.keys_examined;
        self.docs_examined += other.docs_examined;
        self.doc_bytes += other.doc_bytes;
        self.index_entries_written += other.index_entries_written;
    }
}

impl Trace {
    /// An empty trace.
    pub fn new() -> Trace {
        Trace::default()
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.accesses.clear();
        self.work = Work::default();
    }
}

impl PageVisitor for Trace {
    fn touch(&mut self, page: PageId, kind: PageKind, bytes: u32) {
        self.accesses.push(Access { page, kind, bytes, dirty: false });
    }
    fn dirty(&mut self, page: PageId, kind: PageKind, bytes: u32) {
        self.accesses.push(Access { page, kind, bytes, dirty: true });
    }
}

/// What every step of an operation is handed: who watches, what was counted, when to stop.
pub(crate) struct Cx<'a> {
    /// Told of every page.
    pub(crate) visitor: &'a mut dyn PageVisitor,
    /// Counted so far.
    pub(crate) work: Work,
    /// When `maxTimeMS` runs out.
    pub(crate) deadline: Option<std::time::Instant>,
    /// How many steps may be taken, when a plan is only tried out.
    pub(crate) work_limit: Option<u64>,
    /// The values of the parameters that filters' expressions may use.
    pub(crate) parameters: &'a [Option<bindery_document::OwnedValue>],
    /// Whether somebody looks at what is touched.
    pub(crate) is_traced: bool,
    steps: u32,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(visitor: &'a mut dyn PageVisitor) -> Cx<'a> {
        Cx {
            visitor,
            work: Work::default(),
            deadline: None,
            work_limit: None,
            parameters: &[],
            is_traced: false,
            steps: 0,
        }
    }

    /// Sets the time limit, from now on; 0 is none.
    pub(crate) fn limit_time(&mut self, max_time_ms: u64) {
        if max_time_ms > 0 {
            self.deadline = std::time::Instant::now().checked_add(std::time::Duration::from_millis(max_time_ms));
        }
    }

    /// Called once a step of anything that may run long.
    ///
    /// # Errors
    /// 50 when the time is up.
    #[inline]
    pub(crate) fn step(&mut self) -> bindery_document::Result<()> {
        self.steps = self.steps.wrapping_add(1);
        if self.work_limit.is_some_and(|limit| u64::from(self.steps) > limit) {
            return Err(out_of_works());
        }
        // The clock is read every so often only: it costs more than a step.
        if self.steps & 0xFF == 0 { self.check_deadline() } else { Ok(()) }
    }

    /// Counts a step, and tells how many more may follow it uncounted, for a loop that runs tightly: it tells
    /// [`Cx::stepped`] afterwards how many it made.
    ///
    /// # Errors
    /// As [`Cx::step`].
    #[inline]
    pub(crate) fn step_ahead(&mut self) -> bindery_document::Result<u32> {
        self.step()?;
        let until_clock = 0xFF - (self.steps & 0xFF);
        let until_limit = self.work_limit.map_or(u64::MAX, |limit| limit.saturating_sub(u64::from(self.steps)));
        Ok(until_clock.min(until_limit.try_into().unwrap_or(u32::MAX)))
    }

    /// Counts steps that [`Cx::step_ahead`] allowed.
    #[inline]
    pub(crate) fn stepped(&mut self, steps: u32) {
        self.steps = self.steps.wrapping_add(steps);
    }

    /// Whether the last error was the end of a trial's works.
    pub(crate) fn is_out_of_works(&self) -> bool {
        self.work_limit.is_some_and(|limit| u64::from(self.steps) > limit)
    }

    #[cold]
    fn check_deadline(&self) -> bindery_document::Result<()> {
        match self.deadline {
            Some(deadline) if std::time::Instant::now() >= deadline => Err(bindery_document::Error::new(
                bindery_document::code::MAX_TIME_MS_EXPIRED,
                "operation exceeded time limit",
            )),
            _ => Ok(()),
        }
    }
}

#[cold]
fn out_of_works() -> bindery_document::Error {
    bindery_document::Error::new(bindery_document::code::INTERRUPTED, "the trial of a plan has ended")
}
