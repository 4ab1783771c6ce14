//! One sentence is a plan of one task.

use windlass_core::id::TaskId;
pub use windlass_core::task::GOAL_TASK;

use crate::{PlanError, Planned, PlannedTask, title_line};

pub fn read(sentence: &str) -> Result<Planned, PlanError> {
    let sentence = sentence.trim();
    if sentence.is_empty() {
        return Err(PlanError::NoSource);
    }
    let title = title_line(sentence.lines().next().unwrap_or(sentence));
    let task = PlannedTask::new(TaskId::new(GOAL_TASK), title.clone(), format!("{sentence}\n"));
    Ok(Planned { tasks: vec![task], goal: title, format: None, tools: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_one_task_with_the_sentence_as_its_text() {
        let planned = read(" make the parser\nfaster ").unwrap();
        assert_eq!(planned.goal, "make the parser");
        let [task] = &planned.tasks[..] else { panic!("one task") };
        assert_eq!((task.id.as_str(), task.text.as_str()), ("goal", "make the parser\nfaster\n"));
        assert!(matches!(read(" \n "), Err(PlanError::NoSource)));
    }
}
