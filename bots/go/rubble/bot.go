// Package rubble plays in a Rubble arena: write a Choose and pass it to Main.
//
// One stream carries all games of a bot. Answers that are ready together are sent in one message. An answer is kept until
// the next question: after a reconnect the arena asks again, and the same question gets the same answer.
package rubble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "rubble-bot/gen/rubble/v1"
)

const (
	sdk = "rubble-go 0.1"
	// The pause before the next attempt to connect: doubled from the first value up to the second, shortened by up to half at random.
	shortestPause, longestPause = 100 * time.Millisecond, 10 * time.Second
	// The pause before a refused question is asked again: the arena may be in trouble.
	refusedPause = 50 * time.Millisecond
	// Choices in one message.
	atOnce = 256
)

var (
	// ErrRejected: the arena rejects this bot. Trying again would not help.
	ErrRejected = errors.New("the arena does not")
	// ErrTakenOver: another process plays with the same key now.
	ErrTakenOver = errors.New("another process plays with this bot's key now; stopping")

	errDraining = errors.New("this copy of the arena is about to stop")
)

// Bot plays until it is stopped. Set its fields before Play.
type Bot struct {
	Settings Settings
	Choose   Choose
	// Games is how many games are played at once; 0 means 16.
	Games int
	// OnStart and OnOver are called between two messages and should be quick.
	OnStart func(*pb.GameStart)
	OnOver  func(*pb.GameOver)
	// Log is slog's default unless set.
	Log *slog.Logger

	games    map[string]*game
	outbox   []*pb.Choice
	thoughts chan thought
	failures int // failed attempts in a row
}

// game is a game this bot plays, and its latest question.
type game struct {
	start *pb.GameStart
	turn  *Turn
	// The answer to the question; nil while there is none.
	choice *pb.Choice
	// Cancels the call of Choose for the question.
	forget     context.CancelFunc
	isThinking bool
	// Whether the game is announced on the current stream, so that answers may be sent.
	isHere   bool
	refusals int
}

// thought is the result of a call of Choose.
type thought struct {
	game   *game
	turn   *Turn
	answer Answer
	err    error
}

// Play plays until the context ends and returns nil then; otherwise it returns why the bot cannot continue.
func (b *Bot) Play(ctx context.Context) error {
	if b.Games == 0 {
		b.Games = 16
	}
	if b.Log == nil {
		b.Log = slog.Default()
	}
	b.games, b.thoughts = map[string]*game{}, make(chan thought, atOnce)
	for ctx.Err() == nil {
		err := b.converse(ctx)
		var setting *SettingError
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, errDraining):
			b.Log.Info("this copy of the arena is about to stop; connecting again")
		case errors.Is(err, ErrRejected), errors.Is(err, ErrTakenOver), errors.As(err, &setting):
			return err
		default:
			b.pause(ctx, err)
		}
	}
	b.Log.Info("stopped")
	return nil
}

