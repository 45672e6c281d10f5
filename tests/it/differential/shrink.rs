//! From a random scene to a small one in which the difference can be read.

use std::ops::Range;
use std::time::{Duration, Instant};

use bson::{Bson, Document};

use super::scene::{Difference, Pair, Scene};

/// After as many trials, or as long a time, what is left is small enough for a person.
const TRIALS: usize = 600;
const PATIENCE: Duration = Duration::from_secs(40);

/// The errors that a fault speaks of, in order: `error 2` and `"code": 2`.
pub(super) fn error_codes(fault: &str) -> String {
    let mut codes = String::new();
    for word in ["error ", "\"code\": "] {
        for after in fault.split(word).skip(1) {
            let digits = after.chars().take_while(|c| c.is_ascii_digit() || *c == '-');
            codes.push_str(word);
            codes.extend(digits);
        }
    }
    codes
}

/// Takes away from a difference whatever it does not need.
pub(super) fn shrink(pair: &mut Pair, found: Difference) -> Difference {
    let errors = error_codes(&found.fault);
    let mut best = found;
    let mut trials = TRIALS;
    let began = Instant::now();
    let mut attempt = |best: &mut Difference, scene: Scene, commands: Vec<Document>| -> bool {
        if trials == 0 || began.elapsed() > PATIENCE {
            return false;
        }
        trials -= 1;
        // A smaller case of another mistake would hide this one.
        match pair.again(&scene, &commands).filter(|fault| error_codes(fault) == errors) {
            Some(fault) => {
                *best = Difference { scene, commands, fault };
                true
            }
            None => false,
        }
    };
    loop {
        let mut smaller = fewer_commands(&mut best, &mut attempt);
        smaller |= fewer_documents(&mut best, &mut attempt);
        smaller |= each_simpler(&mut best, &mut attempt, |scene, commands| {
            lists_without_one(&scene.foreign)
                .map(|foreign| (Scene { foreign, ..scene.clone() }, commands.to_vec()))
                .collect()
        });
        smaller |= each_simpler(&mut best, &mut attempt, |scene, commands| {
            let (none, options, rules) = (Document::new(), &scene.options, &scene.rules);
            let plainer = [(options, &none), (&none, rules), (&none, &none)].into_iter();
            let changed = plainer.filter(|(o, r)| (*o, *r) != (options, rules));
            let with = |(options, rules): (&Document, &Document)| Scene {
                options: options.clone(),
                rules: rules.clone(),
                ..scene.clone()
            };
            changed.map(|parts| (with(parts), commands.to_vec())).collect()
        });
        smaller |= each_simpler(&mut best, &mut attempt, |scene, commands| {
            lists_without_one(&scene.indexes)
                .map(|indexes| (Scene { indexes, ..scene.clone() }, commands.to_vec()))
                .collect()
        });
        smaller |= each_simpler(&mut best, &mut attempt, |scene, commands| {
            let (last, earlier) = commands.split_last().expect("a difference has a command");
            let with_last = |last| [earlier, &[last]].concat();
            simpler(last).into_iter().map(|last| (scene.clone(), with_last(last))).collect()
        });
        smaller |= each_simpler(&mut best, &mut attempt, |scene, commands| {
            let mut out = Vec::new();
            for (at, document) in scene.docs.iter().enumerate() {
                for document in simpler(document).into_iter().filter(|d| d.contains_key("_id")) {
                    let mut scene = scene.clone();
                    scene.docs[at] = document;
                    out.push((scene, commands.to_vec()));
                }
            }
            for (at, document) in scene.foreign.iter().enumerate() {
                for document in simpler(document).into_iter().filter(|d| d.contains_key("_id")) {
                    let mut scene = scene.clone();
                    scene.foreign[at] = document;
                    out.push((scene, commands.to_vec()));
                }
            }
            for (at, index) in scene.indexes.iter().enumerate() {
                for index in simpler(index).into_iter().filter(|i| i.contains_key("name")) {
                    let mut scene = scene.clone();
                    scene.indexes[at] = index;
                    out.push((scene, commands.to_vec()));
                }
            }
            out
        });
        if !smaller {
            return best;
        }
    }
}

