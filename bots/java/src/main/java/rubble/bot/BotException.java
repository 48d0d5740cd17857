package rubble.bot;

/** The reason why a bot stopped by itself. */
public final class BotException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int exitCode;

    private BotException(String message, int exitCode) {
        super(message);
        this.exitCode = exitCode;
    }

    /** A setting is missing or cannot be used. */
    static BotException setting(String message) {
        return new BotException(message, 2);
    }

    /** The arena rejects this bot, or no longer accepts it. Trying again would not help. */
    static BotException rejected(String message) {
        return new BotException(message, 1);
    }

    public int exitCode() {
        return exitCode;
    }
}
