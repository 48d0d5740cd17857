import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import rubble.bot.Answer;
import rubble.bot.RubbleBot;
import rubble.bot.Turn;
import rubble.v1.Common.Action;
import rubble.v1.Relief.ReliefAction;
import rubble.v1.Relief.ReliefSeat;
import rubble.v1.Sf1906.Sf1906Action;
import rubble.v1.Sf1906.Sf1906Benefit;
import rubble.v1.Sf1906.Sf1906Icon;
import rubble.v1.Sf1906.Sf1906Place;
import rubble.v1.Sf1906.Sf1906View;

/**
 * A starter bot that plays every game of the arena by a simple heuristic. To write your own bot, change
 * {@link #choose}.
 *
 * <p>A turn carries the view of the table and the legal actions, both typed (see protos/rubble/v1). The answer is the place
 * of an action in {@code turn.legalActions()}, or its text.
 */
public final class MyBot {
    private MyBot() {}

    public static void main(String[] args) {
        RubbleBot.run(MyBot::choose);
    }

    /** Returns the action that seems worth most; a random one among equals. */
    static Answer choose(Turn turn) {
        return switch (turn.view().getGameCase()) {
            case SF1906 -> best(turn, action -> worth(turn.view().getSf1906(), action.getSf1906()));
            case RELIEF -> {
                ReliefSeat me = turn.view().getRelief().getSeats(turn.seat());
                yield best(turn, action -> worth(me, action.getRelief()));
            }
            // A game without its own messages: read turn.texts(), or play anything.
            default -> best(turn, action -> 0);
        };
    }

    private static Answer best(Turn turn, ToDoubleFunction<Action> worth) {
        List<Double> worths = turn.legalActions().stream().map(worth::applyAsDouble).toList();
        double most = worths.stream().max(Double::compare).orElseThrow();
        int[] equals = IntStream.range(0, worths.size()).filter(index -> worths.get(index) == most).toArray();
        int index = equals[ThreadLocalRandom.current().nextInt(equals.length)];
        return Answer.of(index).withNote("worth %s".formatted(most)); // stored with the action in the replay
    }

    // ----------------------------------------------------------------------------------------- 1906 San Francisco
    /** Returns what an action is worth, roughly in points. */
    private static double worth(Sf1906View city, Sf1906Action action) {
        return switch (action.getActionCase()) {
            case EARN -> action.getEarn();
            case PLACE -> worth(city, action.getPlace());
            case BENEFIT -> action.getBenefit() == Sf1906Benefit.SF1906_BENEFIT_BUILD ? 3 : 1;
            case CLEAR -> action.getClear().isEmpty() ? 0 : 1;
            case REWARD -> action.getReward() == Sf1906Icon.SF1906_ICON_UNSPECIFIED ? 0 : 1;
            case DISCARD -> -action.getDiscard().getPermitsCount();
            default -> 0; // a choice of card or space: add your own idea here
        };
    }

    /** What a space of an action card is worth to a player who is going to build. */
    private static double worth(Sf1906View city, Sf1906Place place) {
        if (!place.hasAction()) {
            return place.getCash() ? 1 : 0;
        }
        var space = city.getRing(city.getCard()).getSpaces(place.getAction());
        int fee = 2 * Math.abs(place.getAction() - place.getSpace());
        double gain = switch (space.getKind()) {
            case SF1906_ACTION_KIND_GRANT_BUILD -> 10;
            case SF1906_ACTION_KIND_BUILD -> 9;
            case SF1906_ACTION_KIND_PERMIT, SF1906_ACTION_KIND_MATERIALS -> 5;
            case SF1906_ACTION_KIND_OBJECTIVE, SF1906_ACTION_KIND_URBAN_DEVELOPMENT -> 4;
            case SF1906_ACTION_KIND_CLEAR_UP -> 3;
            default -> 0.5 * space.getAmount();
        };
        return gain - fee;
    }

    // ----------------------------------------------------------------------------------------------------- Relief
    /** Returns what an action is worth, roughly in points. */
    private static double worth(ReliefSeat me, ReliefAction action) {
        return switch (action.getActionCase()) {
            case BUILD -> 10;
            case USE -> {
                var used = me.getMatList().stream().filter(space -> space.getSpace() == action.getUse()).findFirst().orElseThrow();
                double led = me.getPlaced().getSpacesList().contains(action.getUse()) ? 2 : 0;
                yield 5 - used.getUses() + led + 0.1 * used.getUnderCount();
            }
            case LEAD -> action.getLead(); // higher spaces hold built tiles, which give more than printed ones
            case SPEND_STORIES -> 1 + 0.1 * action.getSpendStories();
            case SPEND_MONEY -> 2 + 0.1 * action.getSpendMoney();
            case TRADE -> 3 + action.getTrade().getSupply() + action.getTrade().getWorker();
            case KEEP -> -1;
            default -> 0;
        };
    }
}
