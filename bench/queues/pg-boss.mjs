// pg-boss between a webhook and its handler: node pg-boss.mjs PORT ORIGIN_PORT DATABASE_FOLDER
// In its best form: events inserted together, fetched and completed in batches of 1,000.
import PgBoss from "pg-boss";
import { gathered, handler, listen } from "./front.mjs";

const [port, originPort, folder] = process.argv.slice(2);
const boss = new PgBoss({ host: folder, user: "postgres", database: "postgres", max: 16 });
boss.on("error", console.error);
await boss.start();
await boss.createQueue("events");
const call = handler(originPort);
for (let worker = 0; worker < 2; worker += 1) {
  await boss.work("events", { batchSize: 1000, pollingIntervalSeconds: 0.5 },
    (jobs) => Promise.all(jobs.map((job) => call(job.data.body))));
}
const keep = gathered((bodies) => boss.insert(bodies.map((body) => ({ name: "events", data: { body } }))));
const LEFT = "SELECT count(*)::int AS left FROM pgboss.job WHERE name = 'events' AND state < 'completed'";
listen(port, keep, async () => (await boss.getDb().executeSql(LEFT, [])).rows[0].left);
