package rubble.bot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import rubble.v1.Bot.PlayEvent;
import rubble.v1.Bot.TakenOver;

/** Tests of the SDK. */
@Timeout(60)
class RubbleBotTest {
    @Test
    void answersTravelTogetherAndAreGivenAgainAfterDraining() throws Exception {
        int games = 50;
        var messages = new AtomicInteger();
        var answers = List.<Map<String, Integer>>of(new TreeMap<>(), new TreeMap<>());
        var thoughts = new AtomicInteger();
        var overs = new AtomicInteger();
        StrawArena.Script script = (stream, choices, bot) -> {
            messages.addAndGet(stream - 1); // those of the second stream
            var heard = answers.get(stream - 1);
            choices.forEach(choice -> heard.put(choice.getSession(), choice.getIndex()));
            if (heard.size() == games) {
                bot.onNext(stream == 1 ? StrawArena.all(StrawArena.draining()) : StrawArena.forEach(games, StrawArena::over));
            }
        };
        try (var arena = new StrawArena(games, script)) {
            var bot = new RubbleBot(turn -> Answer.of(thoughts.getAndIncrement() % 2));
            bot.address(arena.address()).key("any").games(games).onOver(over -> {
                if (overs.incrementAndGet() == games) {
                    bot.stop();
                }
            });
            bot.play();
        }

        assertEquals(games, thoughts.get(), "the same question is passed to choose once");
        assertEquals(answers.get(0), answers.get(1), "and gets the same answer");
        assertTrue(messages.get() < games / 5, messages + " messages");
    }

    @Test
    void aRefusedAnswerComesBackWithItsReason() throws Exception {
        var reasons = new CopyOnWriteArrayList<String>();
        StrawArena.Script script = (stream, choices, bot) -> bot.onNext(StrawArena.all(
                choices.get(0).getText().equals("go") ? StrawArena.over("g0") : StrawArena.refused("g0", "UNREADABLE")));
        try (var arena = new StrawArena(1, script)) {
            var bot = new RubbleBot(turn -> {
                reasons.add(turn.refused());
                return Answer.of(turn.refused().isEmpty() ? "fly" : "go");
            });
            bot.address(arena.address()).key("any").onOver(over -> bot.stop()).play();
        }

        assertEquals(List.of("", "UNREADABLE"), reasons);
    }

    @Test
    void aChooseThatFailsLosesItsQuestionAndNoOther() throws Exception {
        var answered = new ArrayList<String>();
        StrawArena.Script script = (stream, choices, bot) -> {
            choices.forEach(choice -> answered.add(choice.getSession()));
            if (answered.size() == 2) {
                bot.onNext(StrawArena.all(StrawArena.over("g2")));
            }
        };
        try (var arena = new StrawArena(3, script)) {
            var bot = new RubbleBot(turn -> switch (turn.session()) {
                case "g0" -> throw new StackOverflowError();
                default -> Answer.of(0);
            });
            bot.address(arena.address()).key("any").onOver(over -> bot.stop()).play();
        }

        assertEquals(2, answered.size());
        assertTrue(!answered.contains("g0"), answered.toString());
    }

    @Test
    void aBotToldToStopDoesNotWaitForItsThoughts() throws Exception {
        var isStopped = new AtomicBoolean();
        try (var arena = new StrawArena(1, (stream, choices, bot) -> {})) {
            var thinking = new CountDownLatch(1);
            var bot = new RubbleBot(turn -> {
                thinking.countDown();
                while (!isStopped.get()) { // ignores interruption, as a search does
                    Thread.onSpinWait();
                }
                return Answer.of(0);
            });
            CompletableFuture.runAsync(() -> {
                try {
                    thinking.await();
                } catch (InterruptedException interrupted) {
                    throw new CancellationException();
                }
                bot.stop();
            });
            bot.address(arena.address()).key("any").play();
        } finally {
            isStopped.set(true);
        }
    }

    @Test
    void aBadKeyIsToldAndNotTriedAgain() throws Exception {
        StrawArena.Script script = (stream, choices, bot) ->
                bot.onError(Status.UNAUTHENTICATED.withDescription("expired").asRuntimeException());
        try (var arena = new StrawArena(1, script)) {
            var bot = new RubbleBot(turn -> Answer.of(0)).address(arena.address()).key("any");

            var wrong = assertThrows(BotException.class, bot::play);

            assertEquals("the arena does not accept RUBBLE_BOT_KEY: expired", wrong.getMessage());
            assertEquals(1, wrong.exitCode());
        }
    }

    @Test
    void anotherProcessWithTheKeyIsToldAndNotDrivenOut() throws Exception {
        var takenOver = PlayEvent.newBuilder().setTakenOver(TakenOver.getDefaultInstance()).build();
        StrawArena.Script script = (stream, choices, bot) -> {
            bot.onNext(StrawArena.all(takenOver));
            bot.onError(Status.ABORTED.withDescription("a newer stream").asRuntimeException());
        };
        try (var arena = new StrawArena(1, script)) {
            var bot = new RubbleBot(turn -> Answer.of(0)).address(arena.address()).key("any");

            var wrong = assertThrows(BotException.class, bot::play);

            assertEquals("another process plays with this bot's key now; stopping", wrong.getMessage());
            assertEquals(1, wrong.exitCode());
        }
    }

    @Test
    void aMissingSettingIsNamed() {
        var wrong = assertThrows(BotException.class, () -> new RubbleBot(turn -> Answer.of(0)).address("").play());

        assertEquals("RUBBLE_ADDRESS is missing: host:port of the arena", wrong.getMessage());
        assertEquals(2, wrong.exitCode());
    }
}
