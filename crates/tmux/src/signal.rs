use rustix::process::Signal;

/// `#{pane_dead_signal}`: a number, or a name where the C library has names (macOS). A name not
/// listed here is `None`.
pub(crate) fn signal_number(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let signal = match text.strip_prefix("SIG").unwrap_or(text).to_ascii_uppercase().as_str() {
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "QUIT" => Signal::QUIT,
        "ILL" => Signal::ILL,
        "TRAP" => Signal::TRAP,
        "ABRT" => Signal::ABORT,
        "BUS" => Signal::BUS,
        "FPE" => Signal::FPE,
        "KILL" => Signal::KILL,
        "USR1" => Signal::USR1,
        "SEGV" => Signal::SEGV,
        "USR2" => Signal::USR2,
        "PIPE" => Signal::PIPE,
        "ALRM" => Signal::ALARM,
        "TERM" => Signal::TERM,
        "XCPU" => Signal::XCPU,
        "XFSZ" => Signal::XFSZ,
        "SYS" => Signal::SYS,
        _ => return None,
    };
    Some(signal.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_by_number_and_name() {
        for (text, number) in
            [("9", Some(9)), ("KILL", Some(9)), ("SIGTERM", Some(15)), ("?", None)]
        {
            assert_eq!(signal_number(text), number, "{text}");
        }
    }
}
