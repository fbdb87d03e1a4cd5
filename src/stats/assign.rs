//! The cheapest one-to-one matching: the Hungarian method with potentials, O(n²m).

use crate::order::sort_by;

/// The minimum total cost of assigning a different column to every row.
///
/// `costs` has one row per item of the shorter list. All rows have the same length, which is at
/// least the number of rows.
pub(super) fn least_cost(costs: &[Vec<f64>]) -> f64 {
    let columns = costs.first().map_or(0, Vec::len);
    // Row 0 and column 0 are sentinels, as in the textbook form.
    let mut row_potential = vec![0.0; costs.len() + 1];
    let mut column_potential = vec![0.0; columns + 1];
    let mut row_of = vec![0_usize; columns + 1];
    let mut came_from = vec![0_usize; columns + 1];
    for row in 1..=costs.len() {
        put(&mut row_of, 0, row);
        let mut at = 0;
        let mut least = vec![f64::INFINITY; columns + 1];
        let mut used = vec![false; columns + 1];
        loop {
            #[cfg(test)]
            super::effort::counted::step(columns);
            put(&mut used, at, true);
            let current = get(&row_of, at);
            let own = costs.get(current - 1).map_or(&[][..], Vec::as_slice);
            let base = get(&row_potential, current);
            let (mut delta, mut next) = (f64::INFINITY, 0);
            for column in 1..=columns {
                if get(&used, column) {
                    continue;
                }
                let reduced = get(own, column - 1) - base - get(&column_potential, column);
                if reduced < get(&least, column) {
                    put(&mut least, column, reduced);
                    put(&mut came_from, column, at);
                }
                if get(&least, column) < delta {
                    (delta, next) = (get(&least, column), column);
                }
            }
            for column in 0..=columns {
                if get(&used, column) {
                    let row = get(&row_of, column);
                    let potential = get(&row_potential, row);
                    put(&mut row_potential, row, potential + delta);
                    let potential = get(&column_potential, column);
                    put(&mut column_potential, column, potential - delta);
                } else {
                    let rest = get(&least, column);
                    put(&mut least, column, rest - delta);
                }
            }
            at = next;
            if get(&row_of, at) == 0 {
                break;
            }
        }
        while at != 0 {
            let before = get(&came_from, at);
            let row = get(&row_of, before);
            put(&mut row_of, at, row);
            at = before;
        }
    }
    let mut chosen: Vec<f64> = (1..=columns)
        .filter_map(|column| costs.get(get(&row_of, column).checked_sub(1)?)?.get(column - 1))
        .copied()
        .collect();
    // Summed in order of size, so that the sum is the same double if the two lists are swapped.
    sort_by(&mut chosen, f64::total_cmp);
    chosen.iter().sum()
}

fn get<T: Copy + Default>(list: &[T], at: usize) -> T {
    list.get(at).copied().unwrap_or_default()
}

fn put<T>(list: &mut [T], at: usize, value: T) {
    if let Some(place) = list.get_mut(at) {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brute(costs: &[Vec<f64>], row: usize, taken: &mut Vec<usize>) -> f64 {
        let Some(own) = costs.get(row) else { return 0.0 };
        let mut best = f64::INFINITY;
        for (column, cost) in own.iter().enumerate() {
            if !taken.contains(&column) {
                taken.push(column);
                best = best.min(cost + brute(costs, row + 1, taken));
                taken.pop();
            }
        }
        best
    }

    #[test]
    fn no_other_matching_is_cheaper() {
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut next = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        for _ in 0..2_000 {
            let rows = usize::try_from(next(6)).unwrap();
            let columns = rows + usize::try_from(next(3)).unwrap();
            let costs: Vec<Vec<f64>> = (0..rows)
                .map(|_| {
                    (0..columns)
                        .map(|_| f64::from(u32::try_from(next(11)).unwrap()) / 10.0)
                        .collect()
                })
                .collect();
            let (got, want) = (least_cost(&costs), brute(&costs, 0, &mut Vec::new()));
            assert!((got - want).abs() < 1e-9, "{costs:?}: {got} for {want}");
        }
    }
}
