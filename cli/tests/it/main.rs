//! The command as a user meets it: arguments and files in; output, messages and an exit status out.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn bindery(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bindery")).args(arguments).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file that goes when the test does.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &[u8]) -> Scratch {
        let path = std::env::temp_dir().join(format!("bindery-cli-{}-{name}", std::process::id()));
        std::fs::write(&path, content).expect("the temporary folder can be written");
        Scratch(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn compare_prints_a_table_a_scenario_and_writes_json() {
    let json = Scratch::new("out.json", b"what an earlier run wrote, longer than a bracket");
    let small = ["compare", "--scale", "0.01", "--samples", "5", "--operations", "100", "--json", json.path()];
    let output = bindery(&small);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    for part in
        ["bucket: ", "attribute: ", "subset: ", "native, day", "sparse indexes", "referenced", "cache for 99 % hits"]
    {
        assert!(stdout.contains(part), "{part} is missing in {stdout}");
    }
    assert_eq!(stdout.matches("All schemas gave the same answers.").count(), 3);
    let written = std::fs::read(&json.0).expect("written");
    let written: serde_json::Value = serde_json::from_slice(&written).expect("JSON and nothing behind it");
    let comparisons = written["comparisons"].as_array().expect("an array");
    assert_eq!(comparisons.len(), 3);
    for comparison in comparisons {
        let schemas = comparison["schemas"].as_array().expect("an array");
        assert!(schemas.len() >= 4 && schemas[0]["role"] == "naive", "{schemas:?}");
        assert!(schemas[0]["mix"]["cacheForHits"].is_array());
    }
}

#[test]
fn files_that_cannot_be_used_are_named_with_the_place() {
    let broken = Scratch::new("broken.ndjson", b"{\"t\": \"2020-01-01\", \"v\": 1}\n{\"t\": \n");
    let empty = Scratch::new("empty.csv", b"");
    let dump = Scratch::new("cut.bson", &[9, 0, 0, 0, 10, b'a', 0, 0]);
    let missing = std::env::temp_dir().join("bindery-no-such-file.csv");
    let missing = missing.to_str().expect("UTF-8");
    for (path, part) in [
        (broken.path(), "line 3: the file ends within a document"),
        (empty.path(), "the file is empty"),
        (dump.path(), "byte 0: the file ends 8 bytes into a document of 9"),
        (missing, "cannot be read"),
    ] {
        let output = bindery(&["compare", "bucket", "--data", path, "--time", "t", "--value", "v"]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(path) && stderr.contains(part), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn arguments_that_contradict_each_other_are_refused() {
    let file = Scratch::new("readings.csv", b"t,v\n2020-01-01,1\n");
    for (arguments, part) in [
        (vec!["compare", "--data", file.path()], "name it"),
        (vec!["compare", "bucket", "--data", file.path()], "--time is missing"),
        (vec!["compare", "--scale", "0"], "--scale"),
        (vec!["compare", "nonsense"], "nonsense"),
        (vec![], "Usage"),
    ] {
        let output = bindery(&arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
    }
    let output = bindery(&["compare", "subset", "--schema", "nonsense", "--scale", "0.01"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no schema `nonsense`"), "{}", text(&output.stderr));
}

#[test]
fn own_readings_are_compared() {
    let mut lines = String::from("at;room;t\n");
    for minute in 0..3000 {
        let (hour, of_hour) = (minute / 60 % 24, minute % 60);
        let day = 1 + minute / 1440;
        lines.push_str(&format!("2020-01-{day:02} {hour:02}:{of_hour:02}:00;kitchen;{}.5\n", minute % 20));
    }
    let file = Scratch::new("rooms.csv", lines.as_bytes());
    let arguments = [
        "compare",
        "bucket",
        "--data",
        file.path(),
        "--time",
        "at",
        "--meta",
        "room",
        "--value",
        "t",
        "--samples",
        "5",
        "--operations",
        "50",
    ];
    let output = bindery(&arguments);
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(stdout.contains("3,000 documents") && stdout.contains("rooms.csv"), "{stdout}");
    // Three thousand readings fill too few pages to say anything about more of them.
    assert!(stdout.contains("(naive too small)"), "{stdout}");
}

#[test]
fn a_script_runs_with_the_planner_that_is_asked_for() {
    // Two indexes find many documents each: they are intersected, unless the plan is to be MongoDB's.
    let documents: Vec<String> = (0..2000).map(|n| format!("{{\"a\": {}, \"b\": {}}}", n % 7, n % 11)).collect();
    let script = format!(
        "{{\"insert\": \"c\", \"documents\": [{}]}}\n\
         {{\"createIndexes\": \"c\", \"indexes\": [{{\"key\": {{\"a\": 1}}, \"name\": \"a\"}}, {{\"key\": {{\"b\": 1}}, \"name\": \"b\"}}]}}\n\
         {{\"explain\": {{\"find\": \"c\", \"filter\": {{\"a\": 1, \"b\": 1}}}}, \"verbosity\": \"queryPlanner\"}}\n",
        documents.join(", ")
    );
    let file = Scratch::new("planner.json", script.as_bytes());
    let explained = |arguments: &[&str]| {
        let output = bindery(&[&["run", file.path()], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let line = text(&output.stdout).lines().last().expect("three replies").to_owned();
        let reply: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let winner = reply["queryPlanner"]["winningPlan"]["inputStage"]["stage"].as_str().map(str::to_owned);
        (reply["bindery"]["planner"].as_str().map(str::to_owned), winner)
    };
    let expected = |planner: &str, stage: &str| (Some(planner.to_owned()), Some(stage.to_owned()));
    assert_eq!(explained(&[]), expected("bindery", "AND_SORTED"));
    assert_eq!(explained(&["--planner", "mongodb"]), expected("mongodb", "IXSCAN"));
    assert_eq!(bindery(&["run", "--planner", "oracle", file.path()]).status.code(), Some(2));
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .arg("run")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("piped");
    for _ in 0..10_000 {
        if stdin.write_all(b"{\"ping\": 1}\n").is_err() {
            break;
        }
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
}
