#[allow(dead_code, unused_imports)]
mod config;

fn main() {}
