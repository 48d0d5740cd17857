"""One game of each kind, by both house players: what the compiled rules must play exactly as the Python does."""

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
