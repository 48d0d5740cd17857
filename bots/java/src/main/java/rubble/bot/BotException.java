package rubble.bot;

/** Why a bot stopped without being told to. */
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

    /** The arena does not want this bot, or not any more. Trying again would not help. */
    static BotException rejected(String message) {
        return new BotException(message, 1);
    }

    public int exitCode() {
        return exitCode;
    }
}
