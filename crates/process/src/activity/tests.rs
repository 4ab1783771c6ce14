use super::*;

const SECOND: Duration = Duration::from_secs(1);
const SILENCE: Duration = Duration::from_secs(600);

/// A tree in time that does not pass by itself: samples are taken as the warden takes them.
struct Watched {
    activity: Activity,
    started: Instant,
    now: Instant,
    cpu: Duration,
    written: u64,
}

impl Watched {
    fn new(silence: Duration) -> Watched {
        let started = Instant::now();
        let activity = Activity::new(silence, started);
        Watched { activity, started, now: started, cpu: Duration::ZERO, written: 0 }
    }

    fn prints(&mut self, text: &str) {
        self.activity.hear(self.now, OutputStream::Stdout, text.as_bytes());
    }

    /// One pause between samples, with this share of a core used in it.
    fn pause(&mut self, percent: u32) {
        let pause = self.activity.pause();
        self.now += pause;
        self.cpu += pause * percent / 100;
        self.sample(Some(self.cpu));
    }

    fn sample(&mut self, cpu: Option<Duration>) {
        self.activity.sample(ActivitySample { at: self.now, cpu, written: self.written });
    }

    /// Lets time pass, doing `what` at each sample, until the tree has stalled or is taken to live for ever.
    fn run(&mut self, percent: u32, mut what: impl FnMut(&mut Watched, u32)) -> Option<Stall> {
        for turn in 0.. {
            if self.now - self.started > 200 * self.activity.silence {
                break;
            }
            what(self, turn);
            self.pause(percent);
            if let Some(stall) = self.activity.stall(self.now) {
                return Some(stall);
            }
        }
        None
    }
}

#[test]
fn what_does_nothing_has_stalled_when_its_time_is_up() {
    let mut tree = Watched::new(SILENCE);
    let stall = tree.run(0, |_, _| ()).unwrap();
    assert_eq!(stall, Stall { silent_for: SILENCE, repeated_itself: false, cpu_permille: 0 });
    assert_eq!(tree.now - tree.started, SILENCE);
    assert_eq!(stall.to_string(), "no output for 10 m, CPU 0.0 %, no file written");
}

#[test]
fn an_idle_event_loop_is_no_activity() {
    for percent in [1, 2, 4] {
        let stall = Watched::new(SILENCE).run(percent, |_, _| ()).unwrap();
        assert_eq!((stall.silent_for, stall.cpu_permille), (SILENCE, percent * 10));
    }
}

#[test]
fn a_burst_now_and_then_is_no_work() {
    let mut tree = Watched::new(SILENCE);
    let collects = |tree: &mut Watched, turn: u32| {
        if turn.is_multiple_of(12) {
            tree.cpu += SECOND / 2;
        }
    };
    let stall = tree.run(1, collects).unwrap();
    assert_eq!(stall.silent_for, SILENCE, "half a second a minute");
}

#[test]
fn cpu_is_activity() {
    assert_eq!(Watched::new(SILENCE).run(6, |_, _| ()), None);
    let build = |tree: &mut Watched, turn: u32| {
        if turn.is_multiple_of(100) {
            tree.cpu += 3 * SECOND;
        }
    };
    assert_eq!(Watched::new(SILENCE).run(0, build), None, "a short piece of work between waits");
}

#[test]
fn work_that_ends_is_followed_by_silence() {
    let mut tree = Watched::new(SILENCE);
    for _ in 0..1000 {
        tree.pause(90);
    }
    let done = tree.now;
    let stall = tree.run(0, |_, _| ()).unwrap();
    assert!(tree.now >= done + SILENCE && tree.now <= done + SILENCE + 2 * LONGEST_WINDOW);
    assert_eq!(stall.cpu_permille, 0, "what was used before is not counted");
}

#[test]
fn the_cpu_of_one_that_vanished_is_neither_missed_nor_used_again() {
    let mut tree = Watched::new(SILENCE);
    tree.cpu = 3600 * SECOND;
    for _ in 0..20 {
        tree.pause(0);
    }
    let last = tree.activity.last;
    tree.cpu = SECOND;
    tree.pause(0);
    assert_eq!(tree.activity.last, last, "going back is no activity");
    assert_eq!(tree.run(6, |_, _| ()), None, "and hides none");
}

#[test]
fn a_count_that_cannot_be_read_changes_nothing() {
    let mut tree = Watched::new(SILENCE);
    tree.cpu = 3600 * SECOND;
    tree.pause(0);
    let last = tree.activity.last;
    for cpu in [None, Some(tree.cpu)] {
        tree.now += 100 * SECOND;
        tree.sample(cpu);
    }
    assert_eq!(tree.activity.last, last);
}

