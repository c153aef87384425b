//! Rows that promise more than they will have: their reservations are stale.

use wide::i64x8;

use super::lanes::Lanes;

/// Appends, in order, every row whose `pipelined` exceeds `idle + releasing` in some lane.
///
/// A lane without a promise is never overbooked, even where usage has driven the room below zero:
/// taking promises back would not help there. The sum is modular like that of [`Lanes::add`].
///
/// # Panics
///
/// If the slices differ in length or have more than `u32::MAX` rows.
pub fn overbooked(idle: &[Lanes], releasing: &[Lanes], pipelined: &[Lanes], rows: &mut Vec<u32>) {
    assert_eq!(releasing.len(), idle.len(), "columns of one table");
    assert_eq!(pipelined.len(), idle.len(), "columns of one table");
    let count = u32::try_from(idle.len()).expect("rows are numbered with 32 bits");
    let columns = idle.iter().zip(releasing).zip(pipelined);
    for (row, ((idle, releasing), pipelined)) in (0..count).zip(columns) {
        let room = (idle.wide() + releasing.wide()).max(i64x8::ZERO);
        if pipelined.wide().simd_gt(room).any() {
            rows.push(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lanes::LANES;
    use super::super::lanes::tests::any_columns;
    use super::*;

    fn scanned(idle: i64, releasing: i64, pipelined: i64) -> Vec<u32> {
        let [idle, releasing, pipelined] =
            [idle, releasing, pipelined].map(|amount| [Lanes([0, 0, 0, 0, 0, 0, 0, amount])]);
        let mut rows = vec![9];
        overbooked(&idle, &releasing, &pipelined, &mut rows);
        assert_eq!(rows.remove(0), 9, "what was listed before stays");
        rows
    }

    #[test]
    fn promises_may_use_up_what_is_idle_and_releasing() {
        assert_eq!(scanned(1, 2, 3), []);
        assert_eq!(scanned(1, 2, 4), [0]);
    }

    #[test]
    fn a_node_in_debt_without_promises_is_not_overbooked() {
        assert_eq!(scanned(-5, 0, 0), []);
        assert_eq!(scanned(-5, 0, 1), [0]);
    }

    fn overbooked_naively(idle: &Lanes, releasing: &Lanes, pipelined: &Lanes) -> bool {
        (0..LANES).any(|lane| {
            let room = idle.0[lane].wrapping_add(releasing.0[lane]);
            pipelined.0[lane] > 0 && pipelined.0[lane] > room
        })
    }

    proptest! {
        #[test]
        fn rows_found_equal_the_naive_ones([idle, releasing, pipelined] in any_columns::<3>()) {
            let mut rows = Vec::new();
            overbooked(&idle, &releasing, &pipelined, &mut rows);
            let naive = (0..idle.len() as u32).filter(|&row| {
                let row = row as usize;
                overbooked_naively(&idle[row], &releasing[row], &pipelined[row])
            });
            prop_assert_eq!(rows, naive.collect::<Vec<_>>());
        }
    }
}
