// A Kafka consumer whose messages take effect once, through rebalances, crashes and producers that retry.
//
// `messages` is what one poll returned, of one partition. All are claimed in one call, and those that are new run. The offset is
// committed behind the last message before the first one that has not ended: what is behind it comes again, and what has run is
// not run again.
export async function consume({ messages, commit, semel, handle }) {
  const items = messages.map((message) => ({
    key: message.id ?? `${message.topic}/${message.partition}/${message.offset}`, // an id of the business is better: producers retry
    options: { payload: message.value },
    message,
  }));
  const results = await semel.onceMany(items, ({ message }, claim) => handle(message, claim), {
    namespace: 'orders',
    leaseMs: 10_000, // renewed while the messages run
    ttlMs: 7 * 86_400_000, // longer than a message can come again
    onUnknown: 'retry', // a consumer that died is followed by another
  });
  const open = results.findIndex(({ outcome }) => outcome === 'failed');
  const ended = open < 0 ? messages.length : open;
  if (ended > 0) await commit(messages[ended - 1].offset + 1);
  return results;
}
