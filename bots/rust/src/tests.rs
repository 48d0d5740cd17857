//! Tests of the SDK with a fake arena: a real server on loopback that follows a script.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, Notify};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

use crate::v1::bot_service_server::{BotService, BotServiceServer};
use crate::v1::play_event::Event;
use crate::v1::{choice, Action, Choice, Draining, GameOver, GameStart, Hello, PlayEvent, PlayRequest, PlayResponse};
use crate::v1::{IssueKeyRequest, IssueKeyResponse, ListConnectedRequest, ListConnectedResponse};
use crate::v1::{Refused, RevokeKeyRequest, RevokeKeyResponse, TakenOver, Turn, Welcome};
use crate::{Answer, Bot, BotError, Failure, Settings};

const PATIENCE: Duration = Duration::from_secs(60);

type Said = mpsc::Sender<Result<PlayResponse, Status>>;
type Script = Arc<dyn Fn(usize, Stream) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// One stream, on the arena's side.
struct Stream {
    hello: Hello,
    requests: Streaming<PlayRequest>,
    said: Said,
}

impl Stream {
    async fn say(&self, events: impl IntoIterator<Item = Event>) {
        let events = events.into_iter().map(|event| PlayEvent { event: Some(event) }).collect();
        self.said.send(Ok(PlayResponse { events })).await.unwrap();
    }

    async fn choices(&mut self) -> Vec<Choice> {
        self.requests.message().await.unwrap().unwrap().choices
    }
}

struct Straw {
    script: Script,
    streams: Arc<AtomicUsize>,
}

#[tonic::async_trait]
impl BotService for Straw {
    type PlayStream = ReceiverStream<Result<PlayResponse, Status>>;

    async fn play(&self, request: Request<Streaming<PlayRequest>>) -> Result<Response<Self::PlayStream>, Status> {
        let (said, heard) = mpsc::channel(16);
        let (script, number) = (self.script.clone(), self.streams.fetch_add(1, Ordering::SeqCst));
        let mut requests = request.into_inner();
        tokio::spawn(async move {
            let hello = requests.message().await.unwrap().unwrap().hello.unwrap();
            script(number, Stream { hello, requests, said }).await;
        });
        Ok(Response::new(ReceiverStream::new(heard)))
    }

    async fn issue_key(&self, _: Request<IssueKeyRequest>) -> Result<Response<IssueKeyResponse>, Status> {
        Err(Status::unimplemented("straw"))
    }

    async fn revoke_key(&self, _: Request<RevokeKeyRequest>) -> Result<Response<RevokeKeyResponse>, Status> {
        Err(Status::unimplemented("straw"))
    }

    async fn list_connected(
        &self,
        _: Request<ListConnectedRequest>,
    ) -> Result<Response<ListConnectedResponse>, Status> {
        Err(Status::unimplemented("straw"))
    }
}

/// Lets a bot play at a fake arena until that many games are over; returns the result of `play` and the number of streams.
fn play<S, F, C>(games: u32, script: S, choose: C) -> (Result<(), BotError>, usize)
where
    S: Fn(usize, Stream) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
    C: Fn(&mut crate::Turn) -> Result<Answer, Failure> + Send + Sync + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let streams = Arc::new(AtomicUsize::new(0));
    let straw =
        Straw { script: Arc::new(move |number, stream| Box::pin(script(number, stream))), streams: streams.clone() };
    let played = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(
            Server::builder()
                .add_service(BotServiceServer::new(straw))
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        let all_over = Arc::new(Notify::new());
        let (over, mut ended) = (all_over.clone(), 0);
        let bot = Bot::new(Settings { address, key: "any".into(), ca: String::new() }, choose).games(games).on_over(
            move |_| {
                ended += 1;
                if ended == games {
                    over.notify_one();
                }
            },
        );
        tokio::time::timeout(PATIENCE, bot.play(all_over.notified())).await.expect("an end")
    });
    runtime.shutdown_background();
    (played, streams.load(Ordering::SeqCst))
}

fn welcome() -> Event {
    Event::Welcome(Welcome { bot: "straw".into(), server_time_ms: 0 })
}

fn start(session: &str) -> Event {
    Event::GameStart(GameStart { session: session.into(), game: "straw".into(), seats: 2, ..Default::default() })
}

fn question(session: &str) -> Event {
    let legal_actions = ["stay", "go"].map(|text| Action { text: text.into(), game: None }).to_vec();
    Event::Turn(Turn { session: session.into(), turn: 1, legal_actions, ..Default::default() })
}

fn over(session: &str) -> Event {
    Event::GameOver(GameOver { session: session.into(), ..Default::default() })
}

