package rubble.bot;

import java.util.List;
import rubble.v1.Common.Action;
import rubble.v1.Common.Clock;
import rubble.v1.Common.View;

/**
 * A question with everything needed to answer it.
 *
 * @param number the number of this question to this seat in this session, from 1
 * @param view what this seat knows of the table: the game's own message, or a Struct for games without one
 * @param legalActions all possible answers, never empty
 * @param clock milliseconds left, as the arena counted them when it asked
 * @param refused why the last answer to this question was refused; empty the first time
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
