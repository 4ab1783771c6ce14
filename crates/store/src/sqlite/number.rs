//! SQLite's integers are signed; ours are not. Both are 64 bits wide.

pub(crate) fn to_sql(number: u64) -> i64 {
    number.cast_signed()
}

/// A number that rows are compared with, or of which at most so many are asked
/// for: one beyond what SQLite counts is as far as it counts.
pub(crate) fn bound_to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn from_sql(number: i64) -> u64 {
    number.cast_unsigned()
}
