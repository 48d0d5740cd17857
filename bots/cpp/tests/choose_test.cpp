// Tests of the heuristic.
#include "choose.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "rubble/v1/relief.pb.h"
#include "rubble/v1/sf1906.pb.h"

using namespace rubble::v1;

namespace {

std::int64_t chosen(const View& view, std::initializer_list<Action> actions) {
    rubble::Turn turn;
    turn.seats = 2;
    turn.view = view;
    turn.legal_actions.Assign(actions.begin(), actions.end());
    return std::get<std::int64_t>(choose(turn).action);
}

Action place(unsigned space, unsigned action) {
    Action place;
    place.mutable_sf1906()->mutable_place()->set_space(space);
    place.mutable_sf1906()->mutable_place()->set_action(action);
    return place;
}

Action use(unsigned space) {
    Action use;
    use.mutable_relief()->set_use(space);
    return use;
}

TEST(Choose, BuildingGoesBeforeMoneyAndTheFeeForAStepCounts) {
    View view;
    auto& card = *view.mutable_sf1906()->add_ring();
    auto& earnings = *card.add_spaces();
    earnings.set_kind(SF1906_ACTION_KIND_EARNINGS);
    earnings.set_amount(4);
    card.add_spaces()->set_kind(SF1906_ACTION_KIND_BUILD);
    view.mutable_sf1906()->set_card(0);

    EXPECT_EQ(chosen(view, {place(0, 0), place(1, 1)}), 1);
    EXPECT_EQ(chosen(view, {place(1, 1), place(0, 1)}), 0);
}

TEST(Choose, AFreshTileGoesBeforeAUsedOneAndANewOneBeforeBoth) {
    View view;
    auto& seat = *view.mutable_relief()->add_seats();
    auto& worn = *seat.add_mat();
    worn.set_space(1);
    worn.set_uses(2);
    seat.add_mat()->set_space(2);
    Action pass;
    pass.mutable_relief()->set_pass(true);
    Action build;
    build.mutable_relief()->mutable_build()->set_tile("T01");

    EXPECT_EQ(chosen(view, {pass, use(1), use(2)}), 2);
    EXPECT_EQ(chosen(view, {pass, use(1), use(2), build}), 3);
}

TEST(Choose, AnUnknownGameIsPlayedAnyhow) {
    for (int i = 0; i < 100; ++i) {
        const auto index = chosen({}, {Action{}, Action{}, Action{}});
        EXPECT_GE(index, 0);
        EXPECT_LT(index, 3);
    }
}

}  // namespace
