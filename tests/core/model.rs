//! Every state of a small world: owners that run, resume and stop one turn, two tools, a network
//! that loses, repeats and delays, owners that crash or sleep at any moment. The rule of the
//! store is the real one; claims, epochs, outcomes and stops are those of `turn/durable/journal.rs`
//! and `turn/durable/resume.rs`, without what they carry.
#![cfg(not(target_arch = "wasm32"))]
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model, Property};
use turnlock::store::{Commit, Judgement, TurnHead, judge};

/// A tool that must not run twice, and one that may.
const TOOLS: usize = 2;
const PLAIN: usize = 0;
const READS: usize = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Role {
    Run,
    Resume,
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Status {
    Running,
    Complete,
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Outcome {
    Returned,
    Unknown,
}

/// Owners, a bit for each: millions of worlds are copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Owners(u8);

impl Owners {
    const fn insert(&mut self, owner: usize) {
        self.0 |= 1 << owner;
    }

    const fn contains(self, owner: usize) -> bool {
        self.0 & (1 << owner) != 0
    }

    const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn all_in(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

/// What is kept of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Kept {
    owner: usize,
    revision: u64,
    status: Status,
    /// The calls were judged, and claimed by these owners.
    claims: [Owners; TOOLS],
    outcomes: [Option<Outcome>; TOOLS],
}

/// A commit: the whole of what is kept behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Write {
    take_over: bool,
    kept: Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Stage {
    /// Has not begun.
    New,
    /// A commit is under way; nothing else happens before its answer.
    Writing,
    /// The last commit is kept.
    Free,
    /// Replaced, crashed, or finished.
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Owner {
    role: Role,
    stage: Stage,
    /// What it knows to be kept, or is writing.
    view: Option<Write>,
    /// Tools that it may start, and has started.
    may_start: [bool; TOOLS],
    running: [bool; TOOLS],
    told_complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    kept: Option<Kept>,
    owners: Vec<Owner>,
    /// Nothing that was sent ever goes away: it may arrive late, twice, or never.
    sent: BTreeSet<Write>,
    answered: BTreeSet<(usize, u64, bool)>,
    starts: [u8; TOOLS],
    replaced: Owners,
    /// What must never happen.
    wrong: BTreeSet<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step {
    Begin(usize),
    Arrive(Write),
    Hear(usize, u64, bool),
    Decide(usize),
    Start(usize, usize),
    Return(usize, usize),
    Finish(usize),
    Crash(usize),
}

/// Who takes part, and what is broken on purpose.
#[derive(Debug, Clone)]
struct Protocol {
    roles: Vec<Role>,
    planted: Option<&'static str>,
}

impl Protocol {
    fn is(&self, planted: &str) -> bool {
        self.planted == Some(planted)
    }

    /// The next commit of an owner.
    fn write(
        &self,
        world: &mut World,
        owner: usize,
        take_over: bool,
        change: impl FnOnce(&mut Kept),
    ) {
        let base = world.owners[owner].view.map(|write| write.kept);
        let mut kept = base.unwrap_or_else(|| Kept {
            owner,
            revision: 0,
            status: Status::Running,
            claims: Default::default(),
            outcomes: [None; TOOLS],
        });
        (kept.owner, kept.revision) = (owner, kept.revision + 1);
        change(&mut kept);
        let write = Write { take_over, kept };
        world.sent.insert(write);
        let owner = &mut world.owners[owner];
        (owner.stage, owner.view) = (Stage::Writing, Some(write));
    }

    fn judge(&self, kept: Option<&Kept>, write: &Write) -> Judgement {
        let stands = kept.map(|kept| TurnHead {
            owner: kept.owner.to_string(),
            revision: kept.revision,
            open: kept.status == Status::Running,
        });
        let commit = Commit {
            owner: write.kept.owner.to_string(),
            revision: write.kept.revision,
            take_over: write.take_over,
            ..Commit::default()
        };
        let same = |kept: &Kept| kept.revision == write.kept.revision;
        if self.is("anyone's commit counts as repeated") && kept.is_some_and(same) {
            return Judgement::Repeated;
        }
        match judge(stands.as_ref(), &commit) {
            Judgement::Refuse if self.is("last write wins") => Judgement::Apply,
            judgement => judgement,
        }
    }

    fn arrive(&self, world: &mut World, write: &Write) {
        let judgement = self.judge(world.kept.as_ref(), write);
        let id = (write.kept.owner, write.kept.revision);
        if judgement == Judgement::Apply {
            if let Some(before) = world.kept.as_ref() {
                if world.replaced.contains(write.kept.owner) {
                    world.wrong.insert("a replaced owner wrote");
                }
                if before.owner != write.kept.owner {
                    world.replaced.insert(before.owner);
                }
                for tool in 0..TOOLS {
                    let changed = before.outcomes[tool] != write.kept.outcomes[tool];
                    if changed && before.outcomes[tool].is_some() {
                        world.wrong.insert("an outcome changed");
                    }
                    if !before.claims[tool].all_in(write.kept.claims[tool]) {
                        world.wrong.insert("a claim was lost");
                    }
                }
                if before.status != Status::Running {
                    world.wrong.insert("written behind the end");
                }
            }
            world.kept = Some(write.kept);
        }
        world.answered.insert((id.0, id.1, judgement != Judgement::Refuse));
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let owner = |role: &Role| Owner {
            role: *role,
            stage: Stage::New,
            view: None,
            may_start: [false; TOOLS],
            running: [false; TOOLS],
            told_complete: false,
        };
        vec![World {
            kept: None,
            owners: self.roles.iter().map(owner).collect(),
            sent: BTreeSet::new(),
            answered: BTreeSet::new(),
            starts: [0; TOOLS],
            replaced: Owners::default(),
            wrong: BTreeSet::new(),
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        for write in &world.sent {
            let answered = (write.kept.owner, write.kept.revision);
            // What neither changes the world nor is answered anew is no step.
            let known = |ok| world.answered.contains(&(answered.0, answered.1, ok));
            match self.judge(world.kept.as_ref(), write) {
                Judgement::Apply => steps.push(Step::Arrive(*write)),
                Judgement::Repeated if !known(true) => steps.push(Step::Arrive(*write)),
                Judgement::Refuse if !known(false) => steps.push(Step::Arrive(*write)),
                _ => {}
            }
        }
        for (id, owner) in world.owners.iter().enumerate() {
            match owner.stage {
                Stage::New => steps.push(Step::Begin(id)),
                Stage::Writing => {
                    let revision = owner.view.as_ref().map_or(0, |write| write.kept.revision);
                    for ok in [true, false] {
                        if world.answered.contains(&(id, revision, ok)) {
                            steps.push(Step::Hear(id, revision, ok));
                        }
                    }
                    steps.push(Step::Crash(id));
                    if self.is("start before the claim is kept") {
                        steps.extend(
                            (0..TOOLS)
                                .filter(|tool| owner.may_start[*tool])
                                .map(|tool| Step::Start(id, tool)),
                        );
                    }
                }
                Stage::Free => {
                    let kept = owner.view.as_ref().map(|write| &write.kept);
                    let judged =
                        kept.is_some_and(|kept| kept.claims.iter().all(|claim| !claim.is_empty()));
                    if !judged {
                        steps.push(Step::Decide(id));
                    }
                    for tool in 0..TOOLS {
                        if owner.may_start[tool] {
                            steps.push(Step::Start(id, tool));
                        }
                        if owner.running[tool] {
                            steps.push(Step::Return(id, tool));
                        }
                    }
                    if judged && kept.is_some_and(|kept| kept.outcomes.iter().all(Option::is_some))
                    {
                        steps.push(Step::Finish(id));
                    }
                    steps.push(Step::Crash(id));
                }
                Stage::Gone => {}
            }
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        match step {
            Step::Begin(id) => match next.owners[id].role {
                Role::Run => self.write(&mut next, id, false, |_| {}),
                // Anyone may believe at any time that the owner is gone: the clock may be wrong.
                role => {
                    let kept = next.kept?;
                    if kept.status != Status::Running {
                        next.owners[id].stage = Stage::Gone;
                        return Some(next);
                    }
                    let open = |tool: usize| {
                        !kept.claims[tool].is_empty() && kept.outcomes[tool].is_none()
                    };
                    let again = role == Role::Resume && open(READS);
                    let blind = role == Role::Resume
                        && open(PLAIN)
                        && self.is("run again what may have run");
                    let give_up = open(PLAIN) && !blind;
                    next.owners[id].view = Some(Write { take_over: true, kept });
                    let late = role == Role::Stop && open(READS);
                    self.write(&mut next, id, true, |kept| {
                        if give_up {
                            kept.outcomes[PLAIN] = Some(Outcome::Unknown);
                        }
                        if late {
                            kept.outcomes[READS] = Some(Outcome::Unknown);
                        }
                        if again {
                            kept.claims[READS].insert(id);
                        }
                        if blind {
                            kept.claims[PLAIN].insert(id);
                        }
                        if role == Role::Stop {
                            kept.status = Status::Stopped;
                        }
                    });
                    next.owners[id].may_start = [blind, again];
                }
            },
            Step::Arrive(write) => self.arrive(&mut next, &write),
            Step::Hear(id, _, ok) => {
                let owner = &mut next.owners[id];
                let status = owner.view.as_ref()?.kept.status;
                if !ok {
                    (owner.stage, owner.may_start) = (Stage::Gone, [false; TOOLS]);
                } else if status == Status::Running {
                    owner.stage = Stage::Free;
                } else {
                    owner.stage = Stage::Gone;
                    owner.told_complete = status == Status::Complete;
                    let kept = next.kept.as_ref()?;
                    if owner.told_complete && (kept.owner != id || kept.status != Status::Complete)
                    {
                        next.wrong.insert("success that is not kept");
                    }
                }
            }
            Step::Decide(id) => {
                self.write(&mut next, id, false, |kept| {
                    kept.claims.iter_mut().for_each(|claim| claim.insert(id));
                });
                next.owners[id].may_start = [true; TOOLS];
            }
            Step::Start(id, tool) => {
                next.starts[tool] += 1;
                let claimed = next.kept.is_some_and(|kept| kept.claims[tool].contains(id));
                if !claimed {
                    next.wrong.insert("a start without a claim");
                }
                let owner = &mut next.owners[id];
                (owner.may_start[tool], owner.running[tool]) = (false, true);
            }
            Step::Return(id, tool) => {
                next.owners[id].running[tool] = false;
                self.write(&mut next, id, false, |kept| {
                    kept.outcomes[tool] = Some(Outcome::Returned);
                });
            }
            Step::Finish(id) => {
                self.write(&mut next, id, false, |kept| kept.status = Status::Complete);
            }
            Step::Crash(id) => {
                let owner = &mut next.owners[id];
                (owner.stage, owner.may_start, owner.running) =
                    (Stage::Gone, [false; TOOLS], [false; TOOLS]);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "a tool that must not run twice is started at most once",
                |_, world: &World| world.starts[PLAIN] <= 1,
            ),
            Property::always("nothing wrong happened", |_, world: &World| world.wrong.is_empty()),
            Property::sometimes("it completes", |_, world: &World| {
                world.owners.iter().any(|owner| owner.told_complete)
            }),
            Property::sometimes("it is resumed and completes", |_, world: &World| {
                world.owners.iter().any(|owner| owner.role == Role::Resume && owner.told_complete)
            }),
            Property::sometimes("an outcome is unknown", |_, world: &World| {
                world
                    .kept
                    .as_ref()
                    .is_some_and(|kept| kept.outcomes[PLAIN] == Some(Outcome::Unknown))
            }),
            Property::sometimes("a tool that may run twice does", |_, world: &World| {
                world.starts[READS] > 1
            }),
            Property::sometimes(
                "a replaced owner wakes and starts what it claimed",
                |_, world: &World| {
                    let unknown = world
                        .kept
                        .as_ref()
                        .is_some_and(|kept| kept.outcomes[PLAIN] == Some(Outcome::Unknown));
                    unknown && world.owners[0].running[PLAIN] && world.replaced.contains(0)
                },
            ),
        ]
    }
}

fn check(roles: &[Role], planted: Option<&'static str>) -> impl Checker<Protocol> {
    let checker = Protocol { roles: roles.to_vec(), planted }.checker().threads(2);
    match planted {
        None => checker.spawn_bfs().join(),
        Some(_) => checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join(),
    }
}

#[test]
fn every_state_keeps_the_promise() {
    use Role::{Resume, Run, Stop};
    for roles in [
        vec![Run, Resume],
        vec![Run, Resume, Resume],
        vec![Run, Resume, Stop],
        vec![Run, Run, Resume],
    ] {
        let checked = check(&roles, None);
        assert!(checked.is_done());
        println!("{roles:?}: {} states", checked.unique_state_count());
        checked.assert_properties();
    }
    let stopped = check(&[Run, Stop, Stop], None);
    assert!(stopped.discovery("nothing wrong happened").is_none());
}

#[test]
fn a_broken_protocol_is_found_out() {
    use Role::{Resume, Run, Stop};
    for planted in [
        "anyone's commit counts as repeated",
        "last write wins",
        "start before the claim is kept",
        "run again what may have run",
    ] {
        let roles = [vec![Run, Resume, Resume], vec![Run, Resume, Stop]];
        let found = roles.iter().any(|roles| {
            let checked = check(roles, Some(planted));
            ["a tool that must not run twice is started at most once", "nothing wrong happened"]
                .iter()
                .any(|name| checked.discovery(name).is_some())
        });
        assert!(found, "{planted} was not found");
    }
}