#[test]
fn bytes_given_to_storage_are_activity_and_a_diary_is_not() {
    let every_eight_minutes = |bytes: u64| {
        move |tree: &mut Watched, turn: u32| {
            if turn.is_multiple_of(100) {
                tree.written += bytes;
            }
        }
    };
    assert_eq!(Watched::new(SILENCE).run(0, every_eight_minutes(BUSY_BYTES)), None);
    let stall = Watched::new(SILENCE).run(0, every_eight_minutes(20 * 1024)).unwrap();
    assert_eq!(stall.silent_for, SILENCE);
    let downloads = |tree: &mut Watched, _| tree.written += 16 * 1024;
    assert_eq!(Watched::new(SILENCE).run(0, downloads), None, "little by little");

    let mut tree = Watched::new(SILENCE);
    tree.written = 1 << 30;
    let shrinks = |tree: &mut Watched, _| tree.written = tree.written.saturating_sub(1 << 20);
    let stall = tree.run(0, shrinks).unwrap();
    assert!(tree.now - tree.started <= SILENCE + 2 * LONGEST_WINDOW, "a sum that shrinks is no writing");
    assert!(stall.silent_for >= SILENCE);
}

#[test]
fn a_changed_file_is_activity_from_its_own_moment() {
    let mut tree = Watched::new(SILENCE);
    assert!(tree.run(0, |_, _| ()).is_some());
    let changed = tree.now - 100 * SECOND;
    tree.activity.changed(changed);
    assert_eq!(tree.activity.stall(tree.now), None);
    assert_eq!(tree.activity.deadline(), changed + SILENCE);
    tree.activity.changed(changed - 50 * SECOND);
    assert_eq!(tree.activity.deadline(), changed + SILENCE, "an older one is no news");
}

#[test]
fn new_lines_are_activity_and_a_heartbeat_is_not() {
    let words = ["reads", "thinks", "edits", "builds", "tests", "commits"];
    let works = |tree: &mut Watched, turn: u32| {
        if turn.is_multiple_of(100) {
            let name = |shift: u32| words[(turn / 100 / 6u32.pow(shift) % 6) as usize];
            tree.prints(&format!("{} {} {}\n", name(0), name(1), name(2)));
        }
    };
    assert_eq!(Watched::new(SILENCE).run(0, works), None);

    let beats = |tree: &mut Watched, turn: u32| tree.prints(&format!("\rstill working ({}s)", turn * 5));
    let mut tree = Watched::new(SILENCE);
    let stall = tree.run(1, beats).unwrap();
    assert!(tree.now - tree.started <= SILENCE + LONGEST_PAUSE);
    assert_eq!(stall.to_string(), "no new output for 10 m, CPU 1.0 %, no file written");
}

#[test]
fn words_without_a_line_end_are_new_text() {
    let mut letters = ('a'..='z').cycle();
    let types = |tree: &mut Watched, turn: u32| {
        if turn.is_multiple_of(60) {
            let word: String = letters.by_ref().take(5).collect();
            tree.prints(&format!("{word} "));
        }
    };
    assert_eq!(Watched::new(SILENCE).run(0, types), None);
    let dots = |tree: &mut Watched, _| tree.prints(".");
    assert!(Watched::new(SILENCE).run(0, dots).unwrap().repeated_itself);
}

#[test]
fn a_flood_is_heard_up_to_a_point() {
    let line = "the same line again and again\n".repeat(1000);
    let mut tree = Watched::new(SILENCE);
    tree.prints(&line);
    tree.now += SECOND;
    for _ in 0..100 {
        tree.prints(&line);
    }
    assert_eq!(tree.activity.last, tree.started);
    tree.prints("unheard of\n");
    assert_eq!(tree.activity.last, tree.started, "nobody listens until the next sample");
    tree.pause(0);
    tree.prints("the rest of it\nsomething else\n");
    assert_eq!(tree.activity.last, tree.now);
}

#[test]
fn a_large_text_at_once_is_heard() {
    let mut tree = Watched::new(SILENCE);
    tree.now += SECOND;
    tree.prints(&"all of this is new\n".repeat(10_000));
    assert_eq!(tree.activity.last, tree.now);
}

#[test]
fn short_limits_are_kept_as_well() {
    for millis in [1, 50, 300, 500, 2000] {
        let silence = Duration::from_millis(millis);
        let stall = Watched::new(silence).run(1, |_, _| ()).unwrap();
        assert!(stall.silent_for >= silence && stall.silent_for <= silence + 2 * SHORTEST_PAUSE);
        if millis >= 300 {
            assert_eq!(Watched::new(silence).run(50, |_, _| ()), None, "{millis}");
        }
    }
}

#[test]
fn spans_are_written_shortly() {
    let words = |millis| Span(Duration::from_millis(millis)).to_string();
    let spans = [300, 1_750, 59_999, 60_000, 605_000, 5_400_000, 90_061_000].map(words);
    assert_eq!(spans, ["300 ms", "1.7 s", "59.9 s", "1 m", "10 m 5 s", "1 h 30 m", "25 h 1 m"]);
}
