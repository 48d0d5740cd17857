package rubble

import (
	"context"
	"fmt"

	pb "rubble-bot/gen/rubble/v1"
)

// Turn is a question with everything needed to answer it.
type Turn struct {
	Session string
	Game    string
	// The bot's seat, counted from 0, and how many there are.
	Seat, Seats int
	// Number the number of this question to this seat in this session, from 1.
	Number int
	// View is what the seat knows of the table: switch on View.GetGame().
	View *pb.View
	// LegalActions is all possible answers, never empty.
	LegalActions []*pb.Action
	// Clock has the milliseconds left, as the arena counts them.
	Clock *pb.Clock
	// Refused says why the last answer to this question was refused; empty the first time.
	Refused string
	// Note is stored with the answer in the replay; at most 1000 characters of it.
	Note string
}

// Texts returns the legal actions in the notation of the game.
func (t *Turn) Texts() []string {
	texts := make([]string, len(t.LegalActions))
	for i, action := range t.LegalActions {
		texts[i] = action.GetText()
	}
	return texts
}

// Answer is a legal action: its index, or its text.
type Answer struct {
	index  int
	text   string
	byText bool
}

// Index answers with the index of an action in Turn.LegalActions.
func Index(index int) Answer { return Answer{index: index} }

// Text answers with an action in the notation of the game.
func Text(text string) Answer { return Answer{text: text, byText: true} }

// Choose answers a question. It may be called for several games at once, each time in its own goroutine: a slow answer in one game
// does not delay others. The context ends when the answer is no longer needed. After an error, or a panic, the question
// stays unanswered and the log says why.
type Choose func(ctx context.Context, turn *Turn) (Answer, error)

// choice returns the message of an answer.
func choice(turn *Turn, answer Answer) (*pb.Choice, error) {
	c := &pb.Choice{Session: turn.Session, Turn: uint32(turn.Number), Note: shortened(turn.Note)}
	switch {
	case answer.byText:
		c.Choice = &pb.Choice_Text{Text: answer.text}
	case answer.index < 0:
		return nil, fmt.Errorf("choose gave index %d; expected 0 to %d", answer.index, len(turn.LegalActions)-1)
	default:
		c.Choice = &pb.Choice_Index{Index: uint32(answer.index)}
	}
	return c, nil
}

func shortened(note string) string {
	const most = 1000
	count := 0
	for i := range note {
		if count == most {
			return note[:i]
		}
		count++
	}
	return note
}
