package main

import (
	"context"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	pb "rubble-bot/gen/rubble/v1"
	"rubble-bot/rubble"
)

func place(space, action uint32) *pb.Action {
	return &pb.Action{Game: &pb.Action_Sf1906{Sf1906: &pb.Sf1906Action{Action: &pb.Sf1906Action_Place{
		Place: &pb.Sf1906Place{Space: space, What: &pb.Sf1906Place_Action{Action: action}},
	}}}}
}

func use(space uint32) *pb.Action {
	return &pb.Action{Game: &pb.Action_Relief{Relief: &pb.ReliefAction{Action: &pb.ReliefAction_Use{Use: space}}}}
}

func chosen(t *testing.T, turn *rubble.Turn) rubble.Answer {
	t.Helper()
	answer, err := choose(context.Background(), turn)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestBuildingIsWorthMoreThanEarning(t *testing.T) {
	card := &pb.Sf1906ActionCard{Spaces: []*pb.Sf1906ActionSpace{
		{Kind: pb.Sf1906ActionKind_SF1906_ACTION_KIND_EARNINGS, Amount: 4},
		{Kind: pb.Sf1906ActionKind_SF1906_ACTION_KIND_BUILD},
	}}
	first := uint32(0)
	turn := &rubble.Turn{
		View:         &pb.View{Game: &pb.View_Sf1906{Sf1906: &pb.Sf1906View{Card: &first, Ring: []*pb.Sf1906ActionCard{card}}}},
		LegalActions: []*pb.Action{place(0, 0), place(1, 1), place(0, 1)}, // the last one pays a fee for the step
	}
	if got := chosen(t, turn); got != rubble.Index(1) {
		t.Errorf("chose %+v, expected the pawn on the build space", got)
	}
	if turn.Note != "worth 9" {
		t.Errorf("noted %q", turn.Note)
	}
}

func TestATileWithALeaderIsUsedFirst(t *testing.T) {
	me := &pb.ReliefSeat{
		Mat:    []*pb.ReliefSpace{{Space: 1}, {Space: 2}, {Space: 3, Uses: 1}},
		Placed: &pb.ReliefLeaders{Spaces: []uint32{2}},
	}
	turn := &rubble.Turn{
		View:         &pb.View{Game: &pb.View_Relief{Relief: &pb.ReliefView{Seats: []*pb.ReliefSeat{{}, me}}}},
		Seat:         1,
		LegalActions: []*pb.Action{use(1), use(2), use(3)},
	}
	if got := chosen(t, turn); got != rubble.Index(1) {
		t.Errorf("chose %+v, expected the tile with the leader", got)
	}
}

func TestAGameItHasNeverHeardOfIsPlayedToo(t *testing.T) {
	turn := &rubble.Turn{
		View:         &pb.View{Game: &pb.View_Other{Other: &structpb.Struct{}}},
		LegalActions: []*pb.Action{{Text: "stay"}, {Text: "go"}},
	}
	if got := chosen(t, turn); got != rubble.Index(0) && got != rubble.Index(1) {
		t.Errorf("chose %+v, expected one of the two", got)
	}
}
