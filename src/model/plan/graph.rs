//! The tasks of a plan as a graph: who waits for whom, in what order all can be worked off, and where they wait in a circle.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::PlanTask;

/// Tasks by their places in the list, with both directions of their dependencies. An order that is not in the list counts as met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    pub(super) orders: Vec<u32>,
    pub(super) places: HashMap<u32, usize>,
    pub(super) dependencies: Vec<Vec<usize>>,
    pub(super) dependents: Vec<Vec<usize>>,
}

impl Graph {
    pub fn of(tasks: &[PlanTask]) -> Graph {
        Graph::new(tasks.iter().map(|task| (task.order, &task.depends_on[..])))
    }

    pub(super) fn new<'t>(tasks: impl Iterator<Item = (u32, &'t [u32])> + Clone) -> Graph {
        let orders: Vec<u32> = tasks.clone().map(|(order, _)| order).collect();
        let mut places = HashMap::with_capacity(orders.len());
        for (place, order) in orders.iter().enumerate() {
            places.entry(*order).or_insert(place);
        }
        let mut dependents = vec![Vec::new(); orders.len()];
        let mut dependencies = Vec::with_capacity(orders.len());
        for (place, (_, depends_on)) in tasks.enumerate() {
            let mut met: Vec<usize> = depends_on
                .iter()
                .filter_map(|order| places.get(order).copied())
                .collect();
            met.sort_unstable();
            met.dedup();
            met.iter()
                .for_each(|&dependency| dependents[dependency].push(place));
            dependencies.push(met);
        }
        Graph {
            orders,
            places,
            dependencies,
            dependents,
        }
    }

    /// Places in an order in which all can be worked off, lower orders first where there is a choice. Tasks of a circle, and
    /// those that wait for one, are left out.
    pub(super) fn sorted(&self) -> Vec<usize> {
        let mut unmet: Vec<usize> = self.dependencies.iter().map(Vec::len).collect();
        let starts = (0..unmet.len()).filter(|&place| unmet[place] == 0);
        let mut ready: BinaryHeap<_> = starts
            .map(|place| Reverse((self.orders[place], place)))
            .collect();
        let mut sorted = Vec::with_capacity(unmet.len());
        while let Some(Reverse((_, place))) = ready.pop() {
            sorted.push(place);
            for &dependent in &self.dependents[place] {
                unmet[dependent] -= 1;
                if unmet[dependent] == 0 {
                    ready.push(Reverse((self.orders[dependent], dependent)));
                }
            }
        }
        sorted
    }

    /// For each task the number of steps that must come before it.
    pub(super) fn layer_of_each(&self) -> Vec<usize> {
        let mut layer = vec![0; self.orders.len()];
        for place in self.sorted() {
            let before = self.dependencies[place]
                .iter()
                .map(|&dependency| layer[dependency] + 1);
            layer[place] = before.max().unwrap_or(0);
        }
        layer
    }

    /// The orders of the tasks by layers: each depends on earlier layers alone.
    pub fn layers(&self) -> Vec<Vec<u32>> {
        let layer = self.layer_of_each();
        let mut layers: Vec<Vec<u32>> = Vec::new();
        for place in self.sorted() {
            if layers.len() <= layer[place] {
                layers.resize(layer[place] + 1, Vec::new());
            }
            layers[layer[place]].push(self.orders[place]);
        }
        layers
    }

    /// Circles of tasks that wait for each other, each from its lowest order; at least one where there is any.
    pub fn cycles(&self) -> Vec<Vec<u32>> {
        let mut open = vec![true; self.orders.len()];
        self.sorted()
            .into_iter()
            .for_each(|place| open[place] = false);
        let mut seen_by = vec![usize::MAX; self.orders.len()];
        let mut cycles = Vec::new();
        for start in (0..self.orders.len()).filter(|&place| open[place]) {
            let mut trail = Vec::new();
            let mut here = start;
            // What was left open waits for something left open, so the trail ends only where it meets one.
            while seen_by[here] == usize::MAX {
                seen_by[here] = start;
                trail.push(here);
                match self.dependencies[here]
                    .iter()
                    .find(|&&dependency| open[dependency])
                {
                    Some(&dependency) => here = dependency,
                    None => break,
                }
            }
            let met = trail.iter().position(|&place| place == here);
            if let Some(met) = met.filter(|_| seen_by[here] == start) {
                cycles.push(self.circle(&trail[met..]));
            }
        }
        cycles
    }

    fn circle(&self, places: &[usize]) -> Vec<u32> {
        let mut orders: Vec<u32> = places.iter().map(|&place| self.orders[place]).collect();
        let lowest = (0..orders.len())
            .min_by_key(|&index| orders[index])
            .unwrap_or(0);
        orders.rotate_left(lowest);
        orders
    }
}
