//! A collection: documents, indexes and options, as one state that readers see whole.
//!
//! Readers clone an `Arc` of the [`State`] and read it without a lock. A writer holds the collection's
//! write lock for one command and changes the state in place while it is the only owner; pages that a
//! snapshot still holds are copied first. So a reader waits for the write of a document, or of some small
//! ones, at most, and never sees half of one.

mod index;
mod options;
mod partial;
mod spec;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bindery_index::{RecordId, Records};

use crate::trace::Cx;
use crate::write::Scratch;

pub(crate) use index::{Index, IndexMeta};
pub(crate) use options::{
    Capped, CollectionOptions, ValidationAction, ValidationLevel, Validator, append_number, check_storage_engine,
};
pub(crate) use spec::{Declared, IndexSpec, index_name, same_documents};

/// Documents and indexes at one moment. Cloning one shares all pages.
#[derive(Clone)]
pub(crate) struct State {
    /// The documents.
    pub(crate) records: Records,
    /// The indexes; `_id` first.
    pub(crate) indexes: Vec<Index>,
    /// The options in force.
    pub(crate) options: Arc<CollectionOptions>,
}

impl State {
    /// The position of the index with this name.
    pub(crate) fn index_named(&self, name: &str) -> Option<usize> {
        self.indexes.iter().position(|index| index.meta.spec.name == name)
    }

    /// Rebuilds records and indexes at full fill.
    pub(crate) fn compact(&mut self, cx: &mut Cx<'_>) {
        self.records.compact();
        for index in &mut self.indexes {
            index.tree.compact(&mut cx.visitor);
        }
    }

    /// The number of indexes as clients count them: what a clustered collection is ordered by is none.
    pub(crate) fn counted_indexes(&self) -> usize {
        self.indexes.len() - usize::from(self.options.clustered.is_some())
    }

    /// The index on `_id`, which every plain collection has.
    pub(crate) fn id_index(&self) -> Option<&Index> {
        self.indexes.first().filter(|index| index.meta.is_id)
    }
}

/// A collection, shared by everybody who has its name.
pub(crate) struct Collection {
    /// Identifies the collection through renames.
    pub(crate) uuid: [u8; 16],
    state: RwLock<Arc<State>>,
    writer: Mutex<Scratch>,
    /// Cursors that wait for documents.
    waiting: Waiting,
}

/// Readers that sleep until something was written.
#[derive(Default)]
struct Waiting {
    readers: AtomicUsize,
    lock: Mutex<()>,
    written: Condvar,
}

impl Collection {
    /// A collection with this state.
    pub(crate) fn new(uuid: [u8; 16], state: State) -> Collection {
        Collection { uuid, state: RwLock::new(Arc::new(state)), writer: Mutex::default(), waiting: Waiting::default() }
    }

    /// A copy that goes its own way; shares all pages until either side writes.
    pub(crate) fn fork(&self) -> Collection {
        Collection {
            uuid: self.uuid,
            state: RwLock::new(self.snapshot()),
            writer: Mutex::default(),
            waiting: Waiting::default(),
        }
    }

    /// As [`Collection::fork`], with another identity.
    pub(crate) fn fork_as(&self, uuid: [u8; 16]) -> Collection {
        Collection { uuid, ..self.fork() }
    }

    /// The state at this moment; it does not change while it is held, and writers copy what they touch.
    pub(crate) fn snapshot(&self) -> Arc<State> {
        Arc::clone(&self.state.read())
    }

    /// The state for a look that ends at once; writers wait meanwhile, and copy nothing.
    pub(crate) fn peek(&self) -> RwLockReadGuard<'_, Arc<State>> {
        self.state.read()
    }

    /// Sleeps until a record with this id or a later one may be there, or the time has passed.
    pub(crate) fn wait_for_records(&self, from: RecordId, at_most: Duration) {
        self.waiting.readers.fetch_add(1, Ordering::SeqCst);
        let mut lock = self.waiting.lock.lock();
        // A writer takes this lock after its write, so that none can slip in between the look and the sleep.
        if self.peek().records.next_id().0 <= from.0 {
            self.waiting.written.wait_for(&mut lock, at_most);
        }
        drop(lock);
        self.waiting.readers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Becomes the one writer until the guard is dropped.
    pub(crate) fn lock_for_writing(&self) -> WriteGuard<'_> {
        WriteGuard { collection: self, scratch: self.writer.lock() }
    }
}

/// The right to change a collection.
pub(crate) struct WriteGuard<'a> {
    collection: &'a Collection,
    scratch: MutexGuard<'a, Scratch>,
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        let waiting = &self.collection.waiting;
        if waiting.readers.load(Ordering::SeqCst) > 0 {
            drop(waiting.lock.lock());
            waiting.written.notify_all();
        }
    }
}

impl WriteGuard<'_> {
    /// The state as it is; it only changes through [`WriteGuard::change`].
    pub(crate) fn snapshot(&self) -> Arc<State> {
        self.collection.snapshot()
    }

    /// The state for reading, without a copy being due at the next change.
    pub(crate) fn peek(&self) -> RwLockReadGuard<'_, Arc<State>> {
        self.collection.peek()
    }

    /// The state for one change that readers must see whole: they wait while the result is held.
    pub(crate) fn change(&self) -> StateMut<'_> {
        StateMut { guard: self.collection.state.write() }
    }

    /// As [`WriteGuard::change`], with the memory that writes use again.
    pub(crate) fn change_with_scratch(&mut self) -> (StateMut<'_>, &mut Scratch) {
        (StateMut { guard: self.collection.state.write() }, &mut self.scratch)
    }
}

/// The state, being changed.
pub(crate) struct StateMut<'a> {
    guard: RwLockWriteGuard<'a, Arc<State>>,
}

impl StateMut<'_> {
    /// Between two changes: lets readers go first that wait for the state. Costs next to nothing if none does.
    #[inline]
    pub(crate) fn give_way(&mut self) {
        RwLockWriteGuard::bump(&mut self.guard);
    }

    /// The state before anything is changed; copies nothing.
    pub(crate) fn peek(&self) -> &State {
        &self.guard
    }

    /// The state. Snapshots that are still held keep the old one, sharing the pages that do not change.
    pub(crate) fn get(&mut self) -> &mut State {
        Arc::make_mut(&mut self.guard)
    }
}
