//! Where a request fits: now, once what is ending has ended, or not at all.

use wide::i64x8;

use super::lanes::Lanes;

/// How well a node serves a request. The order is the order of preference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Fit {
    /// Neither now nor when what is ending has ended.
    #[default]
    None = 0,
    /// In what is idle and releasing, less what is already promised; the task has to wait for it.
    Future = 1,
    /// Right now, without touching a promise.
    Idle = 2,
}

/// Grades every row for one request.
///
/// [`Fit::Future`] needs room in `idle + releasing - pipelined`, [`Fit::Idle`] needs room in `idle` as
/// well: what is idle but promised to a pipelined task is not given away. A lane with a request of
/// zero or less fits anywhere. The sum is modular like that of [`Lanes::add`], hence exact whenever
/// the result fits an `i64`, whatever its parts do.
///
/// # Panics
///
/// If the slices differ in length.
pub fn grade(
    request: &Lanes,
    idle: &[Lanes],
    releasing: &[Lanes],
    pipelined: &[Lanes],
    out: &mut [Fit],
) {
    assert_eq!(idle.len(), out.len(), "one grade for each row");
    assert_eq!(releasing.len(), out.len(), "columns of one table");
    assert_eq!(pipelined.len(), out.len(), "columns of one table");
    let ask = ask(request);
    let rows = idle.iter().zip(releasing).zip(pipelined).zip(out);
    for (((idle, releasing), pipelined), grade) in rows {
        let idle = idle.wide();
        let future = idle + releasing.wide() - pipelined.wide();
        let later = ask.simd_gt(future).none();
        let now = ask.simd_gt(idle).none();
        *grade = GRADES[usize::from(later)][usize::from(now)];
    }
}

/// The same for rows on which nothing is leaving and nothing is held: what fits later fits now. What
/// is idle follows from columns that scores read, too.
///
/// # Panics
///
/// If the slices differ in length.
pub fn grade_at_rest(request: &Lanes, used: &[Lanes], allocatable: &[Lanes], out: &mut [Fit]) {
    assert_eq!(used.len(), out.len(), "one grade for each row");
    assert_eq!(allocatable.len(), out.len(), "columns of one table");
    let ask = ask(request);
    for ((used, allocatable), grade) in used.iter().zip(allocatable).zip(out) {
        let idle = allocatable.wide() - used.wide();
        let now = usize::from(ask.simd_gt(idle).none());
        *grade = GRADES[now][now];
    }
}

/// By "fits later" and "fits now"; a table instead of branches that no predictor could guess.
const GRADES: [[Fit; 2]; 2] = [[Fit::None, Fit::None], [Fit::Future, Fit::Idle]];

/// The request with lanes that ask for nothing put below every room.
#[inline]
fn ask(request: &Lanes) -> i64x8 {
    i64x8::new(request.0.map(|ask| if ask <= 0 { i64::MIN } else { ask }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lanes::LANES;
    use super::super::lanes::tests::{any_columns, any_lanes};
    use super::*;

    fn lanes(cpu: i64, memory: i64) -> Lanes {
        Lanes([cpu, memory, 0, 0, 0, 0, 0, 0])
    }

    fn graded(request: Lanes, idle: Lanes, releasing: Lanes, pipelined: Lanes) -> Fit {
        let mut out = [Fit::None];
        grade(&request, &[idle], &[releasing], &[pipelined], &mut out);
        out[0]
    }

    #[test]
    fn idle_room_serves_at_once() {
        assert_eq!(graded(lanes(2, 2), lanes(2, 3), Lanes::ZERO, Lanes::ZERO), Fit::Idle);
    }

    #[test]
    fn room_that_is_being_freed_serves_later() {
        assert_eq!(graded(lanes(2, 2), lanes(1, 3), lanes(1, 0), Lanes::ZERO), Fit::Future);
    }

    #[test]
    fn promised_room_is_not_given_away_though_it_is_idle() {
        assert_eq!(graded(lanes(2, 2), lanes(2, 2), Lanes::ZERO, lanes(1, 0)), Fit::None);
        assert_eq!(graded(lanes(2, 2), lanes(2, 2), lanes(1, 0), lanes(1, 0)), Fit::Idle);
    }

    #[test]
    fn debt_in_a_lane_nobody_asks_for_does_not_matter() {
        assert_eq!(graded(lanes(2, 0), lanes(2, -9), Lanes::ZERO, Lanes::ZERO), Fit::Idle);
        assert_eq!(graded(Lanes::ZERO, lanes(-1, i64::MIN), Lanes::ZERO, Lanes::ZERO), Fit::Idle);
    }

    #[test]
    fn no_rows_need_no_grades() {
        grade(&lanes(1, 1), &[], &[], &[], &mut []);
    }

    fn grade_naively(request: &Lanes, idle: &Lanes, releasing: &Lanes, pipelined: &Lanes) -> Fit {
        let mut fit = Fit::Idle;
        for lane in 0..LANES {
            let future = i128::from(idle.0[lane]) + i128::from(releasing.0[lane])
                - i128::from(pipelined.0[lane]);
            let ask = request.0[lane];
            if ask > 0 && ask > future as i64 {
                return Fit::None;
            }
            if ask > 0 && ask > idle.0[lane] {
                fit = Fit::Future;
            }
        }
        fit
    }

    proptest! {
        #[test]
        fn grades_equal_the_naive_ones(
            request in any_lanes(),
            [idle, releasing, pipelined] in any_columns::<3>(),
        ) {
            let mut out = vec![Fit::None; idle.len()];
            grade(&request, &idle, &releasing, &pipelined, &mut out);
            for (row, &fit) in out.iter().enumerate() {
                let naive = grade_naively(&request, &idle[row], &releasing[row], &pipelined[row]);
                prop_assert_eq!(fit, naive, "row {}", row);
            }
        }

        #[test]
        fn nodes_at_rest_are_graded_alike(
            request in any_lanes(),
            [used, allocatable] in any_columns::<2>(),
        ) {
            let mut idle = allocatable.clone();
            idle.iter_mut().zip(&used).for_each(|(idle, used)| idle.sub(used));
            let none = vec![Lanes::ZERO; idle.len()];
            let (mut rest, mut all) = (vec![Fit::Future; idle.len()], vec![Fit::None; idle.len()]);
            grade_at_rest(&request, &used, &allocatable, &mut rest);
            grade(&request, &idle, &none, &none, &mut all);
            prop_assert_eq!(rest, all);
        }
    }
}
