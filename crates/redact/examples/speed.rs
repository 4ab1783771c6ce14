//! How fast 64 MB go through, in time on a processor, so that a busy machine tells the same:
//! `cargo run --release -p windlass-redact --example speed`.

use std::hint::black_box;

use windlass_redact::{Redactor, Secret};

const SIZE: usize = 64 << 20;

fn main() {
    let secrets: Vec<Secret> = (0..12)
        .map(|n| Secret {
            name: format!("KEY_{n}"),
            value: format!("{n}-a-secret-of-a-usual-length-{n}").into_bytes(),
        })
        .collect();
    let redactor = Redactor::new(&secrets);
    let log = "test core::step::tests::a_task_is_done ... ok\n   Compiling windlass v0.1.0 (/src/a-b)\n";
    let links =
        "Downloaded https://registry.example.org/task-runner/disk-usage v1.2.3 sha512-z4PhNX7vuL3xVChQ\n";
    let secret = "export KEY=3-a-secret-of-a-usual-length-3 and some more text after it, as is usual\n";
    let texts = [
        ("ordinary", log.to_owned()),
        ("links", links.to_owned()),
        ("secrets", secret.to_owned()),
        ("one line", "x".repeat(80)),
    ];
    for (name, line) in texts {
        let text = line.repeat(SIZE / line.len());
        let started = time_spent();
        let mut out = Vec::with_capacity(1 << 20);
        let mut stream = redactor.stream();
        let mut total = 0;
        for chunk in text.as_bytes().chunks(64 * 1024) {
            stream.push(chunk, &mut out);
            total += out.len();
            out.clear();
        }
        let hidden = stream.finish(&mut out);
        let seconds = time_spent() - started;
        println!("{name:>9}: {:5.0} MB/s, {hidden} hidden", text.len() as f64 / 1e6 / seconds);
        black_box(total);
    }
}

/// Seconds that this thread has run.
fn time_spent() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent: f64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
    spent / 1e9
}
