#![no_main]
libfuzzer_sys::fuzz_target!(init: hivegraph_fuzz::start(), |bytes: &[u8]| {
    hivegraph_fuzz::messages(bytes);
});
