use dogwatch_engine::Error;
pub(crate) fn demo() -> Result<u8, Error> {
    Err(Error::BadArgument { problem: "soon".into() })
}
