//! The options of runs, and the events that they meet.

use serde_json::Value;

/// Makes an enum whose variants have names in the table.
macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($(#[$why:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $type {
            $($(#[$why])* $variant,)+
        }

        impl $type {
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

names! {
    /// An option of a run, or a value of an option.
    Facet {
        Skip = "`overlap` `skip`",
        Fail = "`overlap` `fail`",
        Queue = "`overlap` `queue`",
        Replace = "`overlap` `replace`",
        Permits = "`permits` above 1",
        RunKey = "`runKey`",
        MinInterval = "`minIntervalSeconds`",
        Expectation = "`expectEverySeconds`",
        OnPaused = "`onPaused`",
        CatchUp = "`catchUp` `once`",
        Terminate = "`stalePolicy` `terminate`",
        Yield = "`stalePolicy` `yield`",
        Hold = "`stalePolicy` `hold`",
        MaxRun = "`maxRunSeconds`",
        NoProgress = "`noProgressSeconds`",
        Bounds = "`maxQueue` or `waitSeconds`",
        Task = "an ECS task as work",
        Workflow = "a workflow as work",
        States = "the states of a workflow as work",
        Process = "a process as holder",
        Parent = "`parent`",
    }
}

names! {
    /// What happens to a run, to its lock, or to everybody.
    Event {
        Redrive = "redrive",
        Evict = "eviction",
        Pause = "pause",
        PauseWithEnd = "pause with an end",
        Freeze = "freeze",
        Resume = "resume",
        TableOutage = "table away",
        HiddenMinutes = "evidence hidden for minutes",
        HiddenHours = "evidence hidden for hours",
        Unanswered = "evidence fails for minutes",
        LostRequest = "request lost",
        LostResponse = "response lost",
        LateRequest = "request late or doubled",
        InvokedTwice = "invoked twice",
        StartedTwice = "started twice",
        Unheard = "event lost or late",
        Killed = "function killed",
        Deaf = "SIGTERM ignored",
        ClockAhead = "clock ahead",
        ClockBehind = "clock behind",
        Upgrade = "one function upgraded",
    }
}

impl Facet {
    pub(crate) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Returns the values of the option, of which a run has one.
    const fn siblings(self) -> &'static [Self] {
        use Facet::{
            Fail, Hold, Process, Queue, Replace, Skip, States, Task, Terminate, Workflow, Yield,
        };
        match self {
            Skip | Fail | Queue | Replace => &[Skip, Fail, Queue, Replace],
            Terminate | Yield | Hold => &[Terminate, Yield, Hold],
            Task | Workflow | States | Process => &[Task, Workflow, States, Process],
            _ => &[],
        }
    }

    /// Returns the same values as bits.
    pub(crate) fn family(self) -> u32 {
        self.siblings()
            .iter()
            .fold(0, |all, other| all | other.bit())
    }
}

/// Returns the options in the input of an execution, or in the request of a process. `kind` is the
/// kind of its work.
pub(crate) fn facets(input: &Value, kind: Facet) -> u32 {
    let overlap = match input["overlap"].as_str() {
        Some("fail") => Facet::Fail,
        Some("queue") => Facet::Queue,
        Some("replace") => Facet::Replace,
        _ => Facet::Skip,
    };
    let stale = match input["stalePolicy"].as_str() {
        Some("yield") => Facet::Yield,
        Some("hold") => Facet::Hold,
        _ => Facet::Terminate,
    };
    let given = |field: &str| !input[field].is_null();
    let permits = input["permits"].as_u64().is_some_and(|permits| permits > 1);
    let parent = given("parent") || given("AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID");
    let optional = [
        (Facet::Permits, permits),
        (Facet::RunKey, given("runKey")),
        (Facet::MinInterval, given("minIntervalSeconds")),
        (Facet::Expectation, given("expectEverySeconds")),
        (Facet::OnPaused, given("onPaused")),
        (Facet::CatchUp, given("catchUp")),
        (Facet::MaxRun, given("maxRunSeconds")),
        (Facet::NoProgress, given("noProgressSeconds")),
        (
            Facet::Bounds,
            given("maxQueue") || given("waitSeconds") || given("waitUntil"),
        ),
        (Facet::Parent, parent),
    ];
    let optional = optional.into_iter().filter(|(_, given)| *given);
    let all = [overlap, stale, kind].into_iter();
    all.chain(optional.map(|(facet, _)| facet))
        .fold(0, |all, facet| all | facet.bit())
}

/// Returns why two options do not occur together, or not with an event.
pub(crate) fn impossible(one: Facet, other: Facet, event: Event) -> Option<&'static str> {
    let has = |facet| one == facet || other == facet;
    let pairs = [
        (
            has(Facet::Process) && (has(Facet::Yield) || has(Facet::Hold)),
            "a process has the stale policy `terminate`",
        ),
        (
            has(Facet::Process) && has(Facet::Parent),
            "only an execution names its parent",
        ),
        (
            has(Facet::States) && (has(Facet::OnPaused) || has(Facet::CatchUp)),
            "the workflow here whose states are the work waits by `overlap` alone",
        ),
    ];
    // Of two runs, it is enough if the event can happen to one.
    let hits = |miss: fn(Facet) -> bool| match one.family() & other.bit() > 0 {
        true => miss(one) && miss(other),
        false => miss(one) || miss(other),
    };
    let is_process = |facet| facet == Facet::Process;
    let has_no_container = |facet| matches!(facet, Facet::Process | Facet::States);
    let events = [
        (
            event == Event::Redrive && hits(is_process),
            "Step Functions redrives executions",
        ),
        (
            event == Event::StartedTwice && hits(is_process),
            "a trigger starts executions",
        ),
        (
            event == Event::Deaf && hits(has_no_container),
            "no container is stopped",
        ),
    ];
    let mut all = pairs.into_iter().chain(events);
    all.find(|(is, _)| *is).map(|(_, why)| why)
}
