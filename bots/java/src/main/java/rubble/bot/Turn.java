package rubble.bot;

import java.util.List;
import rubble.v1.Common.Action;
import rubble.v1.Common.Clock;
import rubble.v1.Common.View;

/**
 * A question, and all there is to know for the answer.
 *
 * @param number counts the questions put to this seat in this session
 * @param view what this seat knows of the table: a message of the game's own, or a Struct for games without one
 * @param legalActions everything that may be answered, never empty
 * @param clock milliseconds left, as the arena counted them when it asked
 * @param refused why the last answer to this very question was refused; empty the first time
 */
public record Turn(
        String session,
        String game,
        int seat,
        int seats,
        int number,
        View view,
        List<Action> legalActions,
        Clock clock,
        String refused) {

    /** The legal actions in the notation of the game. */
    public List<String> texts() {
        return legalActions.stream().map(Action::getText).toList();
    }

    Turn withRefused(String reason) {
        return new Turn(session, game, seat, seats, number, view, legalActions, clock, reason);
    }
}
