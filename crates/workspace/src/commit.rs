//! The commits windlass makes.

use gix_hash::ObjectId;

use crate::repository::Identity;

/// What a commit says: its message (title first), who made it, and when, in
/// milliseconds since 1970.
#[derive(Clone, Debug)]
pub struct CommitText {
    pub message: String,
    pub author: Identity,
    pub date_ms: i64,
}

/// Commits the operator will see: their bytes, in git's own form.
pub(crate) fn encode_commit(tree: ObjectId, parents: &[ObjectId], text: &CommitText) -> Vec<u8> {
    let clean = |part: &str| {
        let plain: String = part.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\r' | '\0')).collect();
        plain.trim().to_owned()
    };
    let who = format!(
        "{} <{}> {} +0000",
        clean(&text.author.name),
        clean(&text.author.email),
        text.date_ms.div_euclid(1000)
    );
    let mut out = format!("tree {tree}\n");
    for parent in parents {
        out.push_str(&format!("parent {parent}\n"));
    }
    let message = text.message.replace('\0', "");
    out.push_str(&format!("author {who}\ncommitter {who}\n\n{}\n", message.trim_end()));
    out.into_bytes()
}
