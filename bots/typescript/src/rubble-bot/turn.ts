import type { Action, Clock, View } from "../gen/rubble/v1/common.js";

/** A question with everything needed to answer it. */
export interface Turn {
  readonly session: string;
  readonly game: string;
  readonly seat: number;
  readonly seats: number;
  /** The number of this question to this seat in this session, from 1. */
  readonly number: number;
  /** What this seat knows of the table: of the game's own type, or plain data (`other`) for games without one. */
  readonly view: View["game"];
  /** All possible answers, never empty. `text` is the notation of the game. */
  readonly legalActions: readonly Action[];
  /** Milliseconds left, as the arena counted them when it asked. */
  readonly clock: Clock;
  /** Why the last answer to this question was refused; empty the first time. */
  readonly refused: string;
}

/** The index of an action in `legalActions`, or its text; alone, or with a note of up to 1000 characters for the replay. */
export type Answer = number | string | { readonly action: number | string; readonly note?: string };

/** The function a bot author writes. Whatever it throws is logged, and that question stays unanswered. */
export type Choose = (turn: Turn) => Answer | Promise<Answer>;
