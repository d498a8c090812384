//! A few threads of a rayon pool that go through many short phases together and meet after each. Waking threads for a phase of
//! some microseconds costs more than the phase; a meeting costs a fraction of one.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Looks at the others' state before a thread that waits offers its core to somebody else.
const LOOKS: u32 = 1 << 12;

/// Pieces of a deal that a member takes, about, and items of a piece at most, unless less are not worth it: items are not alike, and
/// what comes first may take the longest.
const PIECES: usize = 8;
const MOST: usize = 1 << 12;

/// On a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Alone<T>(T);

/// One thread of a team.
pub(crate) struct Member<'a> {
    team: &'a Team,
    index: usize,
    /// How often items were dealt.
    deals: Cell<usize>,
    /// Meetings that are over for it.
    meetings: Cell<u32>,
    /// Whether it is waited for.
    joined: Cell<bool>,
}

struct Team {
    /// At most.
    members: usize,
    /// [`State`].
    state: Alone<AtomicU64>,
    /// Items that were taken of each member's part of a deal, and of the next, in turn.
    taken: [Vec<Alone<AtomicUsize>>; 2],
    /// A member has panicked: there will be no more meetings.
    broken: AtomicBool,
}

/// Where a team stands.
#[derive(Clone, Copy)]
struct State {
    /// Meetings that are over.
    meetings: u32,
    /// Members that are waited for.
    joined: u16,
    /// Those of them who have come to the meeting.
    arrived: u16,
}

impl State {
    fn of(word: u64) -> State {
        State { meetings: (word >> 32) as u32, joined: (word >> 16) as u16, arrived: word as u16 }
    }

    fn word(self) -> u64 {
        u64::from(self.meetings) << 32 | u64::from(self.joined) << 16 | u64::from(self.arrived)
    }
}

impl Team {
    fn new(members: usize, joined: usize) -> Team {
        let state = State { meetings: 0, joined: joined as u16, arrived: 0 };
        Team {
            members,
            state: Alone(AtomicU64::new(state.word())),
            taken: [(); 2].map(|_| (0..members).map(|_| Alone::default()).collect()),
            broken: AtomicBool::new(false),
        }
    }

    fn member(&self, index: usize, joined: bool) -> Member<'_> {
        let joined = Cell::new(joined);
        Member { team: self, index, deals: Cell::new(0), meetings: Cell::new(0), joined }
    }
}

/// Threads that a team of up to `most` has in the pool that this thread is in.
pub(crate) fn size(most: usize) -> usize {
    if most > 1 { rayon::current_num_threads().min(most).min(u16::MAX.into()) } else { 1 }
}

/// Runs `work` on so many threads of the pool, and returns what the first of them returns. All members have to call
/// [`Member::meet`] equally often.
pub(crate) fn run<R: Send>(members: usize, work: impl Fn(&Member) -> R + Sync) -> R {
    let team = Team::new(members, members);
    let of = |index| work(&team.member(index, true));
    if members == 1 {
        return of(0);
    }
    let mut all = rayon::broadcast(|thread| (thread.index() < members).then(|| of(thread.index())));
    match all.swap_remove(0) {
        Some(first) => first,
        None => unreachable!("the first thread of a pool is a member"),
    }
}

/// Runs `work`, which does nothing but [`Member::deal`] and [`Member::meet`], on up to so many threads of the pool. Nobody is
/// waited for before it is awake; who wakes late skips what is over.
pub(crate) fn run_open(members: usize, work: impl Fn(&Member) + Sync) {
    let team = Team::new(members, 1);
    let of = |index| work(&team.member(index, index == 0));
    rayon::scope(|scope| {
        (1..members).for_each(|index| scope.spawn(move |_| of(index)));
        of(0);
    });
}

/// Levels that one thread walks before it asks for a team: a search of few levels is over when the others wake.
const PATIENCE: usize = 16;
/// Threads of a team that walks levels, at most: more would meet for longer than they work.
const WALKERS: usize = 8;

