//! Whatever a planner answers, it is refused with reasons, or becomes task files that say the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| windlass_plan::fuzzed::proposals(data));
