// What the pages say about the senders of webhooks. Pure.
import { count, duration } from "./format.js";

// How the oldest event that has to come again stands against the time for which its provider repeats one:
// {level, words, part}; `part` of the horizon has passed, null if there is no horizon to hold it against.
export function lagOf({ awaited, horizon_ms: horizon, title }, now) {
  const { count: number, given_up: lost, partial } = awaited;
  const repeats = horizon ? `${title} repeats an event for ${duration(horizon)}.` : `${title} does not repeat events by itself, or does not say for how long.`;
  if (number === 0) return { level: "green", words: `No event has to come again. ${repeats}`, part: horizon ? 0 : null };
  const lag = Math.max(0, now - Date.parse(awaited.oldest_at));
  const all = `${partial ? "At least " : ""}${count(number)} ${number === 1 ? "event was" : "events were"} not handled`;
  const since = `the oldest came first ${duration(lag)} ago`;
  if (!horizon) return { level: "amber", words: `${all}; ${since}. ${repeats} Have ${number === 1 ? "it" : "them"} sent again there.`, part: null };
  const part = Math.min(1, lag / horizon);
  if (lost > 0) {
    const gone = lost === number ? (lost === 1 ? "it" : "them") : `${count(lost)} of them`;
    return { level: "red", words: `${all}; ${since}. ${title} gives up after ${duration(horizon)}, so it will not send ${gone} again: have that done by hand.`, part };
  }
  return {
    level: part >= 0.75 ? "red" : part >= 0.25 ? "amber" : "blue",
    words: `${all}, and ${title} will send ${number === 1 ? "it" : "them"} again; ${since}. It gives up after ${duration(horizon)}: in ${duration(horizon - lag)}.`,
    part,
  };
}

const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
export const ordinal = (number) => ORDINALS[number - 1] ?? `${number}th`;

// One sentence about the secrets, where there is something to do; empty otherwise.
export function adviceOnSecrets({ secrets, failed_signatures: failed }) {
  const used = secrets.filter((each) => each.matched > 0);
  const idle = secrets.filter((each) => each.matched === 0);
  const wrong = failed.some((each) => each.reason === "mismatch");
  if (!used.length) return wrong ? "None of the secrets has matched, and signatures fail: the secret of this configuration is not the provider's." : "";
  if (used.length > 1) return "More than one secret matches: the provider is changing over. Keep all of them until only one does.";
  if (!idle.length) return "";
  return used[0].number === 1
    ? "Only the first has matched since the start. If that has been so for as long as the provider repeats events, the others can go."
    : `Only the ${ordinal(used[0].number)} has matched since the start: the provider has not changed over to the first.`;
}
