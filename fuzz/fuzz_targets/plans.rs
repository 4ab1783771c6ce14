//! Whatever stands in a plan, its reader neither panics nor makes a plan of it that cannot be worked off.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_plan::fuzzed::sources(data));
