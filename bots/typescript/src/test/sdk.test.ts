import assert from "node:assert/strict";
import { test } from "node:test";

import { status } from "@grpc/grpc-js";

import { Bot, BotError, type Choose, type Settings } from "../rubble-bot/index.js";
import { over, say, strawArena, type Script } from "./straw-arena.js";

const TIMEOUT = { timeout: 60_000 };

/** Plays until that many games are over. */
async function play(games: number, script: Script, choose: Choose, ends = 1, settings: Settings = {}): Promise<void> {
  await strawArena(games, script, async (address) => {
    let ended = 0;
    const onOver = () => {
      if (++ended === ends) bot.stop();
    };
    const bot = new Bot(choose, { address, key: "any", games, onOver, ...settings });
    await bot.play();
  });
}

test("answers travel together, and are given again after draining", TIMEOUT, async () => {
  const games = 50;
  const heard = [new Map<string, unknown>(), new Map<string, unknown>()] as const;
  const messages = [0, 0];
  let thoughts = 0;

  await play(
    games,
    (stream, choices, call) => {
      const answers = heard[stream === 1 ? 0 : 1];
      messages[stream - 1]!++;
      for (const { session, choice } of choices) answers.set(session, choice);
      if (answers.size < games) return;
      if (stream === 1) say(call, { $case: "draining", value: { reason: "test" } });
      else say(call, ...[...answers.keys()].map(over));
    },
    () => thoughts++ % 2,
    games,
  );

  assert.equal(thoughts, games); // the same question is passed to choose once
  assert.deepEqual(heard[0], heard[1]); // and gets the same answer
  assert.ok(messages[1]! < games / 5, `${messages[1]} messages`);
});

test("a refused answer comes back with its reason", TIMEOUT, async () => {
  const reasons: string[] = [];

  await play(
    1,
    (_, [choice], call) => {
      if (choice?.choice?.value === "go") say(call, over("g0"));
      else say(call, { $case: "refused", value: { session: "g0", turn: 1, reason: "UNREADABLE", message: "", open: true } });
    },
    async (turn) => {
      reasons.push(turn.refused);
      return turn.refused ? "go" : "fly";
    },
  );

  assert.deepEqual(reasons, ["", "UNREADABLE"]);
});

test("a choose that fails loses its question and no other", TIMEOUT, async () => {
  const answered: string[] = [];

  await play(
    5,
    (_, choices, call) => {
      answered.push(...choices.map(({ session }) => session));
      if (answered.length === 2) say(call, over("g3"));
    },
    ({ session }) => {
      if (session === "g0") throw new Error("a bug in a bot");
      if (session === "g1") return 3.5;
      return session === "g2" ? 2 ** 32 : { action: "go", note: "sure" };
    },
  );

  assert.deepEqual(answered, ["g3", "g4"]);
});

test("a key that is not accepted is told, and not tried again", TIMEOUT, async () => {
  const script: Script = (_, __, call) => call.emit("error", { code: status.UNAUTHENTICATED, details: "expired" });

  await assert.rejects(
    play(1, script, () => 0),
    new BotError("the arena does not accept RUBBLE_BOT_KEY: expired", 1),
  );
});

test("another process that plays with the key is told, and not driven out", TIMEOUT, async () => {
  const script: Script = (_, __, call) => {
    say(call, { $case: "takenOver", value: {} });
    call.emit("error", { code: status.ABORTED, details: "a newer stream" });
  };

  await assert.rejects(
    play(1, script, () => 0),
    new BotError("another process plays with this bot's key now; stopping", 1),
  );
});

test("a missing setting is named", () => {
  delete process.env["RUBBLE_ADDRESS"];

  assert.throws(() => new Bot(() => 0), new BotError("RUBBLE_ADDRESS is missing: host:port of the arena", 2));
});
