type Level = "INFO" | "WARNING" | "ERROR";

/** Writes one line to standard error, followed by what was thrown, if anything. */
export function log(level: Level, message: string, thrown?: unknown): void {
  console.error(`${new Date().toISOString()} ${level} ${message}`);
  if (thrown !== undefined) console.error(thrown);
}
