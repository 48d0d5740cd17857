// A starter bot that plays every game of the arena by a simple heuristic. To write your own bot, change choose.
package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	pb "rubble-bot/gen/rubble/v1"
	"rubble-bot/rubble"
)

func main() { rubble.Main(choose) }

// choose returns the action that seems worth most; a random one among equals.
func choose(_ context.Context, turn *rubble.Turn) (rubble.Answer, error) {
	best, highest := []int{}, math.Inf(-1)
	for index, action := range turn.LegalActions {
		switch value := worth(turn, action); {
		case value > highest:
			best, highest = []int{index}, value
		case value == highest:
			best = append(best, index)
		}
	}
	turn.Note = fmt.Sprintf("worth %g", highest) // stored with the action in the replay
	return rubble.Index(best[rand.IntN(len(best))]), nil
}

// worth is what an action is worth, roughly in points.
func worth(turn *rubble.Turn, action *pb.Action) float64 {
	switch view := turn.View.GetGame().(type) {
	case *pb.View_Sf1906:
		return sf1906Worth(view.Sf1906, action.GetSf1906())
	case *pb.View_Relief:
		return reliefWorth(view.Relief.GetSeats()[turn.Seat], action.GetRelief())
	default: // a game without its own messages: read action.GetText(), or play anything
		return 0
	}
}

// ------------------------------------------------------------------------------------------------ 1906 San Francisco

// spaceWorth is what a space of an action card is worth to a player who is going to build.
var spaceWorth = map[pb.Sf1906ActionKind]float64{
	pb.Sf1906ActionKind_SF1906_ACTION_KIND_GRANT_BUILD:       10,
	pb.Sf1906ActionKind_SF1906_ACTION_KIND_BUILD:             9,
	pb.Sf1906ActionKind_SF1906_ACTION_KIND_PERMIT:            5,
	pb.Sf1906ActionKind_SF1906_ACTION_KIND_MATERIALS:         5,
	pb.Sf1906ActionKind_SF1906_ACTION_KIND_OBJECTIVE:         4,
	pb.Sf1906ActionKind_SF1906_ACTION_KIND_URBAN_DEVELOPMENT: 4,
	pb.Sf1906ActionKind_SF1906_ACTION_KIND_CLEAR_UP:          3,
}

func sf1906Worth(city *pb.Sf1906View, action *pb.Sf1906Action) float64 {
	switch a := action.GetAction().(type) {
	case *pb.Sf1906Action_Earn:
		return float64(a.Earn)
	case *pb.Sf1906Action_Place:
		return placeWorth(city, a.Place)
	case *pb.Sf1906Action_Benefit:
		if a.Benefit == pb.Sf1906Benefit_SF1906_BENEFIT_BUILD {
			return 3
		}
		return 1
	case *pb.Sf1906Action_Clear:
		if a.Clear != "" {
			return 1
		}
	case *pb.Sf1906Action_Reward:
		if a.Reward != pb.Sf1906Icon_SF1906_ICON_UNSPECIFIED {
			return 1
		}
	case *pb.Sf1906Action_Discard:
		return -float64(len(a.Discard.GetPermits()))
	}
	return 0 // a choice of card or space: add your own idea here
}

func placeWorth(city *pb.Sf1906View, place *pb.Sf1906Place) float64 {
	switch what := place.GetWhat().(type) {
	case *pb.Sf1906Place_Action:
		space := city.GetRing()[city.GetCard()].GetSpaces()[what.Action]
		value, known := spaceWorth[space.GetKind()]
		if !known {
			value = 0.5 * float64(space.GetAmount())
		}
		fee := 2 * math.Abs(float64(what.Action)-float64(place.GetSpace()))
		return value - fee
	case *pb.Sf1906Place_Cash:
		return 1
	default:
		return 0
	}
}

// ------------------------------------------------------------------------------------------------------------ Relief

func reliefWorth(me *pb.ReliefSeat, action *pb.ReliefAction) float64 {
	switch a := action.GetAction().(type) {
	case *pb.ReliefAction_Build:
		return 10
	case *pb.ReliefAction_Use:
		return useWorth(me, a.Use)
	case *pb.ReliefAction_Lead:
		return float64(a.Lead) // higher spaces hold built tiles, which give more than printed ones
	case *pb.ReliefAction_SpendStories:
		return 1 + 0.1*float64(a.SpendStories)
	case *pb.ReliefAction_SpendMoney:
		return 2 + 0.1*float64(a.SpendMoney)
	case *pb.ReliefAction_Trade:
		return 3 + float64(a.Trade.GetSupply()+a.Trade.GetWorker())
	case *pb.ReliefAction_Keep:
		return -1
	default:
		return 0
	}
}

func useWorth(me *pb.ReliefSeat, space uint32) float64 {
	for _, tile := range me.GetMat() {
		if tile.GetSpace() != space {
			continue
		}
		value := 5 - float64(tile.GetUses()) + 0.1*float64(len(tile.GetUnder()))
		if slices.Contains(me.GetPlaced().GetSpaces(), space) {
			value += 2 // a leader stands there
		}
		return value
	}
	return 0
}
