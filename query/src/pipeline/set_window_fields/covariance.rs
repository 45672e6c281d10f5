//! `$covariancePop` and `$covarianceSamp`.
//!
//! Each point that comes or goes changes the sum of the products of deviations by its own: by the deviation from the
//! mean of the others in x, and from the mean of all in y (Welford). MongoDB goes this way, and its roundings show.

use bindery_document::{OwnedValue, Result};

use super::Partition;
use super::follow::{Follow, follow};
use super::function::Column;
use super::moving::{at, divide, null, owned};
use super::sliding::Sum;
use super::window::Window;
use crate::expression::number::Number;
use crate::expression::{Expression, number_arithmetic};

pub(super) fn covariance(
    pair: Option<&(Expression, Expression)>,
    is_sample: bool,
    window: &Window,
    partition: &Partition<'_>,
    values: &mut Column,
) -> Result<()> {
    let Some(pair) = pair else {
        values.resize_with(partition.len(), || Some(null()));
        return Ok(());
    };
    let state =
        Covariance { pair, is_sample, count: 0, x: Sum::default(), y: Sum::default(), products: Sum::default() };
    follow(state, window, partition, values)
}

struct Covariance<'a> {
    pair: &'a (Expression, Expression),
    is_sample: bool,
    count: u64,
    x: Sum,
    y: Sum,
    products: Sum,
}

impl Covariance<'_> {
    fn change(&mut self, point: Option<&(Number, Number)>, out: bool) {
        let Some((x, y)) = point.copied() else {
            return;
        };
        // A point that is not finite is set apart, and shows in the result while it is in.
        if x.is_nan() || y.is_nan() {
            self.products.change(Number::Double(f64::NAN), out);
            return;
        }
        if !(x.to_f64().is_finite() && y.to_f64().is_finite()) {
            self.products.change(number_arithmetic::add(x, y), out);
            return;
        }
        if out && self.count == 1 {
            // Without points, what rounding has left of others is forgotten.
            (self.count, self.x, self.y, self.products) = (0, Sum::default(), Sum::default(), Sum::default());
            return;
        }
        let mean = |sum: &Sum, count: u64| (count > 0).then(|| sum.average(count));
        let before = (mean(&self.x, self.count), mean(&self.y, self.count));
        self.x.change(x, out);
        self.y.change(y, out);
        self.count = if out { self.count - 1 } else { self.count + 1 };
        let after = (mean(&self.x, self.count), mean(&self.y, self.count));
        let (mean_x, mean_y) = if out { (after.0, before.1) } else { (before.0, after.1) };
        // The deviation from nothing counts nothing.
        if let (Some(mean_x), Some(mean_y)) = (mean_x, mean_y) {
            let (dx, dy) = (number_arithmetic::subtract(x, mean_x), number_arithmetic::subtract(y, mean_y));
            self.products.change(number_arithmetic::multiply(dx, dy), out);
        }
    }
}

impl Follow for Covariance<'_> {
    type Entry = Option<(Number, Number)>;

    fn read(&self, partition: &Partition<'_>, index: usize) -> Result<Self::Entry> {
        let (x, y) = (at(&self.pair.0, partition, index)?, at(&self.pair.1, partition, index)?);
        let number = |value: Option<OwnedValue>| Number::of(&value?.value());
        Ok(number(x).zip(number(y)))
    }

    fn add(&mut self, _: Option<&Self::Entry>, newest: &Self::Entry) {
        self.change(newest.as_ref(), false);
    }

    fn remove(&mut self, oldest: &Self::Entry, _: Option<&Self::Entry>) {
        self.change(oldest.as_ref(), true);
    }

    fn value(&mut self) -> OwnedValue {
        let divisor = if self.is_sample { self.count.saturating_sub(1) } else { self.count };
        if divisor == 0 {
            return null();
        }
        if self.count == 1 {
            // Whatever rounding has left of others.
            return owned(Number::Double(0.0));
        }
        // By a double, which gives a decimal result its digits.
        owned(divide(self.products.total(), Number::Double(divisor as f64)))
    }
}
