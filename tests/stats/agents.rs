//! Simulated agents (`agents.json`): the machine runs on every sequence of five answers, and the
//! exact sums over their probabilities must be those of the oracle.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use turnlock::Next;
use turnlock::evidence::{Bundle, BundleOptions, Effect, Input, Outcome};

use crate::common;

const ANSWERS: usize = 4;
const LENGTH: u32 = 5;

/// The answer that most replicates gave (of equals the one seen first), and how many ran.
fn run(options: &Value, sequence: &[usize]) -> (usize, usize) {
    let options = BundleOptions::parse(options.to_string().as_bytes()).unwrap();
    let mut bundle = Bundle::new(options).unwrap();
    bundle.handle(0, Input::Start);
    let mut ran = 0;
    let mut last = Value::Null;
    while let Next::Effect(effect) = bundle.poll() {
        match effect {
            Effect::Run { replicate, attempt, .. } => {
                ran += 1;
                let json = format!("{{\"answer\":{}}}", sequence[replicate]);
                let outcome = Outcome::Data { json: json.into_bytes(), errors: vec![] };
                let settled = Input::Settled {
                    replicate,
                    attempt,
                    outcome,
                    tokens: None,
                    model: None,
                    seed_unsent: false,
                    repairs: Vec::new(),
                };
                bundle.handle(0, settled);
            }
            Effect::Emit(event) => last = serde_json::from_str(&event.to_text()).unwrap(),
            Effect::Cancel { .. } => panic!("nothing is left running"),
            Effect::Done => {}
        }
    }
    assert_eq!(last["type"], "bundle_ready");
    let leader = &last["bundle"]["summary"]["distributions"]["/answer"]["counts"][0]["value"];
    (usize::try_from(leader.as_u64().unwrap()).unwrap(), ran)
}

#[test]
fn exact_accuracy_and_cost() {
    let schema = json!({ "properties": { "answer": { "enum": [0, 1, 2, 3] } } });
    let fixed = |k: u32| json!({ "task": "t", "k": k, "stop": "never", "schema": schema });
    let stops = |k: u32, stop: &str| json!({ "task": "t", "k": k, "stop": stop, "schema": schema });
    let rules = [
        ("fixed_1", fixed(1)),
        ("fixed_2", fixed(2)),
        ("fixed_3", fixed(3)),
        ("fixed_5", fixed(5)),
        ("eps_0.2_max3", stops(3, "agreement")),
        ("eps_0.2_max5", stops(5, "agreement")),
        ("lock_3", stops(3, "majority_lock")),
        ("lock_5", stops(5, "majority_lock")),
    ];
    let sequences: Vec<Vec<usize>> = (0..ANSWERS.pow(LENGTH))
        .map(|n| (0..LENGTH).map(|place| n / ANSWERS.pow(place) % ANSWERS).collect())
        .collect();
    let outcomes: BTreeMap<&str, Vec<(usize, usize)>> = rules
        .iter()
        .map(|(name, options)| (*name, sequences.iter().map(|one| run(options, one)).collect()))
        .collect();

    let file = std::fs::read_to_string(common::data("stats/given/agents.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    let mut checked = 0;
    for population in file["populations"].as_array().unwrap() {
        let name = population["population"].as_str().unwrap();
        let questions: Vec<Vec<f64>> =
            serde_json::from_value(population["answer_probabilities"].clone()).unwrap();
        for (rule, outcomes) in &outcomes {
            let (mut accuracy, mut cost) = (0.0, 0.0);
            for question in &questions {
                for (sequence, (leader, ran)) in sequences.iter().zip(outcomes) {
                    let p: f64 = sequence.iter().map(|answer| question[*answer]).product();
                    accuracy += if *leader == 0 { p } else { 0.0 };
                    cost += p * f64::from(u32::try_from(*ran).unwrap());
                }
            }
            let n = f64::from(u32::try_from(questions.len()).unwrap());
            let want = &file["expected"][name][*rule];
            for (got, key) in [(accuracy / n, "accuracy"), (cost / n, "mean_replicates")] {
                let want = want[key].as_f64().unwrap();
                assert!((got - want).abs() < 1e-9, "{name} {rule} {key}: {got} for {want}");
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 4 * 8 * 2);
}
