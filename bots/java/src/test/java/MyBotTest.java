import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import rubble.bot.Answer;
import rubble.bot.Turn;
import rubble.v1.Common.Action;
import rubble.v1.Common.Clock;
import rubble.v1.Common.View;
import rubble.v1.Relief.ReliefAction;
import rubble.v1.Relief.ReliefBuild;
import rubble.v1.Relief.ReliefSeat;
import rubble.v1.Relief.ReliefSpace;
import rubble.v1.Relief.ReliefView;
import rubble.v1.Sf1906.Sf1906Action;
import rubble.v1.Sf1906.Sf1906ActionCard;
import rubble.v1.Sf1906.Sf1906ActionKind;
import rubble.v1.Sf1906.Sf1906ActionSpace;
import rubble.v1.Sf1906.Sf1906Place;
import rubble.v1.Sf1906.Sf1906View;

/** Tests of the heuristic. */
class MyBotTest {
    private static Turn turn(View view, Action... actions) {
        return new Turn("s", "any", 0, 2, 1, view, List.of(actions), Clock.getDefaultInstance(), "");
    }

    private static Action place(int space, int action) {
        var place = Sf1906Place.newBuilder().setSpace(space).setAction(action);
        return Action.newBuilder().setSf1906(Sf1906Action.newBuilder().setPlace(place)).build();
    }

    private static Action relief(ReliefAction.Builder action) {
        return Action.newBuilder().setRelief(action).build();
    }

    @Test
    void buildingGoesBeforeMoney() {
        var card = Sf1906ActionCard.newBuilder()
                .addSpaces(Sf1906ActionSpace.newBuilder().setKind(Sf1906ActionKind.SF1906_ACTION_KIND_EARNINGS).setAmount(4))
                .addSpaces(Sf1906ActionSpace.newBuilder().setKind(Sf1906ActionKind.SF1906_ACTION_KIND_BUILD));
        var view = View.newBuilder().setSf1906(Sf1906View.newBuilder().addRing(card).setCard(0)).build();

        assertEquals(1, MyBot.choose(turn(view, place(0, 0), place(1, 1))).index());
        assertEquals(0, MyBot.choose(turn(view, place(1, 1), place(0, 1))).index(), "the fee for a step counts");
    }

    @Test
    void aFreshTileGoesBeforeAUsedOneAndANewOneBeforeBoth() {
        var seat = ReliefSeat.newBuilder()
                .addMat(ReliefSpace.newBuilder().setSpace(1).setUses(2))
                .addMat(ReliefSpace.newBuilder().setSpace(2));
        var view = View.newBuilder().setRelief(ReliefView.newBuilder().addSeats(seat)).build();
        Action pass = relief(ReliefAction.newBuilder().setPass(true));
        Action worn = relief(ReliefAction.newBuilder().setUse(1));
        Action fresh = relief(ReliefAction.newBuilder().setUse(2));
        Action build = relief(ReliefAction.newBuilder().setBuild(ReliefBuild.newBuilder().setTile("T01").setSpace(5)));

        assertEquals(2, MyBot.choose(turn(view, pass, worn, fresh)).index());
        assertEquals(3, MyBot.choose(turn(view, pass, worn, fresh, build)).index());
    }

    @Test
    void anUnknownGameIsPlayedAnyhow() {
        Turn turn = turn(
                View.getDefaultInstance(),
                Stream.of("a", "b", "c").map(text -> Action.newBuilder().setText(text).build()).toArray(Action[]::new));
        for (int i = 0; i < 100; i++) {
            Answer answer = MyBot.choose(turn);
            assertTrue(answer.index() >= 0 && answer.index() < 3, answer.toString());
        }
    }
}
