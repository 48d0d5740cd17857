package rubble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main plays with the settings of the environment until SIGTERM or Ctrl-C, and ends the process: with 0 if it was stopped,
// with 1 if the arena rejects the key or another process took over with it, with 2 if a setting is missing.
func Main(choose Choose) { Run(&Bot{Choose: choose}) }

// Run is Main for a bot with its own fields. Settings that are empty are read from the environment.
func Run(bot *Bot) {
	err := run(bot)
	if err == nil {
		os.Exit(0) // without waiting for Choose
	}
	fmt.Fprintln(os.Stderr, "rubble-bot:", err)
	var setting *SettingError
	if errors.As(err, &setting) {
		os.Exit(2)
	}
	os.Exit(1)
}

func run(bot *Bot) error {
	if bot.Settings == (Settings{}) {
		settings, err := FromEnv()
		if err != nil {
			return err
		}
		bot.Settings = settings
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return bot.Play(ctx)
}
