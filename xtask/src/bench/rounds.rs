//! Measuring in turn. Machines drift: a reference measured a minute earlier is
//! a reference of another machine. Each round measures the reference and every
//! subject once, beginning with another of them each time; medians are compared.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::page::{Limit, Row};

#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    pub count: usize,
    /// Rounds before the first that counts.
    pub warm_up: usize,
}

/// Something that takes time.
pub struct Subject<'s> {
    name: String,
    turn: Box<dyn FnMut() -> Result<Duration> + 's>,
}

#[derive(Clone, Debug)]
pub struct Measured {
    pub name: String,
    pub median: Duration,
    pub least: Duration,
    pub most: Duration,
}

/// The reference, and the subjects in the order given.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub reference: Measured,
    pub subjects: Vec<Measured>,
}

impl<'s> Subject<'s> {
    /// The whole of `turn` counts.
    pub fn timed(name: &str, mut turn: impl FnMut() -> Result<()> + 's) -> Self {
        Self::measured(name, move || {
            let begun = Instant::now();
            turn()?;
            Ok(begun.elapsed())
        })
    }

    /// `turn` says itself what counts, and leaves out its preparations.
    pub fn measured(name: &str, turn: impl FnMut() -> Result<Duration> + 's) -> Self {
        Self { name: name.to_owned(), turn: Box::new(turn) }
    }
}

impl Rounds {
    pub fn compare(&self, reference: Subject<'_>, subjects: Vec<Subject<'_>>) -> Result<Comparison> {
        ensure!(self.count > 0, "no rounds to measure in");
        let mut all = vec![reference];
        all.extend(subjects);
        let mut times = vec![Vec::with_capacity(self.count); all.len()];
        for round in 0..self.warm_up + self.count {
            for offset in 0..all.len() {
                let at = (round + offset) % all.len();
                let subject = &mut all[at];
                let took = (subject.turn)().with_context(|| format!("measuring {}", subject.name))?;
                if round >= self.warm_up {
                    times[at].push(took);
                }
            }
        }
        let mut measured =
            all.into_iter().zip(times).map(|(subject, times)| Measured::of(subject.name, times));
        let reference = measured.next().context("the reference was measured")?;
        Ok(Comparison { reference, subjects: measured.collect() })
    }
}

impl Measured {
    pub fn of(name: String, mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |index: usize| times.get(index).copied().unwrap_or_default();
        Self { name, median: median(&times), least: at(0), most: at(times.len().saturating_sub(1)) }
    }
}

impl Measured {
    /// A number that stands alone.
    pub fn row(&self, limit: Option<Limit>) -> Row {
        Row::plain(&self.name, spread(self), limit)
    }
}

impl Comparison {
    /// How many times the reference a subject takes.
    pub fn ratio(&self, subject: &Measured) -> f64 {
        subject.median.as_secs_f64() / self.reference.median.as_secs_f64().max(1e-9)
    }

    /// A row for each subject; `at_most` is the ratio each must keep, if any.
    pub fn rows(&self, at_most: Option<f64>) -> Vec<Row> {
        let row = |subject: &Measured| {
            let ratio = self.ratio(subject);
            Row {
                what: subject.name.clone(),
                value: spread(subject),
                reference: format!("{}: {}", self.reference.name, spread(&self.reference)),
                ratio: Some(ratio),
                limit: at_most.map(|bound| Limit::at_most(ratio, bound, "×")),
            }
        };
        self.subjects.iter().map(row).collect()
    }
}

/// The middle of a sorted list.
pub fn median(sorted: &[Duration]) -> Duration {
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { at(half) } else { (at(half.saturating_sub(1)) + at(half)) / 2 }
}

/// Three digits that matter, in a unit that fits.
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

fn spread(measured: &Measured) -> String {
    format!("{} ({}–{})", duration(measured.median), duration(measured.least), duration(measured.most))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn everyone_gets_each_turn_and_warm_up_does_not_count() {
        let log = RefCell::new(String::new());
        let subject = |name: &'static str, spans: [u32; 4]| {
            let mut spans = spans.into_iter();
            let log = &log;
            Subject::measured(name, move || {
                log.borrow_mut().push_str(name);
                Ok(MS * spans.next().unwrap())
            })
        };
        let rounds = Rounds { count: 3, warm_up: 1 };
        let found = rounds.compare(subject("r", [99, 2, 1, 3]), vec![subject("s", [99, 4, 9, 5])]).unwrap();
        assert_eq!(*log.borrow(), "rssrrssr");
        assert_eq!((found.reference.median, found.subjects[0].median), (2 * MS, 5 * MS));
        assert_eq!((found.subjects[0].least, found.subjects[0].most), (4 * MS, 9 * MS));
        let rows = found.rows(Some(2.0));
        assert_eq!(rows[0].ratio, Some(2.5));
        assert!(!rows[0].limit.as_ref().unwrap().held);
        assert!(found.rows(Some(2.5))[0].limit.as_ref().unwrap().held);
    }

    #[test]
    fn a_subject_that_fails_is_named() {
        let rounds = Rounds { count: 1, warm_up: 0 };
        let broken = Subject::timed("broken", || anyhow::bail!("no"));
        let error = rounds.compare(Subject::timed("fine", || Ok(())), vec![broken]).unwrap_err();
        assert_eq!(format!("{error:#}"), "measuring broken: no");
    }

    #[test]
    fn the_middle_of_an_even_list_is_between() {
        assert_eq!(median(&[MS, 3 * MS]), 2 * MS);
        assert_eq!(median(&[]), Duration::ZERO);
    }
}
