//! The `.git` an author works with: made by windlass from the vault, with no
//! remote, no shared objects, and attributes that leave every byte as stored.
//! Once an agent has had it, nothing in it is trusted or run.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use gix_hash::{ObjectId, hasher};
use gix_object::bstr::{BString, ByteSlice};
use gix_object::tree::EntryMode;
use rustix::fs::FileType;

use crate::dir::{self, StatKey};
use crate::fault::{At, FileFault};
use crate::model::{Child, DirNode, What};
use crate::repository::Identity;
use crate::trees::{self, Item};
use crate::vault::{Vault, VaultError};

const PACK_TIMEOUT: Duration = Duration::from_secs(1800);
const ATTRIBUTES: &str = "* -text -filter -ident !eol !working-tree-encoding\n";

/// What the new repository stands on.
pub(crate) struct Seed<'a> {
    pub vault: &'a Vault,
    pub commit: ObjectId,
    pub tree: ObjectId,
    pub identity: &'a Identity,
    /// The files as just written; without it git has to compare contents once.
    pub files: Option<&'a DirNode>,
}

/// Makes a git directory at a path where nothing is.
pub(crate) fn create(path: &Path, seed: &Seed<'_>) -> Result<(), VaultError> {
    for part in ["objects/pack", "objects/info", "refs/heads", "refs/tags", "info"] {
        let dir = path.join(part);
        fs::create_dir_all(&dir).at("create", &dir)?;
    }
    let put = |name: &str, content: &[u8]| {
        let file = path.join(name);
        fs::write(&file, content).at("write", &file)
    };
    put("config", config(seed.identity).as_bytes())?;
    put("info/attributes", ATTRIBUTES.as_bytes())?;
    put("info/exclude", b"")?;
    put("refs/heads/work", format!("{}\n", seed.commit).as_bytes())?;
    let shallow = seed.vault.dir().join("shallow");
    if shallow.is_file() {
        put("shallow", &fs::read(&shallow).at("read", &shallow)?)?;
    }
    seed.vault
        .git_here()
        .timeout(PACK_TIMEOUT)
        .args(["pack-objects", "--quiet", "--revs", "--window=0", "--delta-base-offset"])
        .arg(path.join("objects/pack/pack"))
        .stdin(format!("{}\n", seed.commit).into_bytes())
        .run()?;
    let entries = trees::list(&mut seed.vault.reader(), seed.tree)?;
    put("index", &encode_index(entries, seed.files)?)?;
    // Last, because a git directory without HEAD is taken for a broken one.
    Ok(put("HEAD", b"ref: refs/heads/work\n")?)
}

/// Whether the repository still stands on the commit it was made at, so that
/// the next attempt can commit as the first one could. It says nothing about
/// what else is in it.
pub(crate) fn looks_sound(root: BorrowedFd<'_>, made_at: ObjectId) -> bool {
    let Ok(git) = dir::open_dir(root, b".git") else { return false };
    let git = git.as_fd();
    let kind = |name: &[u8]| dir::stat(git, name).ok().map(|stat| stat.kind());
    let open = |path: &[&[u8]]| {
        let first = dir::open_dir(git, path.first()?).ok()?;
        path.iter().skip(1).try_fold(first, |dir, name| dir::open_dir(dir.as_fd(), name).ok())
    };
    let has_pack = open(&[b"objects", b"pack"]).is_some_and(|packs| {
        dir::names(packs.as_fd()).is_ok_and(|names| names.iter().any(|name| name.ends_with(b".idx")))
    });
    let borrows = open(&[b"objects", b"info"]).is_some_and(|inner| dir::stat(&inner, b"alternates").is_ok());
    let stands = open(&[b"refs", b"heads"])
        .is_some_and(|heads| line(heads.as_fd(), b"work") == Some(made_at.to_string().into()));
    line(git, b"HEAD").is_some_and(|head| head == "ref: refs/heads/work")
        && stands
        && has_pack
        && !borrows
        && kind(b"config") == Some(FileType::RegularFile)
        && kind(b"commondir").is_none()
}

/// The one line of a small file.
fn line(dir: BorrowedFd<'_>, name: &[u8]) -> Option<BString> {
    let file = dir::open_file(dir, name).ok()?;
    let mut text = Vec::new();
    dir::read_up_to(&file, 64, 4096, &mut text).ok().flatten()?;
    Some(text.trim_end().into())
}

fn config(identity: &Identity) -> String {
    let quoted = |text: &str| {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r', '\0'], " ");
        format!("\"{escaped}\"")
    };
    format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfilemode = true\n\tlogallrefupdates = true\n\tautocrlf = false\n\
         [gc]\n\tauto = 0\n[user]\n\tname = {}\n\temail = {}\n",
        quoted(&identity.name),
        quoted(&identity.email)
    )
}

/// A version 2 index of a tree, with the stat data that makes `git status`
/// quick where it is known.
fn encode_index(mut entries: Vec<(BString, Item)>, files: Option<&DirNode>) -> Result<Vec<u8>, FileFault> {
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = Vec::with_capacity(entries.len() * 100);
    out.extend_from_slice(b"DIRC");
    out.extend_from_slice(&2_u32.to_be_bytes());
    out.extend_from_slice(&(entries.len() as u32).to_be_bytes());
    let owner =
        FileOwner { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() };
    for (path, item) in &entries {
        let stat = files.and_then(|root| find_stat(root, path));
        put_index_entry(&mut out, &IndexEntry { path, item, stat }, owner);
    }
    let mut digest = hasher(gix_hash::Kind::Sha1);
    digest.update(&out);
    let sum = digest.try_finalize().map_err(std::io::Error::other).at("checksum", Path::new("index"))?;
    out.extend_from_slice(sum.as_slice());
    Ok(out)
}

struct IndexEntry<'a> {
    path: &'a BString,
    item: &'a Item,
    stat: Option<StatKey>,
}

#[derive(Clone, Copy)]
struct FileOwner {
    uid: u32,
    gid: u32,
}

fn put_index_entry(out: &mut Vec<u8>, entry: &IndexEntry<'_>, owner: FileOwner) {
    let IndexEntry { path, item, stat } = entry;
    let start = out.len();
    let mode = u32::from(EntryMode::from(item.kind.entry_kind()).value());
    let split = |nanos: i64| (nanos.div_euclid(1_000_000_000) as u32, nanos.rem_euclid(1_000_000_000) as u32);
    let fields = match stat {
        None => [0, 0, 0, 0, 0, 0, mode, 0, 0, 0],
        Some(stat) => {
            let (ctime, mtime) = (split(stat.ctime), split(stat.mtime));
            let (dev, ino, size) = (stat.dev as u32, stat.ino as u32, stat.size as u32);
            [ctime.0, ctime.1, mtime.0, mtime.1, dev, ino, mode, owner.uid, owner.gid, size]
        }
    };
    fields.iter().for_each(|field| out.extend_from_slice(&field.to_be_bytes()));
    out.extend_from_slice(item.oid.as_slice());
    out.extend_from_slice(&(path.len().min(0xfff) as u16).to_be_bytes());
    out.extend_from_slice(path);
    let length = out.len() - start;
    out.resize(start + (length + 8) / 8 * 8, 0);
}

fn find_stat(root: &DirNode, path: &[u8]) -> Option<StatKey> {
    let mut node = root;
    for name in path.split_str("/") {
        match &node.entry(name)?.what {
            What::Blob(blob) => return Some(blob.stat),
            What::Dir(Child::Here(child)) => node = child,
            What::Dir(Child::Away(_)) | What::Ignored | What::Skipped(_) => return None,
        }
    }
    None
}
