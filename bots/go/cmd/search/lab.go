package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "rubble-bot/gen/rubble/v1"
)

const (
	// Lines in one request: few enough that the reply comes within the clock.
	mostLines = 64
	// The difference in points at which the better player wins about three times in four: the randomness left after a playout.
	scale = 8.0
	// The most actions of other seats before it is our seat's turn.
	mostBefore = 40
)

// lab is the arena's SimulationService, for one question.
type lab struct {
	client  pb.SimulationServiceClient
	session string
	seat    int
	policy  string
	chance  *rand.Rand
	dealt   []world
}

// world is a sampled state in which it is our seat's turn, and a seed for what happens in it: the same for all actions tried there,
// so that differences come from the action.
type world struct {
	handle []byte
	seed   uint64
}

func (l *lab) worlds(ctx context.Context, count int) error {
	seed := l.chance.Uint64()
	var sampled *pb.SampleWorldsResponse
	err := patiently(ctx, func() (err error) {
		sampled, err = l.client.SampleWorlds(ctx, &pb.SampleWorldsRequest{
			Session: l.session, Seat: uint32(l.seat), Count: uint32(count), Seed: &seed,
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, handle := range sampled.GetWorlds() {
		l.dealt = append(l.dealt, world{handle, l.chance.Uint64()})
	}
	return l.wait(ctx)
}

// wait lets other seats that may act at the same time and come first take any action.
func (l *lab) wait(ctx context.Context) error {
	lines := make([]*pb.Simulation, len(l.dealt))
	pending := make([]int, len(l.dealt))
	for i := range l.dealt {
		lines[i] = &pb.Simulation{World: l.dealt[i].handle, ReturnPosition: true}
		pending[i] = i
	}
	// If one world has a seat that comes first, all have.
	for step := 0; len(pending) > 0; step++ {
		asked := pending
		if step == 0 {
			asked = pending[:1]
		}
		requests := make([]*pb.Simulation, len(asked))
		for i, number := range asked {
			requests[i] = lines[number]
		}
		results, err := l.simulate(ctx, requests)
		if err != nil {
			return err
		}
		var still []int
		for i, number := range asked {
			result := results[i]
			if result.GetWorld() != nil {
				l.dealt[number].handle = result.GetWorld()
			}
			acting := result.GetToAct()
			if len(acting) == 0 || int(acting[0]) == l.seat {
				continue
			}
			legal := result.GetLegalActions()
			text := legal[l.chance.IntN(len(legal))].GetText()
			lines[number] = &pb.Simulation{
				World: l.dealt[number].handle, Actions: []string{text}, ReturnWorld: true, ReturnPosition: true,
			}
			still = append(still, number)
		}
		if step == 0 {
			if len(still) == 0 {
				return nil
			}
			continue
		}
		if step > mostBefore {
			return fmt.Errorf("seat %d is never to act", l.seat)
		}
		pending = still
	}
	return nil
}

// try plays each line out once.
func (l *lab) try(ctx context.Context, lines []line, texts []string) ([]float64, error) {
	values := make([]float64, 0, len(lines))
	for len(lines) > 0 {
		count := min(len(lines), mostLines)
		requests := make([]*pb.Simulation, count)
		for i, line := range lines[:count] {
			at := l.dealt[line.world]
			requests[i] = &pb.Simulation{World: at.handle, Playouts: 1, Policy: l.policy, Seed: &at.seed}
			if line.action != builtIn {
				requests[i].Actions = []string{texts[line.action]}
			}
		}
		results, err := l.simulate(ctx, requests)
		if err != nil {
			return values, err
		}
		for i, result := range results {
			if result.GetRefused() != "" {
				return values, fmt.Errorf("%v: %s (%s)", requests[i].Actions, result.GetMessage(), result.GetRefused())
			}
			values = append(values, worth(result.GetScoreSums(), l.seat))
		}
		lines = lines[count:]
	}
	return values, nil
}

// worth is the mean, over all rivals, of the probability that such a difference in points is a win.
func worth(scores []float64, seat int) float64 {
	if len(scores) == 1 {
		return 1 / (1 + math.Exp(-scores[0]/(10*scale))) // in a solo game a higher score is better
	}
	sum := 0.0
	for other, score := range scores {
		if other != seat {
			sum += 1 / (1 + math.Exp((score-scores[seat])/scale))
		}
	}
	return sum / float64(len(scores)-1)
}

func (l *lab) simulate(ctx context.Context, lines []*pb.Simulation) ([]*pb.SimulationResult, error) {
	var response *pb.SimulateResponse
	err := patiently(ctx, func() (err error) {
		response, err = l.client.Simulate(ctx, &pb.SimulateRequest{Simulations: lines})
		return err
	})
	return response.GetResults(), err
}

// patiently retries while our share of the arena's computing time is used up or the arena is unavailable, until the time is up.
func patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		told := status.Convert(err)
		pause := 200 * time.Millisecond
		switch told.Code() {
		case codes.Unavailable:
		case codes.ResourceExhausted:
			for _, detail := range told.Details() {
				if retry, ok := detail.(*errdetails.RetryInfo); ok {
					pause = retry.GetRetryDelay().AsDuration()
				}
			}
		default:
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
