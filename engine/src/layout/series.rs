//! Time-series collections: the bucket layout with MongoDB's declaration and MongoDB's limits on what may be done.
//!
//! `create` with `timeseries` makes a collection of the [bucket layout](bindery_patterns::bucket); what differs from
//! one that is declared as a layout is here: readings are put in the server's order, only queries on the meta field
//! may write, and the buckets can be read under `system.buckets.<name>`.
//!
//! ```text
//! statements   what update and delete may ask for
//! indexes      what may be indexed, and index specifications as clients gave them
//! buckets      `system.buckets.<name>`
//! ```
//!
//! Source: MongoDB's manual, "Time Series Collections" and "Time Series Collection Limitations"; the codes were
//! asked of a real server.

mod buckets;
mod indexes;
mod statements;
#[cfg(test)]
mod tests;

use bindery_document::{Builder, Doc, DocBuf, Error, Result, Value, code};
use bindery_patterns::Layout;
use bindery_patterns::bucket::Bucket;
use bindery_query::update;

use super::{LayoutCollection, bucket};
use crate::collection::{CollectionOptions, Index, State};
use crate::command::args::Args;
use crate::command::new_collection;
use crate::database::Inner;
use crate::namespace::BUCKETS_PREFIX;
use crate::trace::Cx;
use crate::write;

pub(crate) use indexes::{check_specs, translate};
pub(crate) use statements::{check_delete, check_update};

/// MongoDB's code for a span that does not go with the granularity.
const SPAN_NOT_CONFIGURABLE: i32 = 5_510_500;

/// How far apart measurements of one meta value usually are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Granularity {
    Seconds,
    Minutes,
    Hours,
}

impl Granularity {
    /// # Errors
    /// 14 for what is no string, 2 for another word.
    fn parse(args: &Args<'_>) -> Result<Option<Granularity>> {
        Ok(Some(match args.string("granularity")? {
            None => return Ok(None),
            Some("seconds") => Granularity::Seconds,
            Some("minutes") => Granularity::Minutes,
            Some("hours") => Granularity::Hours,
            Some(other) => {
                return Err(Error::new(
                    code::BAD_VALUE,
                    format!("Enumeration value '{other}' for field '{}.granularity' is not a valid value.", args.name),
                ));
            }
        }))
    }

    fn word(self) -> &'static str {
        match self {
            Granularity::Seconds => "seconds",
            Granularity::Minutes => "minutes",
            Granularity::Hours => "hours",
        }
    }

    /// The span of a bucket, in seconds.
    fn span_seconds(self) -> i32 {
        match self {
            Granularity::Seconds => 3_600,
            Granularity::Minutes => 86_400,
            Granularity::Hours => 2_592_000,
        }
    }

    /// What a bucket's least time is rounded down to, in milliseconds.
    fn rounding_millis(self) -> i64 {
        match self {
            Granularity::Seconds => 60_000,
            Granularity::Minutes => 3_600_000,
            Granularity::Hours => 86_400_000,
        }
    }
}

/// What a time-series collection is declared with.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    time: Box<str>,
    meta: Option<Box<str>>,
    granularity: Granularity,
}

impl Series {
    /// Reads the `timeseries` of a `create`.
    ///
    /// # Errors
    /// 40414, 40415, 14 and 2 for what is missing, unknown or wrong, 72 for fields that cannot be, 5510500 for a span
    /// that is not the granularity's.
    pub(crate) fn parse(declared: Doc<'_>) -> Result<Series> {
        let known = ["timeField", "metaField", "granularity", "bucketMaxSpanSeconds"];
        let args = Args::of_statement("create.timeseries", declared, &known)?;
        let (time, meta) = (args.required_string("timeField")?, args.string("metaField")?);
        let granularity = Granularity::parse(&args)?.unwrap_or(Granularity::Seconds);
        let span = args.integer("bucketMaxSpanSeconds")?;
        let invalid = |why: String| Err(Error::new(code::INVALID_OPTIONS, why));
        if meta == Some("_id") {
            return invalid("'metaField' cannot be \"_id\"".to_owned());
        }
        if meta == Some(time) {
            return invalid("'metaField' cannot be the same as 'timeField'".to_owned());
        }
        for (option, field) in [("timeField", Some(time)), ("metaField", meta)] {
            if field.is_some_and(|field| field.contains('.')) {
                return invalid(format!("'{option}' must be a top-level field and not contain a '.'"));
            }
        }
        if span.is_some_and(|span| span != i64::from(granularity.span_seconds())) {
            return Err(Error::new(
                SPAN_NOT_CONFIGURABLE,
                format!("'bucketMaxSpanSeconds' of this granularity can only be {}", granularity.span_seconds()),
            ));
        }
        Ok(Series { time: time.into(), meta: meta.map(Into::into), granularity })
    }

