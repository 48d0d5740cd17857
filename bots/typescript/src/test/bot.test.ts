import assert from "node:assert/strict";
import { test } from "node:test";

import { choose } from "../bot.js";
import { Action, View } from "../gen/rubble/v1/common.js";
import { ReliefView, type ReliefAction } from "../gen/rubble/v1/relief.js";
import { Sf1906ActionKind, Sf1906View } from "../gen/rubble/v1/sf1906.js";
import type { Turn } from "../rubble-bot/index.js";

function chosen(view: View["game"], legalActions: Action[]): number | string {
  const turn: Turn = {
    session: "s",
    game: "any",
    seat: 0,
    seats: 2,
    number: 1,
    view,
    legalActions,
    clock: { moveMs: 1000, bankMs: 0 },
    refused: "",
  };
  const answer = choose(turn);
  return typeof answer === "object" ? answer.action : answer;
}

function place(space: number, action: number): Action {
  const what = { $case: "action", value: action } as const;
  return { text: "", game: { $case: "sf1906", value: { action: { $case: "place", value: { space, what } } } } };
}

function relief(action: ReliefAction["action"]): Action {
  return { text: "", game: { $case: "relief", value: { action } } };
}

test("building goes before money, and the fee for a step counts", () => {
  const spaces = [
    { kind: Sf1906ActionKind.EARNINGS, amount: 4 },
    { kind: Sf1906ActionKind.BUILD, amount: 0 },
  ];
  const value = Sf1906View.fromPartial({ card: 0, ring: [{ card: "A1", spaces }] });

  assert.equal(chosen({ $case: "sf1906", value }, [place(0, 0), place(1, 1)]), 1);
  assert.equal(chosen({ $case: "sf1906", value }, [place(1, 1), place(0, 1)]), 0);
});

test("a fresh tile goes before a used one, and a new one before both", () => {
  const value = ReliefView.fromPartial({ seats: [{ mat: [{ space: 1, uses: 2 }, { space: 2 }] }] });
  const pass = relief({ $case: "pass", value: true });
  const worn = relief({ $case: "use", value: 1 });
  const fresh = relief({ $case: "use", value: 2 });
  const build = relief({ $case: "build", value: { tile: "T01", space: 5 } });

  assert.equal(chosen({ $case: "relief", value }, [pass, worn, fresh]), 2);
  assert.equal(chosen({ $case: "relief", value }, [pass, worn, fresh, build]), 3);
});

test("an unknown game is played anyhow", () => {
  const actions = ["a", "b", "c"].map((text) => Action.fromPartial({ text }));
  for (let i = 0; i < 100; i++) {
    assert.ok([0, 1, 2].includes(Number(chosen({ $case: "other", value: { stones: 3 } }, actions))));
  }
});
