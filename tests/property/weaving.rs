//! Rules of weave for any definition. Unweave gives the text back, a second weave changes nothing, and the
//! woven definition is valid.

mod definitions;

use definitions::{Layout, definition, layout, written};
use lockstep_tests::yaml::to_json as value;
use lockstep_weave::{Options, check, unweave, weave};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

fn options(lock: &str) -> Options {
    Options {
        lock: lock.to_owned(),
        ..Options::default()
    }
}

/// The names of all states of a definition, and the variables that they assign.
#[derive(Default)]
struct Seen {
    names: Vec<String>,
    assigned: BTreeSet<String>,
}

/// Checks the rules of a level of states and of the levels inside it, and adds their names and variables to
/// `seen`. `outer` has the variables that the levels around it assign.
fn check_level(level: &Value, outer: &BTreeSet<String>, seen: &mut Seen) -> Result<(), String> {
    let states = level["States"].as_object();
    let states = states.ok_or("a level without States")?;
    let exists = |target: &Value| match target.as_str() {
        Some(name) if states.contains_key(name) => Ok(()),
        _ => Err(format!("{target} is no state of its level")),
    };
    exists(&level["StartAt"])?;
    let mut own = BTreeSet::new();
    for (name, state) in states {
        seen.names.push(name.clone());
        let rules = ["Choices", "Catch"].map(|field| state[field].as_array());
        for place in rules.into_iter().flatten().flatten().chain([state]) {
            for field in ["Next", "Default"] {
                place.get(field).map_or(Ok(()), exists)?;
            }
            let assigned = place["Assign"].as_object().into_iter();
            own.extend(assigned.flat_map(Map::keys).cloned());
        }
        let follows = ["Next", "End", "Default"].map(|field| state.get(field).is_some());
        let ends = matches!(state["Type"].as_str(), Some("Succeed" | "Fail"));
        if ends == follows.contains(&true) {
            return Err(format!("{name} needs either a next state or an end"));
        }
    }
    if let Some(name) = own.intersection(outer).next() {
        return Err(format!("{name} is assigned in an outer scope too"));
    }
    seen.assigned.extend(own.iter().cloned());
    let around: BTreeSet<_> = own.union(outer).cloned().collect();
    for state in states.values() {
        let branches = state["Branches"].as_array().into_iter().flatten();
        for inner in branches.chain(state.get("ItemProcessor")) {
            check_level(inner, &around, seen)?;
        }
    }
    Ok(())
}

fn is_definition(text: &str) -> Result<Seen, String> {
    let mut seen = Seen::default();
    check_level(&value(text), &BTreeSet::new(), &mut seen)?;
    let unique: BTreeSet<_> = seen.names.iter().collect();
    match unique.len() == seen.names.len() {
        true => Ok(seen),
        false => Err(format!("a name is used twice: {:?}", seen.names)),
    }
}

/// Returns the level of states that is the work of a woven definition.
fn work(woven: &Value) -> &Value {
    let hold = ending(&woven["States"], "Run Exclusively");
    &ending(&hold["Branches"][0]["States"], "Run Work")["Branches"][0]
}

/// Returns the state whose name ends with `end`.
fn ending<'a>(states: &'a Value, end: &str) -> &'a Value {
    let mut states = states.as_object().into_iter().flatten();
    let state = states.find(|(name, _)| name.ends_with(end));
    state.expect("a state of that name").1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn unweave_restores_the_text_and_weave_keeps_the_work(
        definition in definition(), layout in layout()
    ) {
        let text = written(&definition, layout);
        prop_assert_eq!(&value(&text), &definition, "the layout changes the definition: {}", text);

        let woven = weave(&text, &options("nightly"));
        let woven = woven.unwrap_or_else(|error| panic!("{error} in {text}"));

        prop_assert_eq!(unweave(&woven), Ok(text));
        let after = value(&woven);
        prop_assert_eq!(&work(&after)["States"], &definition["States"]);
        prop_assert_eq!(&work(&after)["StartAt"], &definition["StartAt"]);
    }

    #[test]
    fn a_woven_definition_is_valid_and_weaving_is_idempotent(
        definition in definition(), layout in layout(), permits in any::<bool>()
    ) {
        let text = written(&definition, layout);
        let before = is_definition(&text).unwrap_or_else(|wrong| panic!("{wrong}: {text}"));
        let mut options = options("nightly");
        options.options.permits = permits.then_some(3);

        let woven = weave(&text, &options).unwrap_or_else(|error| panic!("{error} in {text}"));

        let after = is_definition(&woven).unwrap_or_else(|wrong| panic!("{wrong}: {woven}"));
        let added = after.names.len() - before.names.len();
        prop_assert_eq!(added, 19, "states that weave adds");
        prop_assert!(before.assigned.is_subset(&after.assigned));
        prop_assert_eq!(weave(&woven, &options), Ok(woven.clone()));
        prop_assert_eq!(check(&woven), Ok(options));
        let other = weave(&woven, &self::options("other"));
        prop_assert_eq!(other, weave(&text, &self::options("other")));
    }
}

#[test]
fn is_definition_refuses_a_definition_that_breaks_a_rule() {
    let cases = [
        (
            r#"{"StartAt":"B","States":{"A":{"Type":"Succeed"}}}"#,
            "\"B\" is no state of its level",
        ),
        (
            r#"{"StartAt":"A","States":{"A":{"Type":"Pass"}}}"#,
            "A needs either a next state or an end",
        ),
        (
            r#"{"StartAt":"A","States":{"A":{"Type":"Parallel","Assign":{"x":1},"End":true,"Branches":[
               {"StartAt":"B","States":{"B":{"Type":"Pass","Assign":{"x":2},"End":true}}}]}}}"#,
            "x is assigned in an outer scope too",
        ),
        (
            r#"{"StartAt":"A","States":{"A":{"Type":"Parallel","End":true,"Branches":[
               {"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}]}}}"#,
            "a name is used twice: [\"A\", \"A\"]",
        ),
    ];
    for (text, wrong) in cases {
        assert_eq!(is_definition(text).err().as_deref(), Some(wrong), "{text}");
    }
    assert_ne!(Layout::Minified, Layout::Block { quotes: true });
}
