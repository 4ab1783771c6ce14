//! A loop to show in tests: one task, nothing done.

use windlass_core::id::{BlobId, CommitId, LoopName, TaskId, TreeId};
use windlass_core::input::Creation;
use windlass_core::policy::Policy;
use windlass_core::state::State;
use windlass_core::step;
use windlass_core::task::{Plan, Task};
use windlass_core::time::Timestamp;
use windlass_core::view::View;

pub fn view() -> View {
    let task = Task::plain(TaskId::new("answer"), "Write the answer".to_owned(), BlobId::new("text"));
    let creation = Creation {
        name: LoopName::new("demo").unwrap(),
        goal: String::new(),
        plan: Plan { tasks: vec![task], tools: Vec::new() },
        policy: Policy::default(),
        base: CommitId::new("base"),
        base_tree: TreeId::new("tree"),
        trusted: None,
        branch: "windlass/demo".to_owned(),
        workspace: String::new(),
    };
    View::of(&State::created_by(&step::create(Timestamp(0), creation)).unwrap())
}
