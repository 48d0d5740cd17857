package rubble.bot;

import static java.lang.System.Logger.Level.INFO;
import static java.lang.System.Logger.Level.WARNING;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import rubble.v1.Bot.GameOver;
import rubble.v1.Bot.GameStart;
import rubble.v1.Bot.Hello;
import rubble.v1.Bot.PlayResponse;
import sun.misc.Signal;

/**
 * A bot that plays until it is stopped: one stream to the arena that carries all its games, with reconnection.
 *
 * <p>Everything except {@code choose} runs in one thread, the loop, so no locks are needed.
 */
public final class RubbleBot {
    static final System.Logger LOG = System.getLogger("rubble.bot");

    private static final String SDK = "rubble-java 0.1";
    /** Milliseconds between attempts to connect: doubled from the first value up to the second, shortened by up to half at random. */
    private static final long SHORTEST_MS = 100;
    static final long LONGEST_MS = 10_000;

    private final Chooser chooser;
    private String address = System.getenv().getOrDefault("RUBBLE_ADDRESS", "");
    private String key = System.getenv().getOrDefault("RUBBLE_BOT_KEY", "");
    private String ca = System.getenv().getOrDefault("RUBBLE_CA", "");
    private int games = 16;
    private int threads;
    private Consumer<GameStart> onStart = start -> {};
    private Consumer<GameOver> onOver = over -> {};

    private final CompletableFuture<Void> end = new CompletableFuture<>();
    private final ScheduledExecutorService loop =
            Executors.newSingleThreadScheduledExecutor(Daemons.named("rubble-bot"));
    private ChannelCredentials credentials;
    private Table table;
    private Conversation conversation;
    private int failures; // failed attempts in a row

    public RubbleBot(Chooser chooser) {
        this.chooser = chooser;
    }

    /** Plays with the settings of the environment until stopped, and ends the process. */
    public static void run(Chooser chooser) {
        new RubbleBot(chooser).run();
    }

    // --------------------------------------------------------------------------------------------------- settings
    /** The arena's host:port; RUBBLE_ADDRESS by default. */
    public RubbleBot address(String address) {
        this.address = address;
        return this;
    }

    /** The key the operator issued for this bot; RUBBLE_BOT_KEY by default. */
    public RubbleBot key(String key) {
        this.key = key;
        return this;
    }

    /** A file of certificates to trust, or "system" for those of Java; empty means no TLS. RUBBLE_CA by default. */
    public RubbleBot ca(String ca) {
        this.ca = ca;
        return this;
    }

    /** The number of games played at once. */
    public RubbleBot games(int games) {
        this.games = games;
        return this;
    }

    /** The number of games answered at once; 0: all, at most 16. */
    public RubbleBot threads(int threads) {
        this.threads = threads;
        return this;
    }

    /** Called in the loop whenever a game starts; should be quick. */
    public RubbleBot onStart(Consumer<GameStart> listener) {
        this.onStart = listener;
        return this;
    }

    /** Called in the loop whenever a game is over; should be quick. */
    public RubbleBot onOver(Consumer<GameOver> listener) {
        this.onOver = listener;
        return this;
    }

