type Level = "INFO" | "WARNING" | "ERROR";

/** One line on standard error; below it what was thrown, if something was. */
export function log(level: Level, message: string, thrown?: unknown): void {
  console.error(`${new Date().toISOString()} ${level} ${message}`);
  if (thrown !== undefined) console.error(thrown);
}