    /// The layout of its buckets.
    pub(crate) fn bucket(&self) -> Bucket {
        Bucket::time_series(&self.time, self.meta.as_deref(), i64::from(self.granularity.span_seconds()) * 1000)
    }

    /// Appends `timeseries` as `listCollections` shows it.
    pub(crate) fn show(&self, out: &mut Builder) {
        let open = out.open_document("timeseries");
        out.append("timeField", &*self.time);
        if let Some(meta) = &self.meta {
            out.append("metaField", &**meta);
        }
        out.append("granularity", self.granularity.word());
        out.append("bucketMaxSpanSeconds", self.granularity.span_seconds());
        out.close(open);
    }

    /// The pipeline that `system.views` shows for the collection.
    pub(crate) fn view_pipeline(&self) -> DocBuf {
        let mut out = Builder::new();
        let stage = out.open_document("0");
        let unpack = out.open_document("$_internalUnpackBucket");
        out.append("timeField", &*self.time);
        if let Some(meta) = &self.meta {
            out.append("metaField", &**meta);
        }
        out.append("bucketMaxSpanSeconds", self.granularity.span_seconds());
        out.close(unpack);
        out.close(stage);
        out.finish()
    }

    /// Makes a measurement ready to be stored. None gets an `_id` that it does not have.
    ///
    /// # Errors
    /// 10334 for a document that is too large, 15 for one nested too deeply; 2 without a date in the time field.
    pub(crate) fn prepare(&self, bucket: &Bucket, measurement: Doc<'_>) -> Result<DocBuf> {
        update::check_depth(measurement)?;
        update::check_inserted_size(measurement.as_bytes().len())?;
        bucket.reading(measurement)?;
        Ok(bucket.arranged(measurement, true))
    }

    /// The granularity that a `collMod` asks for.
    ///
    /// # Errors
    /// What reading it says; 72 for a change to a finer one, or over two.
    pub(crate) fn changed(&self, asked: Doc<'_>) -> Result<Series> {
        let args = Args::of_statement("collMod.timeseries", asked, &["granularity"])?;
        let Some(granularity) = Granularity::parse(&args)? else { return Ok(self.clone()) };
        if granularity < self.granularity {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "the granularity of a time-series collection can only change to a coarser one",
            ));
        }
        Ok(Series { granularity, ..self.clone() })
    }
}

/// The options that a `create` with `timeseries` may not have.
///
/// # Errors
/// 72 for each of them.
pub(crate) fn check_options(args: &Args<'_>) -> Result<()> {
    const NOT_ALLOWED: [&str; 8] = [
        "autoIndexId",
        "capped",
        "changeStreamPreAndPostImages",
        "clusteredIndex",
        "idIndex",
        "validationAction",
        "validationLevel",
        "validator",
    ];
    let given = |field: &&&str| args.given(field).is_some_and(|value| **field != "capped" || value.is_truthy());
    match NOT_ALLOWED.iter().find(given) {
        Some(field) => Err(Error::new(code::INVALID_OPTIONS, format!("'timeseries' is not allowed with '{field}'"))),
        None => Ok(()),
    }
}

/// The name of the collection that the buckets of this one are read under.
pub(crate) fn buckets_name(name: &str) -> String {
    format!("{BUCKETS_PREFIX}{name}")
}

impl LayoutCollection {
    /// An empty time-series collection.
    ///
    /// # Errors
    /// None but faults of ours.
    pub(crate) fn create_series(
        server: &Inner,
        series: Series,
        options: CollectionOptions,
    ) -> Result<LayoutCollection> {
        let layout = Layout::Bucket(series.bucket());
        LayoutCollection::with_layout(server, layout, DocBuf::new(), Some(series), options)
    }

    /// The same collection, declared anew. If its buckets' span is another, they are made anew, too.
    ///
    /// # Errors
    /// What making them anew says; everything is as before then.
    pub(crate) fn redeclared(
        &self,
        server: &Inner,
        series: Series,
        options: CollectionOptions,
        cx: &mut Cx<'_>,
    ) -> Result<LayoutCollection> {
        let bucket = series.bucket();
        if self.series.as_ref().is_some_and(|before| before.granularity != series.granularity) {
            self.rebucket(server, &bucket, cx)?;
        }
        let mut changed = self.fork();
        changed.layout = Layout::Bucket(bucket).into();
        changed.series = Some(series);
        changed.options = options.into();
        changed.stored = self.stored.clone();
        Ok(changed)
    }