    // ---------------------------------------------------------------------------------------------------- running
    /**
     * Plays until SIGTERM, Ctrl-C or {@link #stop}, and ends the process: with exit code 0, or with an error message.
     * Logs to standard error, one line per entry unless logging is configured otherwise.
     */
    public void run() {
        String format = "java.util.logging.SimpleFormatter.format";
        System.setProperty(format, System.getProperty(format, "%1$tF %1$tT,%1$tL %4$s %5$s%6$s%n"));
        for (String signal : new String[] {"TERM", "INT"}) {
            Signal.handle(new Signal(signal), caught -> stop());
        }
        try {
            play();
        } catch (BotException wrong) {
            System.err.println("rubble-bot: " + wrong.getMessage());
            System.exit(wrong.exitCode());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        System.exit(0); // the author's own threads do not keep the process alive
    }

    /** Plays without handling signals and without ending the process. A bot plays once. */
    public void play() throws InterruptedException {
        require("RUBBLE_ADDRESS", address, "host:port of the arena");
        require("RUBBLE_BOT_KEY", key, "the key the operator issued for this bot");
        credentials = credentials();
        table = new Table(chooser, loop, threads > 0 ? threads : Math.min(games, 16), onStart, onOver);
        loop.execute(this::connect);
        try {
            end.get();
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof BotException wrong ? wrong : new IllegalStateException(failed.getCause());
        } finally {
            leave();
        }
        LOG.log(INFO, "stopped");
    }

    /** Leaves the arena now; may be called from any thread. The arena keeps the games until their clocks run out. */
    public void stop() {
        end.complete(null);
    }

    /** Closes the channel before the loop it runs in. */
    private void leave() throws InterruptedException {
        table.close();
        var channel = CompletableFuture.supplyAsync(this::hangUp, loop).join();
        if (channel != null) {
            channel.awaitTermination(1, TimeUnit.SECONDS);
        }
        loop.shutdownNow();
    }

    /** Opens a stream; runs in the loop. */
    private void connect() {
        if (end.isDone()) {
            return;
        }
        var hello = Hello.newBuilder().setBotKey(key).setSdk(SDK).setMaxParallelGames(games).build();
        conversation = new Conversation(channel(), hello, loop, this::hear, this::ended);
        table.moveTo(conversation);
    }

    private void hear(PlayResponse response) {
        for (var event : response.getEventsList()) {
            if (event.hasWelcome()) {
                failures = 0;
                LOG.log(INFO, "connected to {0} as {1}", address, event.getWelcome().getBot());
            } else if (event.hasDraining()) {
                LOG.log(INFO, "this copy of the arena is about to stop; connecting again");
                hangUp();
                connect();
                return;
            } else if (event.hasTakenOver()) {
                end.completeExceptionally(
                        BotException.rejected("another process plays with this bot's key now; stopping"));
                return;
            } else {
                table.hear(event);
            }
        }
    }

    /** Handles the end of a stream that the bot did not close: reconnects after a pause if that may help. */
    private void ended(Status status) {
        if (end.isDone()) {
            return;
        }
        String problem = "the stream ended";
        if (!status.isOk()) {
            try {
                problem = classify(status);
            } catch (BotException wrong) {
                end.completeExceptionally(wrong);
                return;
            }
        }
        hangUp();
        double pause = Math.min(LONGEST_MS, SHORTEST_MS * Math.pow(2, failures++)) * ThreadLocalRandom.current().nextDouble(0.5, 1);
        LOG.log(WARNING, "no connection to %s (%s); next attempt in %.1f s".formatted(address, problem, pause / 1000));
        loop.schedule(this::connect, (long) pause, TimeUnit.MILLISECONDS);
    }

    private ManagedChannel hangUp() {
        return conversation == null ? null : conversation.close();
    }

    // ------------------------------------------------------------------------------------------------- connecting
    /** Every stream has its own connection, perhaps to another copy. */
    private ManagedChannel channel() {
        return Grpc.newChannelBuilder(address, credentials)
                .keepAliveTime(20, TimeUnit.SECONDS) // notice a dead connection while waiting for a turn
                .executor(loop)
                .build();
    }

    private ChannelCredentials credentials() {
        if (ca.isEmpty()) {
            return InsecureChannelCredentials.create();
        }
        if (ca.equals("system")) {
            return TlsChannelCredentials.create();
        }
        try {
            return TlsChannelCredentials.newBuilder().trustManager(new File(ca)).build();
        } catch (IOException unreadable) {
            throw BotException.setting("RUBBLE_CA: %s cannot be read (%s)".formatted(ca, reason(unreadable)));
        }
    }

    /** Java puts the file's name before the reason, in brackets. */
    private String reason(IOException unreadable) {
        String message = String.valueOf(unreadable.getMessage());
        return message.replace(ca + " (", "").replaceFirst("\\)$", "");
    }

    private static void require(String name, String value, String meaning) {
        if (value.isEmpty()) {
            throw BotException.setting("%s is missing: %s".formatted(name, meaning));
        }
    }

    /** Returns what went wrong if trying again may help; throws BotException otherwise. */
    private static String classify(Status status) {
        String details = status.getDescription() == null ? "" : status.getDescription();
        switch (status.getCode()) {
            case UNAUTHENTICATED, PERMISSION_DENIED ->
                throw BotException.rejected("the arena does not accept RUBBLE_BOT_KEY: " + details);
            case INVALID_ARGUMENT, UNIMPLEMENTED ->
                throw BotException.rejected("the arena does not understand this bot: " + details);
            default -> {}
        }
        return status.getCode() + ": " + (status.getCause() == null ? details : status.getCause().getMessage());
    }
}
