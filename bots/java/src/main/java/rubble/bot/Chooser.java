package rubble.bot;

/** The function a bot author writes. It is called in several threads at once, so a slow answer in one game does not delay others. */
@FunctionalInterface
public interface Chooser {
    /** Returns the answer to a question. Whatever it throws is logged, and that question stays unanswered. */
    Answer choose(Turn turn) throws Exception;
}