/// A stretch of levels of few nodes that one thread walks, or a team.
pub(crate) struct Stretch {
    pub members: usize,
    /// Nodes of a level that are worth a member.
    worth: usize,
}

impl Stretch {
    /// Of a level of so many nodes, after so many `levels`, where this many nodes are worth a member.
    pub fn new(levels: usize, nodes: usize, worth: usize) -> Stretch {
        let several = is_long(levels, nodes, worth);
        Stretch { members: if several { size(WALKERS) } else { 1 }, worth }
    }

    /// Whether it goes on after so many levels of its own, with so many nodes.
    pub fn lasts(&self, levels: usize, nodes: usize) -> bool {
        match self.members {
            1 => !is_long(levels, nodes, self.worth),
            _ => nodes >= self.worth,
        }
    }
}

/// Whether a team is expected to gain by walking on: levels as wide have come one after another.
fn is_long(levels: usize, nodes: usize, worth: usize) -> bool {
    levels >= PATIENCE && nodes >= 2 * worth && rayon::current_num_threads() > 1
}

impl Member<'_> {
    pub fn index(&self) -> usize {
        self.index
    }

    pub fn is_first(&self) -> bool {
        self.index == 0
    }

    /// Whether there is no other.
    pub fn is_alone(&self) -> bool {
        self.team.members == 1
    }

    /// The own part of `items`, of which as many members get one as there is work for: `worth` items and more each.
    pub fn part(&self, items: usize, worth: usize) -> Range<usize> {
        let parts = (items / worth).clamp(1, self.team.members);
        let bound = |part: usize| items * part.min(parts) / parts;
        bound(self.index)..bound(self.index + 1)
    }

    /// Gives `work` pieces of `items`, of `worth` items and more each: first those of the own part, which lie together, then what
    /// others have not begun. So nobody waits long for a member that was held up. All members have to deal the same, and to meet
    /// before they deal again.
    pub fn deal(&self, items: usize, worth: usize, mut work: impl FnMut(Range<usize>)) {
        let deals = self.deals.replace(self.deals.get() + 1);
        if !self.joins() {
            return;
        }
        let [taken, next] = [0, 1].map(|k| &self.team.taken[(deals + k) % 2]);
        if self.is_first() {
            next.iter().for_each(|taken| taken.0.store(0, Ordering::Relaxed));
        }
        let members = self.team.members;
        let piece = (items / (PIECES * members)).min(MOST).max(worth);
        for whose in (self.index..members).chain(0..self.index) {
            let [begin, end] = [whose, whose + 1].map(|part| items * part / members);
            let taken = &taken[whose].0;
            while begin + taken.load(Ordering::Relaxed) < end {
                let first = begin + taken.fetch_add(piece, Ordering::Relaxed);
                if first < end {
                    work(first..end.min(first + piece));
                }
            }
        }
    }

    /// Whether it takes part in what comes next. It does not where that is over.
    fn joins(&self) -> bool {
        while !self.joined.get() {
            let word = self.team.state.0.load(Ordering::Acquire);
            let state = State::of(word);
            if state.meetings != self.meetings.get() {
                return false;
            }
            let with = State { joined: state.joined + 1, ..state }.word();
            let swap =
                self.team.state.0.compare_exchange(word, with, Ordering::AcqRel, Ordering::Relaxed);
            self.joined.set(swap.is_ok());
        }
        true
    }

    /// Waits for the others. What they wrote before is seen after.
    pub fn meet(&self) {
        let joins = self.joins();
        let before = self.meetings.replace(self.meetings.get() + 1);
        if !joins {
            return;
        }
        let state = &self.team.state.0;
        // Who is the last to come ends the meeting, unless somebody else joins before that.
        let mut word = state.fetch_add(1, Ordering::AcqRel) + 1;
        while State::of(word).meetings == before
            && State::of(word).arrived == State::of(word).joined
        {
            let over = State { meetings: before + 1, arrived: 0, ..State::of(word) }.word();
            match state.compare_exchange(word, over, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
        let mut looks = 0;
        while State::of(state.load(Ordering::Acquire)).meetings == before {
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                let broken = self.team.broken.load(Ordering::Relaxed);
                assert!(!broken, "another thread of the team panicked");
                std::thread::yield_now();
            }
        }
    }
}

