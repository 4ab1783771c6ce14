//! SQLite's integers are signed; ours are not. Both are 64 bits wide.

pub(crate) fn to_sql(number: u64) -> i64 {
    number.cast_signed()
}

pub(crate) fn from_sql(number: i64) -> u64 {
    number.cast_unsigned()
}