#[test]
fn answers_are_given_again_after_draining() {
    const GAMES: u32 = 50;
    let answers = Arc::new(Mutex::new([BTreeSet::new(), BTreeSet::new()]));
    let thoughts = Arc::new(AtomicUsize::new(0));
    let (kept, counted) = (answers.clone(), thoughts.clone());

    let (played, streams) = play(
        GAMES,
        move |number, mut stream| {
            let kept = kept.clone();
            async move {
                assert_eq!((stream.hello.bot_key.as_str(), stream.hello.max_parallel_games), ("any", GAMES));
                let names: Vec<String> = (0..GAMES).map(|game| format!("g{game}")).collect();
                stream.say([welcome()]).await;
                stream.say(names.iter().map(|name| start(name))).await;
                stream.say(names.iter().map(|name| question(name))).await;
                let mut heard = 0;
                while heard < names.len() {
                    for choice in stream.choices().await {
                        heard += 1;
                        kept.lock().unwrap()[number].insert(format!("{} {:?}", choice.session, choice.choice));
                    }
                }
                if number == 0 {
                    stream.say([Event::Draining(Draining { reason: "test".into() })]).await;
                } else {
                    stream.say(names.iter().map(|name| over(name))).await;
                }
                let _ = stream.requests.message().await; // until the bot has left
            }
        },
        move |turn| {
            let count = counted.fetch_add(1, Ordering::SeqCst);
            Ok(Answer::Text(turn.texts().nth(count % 2).unwrap().to_owned()))
        },
    );

    assert_eq!((played, streams), (Ok(()), 2));
    let answers = answers.lock().unwrap();
    assert_eq!(answers[0].len(), GAMES as usize);
    assert_eq!(answers[0], answers[1]);
    assert_eq!(thoughts.load(Ordering::SeqCst), GAMES as usize);
}

#[test]
fn a_refused_question_is_asked_again_with_the_reason() {
    let reasons = Arc::new(Mutex::new(Vec::new()));
    let kept = reasons.clone();

    let (played, _) = play(
        1,
        |_, mut stream| async move {
            stream.say([welcome(), start("g"), question("g")]).await;
            stream.choices().await;
            let (session, reason) = ("g".into(), "UNREADABLE".into());
            stream.say([Event::Refused(Refused { session, turn: 1, reason, open: true, ..Default::default() })]).await;
            let second = stream.choices().await.remove(0);
            assert_eq!(second.choice, Some(choice::Choice::Text("go".into())));
            assert_eq!(second.note.chars().count(), 1000);
            stream.say([over("g")]).await;
            let _ = stream.requests.message().await;
        },
        move |turn| {
            kept.lock().unwrap().push(turn.refused.clone());
            if turn.refused.is_empty() {
                return Ok(Answer::Text("fly to the moon".into()));
            }
            turn.note = "é".repeat(2000);
            Ok(Answer::Text("go".into()))
        },
    );

    assert_eq!(played, Ok(()));
    assert_eq!(*reasons.lock().unwrap(), ["", "UNREADABLE"]);
}

#[test]
fn a_failed_thought_costs_its_question_and_no_other() {
    let (played, _) = play(
        3,
        |_, mut stream| async move {
            stream.say([welcome(), start("error"), start("panic"), start("good")]).await;
            stream.say([question("error"), question("panic"), question("good")]).await;
            let sessions: Vec<String> = stream.choices().await.into_iter().map(|choice| choice.session).collect();
            assert_eq!(sessions, ["good"]);
            stream.say([over("error"), over("panic"), over("good")]).await;
            let _ = stream.requests.message().await;
        },
        |turn| match turn.session.as_str() {
            "error" => Err("a bug in a bot".into()),
            "panic" => panic!("a bug in a bot"),
            _ => Ok(Answer::Index(1)),
        },
    );

    assert_eq!(played, Ok(()));
}

#[test]
fn what_ends_a_bot_for_good() {
    let taken_over = vec![Event::TakenOver(TakenOver {})];
    let cases = [
        (vec![], Status::unauthenticated("revoked"), "the arena does not accept RUBBLE_BOT_KEY: revoked"),
        (vec![], Status::invalid_argument("what?"), "the arena does not understand this bot: what?"),
        (taken_over, Status::aborted("a newer stream"), "another process plays with this bot's key now; stopping"),
    ];
    for (events, status, words) in cases {
        let (played, streams) = play(
            1,
            move |number, stream| {
                let (events, status) = match number {
                    0 => (vec![], Status::unknown("lost")), // tried again
                    _ => (events.clone(), status.clone()),
                };
                async move {
                    stream.say(events).await;
                    let _ = stream.said.send(Err(status)).await; // the bot may have left already
                }
            },
            |_| unreachable!("nothing is asked"),
        );

        assert_eq!((played.unwrap_err().to_string().as_str(), streams), (words, 2));
    }
}
