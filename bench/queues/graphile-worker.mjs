// graphile-worker between a webhook and its handler: node graphile-worker.mjs PORT ORIGIN_PORT DATABASE_FOLDER
// In its best form: events inserted together, a local queue of 500, completions in batches.
import { makeWorkerUtils, run } from "graphile-worker";
import { gathered, handler, listen } from "./front.mjs";

const [port, originPort, folder] = process.argv.slice(2);
const connectionString = `postgres:///postgres?host=${folder}&user=postgres`;
const utils = await makeWorkerUtils({ connectionString, maxPoolSize: 16 });
await utils.migrate();
const call = handler(originPort);
await run({
  connectionString,
  maxPoolSize: 16,
  noHandleSignals: true,
  taskList: { event: (payload) => call(payload.body) },
  preset: { worker: { concurrentJobs: 64, pollInterval: 500, completeJobBatchDelay: 0, failJobBatchDelay: 0,
    localQueue: { size: 500 } } },
});
const keep = gathered((bodies) => utils.addJobs(bodies.map((body) => ({ identifier: "event", payload: { body } }))));
const LEFT = "SELECT count(*)::int AS left FROM graphile_worker.jobs";
listen(port, keep, async () => (await utils.withPgClient((client) => client.query(LEFT))).rows[0].left);
