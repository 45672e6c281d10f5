//! Which expressions MongoDB's other engine knows.
//!
//! MongoDB 6.0 hands some pipelines whole to an engine whose operators fail with codes of their own (see
//! `pipeline::group::pushed_down`). It does so only if it knows every operator in them. The list was made by asking
//! a real server to explain a group for each operator. Arrays that are spelled out are unknown to it as well.

/// Ascending.
const OPERATORS: [&str; 75] = [
    "$abs",
    "$acos",
    "$acosh",
    "$add",
    "$and",
    "$anyElementTrue",
    "$arrayElemAt",
    "$asin",
    "$asinh",
    "$atan",
    "$atan2",
    "$atanh",
    "$bsonSize",
    "$ceil",
    "$cmp",
    "$concat",
    "$concatArrays",
    "$cond",
    "$cos",
    "$cosh",
    "$dateAdd",
    "$dateDiff",
    "$dateFromParts",
    "$dateSubtract",
    "$dateToParts",
    "$dayOfMonth",
    "$dayOfWeek",
    "$dayOfYear",
    "$degreesToRadians",
    "$divide",
    "$eq",
    "$exp",
    "$filter",
    "$first",
    "$floor",
    "$gt",
    "$gte",
    "$ifNull",
    "$indexOfBytes",
    "$indexOfCP",
    "$isArray",
    "$isNumber",
    "$last",
    "$let",
    "$literal",
    "$ln",
    "$log10",
    "$lt",
    "$lte",
    "$mod",
    "$multiply",
    "$ne",
    "$not",
    "$or",
    "$radiansToDegrees",
    "$range",
    "$regexFind",
    "$regexFindAll",
    "$regexMatch",
    "$replaceOne",
    "$reverseArray",
    "$setDifference",
    "$setIntersection",
    "$setUnion",
    "$sin",
    "$sinh",
    "$sortArray",
    "$sqrt",
    "$switch",
    "$tan",
    "$tanh",
    "$toLower",
    "$toUpper",
    "$tsIncrement",
    "$tsSecond",
];

/// Whether the other engine knows the operator.
pub(super) fn is_ported(name: &str) -> bool {
    OPERATORS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{OPERATORS, is_ported};

    #[test]
    fn operators_ascend_and_are_found() {
        assert!(OPERATORS.is_sorted());
        assert!(is_ported("$add") && is_ported("$tsSecond") && !is_ported("$map") && !is_ported("$subtract"));
    }
}
