//! One bot: one stream to the arena that carries all its games, with reconnection.

use std::collections::HashMap;
use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Status};

use crate::log::{error, info, warning};
use crate::v1::bot_service_client::BotServiceClient;
use crate::v1::play_event::Event;
use crate::v1::{self, Choice, Fault, GameOver, GameStart, Hello, PlayEvent, PlayRequest, Refused};
use crate::{Answer, BotError, Failure, Settings, Turn};

const SDK: &str = "rubble-rust 0.1";
/// The pause before the next attempt to connect: doubled from the first value up to the second, shortened by up to half at random.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);
/// The pause before a refused question is put again: the arena may be in trouble.
const REFUSED: Duration = Duration::from_millis(50);
/// Choices in one message.
const AT_ONCE: usize = 256;

type Choose = dyn Fn(&mut Turn) -> Result<Answer, Failure> + Send + Sync;
type OnOver = dyn FnMut(&GameOver) + Send;

/// A bot that plays until it is stopped.
pub struct Bot {
    settings: Settings,
    choose: Arc<Choose>,
    parallel: u32,
    on_over: Option<Box<OnOver>>,
    games: HashMap<String, Game>,
    outbox: Vec<Choice>,
    thoughts: mpsc::UnboundedReceiver<Thought>,
    think: mpsc::UnboundedSender<Thought>,
    /// The number of questions passed to `choose` so far.
    asked: u64,
    /// Failed attempts in a row.
    failures: u32,
}

/// A game this bot plays, and its latest question.
struct Game {
    start: GameStart,
    turn: Option<Turn>,
    /// The number of that question among all.
    asked: u64,
    choice: Option<Choice>,
    is_thinking: bool,
    /// Whether the game is announced on the current stream, so that answers may be sent.
    is_here: bool,
    refusals: u32,
}

/// The result of a call of `choose`.
struct Thought {
    session: String,
    asked: u64,
    result: Result<Choice, String>,
}

/// Why a stream ended.
enum End {
    Stopped,
    Draining,
    Lost(String),
    Final(BotError),
}

impl Bot {
    pub fn new<C>(settings: Settings, choose: C) -> Self
    where
        C: Fn(&mut Turn) -> Result<Answer, Failure> + Send + Sync + 'static,
    {
        let (think, thoughts) = mpsc::unbounded_channel();
        Bot {
            settings,
            choose: Arc::new(choose),
            parallel: 16,
            on_over: None,
            games: HashMap::new(),
            outbox: Vec::new(),
            thoughts,
            think,
            asked: 0,
            failures: 0,
        }
    }

    /// The number of games played at once; 16 by default.
    pub fn games(mut self, parallel: u32) -> Self {
        self.parallel = parallel;
        self
    }

    /// Sets a listener for the end of every game. Called between two messages; should be quick.
    pub fn on_over(mut self, listener: impl FnMut(&GameOver) + Send + 'static) -> Self {
        self.on_over = Some(Box::new(listener));
        self
    }

    /// Plays until `stop` is ready or the bot cannot continue.
    pub async fn play(mut self, stop: impl Future<Output = ()>) -> Result<(), BotError> {
        let mut stop = std::pin::pin!(stop);
        loop {
            let end = tokio::select! {
                () = &mut stop => End::Stopped,
                end = self.converse() => end,
            };
            let problem = match end {
                End::Stopped => break,
                End::Final(error) => return Err(error),
                End::Draining => {
                    info!("this copy of the arena is about to stop; connecting again");
                    continue;
                }
                End::Lost(problem) => problem,
            };
            let pause = LONGEST.min(SHORTEST * 2u32.pow(self.failures.min(20))).mul_f64(1.0 - 0.5 * fastrand::f64());
            self.failures += 1;
            let address = &self.settings.address;
            warning!("no connection to {address} ({problem}); next attempt in {:.1} s", pause.as_secs_f64());
            tokio::select! {
                () = &mut stop => break,
                () = sleep(pause) => {}
            }
        }
        info!("stopped");
        Ok(())
    }

