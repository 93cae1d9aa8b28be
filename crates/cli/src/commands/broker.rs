use dogwatch_engine::{Context, Error};

use crate::args::Broker;

#[cfg(feature = "broker")]
pub(crate) fn broker(context: &Context, args: &Broker) -> Result<u8, Error> {
    let mqtt = crate::environment::mqtt(context)?;
    let local = dogwatch_store::LocalBroker::of(&context.state);
    let password = local.password_file();
    let ready = |address| {
        crate::ui::talk(format_args!("a broker listens on {address}; Ctrl-C ends"));
        crate::ui::talk(format_args!(
            "dogwatch on this machine uses it by itself; other clients: user {}, password in {}",
            dogwatch_store::LOCAL_USER,
            password.display()
        ));
    };
    dogwatch_engine::tell::broker::run(args.listen, mqtt.as_ref(), &local, ready)?;
    Ok(dogwatch_core::exit_code::OK)
}

#[cfg(not(feature = "broker"))]
pub(crate) fn broker(_: &Context, args: &Broker) -> Result<u8, Error> {
    let listen = args.listen;
    let problem = format!(
        "this dogwatch was built without a broker; run another on {listen}, such as mosquitto"
    );
    Err(Error::BadArgument { problem })
}
