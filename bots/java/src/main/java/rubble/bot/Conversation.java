package rubble.bot;

import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.MetadataUtils;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import rubble.v1.Bot.Choice;
import rubble.v1.Bot.Hello;
import rubble.v1.Bot.PlayRequest;
import rubble.v1.Bot.PlayResponse;
import rubble.v1.BotServiceGrpc;

/** One stream, from Hello to its end. Runs in the loop thread, which is also the channel's executor. */
final class Conversation implements ClientResponseObserver<PlayRequest, PlayResponse> {
    private static final int AT_ONCE = 256; // choices in one message
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    private final ManagedChannel channel;
    private final Executor loop;
    private final Consumer<PlayResponse> hear;
    private final Consumer<Status> ended;
    private final Queue<Choice> outbox = new ArrayDeque<>();
    private ClientCallStreamObserver<PlayRequest> requests;
    private boolean isFlushing;
    private boolean isClosed;

    Conversation(
            ManagedChannel channel,
            Hello hello,
            Executor loop,
            Consumer<PlayResponse> hear,
            Consumer<Status> ended) {
        this.channel = channel;
        this.loop = loop;
        this.hear = hear;
        this.ended = ended;
        // The key is also sent as metadata: the arena then knows the bot before it reads the stream.
        var metadata = new Metadata();
        metadata.put(AUTHORIZATION, "Bearer " + hello.getBotKey());
        BotServiceGrpc.newStub(channel).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata)).play(this);
        requests.onNext(PlayRequest.newBuilder().setHello(hello).build());
    }

    /** Queues a choice: answers that are ready together are sent in one message. */
    void send(Choice choice) {
        outbox.add(choice);
        if (!isFlushing) {
            isFlushing = true;
            loop.execute(this::flush);
        }
    }

    private void flush() {
        isFlushing = false;
        while (!isClosed && !outbox.isEmpty() && requests.isReady()) {
            var request = PlayRequest.newBuilder();
            while (!outbox.isEmpty() && request.getChoicesCount() < AT_ONCE) {
                request.addChoices(outbox.remove());
            }
            requests.onNext(request.build());
        }
    }

    /** Closes the stream and ignores later events. Returns the channel, to wait for its end. */
    ManagedChannel close() {
        if (!isClosed) {
            isClosed = true;
            requests.cancel("the bot hangs up", null);
            channel.shutdownNow();
        }
        return channel;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<PlayRequest> stream) {
        requests = stream;
        stream.setOnReadyHandler(this::flush);
    }

    @Override
    public void onNext(PlayResponse response) {
        if (!isClosed) {
            hear.accept(response);
        }
    }

    @Override
    public void onError(Throwable error) {
        if (!isClosed) {
            ended.accept(Status.fromThrowable(error));
        }
    }

    @Override
    public void onCompleted() {
        if (!isClosed) {
            ended.accept(Status.OK);
        }
    }
}