type Attempt<'a> = dyn FnMut(&mut Difference, Scene, Vec<Document>) -> bool + 'a;

fn fewer_documents(best: &mut Difference, attempt: &mut Attempt<'_>) -> bool {
    let count = |best: &Difference| best.scene.docs.len();
    fewer(best, attempt, count, |best, part| {
        let mut scene = best.scene.clone();
        scene.docs.drain(part);
        (scene, best.commands.clone())
    })
}

/// The last command stays: its answer is what differs.
fn fewer_commands(best: &mut Difference, attempt: &mut Attempt<'_>) -> bool {
    let count = |best: &Difference| best.commands.len() - 1;
    fewer(best, attempt, count, |best, part| {
        let mut commands = best.commands.clone();
        commands.drain(part);
        (best.scene.clone(), commands)
    })
}

/// Leaves out halves as long as that will do, then quarters, and in the end single ones.
fn fewer(
    best: &mut Difference,
    attempt: &mut Attempt<'_>,
    count: impl Fn(&Difference) -> usize,
    without: impl Fn(&Difference, Range<usize>) -> (Scene, Vec<Document>),
) -> bool {
    let mut smaller = false;
    let mut size = count(best).div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < count(best) {
            let (scene, commands) = without(best, start..(start + size).min(count(best)));
            if attempt(best, scene, commands) {
                smaller = true;
            } else {
                start += size;
            }
        }
        size /= 2;
    }
    smaller
}

/// Takes the first simplification that keeps the difference, until none does.
fn each_simpler(
    best: &mut Difference,
    attempt: &mut Attempt<'_>,
    ways: impl Fn(&Scene, &[Document]) -> Vec<(Scene, Vec<Document>)>,
) -> bool {
    let mut smaller = false;
    'again: loop {
        for (scene, commands) in ways(&best.scene, &best.commands) {
            if attempt(best, scene, commands) {
                smaller = true;
                continue 'again;
            }
        }
        return smaller;
    }
}

fn lists_without_one(list: &[Document]) -> impl Iterator<Item = Vec<Document>> + '_ {
    (0..list.len()).map(|at| {
        let mut rest = list.to_vec();
        rest.remove(at);
        rest
    })
}

/// Documents that are simpler by one field, one element or one level.
fn simpler(document: &Document) -> Vec<Document> {
    let mut out = Vec::new();
    for (at, (name, value)) in document.iter().enumerate() {
        let mut without = document.clone();
        without.remove(name);
        if at > 0 || document.len() > 1 {
            out.push(without);
        }
        for value in simpler_values(value) {
            let mut with = document.clone();
            with.insert(name.clone(), value);
            out.push(with);
        }
    }
    out
}

fn simpler_values(value: &Bson) -> Vec<Bson> {
    let mut out = Vec::new();
    match value {
        Bson::Document(inner) => {
            out.extend(inner.iter().map(|(_, value)| value.clone()));
            out.extend(simpler(inner).into_iter().map(Bson::Document));
            if inner.len() == 1 {
                out.push(Bson::Document(Document::new()));
            }
        }
        Bson::Array(items) => {
            out.extend(items.iter().cloned());
            for at in 0..items.len() {
                let mut without = items.clone();
                without.remove(at);
                out.push(Bson::Array(without));
                for item in simpler_values(&items[at]) {
                    let mut with = items.clone();
                    with[at] = item;
                    out.push(Bson::Array(with));
                }
            }
        }
        _ => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::simpler;

    #[test]
    fn simpler_documents_lose_a_field_an_element_or_a_level() {
        let ways = simpler(&doc! { "find": "c", "filter": { "a": { "$in": [1, 2] } } });
        for expected in [
            doc! { "find": "c" },
            doc! { "find": "c", "filter": {} },
            doc! { "find": "c", "filter": { "$in": [1, 2] } },
            doc! { "find": "c", "filter": { "a": [1, 2] } },
            doc! { "find": "c", "filter": { "a": { "$in": [2] } } },
        ] {
            assert!(ways.contains(&expected), "{expected} in {ways:?}");
        }
    }
}
