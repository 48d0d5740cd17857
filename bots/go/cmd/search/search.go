package main

import (
	"context"
	"fmt"
	"slices"
)

// What is believed of an action before any world was seen, compared with the house player's choice, in rank points: it is a little
// worse, give or take. Few worlds are a weak witness against a player that is right most of the time.
const (
	usualGain      = -0.05
	usualDeviation = 0.08
	// How much an action's gain differs from world to world, and how many worlds that guess is worth.
	worldVariance = 0.06
	worldGuess    = 2
)

// mostWorlds is how many worlds are looked at for one answer.
const mostWorlds = 64

// line is one thing to try: an action (an index; house for what the house player would do itself) in a world.
type line struct{ action, world int }

// house stands for the house player's own choice, whichever that is.
const house = -1

// laboratory tries lines of play, and tells how well each ended for our seat, from 0 to 1. It may stop early with an error; what it
// returns then is a beginning of what was asked for.
type laboratory interface {
	worlds(ctx context.Context, count int) error
	try(ctx context.Context, lines []line, texts []string) ([]float64, error)
}

// found is what a search came to.
type found struct {
	index    int
	text     string
	gain     float64 // over the house player's choice, in rank points
	worlds   int
	playouts int
}

func (f found) String() string {
	return fmt.Sprintf("%s: %+.3f in %d worlds, %d playouts", f.text, f.gain, f.worlds, f.playouts)
}

// candidate is an action, and how much better than the house player's choice it did in each world.
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

// belief is the gain to be expected, given what was believed before and what the worlds have shown.
func (c *candidate) belief() float64 {
	count, mean, squares := float64(len(c.gains)), c.mean(), 0.0
	for _, gain := range c.gains {
		squares += (gain - mean) * (gain - mean)
	}
	variance := (squares + worldGuess*worldVariance) / (count + worldGuess)
	shown, before := count/variance, 1/(usualDeviation*usualDeviation)
	return (shown*mean + before*usualGain) / (shown + before)
}

// isHouse: it never made a difference, so it is what the house player does.
func (c *candidate) isHouse() bool {
	return len(c.gains) > 0 && !slices.ContainsFunc(c.gains, func(gain float64) bool { return gain != 0 })
}

// search halves the field of actions again and again: each round looks at all that are left in new worlds, the same for all, and
// keeps the better half. In every world the house player's own choice is played out too, and actions are judged by the difference.
// When the time is up the best so far is the answer.
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
			lines := []line{{house, world}}
			for _, c := range field {
				lines = append(lines, line{c.action, world})
			}
			values, err := lab.try(ctx, lines, texts)
			used += len(values)
			if len(values) == len(lines) { // a world that not all have seen is unfair
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

// plan is how many worlds each round looks at, so that all rounds take about as long and the playouts suffice for all.
func plan(actions, playouts int) []int {
	var sizes []int
	for left := actions; left > 1; left = (left + 1) / 2 {
		sizes = append(sizes, left+1) // and the house player's own
	}
	rounds := make([]int, len(sizes))
	worlds := 0
	for i, size := range sizes {
		rounds[i] = min(max(1, playouts/len(sizes)/size), mostWorlds-worlds)
		worlds += rounds[i]
	}
	return rounds
}

// halved keeps the better half. Whoever is dropped keeps what it has shown.
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

// best is the greatest gain to be expected; among equals whoever saw more worlds.
func best(field []*candidate, texts []string, worlds, used int) found {
	choice := field[0]
	for _, c := range field[1:] {
		if level(c) > level(choice) || level(c) == level(choice) && len(c.gains) > len(choice.gains) {
			choice = c
		}
	}
	return found{choice.action, texts[choice.action], choice.mean(), worlds, used}
}

// level is what an action is judged by in the end; the house player's own choice gains nothing, surely.
func level(c *candidate) float64 {
	if c.isHouse() {
		return 0
	}
	return c.belief()
}
