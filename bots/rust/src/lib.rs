//! Plays in a Rubble arena: write a `choose` and pass it to [`run`].
//!
//! One stream carries all games of a bot. Answers that are ready together are sent in one message. What was answered is remembered
//! until the next question: after a reconnect the arena asks again, and the same question gets the same answer.

mod bot;
mod log;
mod settings;
mod turn;

#[cfg(test)]
mod tests;

pub use bot::{run, Bot};
pub use settings::Settings;
pub use turn::{Answer, BotError, Failure, Turn};

/// The contract, as `build.rs` wrote it from the protos.
#[allow(clippy::all)]
pub mod v1 {
    tonic::include_proto!("rubble.v1");
}
