// What audits say, in a sentence. Pure: a blind audit is louder than a finding, and silence counts only if it is recent.
const LATE_MS = 30 * 60_000; // as the alert SemelAuditBehind

// One audit and its open findings: {level, words}.
export function standing(audit, findings, now) {
  if (audit.blind) return { level: "red", words: "BLIND: it does not see what is planted in it; nothing that it says counts" };
  const doubled = findings.filter((each) => each.audit === audit.name && each.kind === "duplicate").length;
  if (doubled) return { level: "red", words: `${doubled} key${doubled > 1 ? "s have" : " has"} two effects` };
  const others = findings.filter((each) => each.audit === audit.name).length;
  const judged = Date.parse(audit.judged_to ?? "");
  if (Number.isNaN(judged)) return { level: "amber", words: `has judged nothing yet${audit.trouble ? `: ${audit.trouble}` : ""}` };
  if (now - judged > LATE_MS) return { level: "amber", words: `is behind${audit.trouble ? `: ${audit.trouble}` : ""}` };
  if (others) return { level: "amber", words: `no key has two effects; ${others} other finding${others > 1 ? "s" : ""}` };
  return { level: "green", words: "no key has two effects" };
}

// What a finding means, and what to do about it.
const KINDS = {
  duplicate: "One key has several effects: something ran twice. Undo one of them, and find out which way around Semel it came.",
  missing: "The key is done and its caller was told so, but there is no effect. Look whether it comes late; otherwise make it by hand.",
  ghost: "The effect is there, but the key is in doubt or free again: a retry would run it once more. Settle the key as done.",
  orphan: "The effect has no key that is known here: it came by a way around Semel, or its key has been forgotten.",
  "duplicate-value": "Two keys asked for the same within ten minutes: most likely a client that makes a new key for each retry.",
};
export const meaning = (finding) => KINDS[finding.kind] ?? "";

// What can be done with a finding, by its state.
export function actsOn(finding) {
  return { open: ["acknowledge", "close"], acknowledged: ["close"] }[finding.state] ?? [];
}
