//! What all errors share: a kind, which decides the exit code, and a code that scripts branch on.

pub use dogwatch_protocol::error::ErrorKind;

/// An error as scripts see it.
pub trait Coded {
    /// All kinds and codes that it may have.
    const CODES: &'static [(ErrorKind, &'static str)];

    fn kind_and_code(&self) -> (ErrorKind, &'static str);

    fn kind(&self) -> ErrorKind {
        self.kind_and_code().0
    }

    /// Stable: scripts and agents branch on it.
    fn code(&self) -> &'static str {
        self.kind_and_code().1
    }
}

/// The code of every usage error without a code of its own.
pub const BAD_ARGUMENT: &str = "bad_argument";
/// The code of bugs in dogwatch.
pub const INTERNAL: &str = "internal";

/// Gives each variant its kind and its code, in the only place that defines them. `docs/protocol.md` lists them too, and a
/// test compares the two.
macro_rules! codes {
    ($error:ty: $($variants:pat => $kind:ident $code:expr;)+) => {
        impl $crate::error::Coded for $error {
            const CODES: &'static [($crate::error::ErrorKind, &'static str)] =
                &[$(($crate::error::ErrorKind::$kind, $code)),+];

            fn kind_and_code(&self) -> ($crate::error::ErrorKind, &'static str) {
                match self {
                    $($variants => ($crate::error::ErrorKind::$kind, $code),)+
                }
            }
        }
    };
}
pub(super) use codes;
