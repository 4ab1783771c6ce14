//! A captured stream, cleaned where it lies: from here on nobody can read what
//! a program printed in any other form.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::{BLOCK, Redactor};

/// How far a word broken by a cut is followed.
const WORD: u64 = 4096;
/// The line that says how much was left out is shorter.
const MARKER: usize = 96;

impl Redactor {
    /// Rewrites the file if it holds a secret. `kept`: a part of the stream was left out, and this many bytes
    /// are its head, a line that says so, and its tail. The words broken there go: half a secret is one too.
    /// The file must be windlass's own, and nobody may be writing it.
    pub fn file(&self, path: &Path, kept: Option<u64>) -> io::Result<()> {
        let file = match File::open(path) {
            Ok(file) if self.0.is_some() => file,
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let cut = kept.map(|kept| kept - kept / 2);
        let broken = cut.map(|cut| broken_words(&file, cut, length)).transpose()?.flatten();
        let (before, after) = broken.clone().unwrap_or((length..length, length..length));
        let parts = [0..before.start, before.end..after.start, after.end..length];
        let hidden = self.copy(&file, &parts, &mut io::sink())?;
        if hidden == 0 && broken.is_none() {
            return Ok(());
        }
        let beside = path.with_extension("clean");
        let mut clean = File::create(&beside)?;
        self.copy(&file, &parts, &mut clean)?;
        std::fs::rename(&beside, path)
    }

    fn copy(&self, file: &File, parts: &[Range<u64>], to: &mut dyn Write) -> io::Result<u64> {
        let mut hidden = 0;
        let (mut buffer, mut clean) = (vec![0; BLOCK], Vec::new());
        for part in parts {
            let mut stream = self.stream();
            let mut source = file;
            source.seek(SeekFrom::Start(part.start))?;
            let mut source = source.take(part.end - part.start);
            loop {
                let read = source.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                stream.push(&buffer[..read], &mut clean);
                to.write_all(&clean)?;
                clean.clear();
            }
            hidden += stream.finish(&mut clean);
            to.write_all(&clean)?;
            clean.clear();
        }
        Ok(hidden)
    }
}

/// The words before and after the line; nothing, where no such line is.
fn broken_words(file: &File, cut: u64, length: u64) -> io::Result<Option<(Range<u64>, Range<u64>)>> {
    let line = read_at(file, cut..(cut + MARKER as u64).min(length))?;
    let (start, end) = ("\n… ", " bytes left out …\n");
    let found = line.windows(end.len()).position(|window| window == end.as_bytes());
    let Some(end) = found.filter(|_| line.starts_with(start.as_bytes())).map(|at| at + end.len()) else {
        return Ok(None);
    };
    let resumes = cut + end as u64;
    let before = read_at(file, cut.saturating_sub(WORD)..cut)?;
    let after = read_at(file, resumes..(resumes + WORD).min(length))?;
    let whole = |byte: &&u8| !byte.is_ascii_whitespace();
    let lost = before.iter().rev().take_while(whole).count() as u64;
    let more = after.iter().take_while(whole).count() as u64;
    Ok(Some((cut - lost..cut, resumes..resumes + more)))
}

fn read_at(file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0)];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes)
}
