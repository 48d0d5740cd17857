"""Plays one game of each kind with both bundled players; compiled rules and Python must give the same output."""

from service.games import all_games
from service.games.playing import play_one


def main() -> None:
    for game in all_games().values():
        for seats in game.seats:
            for name, player in game.players.items():
                played = play_one(game, seats, game.complete(seats, {}), [player] * seats, 1906, 0)
                print(game.id, seats, name, played.decisions, played.digest)


if __name__ == "__main__":
    main()
