package rubble.bot;

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import rubble.v1.Bot;
import rubble.v1.Bot.Choice;
import rubble.v1.Bot.Draining;
import rubble.v1.Bot.GameOver;
import rubble.v1.Bot.GameStart;
import rubble.v1.Bot.PlayEvent;
import rubble.v1.Bot.PlayRequest;
import rubble.v1.Bot.PlayResponse;
import rubble.v1.Bot.Refused;
import rubble.v1.Bot.Welcome;
import rubble.v1.BotServiceGrpc;
import rubble.v1.Common.Action;

/** A fake arena that follows a script. */
final class StrawArena extends BotServiceGrpc.BotServiceImplBase implements AutoCloseable {
    /** Its reply to a choice. {@code stream} counts from 1. */
    interface Script {
        void hear(int stream, List<Choice> choices, StreamObserver<PlayResponse> bot);
    }

    private final int games;
    private final Script script;
    private final AtomicInteger streams = new AtomicInteger();
    private final Server server;

    StrawArena(int games, Script script) throws IOException {
        this.games = games;
        this.script = script;
        server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create()).addService(this).build().start();
    }

    String address() {
        return "127.0.0.1:" + server.getPort();
    }

    @Override
    public void close() {
        server.shutdownNow();
    }

    /** Sends Welcome, starts all games in one message and asks all questions in another. */
    @Override
    public StreamObserver<PlayRequest> play(StreamObserver<PlayResponse> bot) {
        int stream = streams.incrementAndGet();
        return new StreamObserver<>() {
            @Override
            public void onNext(PlayRequest request) {
                if (request.hasHello()) {
                    bot.onNext(all(PlayEvent.newBuilder().setWelcome(Welcome.newBuilder().setBot("straw")).build()));
                    bot.onNext(forEach(games, game -> PlayEvent.newBuilder()
                            .setGameStart(GameStart.newBuilder().setSession(game).setGame("straw").setSeats(2))
                            .build()));
                    bot.onNext(forEach(games, StrawArena::question));
                } else {
                    script.hear(stream, request.getChoicesList(), bot);
                }
            }

            @Override
            public void onError(Throwable gone) {}

            @Override
            public void onCompleted() {
                bot.onCompleted();
            }
        };
    }

    static PlayResponse all(PlayEvent... events) {
        return PlayResponse.newBuilder().addAllEvents(List.of(events)).build();
    }

    static PlayResponse forEach(int games, Function<String, PlayEvent> event) {
        Stream<PlayEvent> events = IntStream.range(0, games).mapToObj(game -> event.apply("g" + game));
        return PlayResponse.newBuilder().addAllEvents(events.toList()).build();
    }

    static PlayEvent question(String game) {
        var turn = Bot.Turn.newBuilder().setSession(game).setTurn(1);
        Stream.of("stay", "go").forEach(text -> turn.addLegalActions(Action.newBuilder().setText(text)));
        return PlayEvent.newBuilder().setTurn(turn).build();
    }

    static PlayEvent draining() {
        return PlayEvent.newBuilder().setDraining(Draining.newBuilder().setReason("test")).build();
    }

    static PlayEvent over(String game) {
        return PlayEvent.newBuilder().setGameOver(GameOver.newBuilder().setSession(game)).build();
    }

    static PlayEvent refused(String game, String reason) {
        var refused = Refused.newBuilder().setSession(game).setTurn(1).setReason(reason).setOpen(true);
        return PlayEvent.newBuilder().setRefused(refused).build();
    }
}
