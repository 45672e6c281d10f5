//! `$sample`: documents chosen at random, in random order.

use bindery_document::{Doc, DocBuf, Error, Result, Value, doc};

use super::{Environment, Stream};
use crate::expression::measure::random;

/// Parses the number of documents.
///
/// # Errors
/// 28745 for what is no document, 28746 for a size that is no number, 28747 for a negative one, 28748 for other
/// fields, 28749 without a size.
pub(super) fn parse(argument: Value<'_>) -> Result<u64> {
    let Value::Document(spec) = argument else {
        return Err(Error::new(28745, "$sample takes a document"));
    };
    let mut size = None;
    for element in spec {
        if element.key != b"size" {
            return Err(Error::new(28748, format!("$sample does not know the field '{}'", element.key_str())));
        }
        let Some(number) = element.value().as_f64() else {
            return Err(Error::new(28746, "$sample's size must be a number"));
        };
        if number < 0.0 {
            return Err(Error::new(28747, "$sample's size must not be negative"));
        }
        // A fraction is cut.
        size = Some(number as u64);
    }
    size.ok_or_else(|| Error::new(28749, "$sample needs a size"))
}

/// Chooses the documents with the least random numbers.
pub(super) struct Sample {
    pub(super) input: Option<Box<dyn Stream>>,
    pub(super) size: u64,
    pub(super) env: Environment,
    pub(super) chosen: std::vec::IntoIter<(f64, DocBuf)>,
    pub(super) current: Option<DocBuf>,
}

impl Stream for Sample {
    fn advance(&mut self) -> Result<bool> {
        if let Some(mut input) = self.input.take() {
            let size = usize::try_from(self.size).unwrap_or(usize::MAX);
            let (mut chosen, mut used_bytes): (Vec<(f64, DocBuf)>, usize) = (Vec::new(), 0);
            while size > 0 && input.advance()? {
                let number = random();
                let place = chosen.partition_point(|(held, _)| *held < number);
                if place < size {
                    let document = DocBuf::from(input.current());
                    used_bytes += document.as_bytes().len();
                    chosen.insert(place, (number, document));
                    if chosen.len() > size
                        && let Some((_, dropped)) = chosen.pop()
                    {
                        used_bytes -= dropped.as_bytes().len();
                    }
                    self.env.check_memory("$sample", used_bytes)?;
                }
                self.env.check_interrupt()?;
            }
            self.chosen = chosen.into_iter();
        }
        self.current = self.chosen.next().map(|(_, document)| document);
        Ok(self.current.is_some())
    }

    fn current(&self) -> Doc<'_> {
        self.current.as_ref().map_or(doc::EMPTY, DocBuf::doc)
    }
}
