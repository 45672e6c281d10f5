//! `$bucketAuto`: a group by ranges that are chosen so that they hold about as many documents each.

mod granularity;

use std::sync::Arc;

use bindery_document::{Builder, Doc, DocBuf, Error, OwnedValue, Result, Value, doc};

use super::group::{Accumulator, State, accumulator::parse_field};
use super::{Environment, Stream};
use crate::expression::Expression;
use crate::filter::ParseContext;
use granularity::Granularity;

/// The stage.
#[derive(Debug)]
pub struct BucketAuto {
    group_by: Expression,
    n_buckets: usize,
    fields: Vec<(Box<str>, Accumulator)>,
    granularity: Option<Granularity>,
}

fn fail<T>(code: i32, message: &str) -> Result<T> {
    Err(Error::new(code, format!("$bucketAuto: {message}")))
}

/// Parses the stage.
///
/// # Errors
/// 40239 to 40246, 40257 and 40261 for malformed fields; those of expressions and accumulators.
pub(super) fn parse(argument: Value<'_>, context: &mut ParseContext) -> Result<BucketAuto> {
    let Value::Document(spec) = argument else {
        return fail(40240, "takes a document");
    };
    let (mut group_by, mut n_buckets, mut fields, mut granularity) = (None, None, None, None);
    for element in spec {
        match (element.key, element.value()) {
            (b"groupBy", value) => {
                let is_expression = match value {
                    Value::String(text) => text.as_bytes().first() == Some(&b'$'),
                    Value::Document(doc) => doc.first().is_some_and(|first| first.key.first() == Some(&b'$')),
                    _ => false,
                };
                if !is_expression {
                    return fail(40239, "groupBy must be a path or an expression");
                }
                group_by = Some(Expression::parse_unfolded(value, &mut context.expressions)?);
            }
            (b"buckets", value) => {
                if !value.kind().is_number() {
                    return fail(40241, "buckets must be a number");
                }
                let Some(n) = value.as_exact_i64().and_then(|n| i32::try_from(n).ok()) else {
                    return fail(40242, "buckets must be a 32-bit integer");
                };
                match usize::try_from(n) {
                    Ok(n) if n > 0 => n_buckets = Some(n),
                    _ => return fail(40243, "buckets must be positive"),
                }
            }
            (b"output", Value::Document(output)) => {
                let parsed: Result<Vec<(Box<str>, Accumulator)>> = output
                    .iter()
                    .map(|field| Ok((field.key_str().into(), parse_field(field.key_str(), field.value(), context)?)))
                    .collect();
                fields = Some(parsed?);
            }
            (b"output", _) => return fail(40244, "output must be a document"),
            (b"granularity", Value::String(name)) => match Granularity::parse(name.as_str()) {
                Some(series) => granularity = Some(series),
                None => return fail(40257, &format!("unknown granularity '{}'", name.as_str())),
            },
            (b"granularity", _) => return fail(40261, "granularity must be a string"),
            _ => return fail(40245, &format!("unknown field '{}'", element.key_str())),
        }
    }
    let (Some(group_by), Some(n_buckets)) = (group_by, n_buckets) else {
        return fail(40246, "needs groupBy and buckets");
    };
    let fields = fields.filter(|fields| !fields.is_empty());
    let fields = fields.unwrap_or_else(|| vec![("count".into(), Accumulator::count_one())]);
    Ok(BucketAuto { group_by, n_buckets, fields, granularity })
}

/// A bucket: its bounds and the states of its accumulators.
struct Bucket {
    min: OwnedValue,
    max: OwnedValue,
    states: Vec<State>,
}

impl BucketAuto {
    pub(super) fn fold(&mut self) -> Result<()> {
        self.group_by.fold()?;
        self.fields.iter_mut().try_for_each(|(_, accumulator)| accumulator.fold())
    }

    pub(super) fn open(self: Arc<Self>, input: Box<dyn Stream>, env: &Environment) -> Box<dyn Stream> {
        Box::new(BucketAutoStream {
            stage: self,
            input: Some(input),
            env: env.clone(),
            buckets: Vec::new().into_iter(),
            current: None,
        })
    }

    fn key(&self, document: Doc<'_>, env: &Environment) -> Result<OwnedValue> {
        let key = self.group_by.evaluate(&env.scope(document))?;
        let key = OwnedValue::new(key.or_null());
        if self.granularity.is_some() {
            let value = key.value();
            let Some(number) = value.as_f64() else {
                return fail(40258, "a granularity needs numbers");
            };
            if number.is_nan() {
                return fail(40259, "a granularity does not go with NaN");
            }
            if number < 0.0 {
                return fail(40260, "a granularity does not go with negative numbers");
            }
        }
        Ok(key)
    }

