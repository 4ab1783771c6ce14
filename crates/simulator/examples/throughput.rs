//! Prints how many simulated loops a second of processor time holds.

fn main() {
    println!("{:.0} loops per processor second", windlass_simulator::throughput(20_000));
}
