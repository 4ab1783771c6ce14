//! Which file system a path lies on: SQLite's write-ahead log shares memory
//! between processes and must not sit on a network file system.

use std::path::Path;

/// The name of the network file system the path lies on, if it is one we know.
/// FUSE cannot be told apart (sshfs and a local disk look the same), so it passes.
#[cfg(target_os = "linux")]
pub(crate) fn network_file_system(path: &Path) -> Option<&'static str> {
    let magic = rustix::fs::statfs(path).ok()?.f_type;
    // Widths and signs of f_type differ between architectures; magics are 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    network_name(magic as u32)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn network_file_system(_: &Path) -> Option<&'static str> {
    None
}

#[cfg(target_os = "linux")]
fn network_name(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x0000_6969 => "nfs",
        0x0000_517b => "smb",
        0xff53_4d42 => "cifs",
        0xfe53_4d42 => "smb2",
        0x0102_1997 => "9p",
        0x00c3_6400 => "ceph",
        0x5346_414f => "afs",
        0x7375_7245 => "coda",
        0x0bd0_0bd0 => "lustre",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_magics_are_known_and_local_ones_pass() {
        assert_eq!(network_name(0x6969), Some("nfs"));
        assert_eq!(network_name(0xff53_4d42), Some("cifs"));
        for (name, local) in
            [("ext4", 0xef53), ("tmpfs", 0x0102_1994), ("btrfs", 0x9123_683e), ("fuse", 0x6573_5546)]
        {
            assert_eq!(network_name(local), None, "{name}");
        }
        assert_eq!(network_file_system(Path::new("/proc")), None);
    }
}
