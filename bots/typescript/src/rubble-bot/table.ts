import { isDeepStrictEqual } from "node:util";

import type { Choice, GameOver, GameStart, PlayEvent, Refused, Turn as AskedTurn } from "../gen/rubble/v1/bot.js";
import { Fault } from "../gen/rubble/v1/common.js";
import { log } from "./log.js";
import type { Answer, Choose, Turn } from "./turn.js";

const NOTE = 1000; // characters of a note
const MOST = 0xffff_ffff; // the largest index
const FIRST_REFUSAL_MS = 50;
const LONGEST_MS = 10_000;
/** After this many milliseconds of `choose` the event loop runs, so that no answer waits for all the others. */
const STRETCH_MS = 5;

/** A question and the state of its answer. */
interface Question {
  turn: Turn;
  choice?: Choice | undefined;
  isGivenUp: boolean;
  refusals: number;
}

/** A game this bot plays, and its latest question. */
interface Game {
  readonly start: GameStart;
  question?: Question;
  /** Whether the game is announced on the current stream, so that answers may be sent. */
  isHere: boolean;
}

export interface Listeners {
  /** Called between two messages; should be quick. */
  readonly onStart?: ((start: GameStart) => void) | undefined;
  readonly onOver?: ((over: GameOver) => void) | undefined;
}

/**
 * The games of a bot across all streams. An answer is kept until the next question: after a reconnect
 * the arena asks again, and the same question gets the same answer.
 */
export class Table {
  readonly #choose: Choose;
  readonly #send: (choice: Choice) => void;
  readonly #listeners: Listeners;
  readonly #games = new Map<string, Game>();
  readonly #todo: { game: Game; question: Question }[] = [];

  constructor(choose: Choose, send: (choice: Choice) => void, listeners: Listeners) {
    this.#choose = choose;
    this.#send = send;
    this.#listeners = listeners;
  }

  /** Begins another stream. The arena announces its games, and asks again for every answer that did not arrive. */
  leave(): void {
    for (const game of this.#games.values()) game.isHere = false;
  }

  // ---------------------------------------------------------------------------------------------------------- events
  hear(event: PlayEvent["event"]): void {
    switch (event?.$case) {
      case "turn":
        return this.#ask(event.value);
      case "gameStart":
        return this.#begin(event.value);
      case "gameOver":
        return this.#end(event.value);
      case "refused":
        return this.#reconsider(event.value);
      default: // an event this SDK does not know, from a newer arena
    }
  }

  #begin(start: GameStart): void {
    const known = this.#games.get(start.session);
    if (known) {
      known.isHere = true;
      return;
    }
    this.#games.set(start.session, { start, isHere: true });
    log("INFO", `${start.session}: a game of ${start.game}, seat ${start.seat} of ${start.seats}`);
    tell(this.#listeners.onStart, start);
  }

  #end(over: GameOver): void {
    const game = this.#games.get(over.session);
    this.#games.delete(over.session);
    const result = game && over.outcome?.seats[game.start.seat];
    if (over.fault !== Fault.UNSPECIFIED) {
      log("ERROR", `${over.session}: lost by ${nameOf(over.fault)}`);
    } else if (result) {
      log("INFO", `${over.session}: rank ${result.rank} with ${result.score} points (${over.outcome?.ending})`);
    } else {
      log("INFO", `${over.session}: over`);
    }
    tell(this.#listeners.onOver, over);
  }

  #ask(asked: AskedTurn): void {
    const game = this.#games.get(asked.session);
    if (!game) {
      log("ERROR", `${asked.session}: a question about a game that never started; left unanswered`);
      return;
    }
    const known = game.question;
    if (known && known.turn.number === asked.turn && isDeepStrictEqual(known.turn.legalActions, asked.legalActions)) {
      if (known.choice) return this.#send(known.choice);
      if (!known.isGivenUp) return; // the answer is sent as soon as it is ready
    }
    const turn: Turn = {
      session: asked.session,
      game: game.start.game,
      seat: game.start.seat,
      seats: game.start.seats,
      number: asked.turn,
      view: asked.view?.game,
      legalActions: asked.legalActions,
      clock: asked.clock ?? { moveMs: 0, bankMs: 0 },
      refused: "",
    };
    game.question = { turn, isGivenUp: false, refusals: 0 };
    this.#think(game, game.question);
  }

  /** Logs the refusal; if the question is still open, asks again with the reason. */
  #reconsider(refused: Refused): void {
    log("WARNING", `${refused.session}: answer ${refused.turn} refused: ${refused.message} (${refused.reason})`);
    const game = this.#games.get(refused.session);
    const question = game?.question;
    if (!refused.open || !question?.choice || question.turn.number !== refused.turn) return;
    question.turn = { ...question.turn, refused: refused.reason };
    question.choice = undefined;
    const pause = Math.min(LONGEST_MS, FIRST_REFUSAL_MS * 2 ** question.refusals++); // the arena may be in trouble
    setTimeout(() => this.#think(game!, question), pause);
  }

  // -------------------------------------------------------------------------------------------------------- answering
  #think(game: Game, question: Question): void {
    this.#todo.push({ game, question });
    if (this.#todo.length === 1) setImmediate(() => this.#stretch());
  }

  #stretch(): void {
    const end = performance.now() + STRETCH_MS;
    do {
      const next = this.#todo[0];
      if (next && next.game.question === next.question) void this.#answer(next.game, next.question);
      this.#todo.shift();
    } while (this.#todo.length > 0 && performance.now() < end);
    if (this.#todo.length > 0) setImmediate(() => this.#stretch());
  }

  async #answer(game: Game, question: Question): Promise<void> {
    const turn = question.turn;
    let choice: Choice | undefined;
    try {
      choice = choiceOf(turn, await this.#choose(turn));
    } catch (thrown) {
      log("ERROR", `${turn.session}: choose failed on turn ${turn.number}; left unanswered`, thrown);
    }
    if (game.question !== question) return; // a newer question has replaced it
    question.choice = choice;
    question.isGivenUp = choice === undefined;
    if (choice && game.isHere) this.#send(choice);
  }
}

function choiceOf(turn: Turn, answer: Answer): Choice {
  const { action, note = "" } = typeof answer === "object" ? answer : { action: answer };
  const said = { session: turn.session, turn: turn.number, note: Array.from(note).slice(0, NOTE).join("") };
  if (typeof action === "string") return { ...said, choice: { $case: "text", value: action } };
  if (Number.isInteger(action) && action >= 0 && action <= MOST) return { ...said, choice: { $case: "index", value: action } };
  throw new TypeError(`choose gave ${String(action)}; expected an index or a text`);
}

function nameOf(fault: Fault): string {
  return Object.entries(Fault).find(([, number]) => number === fault)?.[0] ?? String(fault);
}

function tell<Message extends { session: string }>(listener: ((message: Message) => void) | undefined, message: Message): void {
  try {
    listener?.(message);
  } catch (thrown) {
    log("ERROR", `${message.session}: a listener failed`, thrown);
  }
}
