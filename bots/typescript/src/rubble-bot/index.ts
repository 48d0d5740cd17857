/** The SDK: everything except `choose`. */
export { Bot, BotError, run, type Settings } from "./client.js";
export type { Answer, Choose, Turn } from "./turn.js";
