/**
 * A starter bot that plays every game of the arena by a simple heuristic. To write your own bot, change `choose`.
 *
 * A turn carries the view of the table and the legal actions, both typed (see protos/rubble/v1). The answer is the index of an
 * action in `turn.legalActions`, or its text; with a note, if you like.
 */
import type { Action } from "./gen/rubble/v1/common.js";
import type { ReliefAction, ReliefSeat } from "./gen/rubble/v1/relief.js";
import { Sf1906ActionKind, Sf1906Benefit, Sf1906Icon } from "./gen/rubble/v1/sf1906.js";
import type { Sf1906Action, Sf1906Place, Sf1906View } from "./gen/rubble/v1/sf1906.js";
import type { Answer, Turn } from "./rubble-bot/index.js";

/** Returns the action that seems worth most; a random one among equals. */
export function choose(turn: Turn): Answer {
  const worth = turn.legalActions.map(worthFor(turn));
  const best = Math.max(...worth);
  const equals = [...worth.keys()].filter((index) => worth[index] === best);
  const action = equals[Math.floor(Math.random() * equals.length)]!;
  return { action, note: `worth ${best}` }; // the note is stored with the action in the replay
}

function worthFor(turn: Turn): (action: Action) => number {
  switch (turn.view?.$case) {
    case "sf1906": {
      const city = turn.view.value;
      return ({ game }) => (game?.$case === "sf1906" ? sf1906Worth(city, game.value.action) : 0);
    }
    case "relief": {
      const me = turn.view.value.seats[turn.seat];
      return ({ game }) => (me && game?.$case === "relief" ? reliefWorth(me, game.value.action) : 0);
    }
    default: // a game without its own messages: read the texts of the actions, or play anything
      return () => 0;
  }
}

// ------------------------------------------------------------------------------------------------ 1906 San Francisco
/** What a space of an action card is worth to a player who is going to build. */
const SPACE = new Map<Sf1906ActionKind, number>([
  [Sf1906ActionKind.GRANT_BUILD, 10],
  [Sf1906ActionKind.BUILD, 9],
  [Sf1906ActionKind.PERMIT, 5],
  [Sf1906ActionKind.MATERIALS, 5],
  [Sf1906ActionKind.OBJECTIVE, 4],
  [Sf1906ActionKind.URBAN_DEVELOPMENT, 4],
  [Sf1906ActionKind.CLEAR_UP, 3],
]);

/** Returns what an action is worth, roughly in points. */
function sf1906Worth(city: Sf1906View, action: Sf1906Action["action"]): number {
  switch (action?.$case) {
    case "earn":
      return action.value;
    case "place":
      return placeWorth(city, action.value);
    case "benefit":
      return action.value === Sf1906Benefit.BUILD ? 3 : 1;
    case "clear":
      return action.value ? 1 : 0;
    case "reward":
      return action.value === Sf1906Icon.UNSPECIFIED ? 0 : 1;
    case "discard":
      return -action.value.permits.length;
    default:
      return 0; // a choice of card or space: add your own idea here
  }
}

function placeWorth(city: Sf1906View, { space, what }: Sf1906Place): number {
  if (what?.$case !== "action") return what?.$case === "cash" ? 1 : 0;
  const offer = city.ring[city.card ?? 0]?.spaces[what.value];
  if (!offer) return 0;
  const fee = 2 * Math.abs(what.value - space);
  return (SPACE.get(offer.kind) ?? 0.5 * offer.amount) - fee;
}

// ------------------------------------------------------------------------------------------------------------ Relief
/** Returns what an action is worth, roughly in points. */
function reliefWorth(me: ReliefSeat, action: ReliefAction["action"]): number {
  switch (action?.$case) {
    case "build":
      return 10;
    case "use": {
      const used = me.mat.find(({ space }) => space === action.value);
      const led = me.placed?.spaces.includes(action.value) ? 2 : 0;
      return 5 - (used?.uses ?? 0) + led + 0.1 * (used?.under.length ?? 0);
    }
    case "lead":
      return action.value; // higher spaces hold built tiles, which give more than printed ones
    case "spendStories":
      return 1 + 0.1 * action.value;
    case "spendMoney":
      return 2 + 0.1 * action.value;
    case "trade":
      return 3 + action.value.supply + action.value.worker;
    case "keep":
      return -1;
    default:
      return 0;
  }
}
