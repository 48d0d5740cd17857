import { choose } from "./bot.js";
import { run } from "./rubble-bot/index.js";

await run(choose);
