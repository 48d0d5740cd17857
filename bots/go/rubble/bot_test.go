package rubble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "rubble-bot/gen/rubble/v1"
)

const patience = time.Minute

// straw is a fake arena with a script for each stream; the last script serves all later streams.
type straw struct {
	pb.UnimplementedBotServiceServer
	mu      sync.Mutex
	streams int
	scripts []func(hello *pb.Hello, stream pb.BotService_PlayServer) error
}

func (s *straw) Play(stream pb.BotService_PlayServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	s.mu.Lock()
	script := s.scripts[min(s.streams, len(s.scripts)-1)]
	s.streams++
	s.mu.Unlock()
	if err := say(stream, &pb.PlayEvent{Event: &pb.PlayEvent_Welcome{Welcome: &pb.Welcome{Bot: "straw"}}}); err != nil {
		return err
	}
	return script(first.GetHello(), stream)
}

func say(stream pb.BotService_PlayServer, events ...*pb.PlayEvent) error {
	return stream.Send(&pb.PlayResponse{Events: events})
}

func start(session string) *pb.PlayEvent {
	return &pb.PlayEvent{Event: &pb.PlayEvent_GameStart{GameStart: &pb.GameStart{Session: session, Game: "straw", Seats: 2}}}
}

func question(session string, turn uint32) *pb.PlayEvent {
	actions := []*pb.Action{{Text: "stay"}, {Text: "go"}}
	return &pb.PlayEvent{Event: &pb.PlayEvent_Turn{Turn: &pb.Turn{Session: session, Turn: turn, LegalActions: actions}}}
}

func over(session string) *pb.PlayEvent {
	return &pb.PlayEvent{Event: &pb.PlayEvent_GameOver{GameOver: &pb.GameOver{Session: session}}}
}

// play lets a bot play at a fake arena until that many games are over; it returns the result of Play and the log.
func play(t *testing.T, games int, arena *straw, choose Choose) (error, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterBotServiceServer(server, arena)
	go server.Serve(listener)
	defer server.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var log bytes.Buffer
	ended := 0
	bot := &Bot{
		Settings: Settings{Address: listener.Addr().String(), Key: "any"},
		Choose:   choose,
		Games:    games,
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
		OnOver: func(*pb.GameOver) {
			if ended++; ended == games {
				cancel()
			}
		},
	}
	err = bot.Play(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("still playing after %v:\n%s", patience, &log)
	}
	return err, log.String()
}

