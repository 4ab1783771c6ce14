//! Every key of the policy file, in its order; those of agents are in
//! `agent_keys`, those of a check and of a price beside their kinds. Reading,
//! explaining, the example file and the reference all follow these tables.

use windlass_core::control::ControlWhen;
use windlass_core::hidden::HiddenOutput;
use windlass_core::policy::{
    BriefPart, LandRule, Policy, Rejected, SandboxLevel, TermsRule, WantedEngine, WantedLevel,
};
use windlass_core::proposal::AmendmentRule;

use super::key::PolicyKey;
use super::kind::ValueKind;
use super::kind::checks::Checks;
use super::kind::choice::{NetworkWord, OneOf};
use super::kind::list::{COMMANDS, DIRECTORIES, GLOBS, HOSTS, PATHS, PATHS_ANYWHERE, VARIABLES};
use super::kind::number::{AT_LEAST_ONE, BYTES, DOLLARS, FLAG, LARGE_LIMIT, LIMIT, MemoryAmount, SPAN};
use super::kind::scopes::Scopes;
use super::kind::stop::{StepCheck, StopChecks};
use super::kind::tables::Prices;
use super::kind::text::TEXT;

pub fn policy_keys() -> Vec<PolicyKey<Policy>> {
    [
        loop_keys(),
        budget_keys(),
        workspace_and_plan_keys(),
        gate_keys(),
        review_and_finish_keys(),
        brief_keys(),
        sandbox_keys(),
        stop_keys(),
        land_and_price_keys(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn key<K: ValueKind>(
    name: &'static str,
    kind: K,
    at: fn(&mut Policy) -> &mut K::Target,
) -> PolicyKey<Policy> {
    PolicyKey::new(name, kind, at)
}

fn loop_keys() -> Vec<PolicyKey<Policy>> {
    vec![
        key("loop.max_iterations", LIMIT, |p| &mut p.limits.max_iterations)
            .doc("Iterations of the whole loop before it ends at a limit."),
        key("loop.max_task_failures", LIMIT, |p| &mut p.limits.max_task_failures)
            .doc("Red gates in a row before a task is blocked."),
        key("loop.max_gate_failures", LIMIT, |p| &mut p.limits.max_gate_failures)
            .doc("Red gates in a row over all tasks before the loop ends blocked."),
        key("loop.max_no_progress", LIMIT, |p| &mut p.limits.max_no_progress)
            .doc("Iterations that leave an unchanged or already seen tree before a task is blocked."),
        key("loop.max_rejections", LIMIT, |p| &mut p.limits.max_rejections)
            .doc("Rejecting reviews before a task is blocked and waits for you."),
        key("loop.max_review_failures", LIMIT, |p| &mut p.limits.max_review_failures)
            .doc("Reviews in a row without a usable verdict before the loop ends blocked."),
        key("loop.max_agent_failures", LIMIT, |p| &mut p.limits.max_agent_failures)
            .doc("Agent crashes in a row before the run ends blocked."),
        key("loop.max_stalls", LIMIT, |p| &mut p.limits.max_stalls)
            .doc("Stalls or timeouts in a row before the run ends blocked."),
        key("loop.max_transient", LIMIT, |p| &mut p.limits.max_transient)
            .doc("Temporary failures (rate limit, overload, network) in a row before the loop pauses."),
        key("loop.max_final_fixes", LIMIT, |p| &mut p.limits.max_final_fixes)
            .doc("Fix attempts after the final gate or review fails, before the loop gives up."),
    ]
}

fn budget_keys() -> Vec<PolicyKey<Policy>> {
    vec![
        key("budget.wall", SPAN, |p| &mut p.budget.wall)
            .doc("Working time of the whole loop; waiting and paused time do not count."),
        key("budget.cost_usd", DOLLARS, |p| &mut p.budget.cost_micro_usd)
            .doc("What the whole loop may cost, in dollars."),
        key("budget.tokens", LARGE_LIMIT, |p| &mut p.budget.tokens).doc("Tokens the whole loop may use."),
    ]
}

fn workspace_and_plan_keys() -> Vec<PolicyKey<Policy>> {
    vec![
        key("workspace.setup", COMMANDS, |p| &mut p.workspace.setup)
            .doc("Commands run once in a fresh workspace, and for the gate: there, what they made on the base is kept."),
        key("workspace.copy", PATHS, |p| &mut p.workspace.copy)
            .doc("Files brought from your checkout that git does not have; never part of the work."),
        key("workspace.history", AT_LEAST_ONE, |p| &mut p.workspace.history)
            .doc("How many commits of history the author's clone has."),
        key("plan.source", TEXT, |p| &mut p.plan.source)
            .doc("Where the plan is: a directory of task files, a Markdown, JSON or TOML file, or a goal sentence."),
        key("plan.format", TEXT, |p| &mut p.plan.format)
            .doc("What the plan is written as, where its file leaves it open: task, milestones, checklist, prd, github-issues, codescribe."),
        key("plan.amendments", amendment_rule(), |p| &mut p.plan.amendments)
            .doc("What becomes of changes of the plan that authors propose: they wait for you, those that only add tasks or split one are applied, or they are not heard."),
    ]
}

fn gate_keys() -> Vec<PolicyKey<Policy>> {
    vec![
        key("gate.timeout", SPAN, |p| &mut p.gate.timeout)
            .doc("How long one check may take."),
        key("gate.protect", GLOBS, |p| &mut p.gate.protect)
            .doc("Your tests, and what runs them: tasks may add to them, and change them only where their file allows it."),
        key("gate.product", GLOBS, |p| &mut p.gate.product)
            .doc("What agents may change freely: your sources. Anything else that they change, such as settings and manifests, is a term of the trial: the checks must be green without it, or a reviewer accepts it. Empty: all that is not protected, but for names that configure or build."),
        key("gate.terms", terms_rule(), |p| &mut p.gate.terms)
            .doc("What follows where the checks are green only with terms that the work itself changed: a reviewer decides on them, or they are forbidden."),
        key("gate.control", control_when(), |p| &mut p.gate.control)
            .doc("When windlass breaks the tests that it knows how to break, to see each of them turn red under its check: at the last look at the whole, before anything lands, or never."),
        key("gate.hidden", GLOBS, |p| &mut p.gate.hidden.globs)
            .doc("Tests of the repository that no agent sees: they are in no workspace, no history and no brief, and in every gate."),
        key("gate.hidden_dir", TEXT, |p| &mut p.gate.hidden.dir)
            .doc("A directory outside the repository with tests that no agent sees: its files are put into each tree that is judged. It is read when a loop is created, or its policy is changed."),
        key("gate.hidden_output", hidden_output(), |p| &mut p.gate.hidden.output)
            .doc("How much agents are told of a check that is red with hidden tests: the names of those that failed, nothing, or all that it printed."),
        key("gate.network", NetworkWord, |p| &mut p.gate.network)
            .doc("Which network checks see: the machine's, a loopback of their own, none, or the hosts of `allow`."),
        key("gate.allow", HOSTS, |p| &mut p.gate.network.allow)
            .doc("What checks may reach through windlass's proxy, as host:port."),
        key("gate.cache", DIRECTORIES, |p| &mut p.gate.cache)
            .doc("Directories that builds fill, such as target: the baseline fills them on the base, and each check begins with a copy of its own. The final gate has none."),
        key("gate.check", Checks, |p| &mut p.gate)
            .doc("The checks, in order. A later layer replaces the whole list."),
    ]
}

fn review_and_finish_keys() -> Vec<PolicyKey<Policy>> {
    vec![
        key("review.tasks", FLAG, |p| &mut p.review.tasks)
            .doc("Whether a reviewer must accept each task."),
        key("review.final", FLAG, |p| &mut p.review.whole)
            .doc("Whether a reviewer must accept the finished work."),
        key("review.rejected", rejected(), |p| &mut p.review.rejected)
            .doc("Where the next iteration starts after a reject: from the rejected work, or from the task's base."),
        key("finish.skill", TEXT, |p| &mut p.finish.skill)
            .doc("A skill the finisher is asked to use once the work is proven."),
        key("finish.prompt", TEXT, |p| &mut p.finish.prompt)
            .doc("What the finisher is asked to do once the work is proven."),
    ]
}

fn brief_keys() -> Vec<PolicyKey<Policy>> {
    vec![
        key("brief.rules", TEXT, |p| &mut p.brief.part_mut(BriefPart::Rules).file)
            .doc("A file with your rules for every agent, in place of windlass's. It is read when a loop is created, and protected."),
        key("brief.implement", TEXT, |p| &mut p.brief.part_mut(BriefPart::Implement).file)
            .doc("A file with what an author is asked to do about a task, in place of windlass's words."),
        key("brief.explore", TEXT, |p| &mut p.brief.part_mut(BriefPart::Explore).file)
            .doc("A file with what an author is asked to do about a task of the mode explore."),
        key("brief.fix_task", TEXT, |p| &mut p.brief.part_mut(BriefPart::FixTask).file)
            .doc("A file with what an author is asked to do about a task of the mode fix."),
        key("brief.fix", TEXT, |p| &mut p.brief.part_mut(BriefPart::Fix).file)
            .doc("A file with what an author is asked to do when the finished work does not hold."),
        key("brief.review_task", TEXT, |p| &mut p.brief.part_mut(BriefPart::ReviewTask).file)
            .doc("A file with how a reviewer is to judge one task."),
        key("brief.review_report", TEXT, |p| &mut p.brief.part_mut(BriefPart::ReviewReport).file)
            .doc("A file with how a reviewer is to judge the report of a task of the mode explore."),
        key("brief.review_whole", TEXT, |p| &mut p.brief.part_mut(BriefPart::ReviewWhole).file)
            .doc("A file with how a reviewer is to judge the finished work."),
        key("brief.finish", TEXT, |p| &mut p.brief.part_mut(BriefPart::Finish).file)
            .doc("A file with what a finisher is told; `finish.prompt` follows it."),
    ]
}

fn sandbox_keys() -> Vec<PolicyKey<Policy>> {
    vec![
        key("sandbox.level", level(), |p| &mut p.sandbox.level).doc(
            "How agents and checks are confined; \"auto\" is the best that this machine is shown to do.",
        ),
        key("sandbox.image", TEXT, |p| &mut p.sandbox.image).doc(
            "The image that the level \"container\" runs agents and checks in; the engine must have it.",
        ),
        key("sandbox.engine", engine(), |p| &mut p.sandbox.engine)
            .doc("Who runs the containers of the level \"container\"; \"auto\" is the first that answers."),
        key("sandbox.minimum", minimum(), |p| &mut p.sandbox.minimum)
            .doc("The least confinement a loop may run under; below it nothing is started."),
        key("sandbox.extra_read", PATHS_ANYWHERE, |p| &mut p.sandbox.extra_read)
            .doc("What agents and checks may read beside the system, the toolchains and their workspace."),
        key("sandbox.extra_write", PATHS_ANYWHERE, |p| &mut p.sandbox.extra_write)
            .doc("What agents and checks may change beside their workspace."),
        key("sandbox.env", VARIABLES, |p| &mut p.sandbox.env)
            .doc("Environment variables passed through to agents and checks, by name."),
        key("sandbox.memory", MemoryAmount, |p| &mut p.sandbox.resources)
            .doc("Memory in use of one attempt or check, all its processes together."),
        key("sandbox.processes", LARGE_LIMIT, |p| &mut p.sandbox.resources.processes)
            .doc("Processes and threads of one attempt or check."),
        key("sandbox.open_files", LARGE_LIMIT, |p| &mut p.sandbox.resources.open_files)
            .doc("Open files of one process."),
        key("sandbox.file_size", BYTES, |p| &mut p.sandbox.resources.file_bytes)
            .doc("Size of one file that an attempt or check may write."),
        key("sandbox.workspace_size", BYTES, |p| &mut p.sandbox.resources.workspace_bytes)
            .doc("Size of the workspace, with the home, the temporary files and the report of one attempt or check."),
    ]
}

fn stop_keys() -> Vec<PolicyKey<Policy>> {
    vec![
        key("stop.step_check", StepCheck, |p| &mut p.gate)
            .doc("For an open-ended loop: a command that must exit 0 before a step lands. WINDLASS_PREVIOUS is a read-only checkout of the tree before the step. When it fails, the next iteration starts again from there."),
        key("stop.check", StopChecks, |p| &mut p.stop)
            .doc("The conditions that end an open-ended loop; all must hold. Each has a `name` and one of `run`, `exists`, `contains`, `matches` and `json`. With one, the task of the plan repeats, one step in each iteration; then `loop.max_iterations` is off unless it is written, and a limit or a budget must be. A later layer replaces the whole list."),
    ]
}

fn land_and_price_keys() -> Vec<PolicyKey<Policy>> {
    vec![
        key("land.rule", land_rule(), |p| &mut p.land.rule)
            .doc("Where accepted work goes: the branch windlass/<loop>."),
        key("land.approve", FLAG, |p| &mut p.land.approve)
            .doc("Before anything lands, pause until you say `windlass approve` or `windlass reject`; `windlass show LOOP --diff` shows what would land."),
        key("scope", Scopes, |p| &mut p.scope)
            .doc("How much a task may change and read, by its mode: `files_changed` and `lines_written` against the task's base, `files_read` in one attempt, where the agent tells. Over a limit is a bug. A later layer replaces the whole table."),
        key("price", Prices, |p| &mut p.prices)
            .doc("What models cost whose agents do not say: by model, dollars for a million tokens of `input`, `output`, `cache_read` and `cache_write`. A later layer replaces the whole table."),
    ]
}

fn terms_rule() -> OneOf<TermsRule> {
    OneOf {
        options: vec![TermsRule::Review, TermsRule::Forbid],
        name: |rule| match rule {
            TermsRule::Review => "review",
            TermsRule::Forbid => "forbid",
        },
        later: &[],
    }
}

fn control_when() -> OneOf<ControlWhen> {
    OneOf {
        options: vec![ControlWhen::Final, ControlWhen::Landing, ControlWhen::Off],
        name: |when| match when {
            ControlWhen::Final => "final",
            ControlWhen::Landing => "landing",
            ControlWhen::Off => "off",
        },
        later: &[],
    }
}

fn hidden_output() -> OneOf<HiddenOutput> {
    OneOf {
        options: vec![HiddenOutput::Names, HiddenOutput::Nothing, HiddenOutput::All],
        name: |output| match output {
            HiddenOutput::Names => "names",
            HiddenOutput::Nothing => "nothing",
            HiddenOutput::All => "all",
        },
        later: &[],
    }
}

fn amendment_rule() -> OneOf<AmendmentRule> {
    OneOf {
        options: vec![AmendmentRule::Ask, AmendmentRule::Apply, AmendmentRule::Ignore],
        name: |rule| match rule {
            AmendmentRule::Ask => "ask",
            AmendmentRule::Apply => "apply",
            AmendmentRule::Ignore => "ignore",
        },
        later: &[],
    }
}

fn rejected() -> OneOf<Rejected> {
    OneOf {
        options: vec![Rejected::Continue, Rejected::Reset],
        name: |rejected| match rejected {
            Rejected::Continue => "continue",
            Rejected::Reset => "reset",
        },
        later: &[],
    }
}

fn level() -> OneOf<WantedLevel> {
    OneOf {
        options: vec![
            WantedLevel::Auto,
            WantedLevel::Namespaces,
            WantedLevel::Landlock,
            WantedLevel::None,
            WantedLevel::Container,
        ],
        name: |level| level.name(),
        later: &[],
    }
}

fn engine() -> OneOf<WantedEngine> {
    OneOf {
        options: vec![WantedEngine::Auto, WantedEngine::Docker, WantedEngine::Podman],
        name: |engine| engine.name(),
        later: &[],
    }
}

fn minimum() -> OneOf<SandboxLevel> {
    OneOf {
        options: vec![SandboxLevel::Namespaces, SandboxLevel::Landlock, SandboxLevel::None],
        name: |level| level.name(),
        later: &["container"],
    }
}

fn land_rule() -> OneOf<LandRule> {
    OneOf {
        options: vec![LandRule::Branch],
        name: |rule| match rule {
            LandRule::Branch => "branch",
        },
        later: &["checkout", "merge", "pull-request"],
    }
}