    fn distribute(&self, sorted: Vec<(OwnedValue, DocBuf)>, env: &Environment) -> Result<Vec<Bucket>> {
        let scope = env.scope(doc::EMPTY);
        let wanted = ((sorted.len() as f64 / self.n_buckets as f64).round() as usize).max(1);
        let mut rest = sorted.into_iter().peekable();
        let mut buckets: Vec<Bucket> = Vec::new();
        while buckets.len() < self.n_buckets
            && let Some((first, _)) = rest.peek()
        {
            let mut bucket = Bucket { min: first.clone(), max: first.clone(), states: Vec::new() };
            for (_, accumulator) in &self.fields {
                let mut state = accumulator.state();
                accumulator.begin(&mut state, &scope)?;
                bucket.states.push(state);
            }
            let is_last = buckets.len() + 1 == self.n_buckets;
            let mut taken = 0;
            while is_last || taken < wanted {
                let Some((key, document)) = rest.next() else {
                    break;
                };
                self.add(&mut bucket, key, &document, env)?;
                taken += 1;
            }
            self.close(&mut bucket, &mut rest, env)?;
            match (buckets.last_mut(), self.granularity) {
                // With a granularity each bucket begins where the one before ends.
                (Some(previous), Some(_)) => bucket.min = previous.max.clone(),
                (Some(previous), None) => previous.max = bucket.min.clone(),
                (None, Some(series)) => bucket.min = OwnedValue::new(series.round_down(bucket.min.value())),
                (None, None) => {}
            }
            buckets.push(bucket);
        }
        Ok(buckets)
    }

    fn add(&self, bucket: &mut Bucket, key: OwnedValue, document: &DocBuf, env: &Environment) -> Result<()> {
        let scope = env.scope(document.doc());
        for ((_, accumulator), state) in self.fields.iter().zip(&mut bucket.states) {
            accumulator.add(state, &scope)?;
        }
        bucket.max = key;
        Ok(())
    }

    /// Takes in what belongs to the bucket by its upper bound.
    fn close(
        &self,
        bucket: &mut Bucket,
        rest: &mut std::iter::Peekable<std::vec::IntoIter<(OwnedValue, DocBuf)>>,
        env: &Environment,
    ) -> Result<()> {
        let scope = env.scope(doc::EMPTY);
        let Some(series) = self.granularity else {
            while let Some((key, document)) =
                rest.next_if(|(key, _)| scope.compare(&key.value(), &bucket.max.value()).is_eq())
            {
                self.add(bucket, key, &document, env)?;
            }
            return Ok(());
        };
        let mut bound = series.round_up(bucket.max.value());
        if bound.as_f64() == Some(0.0)
            && let Some((next, _)) = rest.peek()
        {
            // No number of a series is next to zero, so the bucket ends below the next value.
            bound = series.round_down(next.value());
        }
        while let Some((key, document)) = rest.next_if(|(key, _)| scope.compare(&key.value(), &bound).is_lt()) {
            self.add(bucket, key, &document, env)?;
        }
        bucket.max = OwnedValue::new(bound);
        Ok(())
    }
}

struct BucketAutoStream {
    stage: Arc<BucketAuto>,
    input: Option<Box<dyn Stream>>,
    env: Environment,
    buckets: std::vec::IntoIter<Bucket>,
    current: Option<DocBuf>,
}

impl Stream for BucketAutoStream {
    fn advance(&mut self) -> Result<bool> {
        if let Some(mut input) = self.input.take() {
            let (mut keyed, mut used_bytes) = (Vec::new(), 0);
            while input.advance()? {
                let document = input.current();
                used_bytes += document.as_bytes().len() + 64;
                self.env.check_memory("$bucketAuto", used_bytes)?;
                keyed.push((self.stage.key(document, &self.env)?, DocBuf::from(document)));
                self.env.check_interrupt()?;
            }
            let scope = self.env.scope(doc::EMPTY);
            keyed.sort_by(|(a, _), (b, _)| scope.compare(&a.value(), &b.value()));
            self.buckets = self.stage.distribute(keyed, &self.env)?.into_iter();
        }
        self.current = self.buckets.next().map(|bucket| {
            let mut builder = Builder::new();
            let open = builder.open_document("_id");
            builder.append("min", bucket.min.value());
            builder.append("max", bucket.max.value());
            builder.close(open);
            for ((name, accumulator), state) in self.stage.fields.iter().zip(bucket.states) {
                if let Some(value) = accumulator.finish(state).get() {
                    builder.append(name.as_bytes(), value);
                }
            }
            builder.finish()
        });
        Ok(self.current.is_some())
    }

    fn current(&self) -> Doc<'_> {
        self.current.as_ref().map_or(doc::EMPTY, DocBuf::doc)
    }
}