func (b *Bot) pause(ctx context.Context, problem error) {
	pause := min(longestPause, shortestPause<<min(b.failures, 20))
	pause -= time.Duration(rand.Float64() * 0.5 * float64(pause))
	b.failures++
	b.Log.Warn("no connection", "address", b.Settings.Address, "problem", problem, "next_attempt_in", pause.Round(time.Millisecond))
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// converse runs one stream, from Hello to its end, and returns why it ended.
func (b *Bot) converse(ctx context.Context) error {
	for _, g := range b.games {
		g.isHere = false
	}
	b.outbox = nil // the arena asks again for every answer that did not arrive
	conn, err := b.Settings.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	streaming, hangUp := context.WithCancel(ctx)
	defer hangUp()
	// The key is also sent as metadata: the arena then knows the bot before it reads the stream.
	stream, err := pb.NewBotServiceClient(conn).Play(b.Settings.Signed(streaming))
	if err != nil {
		return classify(err)
	}
	heard, failed := make(chan *pb.PlayResponse), make(chan error, 1)
	go func() {
		for {
			response, err := stream.Recv()
			if err != nil {
				failed <- classify(err)
				return
			}
			select {
			case heard <- response:
			case <-streaming.Done():
				return
			}
		}
	}()
	said := make(chan *pb.PlayRequest)
	go func() {
		for {
			select {
			case request := <-said:
				if stream.Send(request) != nil {
					return // the reader gets the reason
				}
			case <-streaming.Done():
				return
			}
		}
	}()
	next := &pb.PlayRequest{Hello: &pb.Hello{BotKey: b.Settings.Key, Sdk: sdk, MaxParallelGames: uint32(b.Games)}}
	for {
		if next == nil && len(b.outbox) > 0 {
			count := min(len(b.outbox), atOnce)
			next = &pb.PlayRequest{Choices: slices.Clone(b.outbox[:count])}
			b.outbox = b.outbox[count:]
		}
		mouth := said
		if next == nil {
			mouth = nil // nothing to send: that case waits for ever
		}
		select {
		case mouth <- next:
			next = nil
		case response := <-heard:
			for _, event := range response.GetEvents() {
				if event.GetDraining() != nil {
					return errDraining
				}
				if event.GetTakenOver() != nil {
					return ErrTakenOver
				}
				b.hear(ctx, event)
			}
		case t := <-b.thoughts:
			b.answer(t)
			for len(b.thoughts) > 0 {
				b.answer(<-b.thoughts)
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *Bot) hear(ctx context.Context, event *pb.PlayEvent) {
	switch e := event.GetEvent().(type) {
	case *pb.PlayEvent_Turn:
		b.ask(ctx, e.Turn)
	case *pb.PlayEvent_GameStart:
		b.begin(e.GameStart)
	case *pb.PlayEvent_GameOver:
		b.end(e.GameOver)
	case *pb.PlayEvent_Refused:
		b.reconsider(ctx, e.Refused)
	case *pb.PlayEvent_Welcome:
		b.failures = 0
		b.Log.Info("connected", "address", b.Settings.Address, "as", e.Welcome.GetBot())
	}
}

func (b *Bot) begin(start *pb.GameStart) {
	if known := b.games[start.GetSession()]; known != nil {
		known.isHere = true
		return
	}
	b.games[start.GetSession()] = &game{start: start, isHere: true, forget: func() {}}
	b.Log.Info("a game begins",
		"session", start.GetSession(), "game", start.GetGame(), "seat", start.GetSeat(), "seats", start.GetSeats())
	if b.OnStart != nil {
		b.OnStart(start)
	}
}

func (b *Bot) end(over *pb.GameOver) {
	session := over.GetSession()
	g := b.games[session]
	if g != nil {
		g.forget()
		delete(b.games, session)
	}
	seats := over.GetOutcome().GetSeats()
	switch {
	case over.GetFault() != pb.Fault_FAULT_UNSPECIFIED:
		b.Log.Error("lost by a fault", "session", session, "fault", over.GetFault())
	case g != nil && int(g.start.GetSeat()) < len(seats):
		result := seats[g.start.GetSeat()]
		b.Log.Info("over", "session", session,
			"rank", result.GetRank(), "score", result.GetScore(), "ending", over.GetOutcome().GetEnding())
	default:
		b.Log.Info("over", "session", session)
	}
	if b.OnOver != nil {
		b.OnOver(over)
	}
}

func (b *Bot) ask(ctx context.Context, asked *pb.Turn) {
	g := b.games[asked.GetSession()]
	if g == nil {
		b.Log.Error("a question about a game that never started; left unanswered", "session", asked.GetSession())
		return
	}
	if g.turn != nil && g.turn.Number == int(asked.GetTurn()) && sameActions(g.turn.LegalActions, asked.GetLegalActions()) {
		if g.choice != nil {
			b.outbox = append(b.outbox, g.choice)
			return
		}
		if g.isThinking {
			return // the answer is sent as soon as it is ready
		}
	}
	start := g.start
	g.turn = &Turn{
		Session:      asked.GetSession(),
		Game:         start.GetGame(),
		Seat:         int(start.GetSeat()),
		Seats:        int(start.GetSeats()),
		Number:       int(asked.GetTurn()),
		View:         asked.GetView(),
		LegalActions: asked.GetLegalActions(),
		Clock:        asked.GetClock(),
	}
	g.choice, g.refusals = nil, 0
	b.think(ctx, g, 0)
}

func sameActions(some, others []*pb.Action) bool {
	return slices.EqualFunc(some, others, func(a, b *pb.Action) bool { return a.GetText() == b.GetText() })
}

// reconsider logs the refusal; if the question is still open, it asks again with the reason.
func (b *Bot) reconsider(ctx context.Context, refused *pb.Refused) {
	b.Log.Warn("answer refused", "session", refused.GetSession(), "turn", refused.GetTurn(),
		"reason", refused.GetReason(), "message", refused.GetMessage())
	g := b.games[refused.GetSession()]
	if g == nil || g.turn == nil || g.choice == nil || g.turn.Number != int(refused.GetTurn()) || !refused.GetOpen() {
		return
	}
	again := *g.turn
	again.Refused, again.Note = refused.GetReason(), ""
	g.turn, g.choice = &again, nil
	pause := min(longestPause, refusedPause<<min(g.refusals, 20))
	g.refusals++
	b.think(ctx, g, pause)
}

// think calls Choose in a goroutine, after a pause.
func (b *Bot) think(ctx context.Context, g *game, pause time.Duration) {
	g.forget()
	thinking, forget := context.WithCancel(ctx)
	g.forget, g.isThinking = forget, true
	turn := g.turn
	go func() {
		defer forget()
		select {
		case <-time.After(pause):
		case <-thinking.Done():
			return
		}
		answer, err := b.chosen(thinking, turn)
		select {
		case b.thoughts <- thought{g, turn, answer, err}:
		case <-thinking.Done():
		}
	}()
}

// chosen returns the answer of Choose; a panic in it affects only this question.
func (b *Bot) chosen(ctx context.Context, turn *Turn) (answer Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("choose panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return b.Choose(ctx, turn)
}

func (b *Bot) answer(t thought) {
	if b.games[t.turn.Session] != t.game || t.game.turn != t.turn {
		return // the game is over, or a newer question has replaced it
	}
	t.game.isThinking = false
	var c *pb.Choice
	err := t.err
	if err == nil {
		c, err = choice(t.turn, t.answer)
	}
	if err != nil {
		b.Log.Error("left unanswered", "session", t.turn.Session, "turn", t.turn.Number, "problem", err)
		return
	}
	t.game.choice = c
	if t.game.isHere {
		b.outbox = append(b.outbox, c)
	}
}

// classify returns what went wrong: ErrRejected if trying again would not help.
func classify(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the stream ended")
	}
	told := status.Convert(err)
	switch told.Code() {
	case codes.Unauthenticated, codes.PermissionDenied:
		return fmt.Errorf("%w accept RUBBLE_BOT_KEY: %s", ErrRejected, told.Message())
	case codes.InvalidArgument, codes.Unimplemented:
		return fmt.Errorf("%w understand this bot: %s", ErrRejected, told.Message())
	}
	return fmt.Errorf("%s: %s", told.Code(), told.Message())
}
