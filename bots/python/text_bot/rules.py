"""The rules of each game in a few lines, for the prompt. The visible cards are explained separately, from the arena's data."""

from typing import Final

_SF1906: Final = """\
1906 San Francisco: rebuild the city in six years, 1906 to 1911; most points win.
Each year opens with the earnings area: take a free space, its money, and a benefit of the year. Then come six action cards, one
after another. On each card every player has one turn: put the pawn on a free space and carry out its action, or take $1
instead (cash), or pay $2 a step for the action of another space of the card (buy). The pawn furthest right goes first on
the next card. Spaces count from 0 on the left.
Actions: earnings $N; materials (a building from the pool into your stock); permit; objective; clear-up ($2 for a step up in
development, or $3 with a rubble token of the map); urban-development ($2 for a step right); build; grant-build.
To build you need a building in stock, one or two permits and the year's cost. A plot needs its colour and its number: one permit
opens the plots with both, two permits any mix of theirs; a grant (P41, P42, or the action grant-build) stands for one colour or one
number. Rubble on the space costs $3 more and gives a step up. Two permits with a common icon bring a reward: an urbanism card of
that icon and a step right.
Points: three common objectives and your own, development (it starts at -7), urbanism cards, money. The first to place an
eighth building gets a bonus, and the game ends with that card."""

_RELIEF: Final = """\
Relief: lead the rebuilding after a disaster; most points win.
Each round all players secretly put leaders on tiles of their own mat, then a card brings goods and people to the board, then
all place markers, one at a time. A marker can: use an own tile (take goods, help people who become workers, gain stories or
money, train a leader, score; a leader on the tile adds one to each); build a tile of the row or your special one, onto an open
space or over a tile with the same icon, whose cost is then a discount; spend stories for money or 2 money for 1 influence;
trade money for goods and workers; or pass. No tile and no square takes more than two of your markers in a round.
If a build brings the last tile into the row, the game ends with that round; if the end of a round brings it, one more round is
played.
Points: the track, visible buildings, objectives, 10 for most influence, 10 for most hope."""

RULES: Final = {"sf1906-1e": _SF1906, "sf1906-2e": _SF1906, "relief": _RELIEF}
