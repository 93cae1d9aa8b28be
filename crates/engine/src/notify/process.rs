//! Runs the user's program without a shell and with a time limit.

use std::process::{Command, ExitStatus};
use std::time::Duration;

use dogwatch_base::program;

#[derive(Debug)]
pub(super) struct Ran {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs a program, and kills it with all that it started at the limit.
pub(super) fn run(
    words: &[String],
    env: &[(&str, &str)],
    input: &[u8],
    limit: Duration,
) -> Result<Ran, String> {
    let (name, args) = words.split_first().ok_or("no program given")?;
    let mut command = Command::new(name);
    command.args(args).envs(env.iter().copied());
    let ended = program::run(command, input, limit)
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    let too_long = || format!("timeout after {} s; the process was killed", limit.as_secs());
    let status = ended.status.ok_or_else(too_long)?;
    Ok(Ran { status, stdout: ended.stdout.text(), stderr: ended.stderr.text() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_output_and_timeout_of_a_program() {
        let sh = |script: &str, seconds: u64| {
            let words = ["sh", "-c", script].map(ToOwned::to_owned);
            run(&words, &[("X", "1")], b"in", Duration::from_secs(seconds))
        };
        let failed = sh("cat; echo $X >&2; exit 3", 20).unwrap();
        let said = (failed.stdout.as_str(), failed.stderr.as_str());
        assert_eq!((failed.status.code(), said), (Some(3), ("in", "1\n")));
        assert!(sh("exec sleep 60", 1).unwrap_err().contains("timeout after 1 s"));
        let missing = run(&["/no/such".into()], &[], b"", Duration::from_secs(1)).unwrap_err();
        assert!(missing.starts_with("cannot start /no/such"), "{missing}");
    }
}
