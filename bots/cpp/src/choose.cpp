// A starter bot that plays every game of the arena by a simple heuristic. To write your own bot, change choose.
//
// A turn carries the view of the table and the legal actions, both typed (see protos/rubble/v1). The answer is the index of an
// action in turn.legal_actions, or its text; with a note, if you like.
#include "choose.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>
#include <vector>

#include "rubble/v1/relief.pb.h"
#include "rubble/v1/sf1906.pb.h"

using namespace rubble::v1;

namespace {

// ----------------------------------------------------------------------------------------------------- 1906 San Francisco
/// What a space of an action card is worth to a player who is going to build.
double worth(const Sf1906ActionSpace& space) {
    switch (space.kind()) {
        case SF1906_ACTION_KIND_GRANT_BUILD:
            return 10;
        case SF1906_ACTION_KIND_BUILD:
            return 9;
        case SF1906_ACTION_KIND_PERMIT:
        case SF1906_ACTION_KIND_MATERIALS:
            return 5;
        case SF1906_ACTION_KIND_OBJECTIVE:
        case SF1906_ACTION_KIND_URBAN_DEVELOPMENT:
            return 4;
        case SF1906_ACTION_KIND_CLEAR_UP:
            return 3;
        default:
            return 0.5 * space.amount();
    }
}

double worth(const Sf1906View& city, const Sf1906Place& place) {
    if (!place.has_action()) {
        return place.cash() ? 1 : 0;
    }
    const int pawn = static_cast<int>(place.space());
    const int action = static_cast<int>(place.action());
    const int fee = 2 * std::abs(action - pawn);
    return worth(city.ring(static_cast<int>(city.card())).spaces(action)) - fee;
}

/// Returns what an action is worth, roughly in points.
double worth(const Sf1906View& city, const Sf1906Action& action) {
    switch (action.action_case()) {
        case Sf1906Action::kEarn:
            return action.earn();
        case Sf1906Action::kPlace:
            return worth(city, action.place());
        case Sf1906Action::kBenefit:
            return action.benefit() == SF1906_BENEFIT_BUILD ? 3 : 1;
        case Sf1906Action::kClear:
            return action.clear().empty() ? 0 : 1;
        case Sf1906Action::kReward:
            return action.reward() == SF1906_ICON_UNSPECIFIED ? 0 : 1;
        case Sf1906Action::kDiscard:
            return -action.discard().permits_size();
        default:
            return 0;  // a choice of card or space: add your own idea here
    }
}

// ----------------------------------------------------------------------------------------------------------------- Relief
/// Returns what an action is worth, roughly in points.
double worth(const ReliefSeat& me, const ReliefAction& action) {
    switch (action.action_case()) {
        case ReliefAction::kBuild:
            return 10;
        case ReliefAction::kUse: {
            const auto used = std::ranges::find(me.mat(), action.use(), &ReliefSpace::space);
            const bool is_led = std::ranges::find(me.placed().spaces(), action.use()) != me.placed().spaces().end();
            return 5.0 - used->uses() + (is_led ? 2 : 0) + 0.1 * used->under_size();
        }
        case ReliefAction::kLead:
            return action.lead();  // higher spaces hold built tiles, which give more than printed ones
        case ReliefAction::kSpendStories:
            return 1 + 0.1 * action.spend_stories();
        case ReliefAction::kSpendMoney:
            return 2 + 0.1 * action.spend_money();
        case ReliefAction::kTrade:
            return 3.0 + action.trade().supply() + action.trade().worker();
        case ReliefAction::kKeep:
            return -1;
        default:
            return 0;
    }
}

double worth(const rubble::Turn& turn, const Action& action) {
    switch (turn.view.game_case()) {
        case View::kSf1906:
            return worth(turn.view.sf1906(), action.sf1906());
        case View::kRelief:
            return worth(turn.view.relief().seats(turn.seat), action.relief());
        default:
            return 0;  // a game without its own messages: read the texts of the actions, or play anything
    }
}

}  // namespace

/// Returns the action that seems worth most; a random one among equals.
rubble::Answer choose(const rubble::Turn& turn) {
    std::vector<int> equals;
    double best = 0;
    for (int index = 0; index < turn.legal_actions.size(); ++index) {
        const double value = worth(turn, turn.legal_actions[index]);
        if (equals.empty() || value > best) {
            equals.clear();
            best = value;
        }
        if (value == best) {
            equals.push_back(index);
        }
    }
    thread_local std::mt19937 random{std::random_device{}()};  // choose is asked in several threads
    const auto place = std::uniform_int_distribution<std::size_t>(0, equals.size() - 1)(random);
    std::ostringstream note;
    note << "worth " << best;
    return {equals[place], note.str()};  // the note is stored with the action in the replay
}
