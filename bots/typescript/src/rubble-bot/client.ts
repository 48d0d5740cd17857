import { readFileSync } from "node:fs";
import { setTimeout as pauseFor } from "node:timers/promises";

import { credentials, Metadata, status, type ChannelCredentials, type ClientDuplexStream, type StatusObject } from "@grpc/grpc-js";

import { BotServiceClient, PlayRequest, type Choice, type PlayResponse } from "../gen/rubble/v1/bot.js";
import { log } from "./log.js";
import { Table, type Listeners } from "./table.js";
import type { Choose } from "./turn.js";

const SDK = "rubble-typescript 0.1";
/** Milliseconds between attempts to connect: doubled from the first value up to the second, shortened by up to half at random. */
const SHORTEST_MS = 100;
const LONGEST_MS = 10_000;
const AT_ONCE = 256; // choices in one message
const OPTIONS = {
  "grpc.keepalive_time_ms": 20_000, // notice a dead connection while waiting for a turn
  "grpc.use_local_subchannel_pool": 1, // every stream has its own connection, perhaps to another copy
};

/** The reason why a bot stopped by itself. */
export class BotError extends Error {
  override readonly name = "BotError";

  constructor(
    message: string,
    readonly exitCode: 1 | 2,
  ) {
    super(message);
  }
}

/** Missing settings are read from RUBBLE_ADDRESS, RUBBLE_BOT_KEY and RUBBLE_CA. */
export interface Settings extends Listeners {
  /** host:port of the arena. */
  readonly address?: string;
  readonly key?: string;
  /** A file of certificates to trust, or "system" for those of Node; empty: no TLS. */
  readonly ca?: string;
  /** The number of games played at once. */
  readonly games?: number;
}

/** The reason why the arena asks the bot to leave a stream. */
type Farewell = "draining" | "takenOver";
type Stream = ClientDuplexStream<PlayRequest, PlayResponse>;

/** A bot that plays until it is stopped: one stream to the arena carries all its games. A bot plays once. */
export class Bot {
  readonly #address: string;
  readonly #key: string;
  readonly #credentials: ChannelCredentials;
  readonly #games: number;
  readonly #table: Table;
  readonly #stopping = new AbortController();
  #stream: Stream | undefined;
  #outbox: Choice[] = [];
  #isWriting = false;
  #failures = 0; // failed attempts in a row

  constructor(choose: Choose, settings: Settings = {}) {
    this.#address = settings.address ?? setting("RUBBLE_ADDRESS", "host:port of the arena");
    this.#key = settings.key ?? setting("RUBBLE_BOT_KEY", "the key the operator issued for this bot");
    this.#credentials = credentialsOf(settings.ca ?? process.env["RUBBLE_CA"] ?? "");
    this.#games = settings.games ?? 16;
    this.#table = new Table(choose, (choice) => this.#send(choice), settings);
  }

  /** Plays until `stop`. Throws BotError if the arena rejects this bot. */
  async play(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const ending = await this.#converse();
      if (signal.aborted) break;
      if (ending === "draining") {
        log("INFO", "this copy of the arena is about to stop; connecting again");
        continue;
      }
      if (ending === "takenOver") throw new BotError("another process plays with this bot's key now; stopping", 1);
      const problem = classify(ending);
      const pause = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** this.#failures++) * (0.5 + Math.random() / 2);
      log("WARNING", `no connection to ${this.#address} (${problem}); next attempt in ${(pause / 1000).toFixed(1)} s`);
      await pauseFor(pause, undefined, { signal }).catch(() => {}); // stopped meanwhile
    }
    log("INFO", "stopped");
  }

  /** Leaves the arena now. The arena keeps the games until their clocks run out. */
  stop(): void {
    this.#stopping.abort();
    this.#stream?.cancel();
  }

  /** Runs one stream, from Hello to its end. */
  async #converse(): Promise<StatusObject | Farewell> {
    this.#table.leave();
    this.#outbox = [];
    this.#isWriting = false;
    const client = new BotServiceClient(this.#address, this.#credentials, OPTIONS);
    // The key is also sent as metadata: the arena then knows the bot before it reads the stream.
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${this.#key}`);
    const stream = client.play(metadata);
    this.#stream = stream;
    try {
      return await new Promise((resolve) => {
        stream.on("data", (response: PlayResponse) => {
          const farewell = this.#stream === stream && this.#hear(response);
          if (farewell) resolve(farewell);
        });
        stream.on("status", resolve);
        stream.on("error", () => {}); // the status reports it too
        this.#write({ hello: { botKey: this.#key, sdk: SDK, maxParallelGames: this.#games }, choices: [] });
      });
    } finally {
      this.#stream = undefined;
      stream.cancel();
      client.close();
    }
  }

  /** Handles events; returns why the stream must be left, if so. */
  #hear(response: PlayResponse): Farewell | undefined {
    for (const { event } of response.events) {
      if (event?.$case === "draining" || event?.$case === "takenOver") return event.$case;
      if (event?.$case === "welcome") {
        this.#failures = 0;
        log("INFO", `connected to ${this.#address} as ${event.value.bot}`);
      } else {
        this.#table.hear(event);
      }
    }
    return undefined;
  }

  /** Queues a choice: answers that are ready together are sent in one message. */
  #send(choice: Choice): void {
    this.#outbox.push(choice);
    if (this.#outbox.length === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    if (!this.#isWriting && this.#outbox.length > 0) {
      this.#write({ hello: undefined, choices: this.#outbox.splice(0, AT_ONCE) });
    }
  }

  #write(request: PlayRequest): void {
    const stream = this.#stream;
    if (!stream) return; // the arena asks again for every answer that did not arrive
    this.#isWriting = true;
    stream.write(request, () => {
      if (this.#stream !== stream) return;
      this.#isWriting = false;
      this.#flush();
    });
  }
}

/** Plays until SIGTERM or Ctrl-C, and ends the process: with exit code 0, or with an error message. */
export async function run(choose: Choose, settings: Settings = {}): Promise<never> {
  try {
    const bot = new Bot(choose, settings);
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => bot.stop());
    await bot.play();
  } catch (error) {
    if (!(error instanceof BotError)) throw error;
    console.error(`rubble-bot: ${error.message}`);
    process.exit(error.exitCode);
  }
  process.exit(0); // the author's own promises and timers do not keep the process alive
}

function setting(name: string, meaning: string): string {
  const value = process.env[name];
  if (!value) throw new BotError(`${name} is missing: ${meaning}`, 2);
  return value;
}

function credentialsOf(ca: string): ChannelCredentials {
  if (!ca) return credentials.createInsecure();
  if (ca === "system") return credentials.createSsl();
  try {
    return credentials.createSsl(readFileSync(ca));
  } catch (error) {
    throw new BotError(`RUBBLE_CA: ${ca} cannot be read (${error instanceof Error ? error.message : String(error)})`, 2);
  }
}

/** Returns what went wrong if trying again may help; throws BotError otherwise. */
function classify({ code, details }: StatusObject): string {
  switch (code) {
    case status.OK:
      return "the stream ended";
    case status.UNAUTHENTICATED:
    case status.PERMISSION_DENIED:
      throw new BotError(`the arena does not accept RUBBLE_BOT_KEY: ${details}`, 1);
    case status.INVALID_ARGUMENT:
    case status.UNIMPLEMENTED:
      throw new BotError(`the arena does not understand this bot: ${details}`, 1);
  }
  return `${status[code]}: ${details}`;
}
