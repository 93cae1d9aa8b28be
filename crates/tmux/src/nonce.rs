use std::hash::{BuildHasher, Hasher, RandomState};

/// A word that no pane text, title or path can contain, because it did not exist when they were
/// written. Letters and digits only: tmux without a UTF-8 client turns TAB and control bytes into
/// `_`, and most symbols have a meaning in formats.
pub(crate) fn nonce() -> String {
    let word = || RandomState::new().build_hasher().finish();
    format!("dw{:016x}{:08x}", word(), word() >> 32)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_nonce_differs_each_time_and_is_alphanumeric() {
        let (a, b) = (super::nonce(), super::nonce());
        assert_ne!(a, b);
        assert!(a.len() == 26 && a.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
