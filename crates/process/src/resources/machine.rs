//! How much memory there is to share.

use std::path::Path;

/// Of this machine, or of the control groups that this process is in where they allow less: in a container the
/// machine's own memory says nothing. `None`: it cannot be told.
pub fn machine_memory() -> Option<u64> {
    let total = total(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let allowed = allowed(&groups, Path::new("/sys/fs/cgroup"));
    Some(allowed.map_or(total, |allowed| allowed.min(total)))
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The least that any group above allows, in either version of control groups.
fn allowed(groups: &str, mounted: &Path) -> Option<u64> {
    let limit = |file: &Path| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => (mounted.to_owned(), "memory.max"),
            "memory" => (mounted.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        let own = root.join(path.trim_start_matches('/'));
        let above = own.ancestors().take_while(|dir| dir.starts_with(&root));
        above.filter_map(|dir| limit(&dir.join(file))).min()
    };
    groups.lines().filter_map(of_line).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_machine_and_groups_is_told() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("a/b/memory.max", "max\n");
        put("a/memory.max", "4096\n");
        put("memory/x/memory.limit_in_bytes", "8192\n");
        assert_eq!(allowed("0::/a/b\n", dir.path()), Some(4096));
        assert_eq!(allowed("0::/elsewhere\n", dir.path()), None);
        assert_eq!(allowed("5:memory:/x\n4:cpu:/y\n", dir.path()), Some(8192));
        assert!(machine_memory().is_some_and(|memory| memory > 64 << 20));
    }
}