/// A list of nodes that members fill together, with sums over them. What a member found follows what those before it found, so
/// that members whose parts are cut from the list stay where they have been.
pub(crate) struct List<const SUMS: usize> {
    parts: Vec<Alone<Part<SUMS>>>,
}

struct Part<const SUMS: usize> {
    nodes: Vec<AtomicU32>,
    count: AtomicUsize,
    sums: [AtomicU64; SUMS],
}

impl<const SUMS: usize> List<SUMS> {
    fn new(members: usize, room: usize) -> List<SUMS> {
        let part = || Part {
            nodes: (0..room).map(|_| AtomicU32::new(0)).collect(),
            count: AtomicUsize::new(0),
            sums: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        List { parts: (0..members).map(|_| Alone(part())).collect() }
    }

    /// What `member` found; there has to be room for it.
    pub fn fill(
        &self,
        member: &Member<'_>,
        nodes: impl ExactSizeIterator<Item = u32>,
        sums: [u64; SUMS],
    ) {
        let part = &self.parts[member.index].0;
        part.count.store(nodes.len(), Ordering::Relaxed);
        part.sums.iter().zip(sums).for_each(|(slot, sum)| slot.store(sum, Ordering::Relaxed));
        part.nodes.iter().zip(nodes).for_each(|(slot, v)| slot.store(v, Ordering::Relaxed));
    }

    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.0.count.load(Ordering::Relaxed)).sum()
    }

    pub fn sums(&self) -> [u64; SUMS] {
        let sum = |i: usize| self.parts.iter().map(|p| p.0.sums[i].load(Ordering::Relaxed)).sum();
        std::array::from_fn(sum)
    }

    /// Takes nodes out of a range of the list.
    pub fn read(&self, range: Range<usize>, nodes: &mut Vec<u32>) {
        let mut begin = 0;
        for Alone(part) in &self.parts {
            let count = part.count.load(Ordering::Relaxed);
            let of = |at: usize| at.clamp(begin, begin + count) - begin;
            let own = &part.nodes[of(range.start)..of(range.end)];
            nodes.extend(own.iter().map(|v| v.load(Ordering::Relaxed)));
            begin += count;
        }
    }
}

/// The lists of a level, and of the next: they take turns.
pub(crate) struct Lists<const SUMS: usize>([List<SUMS>; 2]);

impl<const SUMS: usize> Lists<SUMS> {
    /// Of `members`, each with room for so many nodes; the first list holds these.
    pub fn new(members: usize, room: usize, first: &[u32]) -> Lists<SUMS> {
        let lists = Lists(std::array::from_fn(|_| List::new(members, room.max(first.len()))));
        let part = &lists.0[0].parts[0].0;
        part.count.store(first.len(), Ordering::Relaxed);
        part.nodes.iter().zip(first).for_each(|(slot, v)| slot.store(*v, Ordering::Relaxed));
        lists
    }