    /// Runs one stream, from Hello to its end.
    async fn converse(&mut self) -> End {
        for game in self.games.values_mut() {
            game.is_here = false;
        }
        self.outbox.clear(); // the arena asks again for every answer that did not arrive
        let channel = match self.settings.endpoint() {
            Ok(endpoint) => endpoint.connect().await,
            Err(error) => return End::Final(error),
        };
        let channel = match channel {
            Ok(channel) => channel,
            Err(error) => return End::Lost(causes(&error)),
        };
        let (mouth, said) = mpsc::channel(1);
        let hello = Hello { bot_key: self.settings.key.clone(), sdk: SDK.into(), max_parallel_games: self.parallel };
        if mouth.send(PlayRequest { hello: Some(hello), choices: Vec::new() }).await.is_err() {
            return End::Lost("the stream ended".into());
        }
        let mut request = Request::new(ReceiverStream::new(said));
        // The key is also sent as metadata: the arena then knows the bot before it reads the stream.
        if let Ok(token) = MetadataValue::try_from(format!("Bearer {}", self.settings.key)) {
            request.metadata_mut().insert("authorization", token);
        } // else the key is malformed, and the arena rejects it after Hello
        let mut ears = match BotServiceClient::new(channel).play(request).await {
            Ok(response) => response.into_inner(),
            Err(status) => return classify(&status),
        };
        loop {
            tokio::select! {
                heard = ears.message() => match heard {
                    Ok(Some(response)) => {
                        for event in response.events {
                            match event.event {
                                Some(Event::Draining(_)) => return End::Draining,
                                Some(Event::TakenOver(_)) => return End::Final(BotError::TakenOver),
                                _ => self.hear(event),
                            }
                        }
                    }
                    Ok(None) => return End::Lost("the stream ended".into()),
                    Err(status) => return classify(&status),
                },
                Some(thought) = self.thoughts.recv() => {
                    self.answer(thought);
                    while let Ok(thought) = self.thoughts.try_recv() {
                        self.answer(thought);
                    }
                }
                // While the last message is being sent, answers wait for the next one.
                Ok(place) = mouth.reserve(), if !self.outbox.is_empty() => {
                    let rest = self.outbox.split_off(self.outbox.len().min(AT_ONCE));
                    place.send(PlayRequest { hello: None, choices: std::mem::replace(&mut self.outbox, rest) });
                }
            }
        }
    }

    fn hear(&mut self, event: PlayEvent) {
        match event.event {
            Some(Event::Turn(turn)) => self.ask(turn),
            Some(Event::GameStart(start)) => self.begin(start),
            Some(Event::GameOver(over)) => self.end(&over),
            Some(Event::Refused(refused)) => self.reconsider(refused),
            Some(Event::Welcome(welcome)) => {
                self.failures = 0;
                info!("connected to {} as {}", self.settings.address, welcome.bot);
            }
            // The first two are handled elsewhere, the third is newer than this SDK.
            Some(Event::Draining(_) | Event::TakenOver(_)) | None => {}
        }
    }

    fn begin(&mut self, start: GameStart) {
        if let Some(game) = self.games.get_mut(&start.session) {
            game.is_here = true;
            return;
        }
        info!("{}: a game of {}, seat {} of {}", start.session, start.game, start.seat, start.seats);
        let session = start.session.clone();
        let game = Game { start, turn: None, asked: 0, choice: None, is_thinking: false, is_here: true, refusals: 0 };
        self.games.insert(session, game);
    }

    fn end(&mut self, over: &GameOver) {
        let session = &over.session;
        let game = self.games.remove(session);
        let outcome = over.outcome.as_ref();
        let result = game.and_then(|game| outcome?.seats.get(game.start.seat as usize));
        if over.fault() != Fault::Unspecified {
            error!("{session}: lost by {}", over.fault().as_str_name());
        } else if let (Some(result), Some(outcome)) = (result, outcome) {
            info!("{session}: rank {} with {} points ({})", result.rank, result.score, outcome.ending);
        } else {
            info!("{session}: over");
        }
        if let Some(listener) = &mut self.on_over {
            listener(over);
        }
    }

    fn ask(&mut self, asked: v1::Turn) {
        let Some(game) = self.games.get_mut(&asked.session) else {
            error!("{}: a question about a game that never started; left unanswered", asked.session);
            return;
        };
        let is_known = game
            .turn
            .as_ref()
            .is_some_and(|turn| turn.number == asked.turn && turn.legal_actions == asked.legal_actions);
        if is_known {
            if let Some(choice) = &game.choice {
                self.outbox.push(choice.clone());
                return;
            }
            if game.is_thinking {
                return; // the answer is sent as soon as it is ready
            }
        }
        let turn = Turn {
            session: asked.session,
            game: game.start.game.clone(),
            seat: game.start.seat as usize,
            seats: game.start.seats as usize,
            number: asked.turn,
            view: asked.view.and_then(|view| view.game),
            legal_actions: asked.legal_actions,
            clock: asked.clock.unwrap_or_default(),
            refused: String::new(),
            note: String::new(),
        };
        game.refusals = 0;
        self.think(turn, Duration::ZERO);
    }