    /// Puts all readings into buckets of another span.
    fn rebucket(&self, server: &Inner, bucket: &Bucket, cx: &mut Cx<'_>) -> Result<()> {
        let writer = self.lock_for_writing();
        let state = writer.stored.snapshot();
        let Layout::Bucket(before) = &*self.layout else { return Ok(()) };
        let fresh = new_collection(server, CollectionOptions::default())?;
        {
            let mut guard = fresh.lock_for_writing();
            let specs = state.indexes.iter().skip(1).map(|index| Index::new(index.meta.spec.clone()));
            guard.change().get().indexes.extend(specs.collect::<Result<Vec<_>>>()?);
            let (mut open, mut cursor) = (bucket::Open::default(), state.records.cursor());
            while let Some((_, stored)) = cursor.next(&mut cx.visitor) {
                cx.step()?;
                for reading in before.documents(Doc::from_stored(stored)) {
                    bucket::insert(bucket, &mut open, &mut guard, Doc::from_stored(&reading), cx)?;
                }
            }
        }
        let fresh = State { options: state.options.clone(), ..State::clone(&fresh.snapshot()) };
        drop(state);
        *writer.stored.change().get() = fresh;
        Ok(())
    }

    /// Deletes the buckets whose whole span is older than the collection's `expireAfterSeconds`; says how many
    /// measurements that were.
    ///
    /// # Errors
    /// None but faults of ours.
    pub(crate) fn expire(&self, now_millis: i64, cx: &mut Cx<'_>) -> Result<u64> {
        let (Some(series), Some(seconds)) = (&self.series, self.options.expire_after_seconds) else { return Ok(0) };
        let oldest = now_millis.saturating_sub(seconds.saturating_mul(1000));
        let span = i64::from(series.granularity.span_seconds()) * 1000;
        let mut writer = self.lock_for_writing();
        let state = writer.stored.snapshot();
        let (mut expired, mut count, mut cursor) = (Vec::new(), 0, state.records.cursor());
        while let Some((record_id, stored)) = cursor.next(&mut cx.visitor) {
            let header = bindery_patterns::bucket::Header::read(Doc::from_stored(stored), false);
            if header.start.saturating_add(span) <= oldest {
                expired.push(record_id);
                count += u64::from(header.count);
            }
        }
        drop((cursor, state));
        for record_id in expired {
            write::delete(&mut writer.stored, record_id, cx)?;
        }
        Ok(count)
    }

    /// Appends what `collStats` says of a time-series collection beside the sizes.
    pub(crate) fn show_series_stats(&self, reply: &mut Builder, buckets_namespace: &str) {
        let state = self.stored.snapshot();
        let (size, count) = (state.records.data_bytes(), state.records.len());
        let open = reply.open_document("timeseries");
        reply.append("bucketsNs", buckets_namespace);
        crate::collection::append_number(reply, "bucketCount", count);
        if let Some(average) = size.checked_div(count) {
            crate::collection::append_number(reply, "avgBucketSize", average);
        }
        reply.close(open);
    }

    /// How many of the stored form's indexes clients of a time-series collection do not see.
    pub(crate) fn hidden_indexes(&self) -> usize {
        if self.series.is_some() { self.fixed_indexes() } else { 0 }
    }
}

/// The error for a command that time-series collections, which the server has as views, do not take.
pub(crate) fn not_on_a_series(namespace: &str) -> Error {
    Error::new(code::COMMAND_NOT_SUPPORTED_ON_VIEW, format!("Namespace {namespace} is a timeseries collection"))
}

/// Appends `clusteredIndex` and the validator that `listCollections` shows for the buckets.
pub(crate) fn show_buckets_options(collection: &LayoutCollection, series: &Series, out: &mut Builder) {
    let type_of = |out: &mut Builder, field: &str, name: &str| {
        let open = out.open_document(field);
        out.append("bsonType", name);
        out.close(open);
    };
    let object = |out: &mut Builder, required: &[&str]| {
        out.append("bsonType", "object");
        let list = out.open_array("required");
        required.iter().enumerate().for_each(|(i, name)| out.append_index(i, *name));
        out.close(list);
        out.open_document("properties")
    };
    let validator = out.open_document("validator");
    let schema = out.open_document("$jsonSchema");
    let properties = object(out, &["_id", "control", "data"]);
    type_of(out, "_id", "objectId");
    let control = out.open_document("control");
    let parts = object(out, &["version", "min", "max"]);
    type_of(out, "version", "number");
    for bound in ["min", "max"] {
        let open = out.open_document(bound);
        let fields = object(out, &[&series.time]);
        type_of(out, &series.time, "date");
        out.close(fields);
        out.close(open);
    }
    type_of(out, "closed", "bool");
    out.close(parts);
    out.close(control);
    type_of(out, "data", "object");
    let meta = out.open_document("meta");
    out.close(meta);
    out.close(properties);
    out.append("additionalProperties", false);
    out.close(schema);
    out.close(validator);
    out.append("clusteredIndex", Value::Boolean(true));
    collection.options.show(out);
    series.show(out);
}
