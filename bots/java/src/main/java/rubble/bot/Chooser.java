package rubble.bot;

/** What an author writes. It is asked in several threads at once, so a long thought in one game holds up no other. */
@FunctionalInterface
public interface Chooser {
    /** The answer to a question. Whatever it throws is logged, and that question stays unanswered. */
    Answer choose(Turn turn) throws Exception;
}
