//! Column totals: what a domain or the whole cluster has.
//!
//! Sums are modular like [`Lanes::add`], so that a total recomputed here equals one that was moved
//! along, in any order of rows.

use wide::i64x8;

use super::lanes::Lanes;

/// The sum of all rows.
#[must_use]
pub fn sum(column: &[Lanes]) -> Lanes {
    let total = column.iter().fold(i64x8::ZERO, |total, row| total + row.wide());
    Lanes(total.to_array())
}

/// The sum of the rows listed; a row listed twice counts twice.
///
/// # Panics
///
/// If a row is not in the column.
#[must_use]
pub fn sum_rows(column: &[Lanes], rows: &[u32]) -> Lanes {
    let rows = rows.iter().map(|&row| column[row as usize]);
    Lanes(rows.fold(i64x8::ZERO, |total, row| total + row.wide()).to_array())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lanes::LANES;
    use super::super::lanes::tests::any_columns;
    use super::*;

    fn sum_naively(rows: &[Lanes]) -> Lanes {
        Lanes(std::array::from_fn(|lane| {
            rows.iter().map(|row| i128::from(row.0[lane])).sum::<i128>() as i64
        }))
    }

    #[test]
    fn nothing_sums_to_nothing() {
        assert_eq!(sum(&[]), Lanes::ZERO);
        assert_eq!(sum_rows(&[Lanes([1; LANES])], &[]), Lanes::ZERO);
    }

    #[test]
    fn listed_rows_count_as_often_as_they_are_listed() {
        let column = [Lanes([1; LANES]), Lanes([10; LANES]), Lanes([100; LANES])];
        assert_eq!(sum(&column), Lanes([111; LANES]));
        assert_eq!(sum_rows(&column, &[2, 0, 2]), Lanes([201; LANES]));
    }

    proptest! {
        #[test]
        fn sums_equal_the_naive_ones([column] in any_columns::<1>(), picks in any::<[u8; 5]>()) {
            prop_assert_eq!(sum(&column), sum_naively(&column));
            if !column.is_empty() {
                let rows = picks.map(|pick| u32::from(pick) % column.len() as u32);
                let naive = sum_naively(&rows.map(|row| column[row as usize]));
                prop_assert_eq!(sum_rows(&column, &rows), naive);
            }
        }
    }
}
