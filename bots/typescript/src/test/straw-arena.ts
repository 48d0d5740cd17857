import { Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";

import { BotServiceService, PlayEvent, PlayRequest, PlayResponse, type Choice } from "../gen/rubble/v1/bot.js";

export type Stream = ServerDuplexStream<PlayRequest, PlayResponse>;
/** The arena's reply to choices. `stream` counts from 1. */
export type Script = (stream: number, choices: Choice[], call: Stream) => void;

/** A server that sends Welcome, starts all games in one message, asks a question in each in another, and then follows a script. */
export async function strawArena<T>(games: number, script: Script, use: (address: string) => Promise<T>): Promise<T> {
  const sessions = Array.from({ length: games }, (_, game) => `g${game}`);
  let streams = 0;
  const nobody = () => {
    throw new Error("not implemented");
  };
  const server = new Server();
  server.addService(BotServiceService, {
    issueKey: nobody,
    revokeKey: nobody,
    listConnected: nobody,
    play(call: Stream) {
      const stream = ++streams;
      call.on("error", () => {}); // the bot closed the stream
      call.on("end", () => call.end());
      call.on("data", (request: PlayRequest) => {
        if (!request.hello) return script(stream, request.choices, call);
        say(call, { $case: "welcome", value: { bot: "straw", serverTimeMs: 0 } });
        say(call, ...sessions.map(started));
        say(call, ...sessions.map(question));
      });
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  try {
    return await use(`127.0.0.1:${port}`);
  } finally {
    server.forceShutdown();
  }
}

export function say(call: Stream, ...events: PlayEvent["event"][]): void {
  call.write({ events: events.map((event) => ({ event })) });
}

function started(session: string): PlayEvent["event"] {
  return PlayEvent.fromPartial({ event: { $case: "gameStart", value: { session, game: "straw", seats: 2 } } }).event;
}

function question(session: string): PlayEvent["event"] {
  const legalActions = [{ text: "stay" }, { text: "go" }];
  return PlayEvent.fromPartial({ event: { $case: "turn", value: { session, turn: 1, legalActions } } }).event;
}

export function over(session: string): PlayEvent["event"] {
  return PlayEvent.fromPartial({ event: { $case: "gameOver", value: { session } } }).event;
}