    /// The list of level `turn`, and that of the next.
    pub fn at(&self, turn: usize) -> [&List<SUMS>; 2] {
        [0, 1].map(|k| &self.0[(turn + k) % 2])
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.team.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicU64;

    fn on(threads: usize, test: impl Fn() + Send + Sync) {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(test);
    }

    #[test]
    fn members_see_what_others_wrote_before_a_meeting() {
        for (threads, most, members) in [(1, 4, 1), (3, 2, 2), (4, 8, 4), (4, 1, 1)] {
            on(threads, || {
                let slots: Vec<AtomicU64> = (0..members).map(|_| AtomicU64::new(0)).collect();
                let rounds = run(size(most), |member| {
                    assert_eq!((member.is_alone(), member.team.members), (members == 1, members));
                    for round in 1..2000 {
                        slots[member.index].store(round, Ordering::Relaxed);
                        member.meet();
                        assert!(slots.iter().all(|slot| slot.load(Ordering::Relaxed) == round));
                        member.meet();
                    }
                    member.is_first().then_some(2000)
                });
                assert_eq!(rounds, Some(2000));
            });
        }
    }

    #[test]
    fn teams_walk_where_many_levels_are_wide() {
        on(4, || {
            let members = |levels, nodes| Stretch::new(levels, nodes, 10).members;
            assert_eq!([members(15, 50), members(16, 19), members(16, 20)], [1, 1, 4]);
            let [alone, team] = [Stretch::new(0, 50, 10), Stretch::new(16, 20, 10)];
            assert_eq!(
                [alone.lasts(15, 50), alone.lasts(16, 19), alone.lasts(16, 20)],
                [true, true, false]
            );
            assert_eq!([team.lasts(0, 9), team.lasts(99, 10)], [false, true]);
        });
        on(1, || {
            let alone = Stretch::new(16, 20, 10);
            assert!(alone.members == 1 && alone.lasts(99, 99));
        });
    }

    #[test]
    fn parts_are_all_items_once_and_of_some_worth() {
        on(4, || {
            for (items, worth, parts) in [(0, 8, 1), (7, 8, 1), (17, 8, 2), (1000, 8, 4)] {
                let all: Vec<AtomicU64> = (0..items).map(|_| AtomicU64::new(0)).collect();
                let busy = AtomicUsize::new(0);
                run(4, |member| {
                    let part = member.part(items, worth);
                    busy.fetch_add(usize::from(!part.is_empty()), Ordering::Relaxed);
                    part.for_each(|i| {
                        all[i].fetch_add(1, Ordering::Relaxed);
                    });
                });
                assert!(all.iter().all(|count| count.load(Ordering::Relaxed) == 1));
                assert_eq!(busy.into_inner(), parts.min(items), "{items}");
            }
        });
    }

    #[test]
    fn deals_are_all_items_once() {
        for threads in [1, 3, 4] {
            on(threads, || {
                for (items, worth) in [(0, 8), (7, 8), (1000, 8), (100_000, 64)] {
                    let all: Vec<AtomicU64> = (0..items).map(|_| AtomicU64::new(0)).collect();
                    run(threads, |member| {
                        for deal in 1..=50 {
                            member.deal(items, worth, |piece| {
                                assert!(piece.len() <= MOST.max(worth));
                                piece.for_each(|i| {
                                    all[i].fetch_add(1, Ordering::Relaxed);
                                });
                            });
                            member.meet();
                            assert!(all.iter().all(|count| count.load(Ordering::Relaxed) == deal));
                            member.meet();
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn who_wakes_late_skips_what_is_over() {
        for threads in [1, 3, 4] {
            on(threads, || {
                for late in [0, 1, 20_000] {
                    let all: Vec<AtomicU64> = (0..5000).map(|_| AtomicU64::new(0)).collect();
                    let told = AtomicU64::new(0);
                    run_open(threads, |member| {
                        (0..late * member.index()).for_each(|_| std::hint::spin_loop());
                        for deal in 1..=100 {
                            if member.is_first() {
                                told.store(deal, Ordering::Relaxed);
                            }
                            member.meet();
                            let told = told.load(Ordering::Relaxed);
                            member.deal(all.len(), 8, |piece| {
                                assert_eq!(told, deal);
                                for one in &all[piece] {
                                    assert_eq!(one.fetch_add(1, Ordering::Relaxed) + 1, deal);
                                }
                            });
                            member.meet();
                        }
                    });
                    assert!(all.iter().all(|count| count.load(Ordering::Relaxed) == 100));
                }
            });
        }
    }

    #[test]
    fn a_member_that_panics_is_not_waited_for() {
        on(3, || {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                run(3, |member| {
                    assert!(member.index != 1, "trouble");
                    member.meet();
                })
            }));
            assert!(caught.is_err());
        });
    }
}
