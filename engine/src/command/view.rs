//! Views: reading a stored pipeline as if it were a collection.

use bindery_document::{Doc, Error, OwnedValue, Result, code};

use super::Request;
use crate::catalog::View;
use crate::cursor::Rows;
use crate::execute::Question;
use crate::trace::Cx;

fn unsupported(view: &View) -> Error {
    Error::new(code::COMMAND_NOT_SUPPORTED_ON_VIEW, format!("views on {} cannot be read", view.on))
}

pub(super) fn find(
    _request: &Request<'_>,
    view: &View,
    _name: &str,
    _question: &Question<'_>,
    _cx: &mut Cx<'_>,
) -> Result<Box<dyn Rows>> {
    Err(unsupported(view))
}

pub(super) fn count(_r: &Request<'_>, view: &View, _name: &str, _q: &Question<'_>, _cx: &mut Cx<'_>) -> Result<u64> {
    Err(unsupported(view))
}

pub(super) fn distinct(
    _r: &Request<'_>,
    view: &View,
    _name: &str,
    _key: &str,
    _q: &Question<'_>,
    _cx: &mut Cx<'_>,
) -> Result<Vec<OwnedValue>> {
    Err(unsupported(view))
}

pub(super) fn check_definition(_request: &Request<'_>, _name: &str, _on: &str, _pipeline: Doc<'_>) -> Result<()> {
    Ok(())
}
