//! What an author sees: the question, the answer, and the reasons why a bot may stop.

use std::fmt;

use crate::v1;

/// A question, and all there is to know for the answer.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    pub session: String,
    pub game: String,
    /// The bot's seat, counted from 0, and how many there are.
    pub seat: usize,
    pub seats: usize,
    /// Counts the questions put to this seat in this session.
    pub number: u32,
    /// What the seat knows of the table: a message of the game's own, or a `Struct` for games without one.
    pub view: Option<v1::view::Game>,
    /// Everything that may be answered, never empty.
    pub legal_actions: Vec<v1::Action>,
    /// Milliseconds left, as the arena counts them.
    pub clock: v1::Clock,
    /// Why the last answer to this very question was refused; empty the first time.
    pub refused: String,
    /// Kept beside the answer in the replay; at most 1000 characters of it.
    pub note: String,
}

impl Turn {
    /// The legal actions in the notation of the game.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.legal_actions.iter().map(|action| action.text.as_str())
    }

    /// The answer as it travels.
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
    /// Its place in [`Turn::legal_actions`].
    Index(usize),
    /// Its text, in the notation of the game.
    Text(String),
}

/// Why `choose` could not answer. The question stays unanswered then, and the log says why.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Why a bot stopped without being told to.
#[derive(Debug, PartialEq, Eq)]
pub enum BotError {
    /// A setting is missing or cannot be used.
    Setting(String),
    /// The arena does not want this bot: a wrong key, most likely. Trying again would not help.
    Rejected(String),
    /// Another process plays with the same key now.
    TakenOver,
}

impl BotError {
    /// What the process ends with.
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
