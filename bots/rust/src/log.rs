//! Logs to standard error: seconds since the start, the level, and the message.

use std::sync::OnceLock;
use std::time::Instant;

pub(crate) fn say(level: &str, message: std::fmt::Arguments) {
    static START: OnceLock<Instant> = OnceLock::new();
    let seconds = START.get_or_init(Instant::now).elapsed().as_secs_f64();
    eprintln!("{seconds:10.3} {level} {message}");
}

macro_rules! info { ($($words:tt)*) => { crate::log::say("INFO", format_args!($($words)*)) } }
macro_rules! warning { ($($words:tt)*) => { crate::log::say("WARNING", format_args!($($words)*)) } }
macro_rules! error { ($($words:tt)*) => { crate::log::say("ERROR", format_args!($($words)*)) } }
pub(crate) use {error, info, warning};
