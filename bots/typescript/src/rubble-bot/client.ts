import { readFileSync } from "node:fs";
import { setTimeout as pauseFor } from "node:timers/promises";

import { credentials, Metadata, status, type ChannelCredentials, type ClientDuplexStream, type StatusObject } from "@grpc/grpc-js";

import { BotServiceClient, PlayRequest, type Choice, type PlayResponse } from "../gen/rubble/v1/bot.js";
import { log } from "./log.js";
import { Table, type Listeners } from "./table.js";
import type { Choose } from "./turn.js";

const SDK = "rubble-typescript 0.1";
/** Milliseconds between two attempts to connect: doubled from the first to the second, and shortened by up to half at random. */
const SHORTEST_MS = 100;
const LONGEST_MS = 10_000;
const AT_ONCE = 256; // choices in one message
const OPTIONS = {
  "grpc.keepalive_time_ms": 20_000, // notice a dead connection while waiting for a turn
  "grpc.use_local_subchannel_pool": 1, // a new stream is a new connection, perhaps to another copy
};

/** Why a bot stopped without being told to. */
export class BotError extends Error {
  override readonly name = "BotError";

  constructor(
    message: string,
    readonly exitCode: 1 | 2,
  ) {
    super(message);
  }
}

/** What is not given comes from RUBBLE_ADDRESS, RUBBLE_BOT_KEY and RUBBLE_CA. */
export interface Settings extends Listeners {
  /** host:port of the arena. */
  readonly address?: string;
  readonly key?: string;
  /** A file of certificates to trust, or "system" for those of Node; empty: no TLS. */
  readonly ca?: string;
  /** How many games are played at once. */
  readonly games?: number;
}

/** What the arena says when a stream is to be left. */
type Farewell = "draining" | "takenOver";
type Stream = ClientDuplexStream<PlayRequest, PlayResponse>;

/** A bot that plays until it is told to stop: one stream to the arena, as many games on it as come. A bot plays once. */
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
  #failures = 0; // attempts in a row that led nowhere

  constructor(choose: Choose, settings: Settings = {}) {
    this.#address = settings.address ?? setting("RUBBLE_ADDRESS", "host:port of the arena");
    this.#key = settings.key ?? setting("RUBBLE_BOT_KEY", "the key the operator issued for this bot");
    this.#credentials = credentialsOf(settings.ca ?? process.env["RUBBLE_CA"] ?? "");
    this.#games = settings.games ?? 16;
    this.#table = new Table(choose, (choice) => this.#send(choice), settings);
  }

  /** Play until `stop`; BotError if the arena does not want this bot. */
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
      const problem = judge(ending);
      const pause = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** this.#failures++) * (0.5 + Math.random() / 2);
      log("WARNING", `no connection to ${this.#address} (${problem}); next attempt in ${(pause / 1000).toFixed(1)} s`);
      await pauseFor(pause, undefined, { signal }).catch(() => {}); // told to stop meanwhile
    }
    log("INFO", "stopped");
  }

  /** Leave the arena now. The arena keeps the games until their clocks run out. */
  stop(): void {
    this.#stopping.abort();
    this.#stream?.cancel();
  }

  /** One stream, from Hello to its end. */
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
        stream.on("error", () => {}); // its status says it all
        this.#write({ hello: { botKey: this.#key, sdk: SDK, maxParallelGames: this.#games }, choices: [] });
      });
    } finally {
      this.#stream = undefined;
      stream.cancel();
      client.close();
    }
  }

  /** Deal with what the arena says; why the stream is to be left, if it says so. */
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

  /** Say it soon: answers that are ready together travel together. */
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
    if (!stream) return; // whatever does not arrive is asked for again
    this.#isWriting = true;
    stream.write(request, () => {
      if (this.#stream !== stream) return;
      this.#isWriting = false;
      this.#flush();
    });
  }
}

/** Play until SIGTERM or Ctrl-C, and end the process: with exit code 0, or with a word about what is wrong. */
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
  process.exit(0); // thoughts and timers of the author's own do not keep the process
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

/** What went wrong, if trying again may help; otherwise BotError. */
function judge({ code, details }: StatusObject): string {
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
