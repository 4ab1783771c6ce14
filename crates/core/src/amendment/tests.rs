use super::*;

/// `a: b c` on each line, in plan order; `*` before the name: it is done; `@3` after the colon: its priority.
fn plan(text: &str) -> Vec<(Task, bool)> {
    let line = |line: &str| {
        let (id, rest) = line.split_once(':').unwrap();
        let settled = id.starts_with('*');
        let id = TaskId::new(id.trim_start_matches('*'));
        let mut task = Task::plain(id.clone(), format!("Do {id}"), BlobId::new(format!("text-{id}")));
        for word in rest.split_whitespace() {
            match word.strip_prefix('@') {
                Some(priority) => task.priority = priority.parse().unwrap(),
                None => task.depends_on.push(TaskId::new(word)),
            }
        }
        (task, settled)
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(line).collect()
}

fn amend_by(text: &str, amendment: &Amendment, order: PlanOrder) -> Result<Plan, AmendmentError> {
    let tasks = plan(text);
    let rows: Vec<_> =
        tasks.iter().map(|(task, is_settled)| AmendedTask { task, is_settled: *is_settled }).collect();
    amended(&rows, amendment, order)
}

/// The plan as it is written above.
fn amend(text: &str, amendment: &Amendment) -> Result<String, String> {
    let plan = amend_by(text, amendment, PlanOrder::AsWritten).map_err(|error| error.to_string())?;
    Ok(shown(&plan))
}

fn shown(plan: &Plan) -> String {
    let line = |task: &Task| {
        let mut words = vec![format!("{}:", task.id)];
        words.extend(task.depends_on.iter().map(TaskId::to_string));
        words.extend((task.priority != 0).then(|| format!("@{}", task.priority)));
        words.join(" ")
    };
    plan.tasks.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn id(name: &str) -> TaskId {
    TaskId::new(name)
}

fn new_task(name: &str, on: &[&str]) -> Box<Task> {
    let depends_on = on.iter().map(|on| id(on)).collect();
    Box::new(Task { depends_on, ..Task::plain(id(name), "New".to_owned(), BlobId::new("new")) })
}

fn add(name: &str, on: &[&str], place: Option<TaskPlace>) -> Amendment {
    Amendment::Add { task: new_task(name, on), place }
}

fn moved(name: &str, place: TaskPlace) -> Amendment {
    Amendment::Move { task: id(name), place }
}

fn part(name: &str) -> TaskPart {
    TaskPart { id: id(name), title: name.to_owned(), text: BlobId::new(name) }
}

fn edit(name: &str) -> (TaskId, Option<String>, Option<BlobId>) {
    (id(name), None, None)
}

fn depend(name: &str, on: &[&str]) -> Amendment {
    let (task, title, text) = edit(name);
    let depends_on = Some(on.iter().map(|on| id(on)).collect());
    Amendment::Edit { task, title, text, depends_on, priority: None, allow: None }
}

#[test]
fn a_task_is_added_at_the_end_or_where_it_is_wanted() {
    assert_eq!(amend("a:\nb: a", &add("c", &["b"], None)).unwrap(), "a:\nb: a\nc: b");
    let before = add("c", &[], Some(TaskPlace::Before(id("b"))));
    assert_eq!(amend("a:\nb:", &before).unwrap(), "a:\nb: @1\nc:");
    let first = add("c", &[], Some(TaskPlace::First));
    assert_eq!(amend("a:\nb:", &first).unwrap(), "a:\nb:\nc: @-1");
    let by_name = amend_by("a:\nx:", &add("b", &[], None), PlanOrder::ByFileName).unwrap();
    assert_eq!(shown(&by_name), "a:\nb:\nx:");
}

#[test]
fn what_no_plan_can_have_is_refused() {
    for (amendment, said) in [
        (add("a", &[], None), "there is a task a already"),
        (add("c", &["ab"], None), "task c depends on ab, which is not in the plan"),
        (add("c", &["c"], None), "tasks depend on one another in a circle: c → c"),
        (add("../c", &[], None), "\"../c\" cannot be the id of a task: it has a slash in it"),
        (add("", &[], None), "\"\" cannot be the id of a task: it is empty"),
        (add("-c", &[], None), "\"-c\" cannot be the id of a task: it starts with a dot or a dash"),
        (depend("a", &["b"]), "tasks depend on one another in a circle: a → b → a"),
        (depend("c", &[]), "there is no task c"),
        (depend("b", &["a"]), "task b has all of this already"),
        (Amendment::Drop { task: id("a"), force: false }, "task b depends on task a"),
        (Amendment::Split { task: id("a"), parts: vec![part("x")] }, "a task is split into 2 to 20 parts"),
        (Amendment::Split { task: id("a"), parts: vec![part("x"), part("b")] }, "there is a task b already"),
        (moved("a", TaskPlace::After(id("a"))), "task a cannot come before or after itself"),
        (moved("a", TaskPlace::First), "task a has all of this already"),
    ] {
        let refused = amend("a:\nb: a", &amendment).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
    let titled = |title: &str| {
        let task = Box::new(Task { title: title.to_owned(), ..*new_task("c", &[]) });
        amend("a:", &Amendment::Add { task, place: None }).unwrap_err()
    };
    assert_eq!(titled(" "), "the title is empty");
    assert_eq!(titled("a\nb"), "the title has a line break or another control character in it");
    assert_eq!(titled(&"é".repeat(121)), "the title is longer than 120 characters");
}

#[test]
fn every_refusal_has_a_way_out() {
    let near = amend_by("parser:", &moved("prser", TaskPlace::First), PlanOrder::AsWritten).unwrap_err();
    assert_eq!(near.remedy(), "did you mean parser?");
    let held = Amendment::Drop { task: id("a"), force: false };
    let held = amend_by("a:\nb: a\nc: a", &held, PlanOrder::AsWritten).unwrap_err();
    assert_eq!(held.to_string(), "tasks b, c depend on task a");
    assert!(held.remedy().contains("windlass task drop a --force"), "{}", held.remedy());
}

#[test]
fn a_task_is_dropped_with_the_dependencies_on_it() {
    let forced = Amendment::Drop { task: id("a"), force: true };
    assert_eq!(amend("a:\nb: a\nc: b a", &forced).unwrap(), "b:\nc: b");
    assert_eq!(
        amend("a:", &forced).unwrap_err(),
        "task a is the only one: a plan without a task proves nothing"
    );
    assert_eq!(amend("*a:\nb: a", &forced).unwrap_err(), "task a is done or waived, and stays on record");
}

#[test]
fn the_parts_of_a_task_stand_in_its_place() {
    let split = Amendment::Split { task: id("b"), parts: vec![part("b-1"), part("b-2"), part("b-3")] };
    let plan = amend("a:\nb: a @4\nc: b a", &split).unwrap();
    assert_eq!(plan, "a:\nb-1: a @4\nb-2: b-1 @4\nb-3: b-2 @4\nc: b-3 a");
}

#[test]
fn only_the_last_part_is_asked_for_what_the_whole_was() {
    let mut tasks = plan("a:");
    tasks[0].0.acceptance = vec!["it works".to_owned()];
    let rows = [AmendedTask { task: &tasks[0].0, is_settled: false }];
    let split = Amendment::Split { task: id("a"), parts: vec![part("x"), part("y")] };
    let plan = amended(&rows, &split, PlanOrder::AsWritten).unwrap();
    assert_eq!(plan.tasks.iter().map(|task| task.acceptance.len()).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_move_changes_as_few_priorities_as_it_must() {
    let all = "a:\nb:\nc:\nd:";
    for (amendment, plan) in [
        (moved("d", TaskPlace::First), "a:\nb:\nc:\nd: @-1"),
        (moved("a", TaskPlace::After(id("d"))), "a: @1\nb:\nc:\nd:"),
        (moved("a", TaskPlace::Before(id("c"))), "a: @1\nb:\nc: @1\nd: @1"),
        (moved("c", TaskPlace::After(id("a"))), "a:\nb: @1\nc:\nd: @1"),
    ] {
        assert_eq!(amend(all, &amendment).unwrap(), plan, "{amendment:?}");
    }
    let gap = amend("a:\nb: @9\nc: @20", &moved("c", TaskPlace::Before(id("b")))).unwrap();
    assert_eq!(gap, "a:\nb: @9\nc:");
    let done = amend("*a:\nb:\nc:", &moved("c", TaskPlace::First)).unwrap();
    assert_eq!(done, "a:\nb:\nc: @-1", "what is done does not change");
}

#[test]
fn a_done_task_is_opened_by_another_text_only() {
    let (task, title, _) = edit("a");
    let text = Some(BlobId::new("other"));
    let opened = Amendment::Edit { task, title, text, depends_on: None, priority: None, allow: None };
    assert_eq!(amend("*a:\nb:", &opened).unwrap(), "a:\nb:");
    let refused = amend("*a:\nb:", &depend("a", &["b"])).unwrap_err();
    assert_eq!(refused, "task a is done or waived: only another text opens it again");
    for place in [TaskPlace::Before(id("a")), TaskPlace::After(id("a"))] {
        let refused = amend("*a:\nb:", &moved("b", place)).unwrap_err();
        assert_eq!(refused, "task a is done or waived, and stays on record");
    }
}

#[test]
fn a_priority_does_not_overflow() {
    let top = format!("a: @{}\nb: @{}", i64::MIN, i64::MAX);
    let refused = amend(&top, &moved("b", TaskPlace::First)).unwrap_err();
    assert_eq!(refused, "there is no priority left for that place");
    assert_eq!(amend(&top, &moved("a", TaskPlace::After(id("b")))).unwrap_err(), refused);
}

#[test]
fn what_a_task_waits_for_is_found_through_others() {
    let tasks: Vec<Task> = plan("a: b\nb: c\nc:\nd:").into_iter().map(|(task, _)| task).collect();
    assert_eq!(waits_for(&tasks, &id("a")), BTreeSet::from([id("b"), id("c")]));
    assert!(waits_for(&tasks, &id("d")).is_empty());
}

#[test]
fn a_part_carries_the_whole_between_fences_that_nothing_in_it_closes() {
    let named = |title: &str, text: &str| ProposedPart { title: title.to_owned(), text: text.to_owned() };
    let parts = [named("One", "Only this."), named("Two", "")];
    let text = "# Whole\n\n## Acceptance\n\n- it works\n\n````\nx\n````\n";
    let whole = WholeTask { title: "Whole", text, parts: &parts };
    let first = part_text(&whole, 0);
    assert!(
        first.starts_with("# One\n\nOnly this.\n\nThis is part 1 of 2 of “Whole”. Do this part only."),
        "{first}"
    );
    let last = part_text(&whole, 1);
    assert!(last.starts_with("# Two\n\nThis is part 2 of 2 of “Whole”. It is the last: after it,"), "{last}");
    assert!(last.contains("\n2. Two (this part)\n"), "{last}");
    assert!(last.contains("\n`````markdown\n# Whole") && last.ends_with("\n`````\n"), "{last}");
}

#[test]
fn a_text_keeps_its_own_heading() {
    assert_eq!(task_body("T", "do it"), "# T\n\ndo it\n");
    assert_eq!(task_body("T", "# Mine\n\ndo it"), "# Mine\n\ndo it\n");
    assert_eq!(task_body("T", ""), "# T\n");
}
