//! Files of the operator's that an agent needs in the workspace: put there for
//! one attempt, and taken away after it. No snapshot takes them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Puts each file there, in place of whatever an earlier attempt left.
pub fn put(space: &Path, project: &Path, files: &BTreeMap<String, String>) -> io::Result<()> {
    files.iter().try_for_each(|(target, source)| put_file(space, &project.join(source), target))
}

/// A copy of one file, in the workspace and nowhere else.
pub fn put_file(space: &Path, from: &Path, target: &str) -> io::Result<()> {
    let place = place(space, target)?;
    clear(&place)?;
    fs::copy(from, &place).map(drop)
}

pub fn take_away(space: &Path, files: &BTreeMap<String, String>) -> io::Result<()> {
    // A workspace that the agent removed has nothing in it.
    let mut there = files.keys().filter(|_| space.is_dir());
    there.try_for_each(|target| place(space, target).and_then(|place| clear(&place)))
}

/// Where a file goes. An agent may have made a link of a directory on the way;
/// nothing of it is alive, so what is looked at stays as it is.
fn place(space: &Path, target: &str) -> io::Result<PathBuf> {
    let mut place = space.to_owned();
    let mut parts = Path::new(target).components().peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        if parts.peek().is_none() {
            break;
        }
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                fs::remove_file(&place)?;
                fs::create_dir(&place)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&place)?,
            Err(error) => return Err(error),
        }
    }
    Ok(place)
}

fn clear(place: &Path) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(found) if found.is_dir() => windlass_process::remove_tree(place),
        Ok(_) => fs::remove_file(place),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_there_for_one_attempt_and_never_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let [space, project, outside] = ["space", "project", "outside"].map(|name| root.path().join(name));
        for dir in [&space, &project, &outside] {
            fs::create_dir(dir).unwrap();
        }
        fs::write(project.join("mcp.json"), "{}").unwrap();
        let files = BTreeMap::from([(".tool/mcp.json".to_owned(), "mcp.json".to_owned())]);
        put(&space, &project, &files).unwrap();
        assert_eq!(fs::read_to_string(space.join(".tool/mcp.json")).unwrap(), "{}");

        // What an agent may make of it.
        fs::remove_dir_all(space.join(".tool")).unwrap();
        symlink(&outside, space.join(".tool")).unwrap();
        put(&space, &project, &files).unwrap();
        fs::remove_file(space.join(".tool/mcp.json")).unwrap();
        symlink(project.join("mcp.json"), space.join(".tool/mcp.json")).unwrap();
        put(&space, &project, &files).unwrap();
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        take_away(&space, &files).unwrap();
        assert!(!space.join(".tool/mcp.json").exists() && project.join("mcp.json").is_file());
        fs::remove_dir_all(&space).unwrap();
        take_away(&space, &files).unwrap();
    }
}