    /// Logs the refusal; if the question is still open, asks again with the reason.
    fn reconsider(&mut self, refused: Refused) {
        let Refused { session, turn: number, reason, message, open } = refused;
        warning!("{session}: answer {number} refused: {message} ({reason})");
        let Some(game) = self.games.get_mut(&session) else { return };
        let Some(turn) = &game.turn else { return };
        if !open || game.choice.is_none() || turn.number != number {
            return;
        }
        let again = Turn { refused: reason, ..turn.clone() };
        let pause = LONGEST.min(REFUSED * 2u32.pow(game.refusals.min(20)));
        game.refusals += 1;
        self.think(again, pause);
    }

    /// Calls `choose` in a thread of the blocking pool.
    fn think(&mut self, turn: Turn, pause: Duration) {
        let Some(game) = self.games.get_mut(&turn.session) else { return };
        self.asked += 1;
        let (asked, session) = (self.asked, turn.session.clone());
        game.turn = Some(turn.clone());
        (game.asked, game.choice, game.is_thinking) = (asked, None, true);
        let (choose, answers) = (Arc::clone(&self.choose), self.think.clone());
        tokio::spawn(async move {
            sleep(pause).await;
            let mut turn = turn;
            let thought = spawn_blocking(move || choose(&mut turn).map(|answer| turn.choice(answer))).await;
            let result = match thought {
                Ok(Ok(choice)) => Ok(choice),
                Ok(Err(failure)) => Err(failure.to_string()),
                Err(panic) => Err(panic.to_string()),
            };
            // The receiver is gone if the bot has stopped.
            let _ = answers.send(Thought { session, asked, result });
        });
    }

    fn answer(&mut self, thought: Thought) {
        let Some(game) = self.games.get_mut(&thought.session) else { return }; // the game is over
        if game.asked != thought.asked {
            return; // a newer question has replaced it
        }
        game.is_thinking = false;
        match thought.result {
            Ok(choice) => {
                if game.is_here {
                    self.outbox.push(choice.clone());
                }
                game.choice = Some(choice);
            }
            Err(problem) => error!("{}: choose failed, question left unanswered: {problem}", thought.session),
        }
    }
}

/// Returns what went wrong: final if trying again would not help.
fn classify(status: &Status) -> End {
    let message = status.message();
    let rejected = |what: &str| End::Final(BotError::Rejected(format!("the arena does not {what}: {message}")));
    match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => rejected("accept RUBBLE_BOT_KEY"),
        Code::InvalidArgument | Code::Unimplemented => rejected("understand this bot"),
        code => End::Lost(format!("{code:?}: {message}")),
    }
}

/// Returns an error with all its causes.
fn causes(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        words = format!("{words}: {next}");
        cause = next.source();
    }
    words
}

/// Plays with the settings of the environment until SIGTERM or Ctrl-C, and ends the process: with 0 if it was stopped, with 1
/// if the arena rejects the key or another process took over with it, with 2 if a setting is missing.
pub fn run<C>(choose: C) -> !
where
    C: Fn(&mut Turn) -> Result<Answer, Failure> + Send + Sync + 'static,
{
    let played = Settings::from_env().and_then(|settings| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2) // `choose` runs in other threads
            .enable_all()
            .build()
            .expect("a process that can start threads");
        runtime.block_on(Bot::new(settings, choose).play(told_to_stop()))
    });
    // Without waiting for `choose`.
    std::process::exit(match played {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("rubble-bot: {error}");
            error.exit_code()
        }
    })
}

#[cfg(unix)]
async fn told_to_stop() {
    use tokio::signal::unix::{signal, SignalKind};
    let mut terminate = signal(SignalKind::terminate()).expect("a signal that can be handled");
    let mut interrupt = signal(SignalKind::interrupt()).expect("a signal that can be handled");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

#[cfg(not(unix))]
async fn told_to_stop() {
    tokio::signal::ctrl_c().await.expect("a signal that can be handled");
}
