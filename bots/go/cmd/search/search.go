package main

import (
	"context"
	"fmt"
	"slices"
)

// The prior of an action's gain over the bundled player's choice, in rank points: slightly negative. A few worlds
// are weak evidence against a player that is right most of the time.
const (
	usualGain      = -0.05
	usualDeviation = 0.08
	// The prior variance of an action's gain between worlds, and the number of worlds it counts for.
	worldVariance = 0.06
	worldGuess    = 2
)

// mostWorlds is the largest number of worlds for one answer.
const mostWorlds = 64

// line is one thing to try: an action (an index; builtIn for the bundled player's own choice) in a world.
type line struct{ action, world int }

// builtIn stands for the bundled player's own choice.
const builtIn = -1

// laboratory tries lines of play and returns how well each ended for our seat, from 0 to 1. It may stop early with an error and then
// returns the results of the first lines.
type laboratory interface {
	worlds(ctx context.Context, count int) error
	try(ctx context.Context, lines []line, texts []string) ([]float64, error)
}

// found is the result of a search.
type found struct {
	index    int
	text     string
	gain     float64 // over the bundled player's choice, in rank points
	worlds   int
	playouts int
}

func (f found) String() string {
	return fmt.Sprintf("%s: %+.3f in %d worlds, %d playouts", f.text, f.gain, f.worlds, f.playouts)
}

// candidate is an action and its gain over the bundled player's choice in each world.
type candidate struct {
	action int
	gains  []float64
}

func (c *candidate) mean() float64 {
	sum := 0.0
	for _, gain := range c.gains {
		sum += gain
	}
	return sum / float64(max(1, len(c.gains)))
}

// belief is the expected gain, given the prior and the results so far.
func (c *candidate) belief() float64 {
	count, mean, squares := float64(len(c.gains)), c.mean(), 0.0
	for _, gain := range c.gains {
		squares += (gain - mean) * (gain - mean)
	}
	variance := (squares + worldGuess*worldVariance) / (count + worldGuess)
	shown, before := count/variance, 1/(usualDeviation*usualDeviation)
	return (shown*mean + before*usualGain) / (shown + before)
}

// isBuiltIn reports that the action never made a difference, so it is the bundled player's choice.
func (c *candidate) isBuiltIn() bool {
	return len(c.gains) > 0 && !slices.ContainsFunc(c.gains, func(gain float64) bool { return gain != 0 })
}

// search halves the list of actions in each round: it tries all remaining actions in the same new worlds and keeps the better half.
// In every world the bundled player's own choice is played out too, and actions are valued by the difference. When the time is up it
// returns the best action so far.
func search(ctx context.Context, lab laboratory, texts []string, playouts int) (found, error) {
	field := make([]*candidate, len(texts))
	for action := range texts {
		field[action] = &candidate{action: action}
	}
	everybody := slices.Clone(field)
	rounds := plan(len(texts), playouts)
	most := 0
	for _, worlds := range rounds {
		most += worlds
	}
	if err := lab.worlds(ctx, most); err != nil {
		return best(everybody, texts, 0, 0), err
	}
	world, used := 0, 0
	for _, worlds := range rounds {
		for range worlds {
			lines := []line{{builtIn, world}}
			for _, c := range field {
				lines = append(lines, line{c.action, world})
			}
			values, err := lab.try(ctx, lines, texts)
			used += len(values)
			if len(values) == len(lines) { // a world that was not tried with all actions is not counted
				for i, c := range field {
					c.gains = append(c.gains, values[i+1]-values[0])
				}
				world++
			}
			if err != nil {
				return best(everybody, texts, world, used), err
			}
		}
		field = halved(field)
	}
	return best(everybody, texts, world, used), nil
}

// plan returns the number of worlds of each round, so that all rounds take about the same time and the playouts suffice.
func plan(actions, playouts int) []int {
	var sizes []int
	for left := actions; left > 1; left = (left + 1) / 2 {
		sizes = append(sizes, left+1) // and the bundled player's own choice
	}
	rounds := make([]int, len(sizes))
	worlds := 0
	for i, size := range sizes {
		rounds[i] = min(max(1, playouts/len(sizes)/size), mostWorlds-worlds)
		worlds += rounds[i]
	}
	return rounds
}

// halved keeps the better half. A dropped action keeps its results.
func halved(field []*candidate) []*candidate {
	better := slices.Clone(field)
	slices.SortStableFunc(better, func(a, b *candidate) int {
		switch {
		case a.mean() > b.mean():
			return -1
		case a.mean() < b.mean():
			return 1
		default:
			return 0
		}
	})
	return better[:(len(better)+1)/2]
}

// best returns the action with the greatest expected gain; among equals the one tried in more worlds.
func best(field []*candidate, texts []string, worlds, used int) found {
	choice := field[0]
	for _, c := range field[1:] {
		if level(c) > level(choice) || level(c) == level(choice) && len(c.gains) > len(choice.gains) {
			choice = c
		}
	}
	return found{choice.action, texts[choice.action], choice.mean(), worlds, used}
}

// level is the final value of an action; the bundled player's own choice has a gain of exactly 0.
func level(c *candidate) float64 {
	if c.isBuiltIn() {
		return 0
	}
	return c.belief()
}
