//! A `prd.json`: an object with a list of user stories, each a task.
//!
//! A key that nobody knows is told to the agent as it stands, unless it looks
//! like a known one that was mistyped.

use std::path::Path;

use windlass_core::id::TaskId;
use windlass_core::nearest::nearest;
use windlass_core::task::usable_task_id;

use crate::criterion::PlannedCriterion;
use crate::error::PlanError;
use crate::format::PlanFormat;
use crate::json::{Json, JsonFault, JsonObject, JsonText};
use crate::link::{BadPlan, Frame, MAX_TASKS, Slot, finish};
use crate::place::Placed;
use crate::{Planned, PlannedTask, shared_text, title_line};

const STORIES: &str = "userStories";

/// What a story without a priority has: it comes after those that have one.
const LAST_PRIORITY: i64 = 999;

const STORY_KEYS: [&str; 10] = [
    "id",
    "title",
    "description",
    "acceptanceCriteria",
    "priority",
    "passes",
    "blocked",
    "notes",
    "rejections",
    "dependsOn",
];

pub(crate) fn parse(file: &Path, text: &str) -> Result<Planned, BadPlan> {
    let json = JsonText::new(file, text);
    let one = |error| vec![error];
    let (root, problems) = json.root().and_then(|root| json.object(root, "the plan")).map_err(one)?;
    let stories = root.get(STORIES).ok_or_else(|| vec![no_stories(&json, &root)])?;
    let stories = json.list(stories, STORIES).map_err(one)?;
    if stories.is_empty() {
        return Err(vec![PlanError::NoTasksInFile { file: file.to_owned(), format: PlanFormat::Prd }].into());
    }
    if stories.len() > MAX_TASKS {
        return Err(vec![PlanError::TooManyInFile { file: file.to_owned(), count: stories.len() }].into());
    }
    let mut slots: Vec<Slot> = stories
        .into_iter()
        .map(|story| match Story::new(&json, story) {
            Ok(story) => story.slot(),
            Err(error) => Slot::unread(None, file.to_owned(), vec![error]),
        })
        .collect();
    let description = root.get("description").map(|value| json.text(value, "description"));
    let goal = match description {
        Some(Ok(text)) => Some(title_line(text.lines().next().unwrap_or_default())),
        Some(Err(error)) => return Err(vec![error].into()),
        None => None,
    };
    shared_text::add_to_all(file, &mut slots, &root.others(&[STORIES])).map_err(one)?;
    let goal = goal.filter(|goal| !goal.is_empty());
    finish(slots, Frame { goal, problems, ..Frame::new(PlanFormat::Prd) })
}

/// The key that stands where the stories should be, if one does.
fn no_stories(json: &JsonText<'_>, root: &JsonObject<'_>) -> PlanError {
    let is_list = |value: Json<'_>| value.0.starts_with('[');
    let lists =
        || root.entries.iter().filter(|(_, _, value)| is_list(*value)).map(|(_, name, _)| name.as_str());
    let known = ["stories", "tasks", "sprints", "user_stories", "items"];
    let instead = nearest(STORIES, lists()).or_else(|| lists().find(|name| known.contains(name)));
    json.fault(root.at, JsonFault::NoKey { key: STORIES, instead: instead.map(str::to_owned) })
}

struct Story<'a> {
    json: &'a JsonText<'a>,
    object: JsonObject<'a>,
    id: Placed<String>,
    title: String,
    problems: Vec<PlanError>,
}

impl<'a> Story<'a> {
    /// A story without an id or a title cannot even be named.
    fn new(json: &'a JsonText<'a>, story: Json<'a>) -> Result<Self, PlanError> {
        let (object, mut problems) = json.object(story, "a story")?;
        for (at, name, _) in &object.entries {
            let known = STORY_KEYS.contains(&name.as_str());
            if let Some(nearest) = nearest(name, STORY_KEYS).filter(|_| !known) {
                problems.push(json.fault(*at, JsonFault::UnknownKey { key: name.clone(), nearest }));
            }
        }
        let needed = |key| {
            let value =
                object.get(key).ok_or_else(|| json.fault(story, JsonFault::NoKey { key, instead: None }))?;
            Ok(json.placed(value, json.text(value, key)?))
        };
        let id = needed("id")?;
        let title = needed("title")?.value;
        if let Err(why) = usable_task_id(&id.value) {
            let value = object.get("id").unwrap_or(story);
            problems.push(json.fault(value, JsonFault::BadId { id: id.value.clone(), why }));
        }
        Ok(Self { json, object, id, title, problems })
    }

    fn slot(mut self) -> Slot {
        let json = self.json;
        let texts = |value, key: &str| json.texts(value, key);
        let links = self.key("dependsOn", texts).unwrap_or_default();
        let acceptance = self.key("acceptanceCriteria", texts).unwrap_or_default();
        let description = self.key("description", |value, key| json.text(value, key)).unwrap_or_default();
        let notes = self.key("notes", |value, key| json.text(value, key)).unwrap_or_default();
        let priority = self.key("priority", |value, key| json.number(value, key)).unwrap_or(LAST_PRIORITY);
        let rejections = self.key("rejections", |value, key| json.number(value, key)).unwrap_or_default();
        let done = self.key("passes", |value, key| json.flag(value, key)).unwrap_or_default();
        let blocked = self.key("blocked", |value, key| json.flag(value, key)).unwrap_or_default();
        let others = self.object.others(&STORY_KEYS);
        let criteria: String = acceptance.iter().map(|item| format!("- {}\n", item.value)).collect();
        let parts = [
            ("", description.as_str()),
            ("## Acceptance criteria\n\n", &criteria),
            ("## Notes\n\n", &notes),
            ("## More\n\n", &others),
        ];
        let mut text = format!("# {}\n", self.title.trim());
        for (heading, said) in parts.into_iter().filter(|(_, said)| !said.trim().is_empty()) {
            text += &format!("\n{heading}{}\n", said.trim());
        }
        let at = json.place(self.object.get("id").unwrap_or(self.object.at));
        let is_silent =
            self.title.trim().is_empty() && description.trim().is_empty() && acceptance.is_empty();
        let task = PlannedTask {
            priority,
            acceptance: acceptance.into_iter().map(|item| PlannedCriterion::plain(item.value)).collect(),
            done,
            blocked: blocked && !done,
            rejections,
            ..PlannedTask::new(TaskId::new(self.id.value), title_line(&self.title), text)
        };
        let silent_at = is_silent.then(|| at.clone());
        Slot { links, problems: self.problems, silent_at, ..Slot::new(at, task) }
    }

    /// What a key says, if it says it in the right way; if not, that is kept.
    fn key<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(Json<'a>, &str) -> Result<T, PlanError>,
    ) -> Option<T> {
        match read(self.object.get(key)?, key) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problems.push(error);
                None
            }
        }
    }
}
