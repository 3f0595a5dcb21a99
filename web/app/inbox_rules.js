// What the pages of the inbox say about deliveries. Pure.
import { clock, count, duration } from "./format.js";

// In one sentence, why a delivery has not been made; empty if it was, or if nobody wants it. `destination` is undefined as long as it
// has not been asked for, and null if there is none.
export function whyNotYet(delivery, destination, now, zone) {
  const at = (time) => clock(Date.parse(time), zone);
  const { destination: name, state } = delivery;
  if (state === "running") return "It is being sent right now.";
  if (state === "unknown") return "It may have taken effect, and nobody knows: somebody has to say so.";
  if (state === "dead") return "It will not be tried again by itself: remove the cause, then send it again.";
  if (state !== "waiting") return "";
  if (destination === null) return `${name} is not in the configuration any more: it waits until it is again, or until somebody discards it.`;
  if (destination?.paused) {
    const until = destination.paused_until ? `until ${at(destination.paused_until)}` : "until somebody resumes it";
    return `${name} is paused ${until}${destination.reason ? `: ${destination.reason}` : ""}.`;
  }
  if (destination && destination.breaker !== "closed") {
    return `${name} does not answer. It is tried again at ${at(destination.probe_at)}; everything else waits for that.`;
  }
  if (delivery.in_line) return "Another event of the same object has its turn first.";
  if (delivery.due_at && Date.parse(delivery.due_at) > now) {
    const last = delivery.failed > 0 ? `The last of ${count(delivery.failed)} attempts failed. ` : "";
    return `${last}The next one is at ${at(delivery.due_at)}, in ${duration(Date.parse(delivery.due_at) - now)}.`;
  }
  if (destination && destination.running >= destination.concurrency) {
    return `${name} is busy: ${count(destination.running)} of ${count(destination.concurrency)} run.`;
  }
  if (destination?.rate) return `It is sent as soon as the rate of ${name} allows it: ${destination.rate}.`;
  return "Its turn comes at once.";
}

// The attempts of a delivery, the newest first: those that the history has, and a row for each number that it lacks. No more than
// `most`; the rest is in `earlier`.
export function attemptsOf(delivery, attempts = [], most = 50) {
  const known = new Map(
    attempts.filter((each) => each.destination === delivery.destination).map((each) => [each.attempt, each]),
  );
  const rows = [];
  for (let number = delivery.attempt; number >= 1 && rows.length < most; number -= 1) {
    const running = number === delivery.attempt && delivery.state === "running";
    rows.push(known.get(number) ?? { attempt: number, missing: running ? "running" : "unnoted" });
  }
  return { rows, earlier: Math.max(0, delivery.attempt - rows.length) };
}

// What came of one attempt, in words.
export function attemptSaid(each) {
  if (each.missing === "running") return "under way";
  if (each.missing) return "not noted: its gateway died, or there were too many in that second";
  return lastAnswer(each);
}

// What came of the last attempt: the status once, and the words for it.
export function lastAnswer({ status, why }) {
  if (!status) return why || "–";
  return why.includes(String(status)) ? why : `${status} ${why}`.trim();
}

// What an event came with, for people: [name, value]. What is no field of the request is kept under names with a colon; those that a
// reader has no use for, or that say nothing, are left out.
const SAID = { ":method": "Method", ":target": "Target", ":ip": "From", ":type": "Type", ":object": "Object", ":route": "Route" };
export function cameWith(fields) {
  return fields
    .map(({ name, value }) => [name.startsWith(":") ? SAID[name] : name, value])
    .filter(([name, value]) => name && value !== "");
}

// By destination, status and words; the largest first.
export function grouped(items) {
  const groups = new Map();
  for (const item of items) {
    const key = JSON.stringify([item.destination, item.status, item.why]);
    const group = groups.get(key) ?? { key, destination: item.destination, status: item.status, why: item.why, items: [] };
    group.items.push(item);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.items.length - a.items.length);
}

// What would keep them from arriving, in sentences.
export function preflight(group, destination) {
  const found = [];
  if (!destination) return ["This destination is not configured any more."];
  if (destination.paused) found.push(`${destination.name} is paused: they will wait until it is resumed.`);
  if (destination.breaker !== "closed") found.push(`${destination.name} does not answer: they will wait until it does.`);
  const gone = group.items.filter((item) => !item.body_kept).length;
  if (gone) found.push(`${count(gone)} of them have no body any more, and cannot be sent.`);
  return found;
}

const VERBS = {
  replay: { doing: "Sending again", done: "sent again" },
  discard: { doing: "Discarding", done: "discarded" },
  backfill: { doing: "Giving", done: "given" },
  erase: { doing: "Erasing", done: "erased" },
};

// How far a job is, in one line.
export function jobLine(job) {
  const all = `${count(job.taken)} of ${job.at_least ? "at least " : ""}${count(job.count)} ${VERBS[job.action].done}`;
  if (job.state === "running") return `${VERBS[job.action].doing}: ${all}`;
  return `${job.state === "done" ? "Ended" : "Cancelled"}: ${all}`;
}

// What came of the deliveries that a job sent; empty if it sends none, or none yet.
export function jobEnds(job) {
  const parts = [
    [job.done, "delivered"],
    [job.dead, "dead again"],
    [job.other, "ended otherwise"],
    [job.open, "on their way"],
  ];
  return parts
    .filter(([number]) => number > 0)
    .map(([number, words]) => `${count(number)} ${words}`)
    .join(", ");
}

// Whether nothing of it will change by itself.
export const jobIsOver = (job) => job.state !== "running" && job.open === 0;

// What a job is about.
export function jobScope({ action, filter }) {
  const parts = [filter.state && `${filter.state} ones`, filter.type && `of type ${filter.type}`, filter.source && `from ${filter.source}`];
  parts.push(filter.destination && `to ${filter.destination}`, filter.why && `with “${filter.why}”`);
  parts.push(filter.object && `of object ${filter.object.slice(0, 12)}…`);
  return `${action}: ${parts.filter(Boolean).join(" ")}`;
}

// What a job of this group of dead letters is asked for.
export function replayOf(group, rate) {
  const filter = { destination: group.destination, state: "dead" };
  if (group.why) filter.why = group.why;
  return rate ? { action: "replay", filter, rate } : { action: "replay", filter };
}
