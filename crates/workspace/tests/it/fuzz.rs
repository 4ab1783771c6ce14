//! Random changes, snapshot after snapshot: what is known from before must
//! never differ from what a look at everything finds.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use windlass_core::id::TreeId;
use windlass_workspace::{ChangeKind, Checkout, Since, Space};

use crate::kit::{Bench, Lab, chmod, write};

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn name(&mut self) -> &'static str {
        ["a", "b", "c.log", "d.txt", "keep.log", "e f", "-g"][self.roll(7) as usize]
    }

    fn dir(&mut self) -> PathBuf {
        let mut path = PathBuf::new();
        for _ in 0..self.roll(4) {
            path.push(["x", "y", "build"][self.roll(3) as usize]);
        }
        path
    }
}

fn change(root: &Path, dice: &mut Dice) {
    let path = root.join(dice.dir()).join(dice.name());
    let clear = |path: &Path| {
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_dir_all(path);
    };
    let in_the_way = path.ancestors().skip(1).find(|above| above.is_symlink() || above.is_file());
    if let Some(above) = in_the_way {
        clear(above);
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    match dice.roll(10) {
        0..4 => {
            clear(&path);
            write(
                path.parent().unwrap(),
                path.file_name().unwrap().as_encoded_bytes(),
                dice.roll(50).to_string(),
            );
        }
        4 => clear(&path),
        5 => clear(path.parent().filter(|parent| *parent != root).unwrap_or(&path)),
        6 => {
            clear(&path);
            symlink(dice.name(), &path).unwrap();
        }
        7 if path.is_file() && !path.is_symlink() => {
            chmod(&path, if dice.roll(2) == 0 { 0o755 } else { 0o644 })
        }
        8 => {
            let rules = ["*.log\n", "build/\n!keep.log\n", "", "/x\n", "*\n!*.txt\n"][dice.roll(5) as usize];
            write(path.parent().unwrap(), ".gitignore", rules);
        }
        9 => {
            clear(&path);
            std::fs::create_dir_all(path.join(dice.name())).unwrap();
        }
        _ => {}
    }
}

/// The tree as found by a look at everything.
fn afresh(lab: &Lab, bench: &mut Bench) -> TreeId {
    let cache = lab.path("state/none.stat");
    let fresh = Space::new(&bench.root(), &cache);
    let known = std::mem::replace(&mut bench.space, fresh);
    let tree = bench.snapshot().tree;
    drop(std::mem::replace(&mut bench.space, known));
    let _ = std::fs::remove_file(cache);
    tree
}

#[test]
fn what_is_known_never_hides_a_change() {
    for seed in [1, 2, 3] {
        let lab =
            Lab::with(&[(".gitignore", "*.log\nbuild/\n"), ("x/a", "a"), ("x/y/d.txt", "d"), ("b", "b")]);
        write(&lab.repo, "x/c.log", "tracked");
        write(&lab.repo, "build/a", "tracked");
        lab.run(&lab.repo, &["add", "-f", "x/c.log", "build/a"]);
        lab.commit("tracked though ignored");
        let mut bench = lab.bench();
        let root = bench.root();
        let mut dice = Dice(seed);
        let mut checkout = Checkout::new(&lab.path("state/checkout"));
        let mut trees = vec![bench.rules.base.clone()];
        for round in 0..40 {
            for _ in 0..=dice.roll(5) {
                change(&root, &mut dice);
            }
            if dice.roll(8) == 0 {
                // Another process goes on from the cache.
                bench.space = Space::new(&root, &lab.path("state/space.stat"));
            }
            let tree = bench.snapshot().tree;
            assert_eq!(tree, afresh(&lab, &mut bench), "seed {seed} round {round}");
            if round % 8 == 0 {
                let copy = lab.path("copy");
                let _ = std::fs::remove_dir_all(&copy);
                let status =
                    std::process::Command::new("cp").arg("-a").arg(&root).arg(&copy).status().unwrap();
                assert!(status.success());
                std::fs::remove_dir_all(copy.join(".git")).unwrap();
                assert_eq!(
                    tree.as_str(),
                    lab.tree_by_git(&copy, bench.base.as_str()),
                    "seed {seed} round {round}"
                );
            }
            checkout.bring_to(&bench.vault, &tree).unwrap();
            trees.push(tree);
            if dice.roll(4) == 0 {
                let to = trees[dice.roll(trees.len() as u64) as usize].clone();
                let rules = bench.rules.clone();
                bench.space.reset(&bench.vault, &to, &rules, Since::Untouched).unwrap();
                let now = bench.snapshot().tree;
                // Ignored files stay, and may no longer be ignored there.
                let left = bench.vault.diff(&to, &now).unwrap();
                assert!(left.iter().all(|change| change.kind == ChangeKind::Added), "{left:?}");
            }
        }
        let paths = bench.paths(trees.last().unwrap()).len();
        assert_eq!(count(checkout.dir()), paths, "seed {seed}");
    }
}

fn count(dir: &Path) -> usize {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| if path.is_dir() && !path.is_symlink() { count(&path) } else { 1 })
        .sum()
}
