package main

import (
	"context"
	"errors"
	"math"
	"testing"

	pb "rubble-bot/gen/rubble/v1"
	"rubble-bot/rubble"
)

// bench is a laboratory in which each action has a given worth plus noise from the world.
type bench struct {
	worth   []float64
	builtIn int // the action the bundled player takes
	noise   func(action, world int) float64
	worldsN int
	tries   int
	most    int // tries after which the time is up
}

var errTimeUp = errors.New("time is up")

func (b *bench) worlds(_ context.Context, count int) error {
	b.worldsN = count
	return nil
}

func (b *bench) try(_ context.Context, lines []line, _ []string) ([]float64, error) {
	var values []float64
	for _, line := range lines {
		if b.tries == b.most {
			return values, errTimeUp
		}
		b.tries++
		action := line.action
		if action == builtIn {
			action = b.builtIn
		}
		values = append(values, b.worth[action]+b.noise(action, line.world))
	}
	return values, nil
}

func texts(count int) []string {
	words := make([]string, count)
	for i := range words {
		words[i] = string(rune('a' + i))
	}
	return words
}

// weather is noise that is mostly the same for every action in a world.
func weather(action, world int) float64 {
	return math.Sin(float64(world)) + 0.02*math.Sin(float64(7*world+3*action))
}

func TestTheBestActionIsFoundThoughWorldsDifferMoreThanActions(t *testing.T) {
	worth := make([]float64, 20)
	for i := range worth {
		worth[i] = 0.01 * float64(i%7)
	}
	worth[13] = 0.5
	lab := &bench{worth: worth, builtIn: 3, noise: weather, most: -1}
	got, err := search(context.Background(), lab, texts(20), 200)
	if err != nil || got.index != 13 {
		t.Errorf("found %+v, %v", got, err)
	}
	if got.playouts > 260 || got.playouts != lab.tries {
		t.Errorf("%d playouts for a budget of 200", got.playouts)
	}
}

func TestWithoutProofTheHousePlayerIsBelieved(t *testing.T) {
	coin := func(action, world int) float64 { // actions other than the bundled player's win or lose at random
		if action == 2 {
			return 0
		}
		return []float64{0.4, -0.4}[(world+action)%2]
	}
	lab := &bench{worth: make([]float64, 4), builtIn: 2, noise: coin, most: -1}
	got, err := search(context.Background(), lab, texts(4), 120)
	if err != nil || got.index != 2 || got.gain != 0 {
		t.Errorf("found %+v, %v; expected the bundled player's own action", got, err)
	}
}

func TestWhenTheTimeIsUpTheBestSoFarIsTheAnswer(t *testing.T) {
	lab := &bench{worth: []float64{0, 0.3, 0.1}, noise: weather, most: 14} // three worlds, and half of a fourth
	got, err := search(context.Background(), lab, texts(3), 1000)
	if !errors.Is(err, errTimeUp) || got.index != 1 || got.worlds != 3 {
		t.Errorf("found %+v, %v", got, err)
	}
	lab = &bench{worth: []float64{0, 1}, noise: weather, most: 0}
	if got, err = search(context.Background(), lab, texts(2), 1000); !errors.Is(err, errTimeUp) || got.index != 0 {
		t.Errorf("found %+v, %v without any playout", got, err)
	}
}

func TestAPlanFitsItsBudget(t *testing.T) {
	for actions := 2; actions < 80; actions++ {
		for _, playouts := range []int{1, 30, 256, 100_000} {
			worlds, cost, left := 0, 0, actions
			for _, round := range plan(actions, playouts) {
				worlds += round
				cost += round * (left + 1)
				left = (left + 1) / 2
			}
			if worlds > mostWorlds || left != 1 || cost > playouts+3*actions {
				t.Errorf("%d actions, %d playouts: %d worlds, %d playouts planned", actions, playouts, worlds, cost)
			}
		}
	}
}

func TestALeadIsWorthMoreTheLargerItIs(t *testing.T) {
	if even := worth([]float64{50, 50, 50}, 1); even != 0.5 {
		t.Errorf("a tie is worth %g", even)
	}
	small, large, behind := worth([]float64{50, 52}, 1), worth([]float64{50, 70}, 1), worth([]float64{50, 70}, 0)
	if !(0.5 < small && small < large && large < 1) || math.Abs(large+behind-1) > 1e-9 {
		t.Errorf("worth %g, %g, %g", small, large, behind)
	}
}

func TestAnAnswerTakesItsShareOfTheClock(t *testing.T) {
	s := &searcher{share: 0.5}
	if got := s.time(&pb.Clock{MoveMs: 1000, BankMs: 6000}).Milliseconds(); got != 550 {
		t.Errorf("%d ms, expected half of a second and of a hundredth of the reserve", got)
	}
	one, other := &rubble.Turn{Session: "s", Number: 1}, &rubble.Turn{Session: "s", Number: 2}
	if s.place(one) == s.place(other) || s.place(one) != s.place(one) {
		t.Error("each question must have its own seed, and keep it")
	}
}
