package rubble.bot;

import static java.lang.System.Logger.Level.ERROR;
import static java.lang.System.Logger.Level.INFO;
import static java.lang.System.Logger.Level.WARNING;
import static rubble.bot.RubbleBot.LOG;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import rubble.v1.Bot;
import rubble.v1.Bot.Choice;
import rubble.v1.Bot.GameOver;
import rubble.v1.Bot.GameStart;
import rubble.v1.Bot.PlayEvent;
import rubble.v1.Bot.Refused;
import rubble.v1.Common.Fault;

/**
 * The games of a bot across all streams. An answer is kept until the next question: after a
 * reconnect the arena asks again, and the same question gets the same answer.
 *
 * <p>Runs in the loop; only {@code choose} is called in other threads.
 */
final class Table {
    private static final int NOTE = 1000; // characters of a note
    private static final long FIRST_REFUSAL_MS = 50;

    /** A game, and its latest question. */
    private static final class Game {
        final GameStart start;
        Question question;
        /** Whether the game is announced on the current stream, so that answers may be sent. */
        boolean isHere = true;

        Game(GameStart start) {
            this.start = start;
        }
    }

    /** A question and the state of its answer. */
    private static final class Question {
        Turn turn;
        Choice choice;
        boolean isGivenUp;
        int refusals;

        Question(Turn turn) {
            this.turn = turn;
        }
    }

    private final Chooser chooser;
    private final ScheduledExecutorService loop;
    private final ExecutorService thinkers;
    private final Consumer<GameStart> onStart;
    private final Consumer<GameOver> onOver;
    private final Map<String, Game> games = new HashMap<>();
    private Conversation conversation;

    Table(
            Chooser chooser,
            ScheduledExecutorService loop,
            int threads,
            Consumer<GameStart> onStart,
            Consumer<GameOver> onOver) {
        this.chooser = chooser;
        this.loop = loop;
        this.thinkers = Executors.newFixedThreadPool(threads, Daemons.named("choose"));
        this.onStart = onStart;
        this.onOver = onOver;
    }

    /** Begins another stream. The arena announces its games, and asks again for every answer that did not arrive. */
    void moveTo(Conversation next) {
        conversation = next;
        games.values().forEach(game -> game.isHere = false);
    }

    /** Stops the thinking; threads that still think are not waited for. */
    void close() {
        thinkers.shutdownNow();
    }

    // ---------------------------------------------------------------------------------------------------- events
    void hear(PlayEvent event) {
        switch (event.getEventCase()) {
            case TURN -> ask(event.getTurn());
            case GAME_START -> begin(event.getGameStart());
            case GAME_OVER -> finish(event.getGameOver());
            case REFUSED -> reconsider(event.getRefused());
            default -> {} // an event this SDK does not know, from a newer arena
        }
    }

    private void begin(GameStart start) {
        Game known = games.get(start.getSession());
        if (known != null) {
            known.isHere = true;
            return;
        }
        games.put(start.getSession(), new Game(start));
        LOG.log(INFO, "%s: a game of %s, seat %d of %d"
                .formatted(start.getSession(), start.getGame(), start.getSeat(), start.getSeats()));
        tell(onStart, start, start.getSession());
    }

    private void finish(GameOver over) {
        Game game = games.remove(over.getSession());
        if (over.getFault() != Fault.FAULT_UNSPECIFIED) {
            LOG.log(ERROR, "%s: lost by %s".formatted(over.getSession(), over.getFault()));
        } else if (game != null && over.hasOutcome()) {
            var result = over.getOutcome().getSeats(game.start.getSeat());
            LOG.log(INFO, "%s: rank %d with %d points (%s)"
                    .formatted(over.getSession(), result.getRank(), result.getScore(), over.getOutcome().getEnding()));
        } else {
            LOG.log(INFO, "%s: over".formatted(over.getSession()));
        }
        tell(onOver, over, over.getSession());
    }

    private void ask(Bot.Turn asked) {
        Game game = games.get(asked.getSession());
        if (game == null) {
            LOG.log(ERROR, "%s: a question about a game that never started; left unanswered".formatted(asked.getSession()));
            return;
        }
        Question known = game.question;
        if (known != null && isSame(known.turn, asked)) {
            if (known.choice != null) {
                conversation.send(known.choice);
                return;
            }
            if (!known.isGivenUp) {
                return; // the answer is sent as soon as it is ready
            }
        }
        GameStart start = game.start;
        game.question = new Question(new Turn(
                asked.getSession(), start.getGame(), start.getSeat(), start.getSeats(), asked.getTurn(),
                asked.getView(), asked.getLegalActionsList(), asked.getClock(), ""));
        think(game, game.question);
    }

    private static boolean isSame(Turn known, Bot.Turn asked) {
        return known.number() == asked.getTurn() && known.legalActions().equals(asked.getLegalActionsList());
    }

    /** Logs the refusal; if the question is still open, asks again with the reason. */
    private void reconsider(Refused refused) {
        LOG.log(WARNING, "%s: answer %d refused: %s (%s)"
                .formatted(refused.getSession(), refused.getTurn(), refused.getMessage(), refused.getReason()));
        Game game = games.get(refused.getSession());
        Question question = game == null ? null : game.question;
        if (!refused.getOpen() || question == null || question.choice == null
                || question.turn.number() != refused.getTurn()) {
            return;
        }
        // Avoids adding load to an arena in trouble.
        long pause = Math.min(RubbleBot.LONGEST_MS, FIRST_REFUSAL_MS << Math.min(question.refusals++, 20));
        question.turn = question.turn.withRefused(refused.getReason());
        question.choice = null;
        loop.schedule(() -> think(game, question), pause, TimeUnit.MILLISECONDS);
    }

    // -------------------------------------------------------------------------------------------------- answering
    private void think(Game game, Question question) {
        if (game.question != question) {
            return; // a newer question has replaced it
        }
        Turn turn = question.turn;
        if (!thinkers.isShutdown()) {
            thinkers.execute(() -> {
                Choice choice = choice(turn);
                if (!thinkers.isShutdown()) {
                    loop.execute(() -> answer(game, question, choice));
                }
            });
        }
    }

    /** Runs in a separate thread: returns the answer of {@code choose}, or null if it fails. */
    private Choice choice(Turn turn) {
        try {
            Answer answer = chooser.choose(turn);
            var choice = Choice.newBuilder()
                    .setSession(turn.session())
                    .setTurn(turn.number())
                    .setNote(answer.note().codePoints().limit(NOTE)
                            .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append).toString());
            if (answer.text() != null) {
                return choice.setText(answer.text()).build();
            }
            if (answer.index() < 0) {
                throw new IllegalArgumentException("index %d; expected 0 or more".formatted(answer.index()));
            }
            return choice.setIndex(answer.index()).build();
        } catch (Throwable failed) { // also a stack overflow: it affects only this question
            if (!thinkers.isShutdown()) { // else it was interrupted, and the answer is no longer needed
                LOG.log(ERROR, "%s: choose failed on turn %d; left unanswered".formatted(turn.session(), turn.number()), failed);
            }
            return null;
        }
    }

    private void answer(Game game, Question question, Choice choice) {
        if (game.question != question) {
            return;
        }
        question.choice = choice;
        question.isGivenUp = choice == null;
        if (choice != null && game.isHere) {
            conversation.send(choice);
        }
    }

    private static <T> void tell(Consumer<T> listener, T message, String session) {
        try {
            listener.accept(message);
        } catch (RuntimeException failed) {
            LOG.log(ERROR, "%s: a listener failed".formatted(session), failed);
        }
    }
}
