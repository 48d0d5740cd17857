//! The types a bot author uses: the question, the answer, and the errors that stop a bot.

use std::fmt;

use crate::v1;

/// A question with everything needed to answer it.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub session: String,
    pub game: String,
    /// The bot's seat, counted from 0, and how many there are.
    pub seat: usize,
    pub seats: usize,
    /// The number of this question to this seat in this session, from 1.
    pub number: u32,
    /// What the seat knows of the table: the game's own message, or a `Struct` for games without one.
    pub view: Option<v1::view::Game>,
    /// All possible answers, never empty.
    pub legal_actions: Vec<v1::Action>,
    /// Milliseconds left, as the arena counts them.
    pub clock: v1::Clock,
    /// Why the last answer to this question was refused; empty the first time.
    pub refused: String,
    /// Stored with the answer in the replay; at most 1000 characters of it.
    pub note: String,
}

impl Turn {
    /// The legal actions in the notation of the game.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.legal_actions.iter().map(|action| action.text.as_str())
    }

    /// Returns the message of an answer.
    pub(crate) fn choice(&self, answer: Answer) -> v1::Choice {
        v1::Choice {
            session: self.session.clone(),
            turn: self.number,
            note: self.note.chars().take(1000).collect(),
            choice: Some(match answer {
                Answer::Index(index) => v1::choice::Choice::Index(index.try_into().unwrap_or(u32::MAX)),
                Answer::Text(text) => v1::choice::Choice::Text(text),
            }),
        }
    }
}

/// A legal action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its index in [`Turn::legal_actions`].
    Index(usize),
    /// Its text, in the notation of the game.
    Text(String),
}

/// Why `choose` could not answer. The question stays unanswered then, and the log says why.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a bot stopped by itself.
#[derive(Debug, PartialEq, Eq)]
pub enum BotError {
    /// A setting is missing or cannot be used.
    Setting(String),
    /// The arena rejects this bot, probably because of a wrong key. Trying again would not help.
    Rejected(String),
    /// Another process plays with the same key now.
    TakenOver,
}

impl BotError {
    /// Returns the exit code of the process.
    pub fn exit_code(&self) -> i32 {
        match self {
            BotError::Setting(_) => 2,
            BotError::Rejected(_) | BotError::TakenOver => 1,
        }
    }
}

impl fmt::Display for BotError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            BotError::Setting(problem) | BotError::Rejected(problem) => f.write_str(problem),
            BotError::TakenOver => f.write_str("another process plays with this bot's key now; stopping"),
        }
    }
}

impl std::error::Error for BotError {}
