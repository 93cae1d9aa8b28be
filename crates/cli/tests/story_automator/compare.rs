//! What was answered against what should have been, once what differs from run to run has been named.

use std::collections::HashSet;
use std::process::Output;

use regex_lite::Regex;
use serde_json::Value;

use super::case::Case;
use super::sandbox::Sandbox;

pub(crate) struct Seen {
    pub(crate) output: Output,
    /// What the case's own look at the world printed.
    pub(crate) checked: Option<String>,
}

const MOMENT: &str = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ";

pub(crate) fn compare(case: &Case, sandbox: &Sandbox, seen: &Seen) -> Vec<String> {
    let named = Names::new(case, sandbox);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stdout = named.apply(&text(&seen.output.stdout));
    let stderr = text(&seen.output.stderr);
    let mut findings = Vec::new();
    if seen.output.status.code() != Some(case.exit) {
        findings.push(format!(
            "exit {}, want {}; stderr: {}",
            seen.output.status,
            case.exit,
            stderr.trim()
        ));
    }
    if let Some(want) = &case.stdout_json {
        let got = serde_json::from_str::<Value>(&stdout).ok();
        let want = serde_json::from_str(&output_path(&want.to_string())).unwrap();
        if got.map(|got| without(got, &case.json_ignore)) != Some(without(want, &case.json_ignore))
        {
            findings.push(differs("stdout", &stdout, case.stdout.as_deref().unwrap_or_default()));
        }
    } else if let Some(want) = &case.stdout
        && stdout != output_path(want)
    {
        findings.push(differs("stdout", &stdout, want));
    }
    if let Some(want) = &case.stderr_first_line
        && named.apply(stderr.lines().next().unwrap_or_default()) != *want
    {
        findings.push(differs("first line of stderr", &stderr, want));
    }
    for (name, want) in &case.files_after {
        let got = matching(sandbox, name).map(|text| named.apply(&text));
        if got.as_deref() != want.as_str() {
            let shown = |text: Option<&str>| text.unwrap_or("(no such file)").to_owned();
            findings.push(differs(name, &shown(got.as_deref()), &shown(want.as_str())));
        }
    }
    if let Some(want) = &case.check_stdout {
        let got = named.apply(seen.checked.as_deref().unwrap_or_default());
        if got != *want {
            findings.push(differs("check", &got, want));
        }
    }
    findings
}

fn differs(what: &str, got: &str, want: &str) -> String {
    format!("   {what}\n     got  {}\n     want {}", got.trim_end(), want.trim_end())
}

fn without(mut value: Value, keys: &[String]) -> Value {
    if let Value::Object(map) = &mut value {
        map.retain(|key, _| !keys.contains(key));
    }
    value
}

/// The text of a file, or of the first one that a name with a star means.
fn matching(sandbox: &Sandbox, name: &str) -> Option<String> {
    let path = sandbox.project().join(name);
    let Some((start, end)) = name.split_once('*') else {
        return std::fs::read_to_string(path).ok();
    };
    let (folder, start) = start.rsplit_once('/').unwrap_or(("", start));
    let mut names: Vec<String> = std::fs::read_dir(sandbox.project().join(folder))
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(start) && name.ends_with(end))
        .collect();
    names.sort_unstable();
    std::fs::read_to_string(sandbox.project().join(folder).join(names.first()?)).ok()
}

/// Where the captured output lies is the tool's own business: only that a path is given is compared.
fn output_path(text: &str) -> String {
    let path = Regex::new(r#"[^",\s]*/[^",\s]*output-[^",\s]*\.txt"#).unwrap();
    path.replace_all(text, "{{OUTPUT}}").into_owned()
}

/// What differs from run to run, and what it is called.
struct Names<'a> {
    case: &'a Case,
    plain: Vec<(String, &'static str)>,
    day: String,
    /// Moments that the case itself has.
    fixed: HashSet<String>,
}

impl<'a> Names<'a> {
    fn new(case: &'a Case, sandbox: &Sandbox) -> Self {
        let path =
            |name: &str| sandbox.root.join(name).to_str().unwrap().trim_end_matches('/').to_owned();
        let mut plain = vec![
            (path("demo-app"), "{{PROJECT}}"),
            (path("tmp"), "{{TMPDIR}}"),
            (path("home"), "{{HOME}}"),
            (path(""), "{{CASE}}"),
        ];
        for name in ["{{PROJECT_HASH}}", "{{SESSION}}", "{{STALE}}", "{{OLD30}}", "{{FRESH}}"] {
            plain.extend(sandbox.value(name).map(|value| (value.to_owned(), name)));
        }
        let given = serde_json::json!([case.files, case.argv, case.tmp_files]).to_string();
        let fixed = Regex::new(MOMENT).unwrap();
        Self {
            case,
            plain,
            day: sandbox.begun.strftime("%Y%m%d").to_string(),
            fixed: fixed.find_iter(&given).map(|found| found.as_str().to_owned()).collect(),
        }
    }

    fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, name) in &self.plain {
            text = text.replace(value, name);
        }
        let moments = Regex::new(MOMENT).unwrap();
        text = moments
            .replace_all(&text, |found: &regex_lite::Captures| {
                let moment = &found[0];
                if self.fixed.contains(moment) {
                    moment.to_owned()
                } else {
                    "{{TIMESTAMP}}".to_owned()
                }
            })
            .into_owned();
        for (day, name) in [(&self.day[..], "{{STAMP8}}"), (&self.day[2..], "{{STAMP6}}")] {
            let stamp = Regex::new(&format!(r"{day}-\d{{6}}")).unwrap();
            text = stamp.replace_all(&text, regex_lite::NoExpand(name)).into_owned();
        }
        for (pattern, name) in &self.case.mask {
            let pattern = Regex::new(pattern).unwrap();
            text = pattern.replace_all(&text, regex_lite::NoExpand(name)).into_owned();
        }
        output_path(&text)
    }
}
