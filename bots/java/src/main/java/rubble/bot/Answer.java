package rubble.bot;

/**
 * What a bot answers: an action by its index in the legal actions or by its text, and optionally a note.
 *
 * @param index the index in {@link Turn#legalActions}; ignored if there is a text
 * @param text the action in the notation of the game, or null
 * @param note up to 1000 characters, stored with the action in the replay
 */
public record Answer(int index, String text, String note) {

    public static Answer of(int index) {
        return new Answer(index, null, "");
    }

    public static Answer of(String text) {
        return new Answer(0, text, "");
    }

    public Answer withNote(String note) {
        return new Answer(index, text, note);
    }
}
