// What the dashboard says of outboxes. Pure.
import { count, duration } from "./format.js";

const LATE_MS = 5 * 60_000; // as the alert SemelOutboxOld

const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

// One outbox in a sentence: {level, words}.
export function standingOf({ standing, waiting, oldest_ms: oldest, trouble, turns_blocked: blocked }) {
  if (standing === "failing") return { level: "red", words: `Nothing is moved: ${trouble || "its database or the store does not work"}` };
  if (standing === "starting") return { level: "amber", words: "Its database has not answered yet" };
  if (standing === "standby") return { level: "grey", words: "Another gateway has the lease, and moves. This one takes over when that one is gone" };
  if (oldest > LATE_MS) {
    return { level: "red", words: `It falls behind: ${plural(waiting, "row waits", "rows wait")}, the oldest for ${duration(oldest)}` };
  }
  if (blocked > 10) return { level: "amber", words: "A transaction that is open for long keeps its tables from being truncated: rows are moved all the same" };
  if (waiting > 0) return { level: "green", words: `This gateway moves: ${plural(waiting, "row waits", "rows wait")}, the oldest for ${duration(oldest)}` };
  return { level: "green", words: "This gateway moves, and nothing waits" };
}

// What is wrong, for the first page.
export function ofOutboxes(outboxes) {
  const found = [];
  for (const each of outboxes ?? []) {
    const add = (level, what, why) => found.push({ level, what, why, link: "#/outbox", go: "See which" });
    const { level, words } = standingOf(each);
    if (level === "red") add("red", `The outbox ${each.name} is not moved`, `${words}.`);
    const dead = each.key_reused + each.undeliverable;
    if (dead > 0) {
      add("amber", `${plural(dead, "effect", "effects")} of the outbox ${each.name} ${dead === 1 ? "was" : "were"} dead at once`,
        `Since this gateway started: ${deadWords(each)}`);
    }
  }
  return found;
}

// Why rows were dead at once, and what to do; empty if none was.
export function deadWords({ key_reused: reused, undeliverable }) {
  const parts = [];
  if (reused > 0) parts.push(`${count(reused)} under a key that another effect has: the program must use a key of its own for each effect.`);
  if (undeliverable > 0) parts.push(`${count(undeliverable)} to a destination that is not in deliver, or with a header that cannot be sent: mend the configuration, then send them again.`);
  return parts.join(" ");
}
