// The database behind a server, for what no client can bring about.

import { spawn } from "node:child_process";
import { once } from "node:events";

/// Locks the table that reads go to, and returns the function that unlocks it, which may be called again.
export async function lockSettings(conninfo) {
  const psql = spawn("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", conninfo],
    { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(psql, "exit");
  psql.stdin.write("BEGIN; LOCK TABLE writ.settings IN ACCESS EXCLUSIVE MODE;\n\\echo locked\n");
  await Promise.race([once(psql.stdout, "data"), ended.then(() => { throw new Error("psql failed"); })]);
  return async () => {
    if (!psql.stdin.writableEnded) psql.stdin.end("COMMIT;\n");
    await ended;
  };
}