func TestAnswersAreGivenAgainAfterDraining(t *testing.T) {
	const games = 50
	answers := make([][]string, 2)
	stream := func(number int, last func(pb.BotService_PlayServer) error) func(*pb.Hello, pb.BotService_PlayServer) error {
		return func(hello *pb.Hello, stream pb.BotService_PlayServer) error {
			if hello.GetMaxParallelGames() != games || hello.GetBotKey() != "any" {
				return fmt.Errorf("said hello with %v", hello)
			}
			for game := range games {
				session := fmt.Sprint("g", game)
				if err := say(stream, start(session), question(session, 1)); err != nil {
					return err
				}
			}
			for len(answers[number]) < games {
				request, err := stream.Recv()
				if err != nil {
					return err
				}
				for _, c := range request.GetChoices() {
					answers[number] = append(answers[number], c.GetSession()+"="+c.GetText())
				}
			}
			return last(stream)
		}
	}
	arena := &straw{scripts: []func(*pb.Hello, pb.BotService_PlayServer) error{
		stream(0, func(s pb.BotService_PlayServer) error {
			return say(s, &pb.PlayEvent{Event: &pb.PlayEvent_Draining{Draining: &pb.Draining{Reason: "test"}}})
		}),
		stream(1, func(s pb.BotService_PlayServer) error {
			for game := range games {
				if err := say(s, over(fmt.Sprint("g", game))); err != nil {
					return err
				}
			}
			<-s.Context().Done()
			return nil
		}),
	}}
	var mu sync.Mutex
	thoughts := 0
	err, log := play(t, games, arena, func(_ context.Context, turn *Turn) (Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		thoughts++
		return Text(turn.Texts()[thoughts%2]), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, some := range answers {
		slices.Sort(some)
	}
	if !slices.Equal(answers[0], answers[1]) || thoughts != games {
		t.Errorf("%d thoughts\n%v\n%v", thoughts, answers[0], answers[1])
	}
	if !strings.Contains(log, "about to stop; connecting again") {
		t.Error(log)
	}
}

func TestARefusedQuestionIsAskedAgainWithTheReason(t *testing.T) {
	arena := &straw{scripts: []func(*pb.Hello, pb.BotService_PlayServer) error{
		func(_ *pb.Hello, stream pb.BotService_PlayServer) error {
			refused := &pb.Refused{Session: "g", Turn: 1, Reason: "UNREADABLE", Open: true}
			if err := say(stream, start("g"), question("g", 1)); err != nil {
				return err
			}
			if _, err := stream.Recv(); err != nil {
				return err
			}
			if err := say(stream, &pb.PlayEvent{Event: &pb.PlayEvent_Refused{Refused: refused}}); err != nil {
				return err
			}
			request, err := stream.Recv()
			if err != nil {
				return err
			}
			if got := request.GetChoices()[0]; got.GetText() != "go" || len([]rune(got.GetNote())) != 1000 {
				return status.Errorf(codes.InvalidArgument, "answered %v", got)
			}
			if err := say(stream, over("g")); err != nil {
				return err
			}
			<-stream.Context().Done()
			return nil
		},
	}}
	var reasons []string
	err, _ := play(t, 1, arena, func(_ context.Context, turn *Turn) (Answer, error) {
		reasons = append(reasons, turn.Refused)
		if turn.Refused == "" {
			return Text("fly to the moon"), nil
		}
		turn.Note = strings.Repeat("é", 2000)
		return Text("go"), nil
	})
	if err != nil || !slices.Equal(reasons, []string{"", "UNREADABLE"}) {
		t.Error(err, reasons)
	}
}

func TestAFailedThoughtCostsItsQuestionAndNoOther(t *testing.T) {
	failures := map[string]func() (Answer, error){
		"error":    func() (Answer, error) { return Answer{}, errors.New("a bug in a bot") },
		"panic":    func() (Answer, error) { panic("a bug in a bot") },
		"negative": func() (Answer, error) { return Index(-1), nil },
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			arena := &straw{scripts: []func(*pb.Hello, pb.BotService_PlayServer) error{
				func(_ *pb.Hello, stream pb.BotService_PlayServer) error {
					if err := say(stream, start("bad"), start("good"), question("bad", 1), question("good", 1)); err != nil {
						return err
					}
					request, err := stream.Recv()
					if err != nil {
						return err
					}
					if got := request.GetChoices(); len(got) != 1 || got[0].GetSession() != "good" {
						return status.Errorf(codes.InvalidArgument, "answered %v", got)
					}
					if err := say(stream, over("good"), over("bad")); err != nil {
						return err
					}
					<-stream.Context().Done()
					return nil
				},
			}}
			failed := make(chan struct{})
			err, _ := play(t, 2, arena, func(_ context.Context, turn *Turn) (Answer, error) {
				if turn.Session == "bad" {
					defer close(failed)
					return fail()
				}
				<-failed
				return Index(1), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatEndsABotForGood(t *testing.T) {
	takenOver := &pb.PlayEvent{Event: &pb.PlayEvent_TakenOver{TakenOver: &pb.TakenOver{}}}
	cases := map[string]struct {
		events []*pb.PlayEvent
		told   *status.Status
		want   error
		word   string
	}{
		"key":     {nil, status.New(codes.Unauthenticated, "revoked"), ErrRejected, "does not accept RUBBLE_BOT_KEY: revoked"},
		"version": {nil, status.New(codes.InvalidArgument, "what?"), ErrRejected, "does not understand this bot: what?"},
		"newer": {
			[]*pb.PlayEvent{takenOver}, status.New(codes.Aborted, "a newer stream"), ErrTakenOver,
			"another process plays with this bot's key now",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			arena := &straw{scripts: []func(*pb.Hello, pb.BotService_PlayServer) error{
				func(*pb.Hello, pb.BotService_PlayServer) error { return errors.New("lost") }, // tried again
				func(_ *pb.Hello, stream pb.BotService_PlayServer) error {
					if err := say(stream, c.events...); err != nil {
						return err
					}
					return c.told.Err()
				},
			}}
			err, _ := play(t, 1, arena, nil)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.word) {
				t.Errorf("ended with %v", err)
			}
			if arena.streams != 2 {
				t.Errorf("%d streams, expected 2", arena.streams)
			}
		})
	}
}
