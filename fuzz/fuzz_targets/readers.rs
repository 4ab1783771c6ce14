//! Whatever an agent's program prints, its reader neither panics nor takes it for a success without its marks.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_agent::cli::fuzzed::readers(data));
