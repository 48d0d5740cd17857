// Command search is a bot that looks ahead without its own engine: it asks the arena for states that are consistent with its view
// and lets the arena's bundled player play them out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"time"

	pb "rubble-bot/gen/rubble/v1"
	"rubble-bot/rubble"
)

// searcher answers questions.
type searcher struct {
	settings rubble.Settings
	client   pb.SimulationServiceClient
	policy   string
	playouts int
	share    float64
	seed     uint64
}

func main() {
	s := &searcher{}
	flag.IntVar(&s.playouts, "playouts", 256, "the most games played out for one answer")
	flag.Float64Var(&s.share, "share", 0.5, "the largest share of an answer's time that is used, from 0.05 to 0.9")
	flag.StringVar(&s.policy, "policy", "greedy", "the bundled player that plays games out")
	flag.Uint64Var(&s.seed, "seed", rand.Uint64(), "decides all its worlds; the same number and enough time give the same answers")
	games := flag.Int("games", 4, "how many games are played at once")
	flag.Parse()
	if s.playouts < 1 || s.share < 0.05 || s.share > 0.9 || *games < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "search: expected -playouts of at least 1, -share from 0.05 to 0.9, -games of at least 1, and nothing else")
		os.Exit(2)
	}
	var err error
	if s.settings, err = rubble.FromEnv(); err == nil {
		err = s.open()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rubble-bot:", err)
		os.Exit(2)
	}
	rubble.Run(&rubble.Bot{Settings: s.settings, Choose: s.choose, Games: *games})
}

func (s *searcher) open() error {
	conn, err := s.settings.Dial()
	if err != nil {
		return err
	}
	s.client = pb.NewSimulationServiceClient(conn)
	return nil
}

// choose returns the action with the best result in the worlds there was time for.
func (s *searcher) choose(ctx context.Context, turn *rubble.Turn) (rubble.Answer, error) {
	if len(turn.LegalActions) == 1 {
		return rubble.Index(0), nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.time(turn.Clock))
	defer cancel()
	lab := &lab{
		client:  s.client,
		session: turn.Session,
		seat:    turn.Seat,
		policy:  s.policy,
		chance:  rand.New(rand.NewPCG(s.seed, s.place(turn))),
	}
	found, err := search(s.settings.Signed(ctx), lab, turn.Texts(), s.playouts)
	if err != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		turn.Note = "search cut short: " + err.Error()
	} else {
		turn.Note = found.String()
	}
	return rubble.Index(found.index), nil
}

// time is how long an answer may take: a share of the time for this answer, and a little of the reserve if there is one.
func (s *searcher) time(clock *pb.Clock) time.Duration {
	const answersLeft = 60 // the reserve must last for the rest of the game
	ms := s.share * (float64(clock.GetMoveMs()) + float64(clock.GetBankMs())/answersLeft)
	return time.Duration(ms * float64(time.Millisecond))
}

// place is the question's own part of the seed.
func (s *searcher) place(turn *rubble.Turn) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%d/%d", turn.Session, turn.Seat, turn.Number)
	return hash.Sum64()
}
