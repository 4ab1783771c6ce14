use windlass_workspace::{Brought, Checkout, Space};

use crate::kit::{Lab, write};

#[test]
fn three_thousand_files_with_several_threads() {
    let lab = Lab::new();
    for dir in 0..150 {
        for file in 0..20 {
            write(&lab.repo, format!("src/d{}/e{dir}/f{file}.txt", dir % 7), format!("{dir} {file}"));
        }
    }
    write(&lab.repo, ".gitignore", "*.o\n");
    lab.commit("base");
    let mut bench = lab.bench();
    let root = bench.root();
    assert_eq!(bench.snapshot().tree, bench.rules.base);
    for n in 0..40 {
        write(&root, format!("src/d{}/e{n}/f3.txt", n % 7), "changed");
        write(&root, format!("src/d{}/e{n}/f3.o", n % 7), "built");
        write(&root, format!("more/e{n}/x"), "new");
    }
    let tree = bench.snapshot().tree;
    let copy = lab.path("copy");
    let status = std::process::Command::new("cp").arg("-a").arg(&root).arg(&copy).status().unwrap();
    assert!(status.success());
    std::fs::remove_dir_all(copy.join(".git")).unwrap();
    assert_eq!(tree.as_str(), lab.tree_by_git(&copy, bench.base.as_str()));
    // From nothing known, the same.
    bench.space = Space::new(&root, &lab.path("state/other.stat"));
    assert_eq!(bench.snapshot().tree, tree);
    let mut checkout = Checkout::new(&lab.path("state/checkout"));
    checkout.bring_to(&bench.vault, &bench.rules.base).unwrap();
    assert_eq!(checkout.bring_to(&bench.vault, &tree).unwrap(), Brought::Delta(80));
    assert_eq!(checkout.verify_and_rewrite(&bench.vault, &tree).unwrap(), Brought::Verified);
    assert_eq!(bench.vault.diff(&bench.rules.base, &tree).unwrap().len(), 80);
}
