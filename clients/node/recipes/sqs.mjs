// An SQS worker whose messages take effect once, although SQS delivers at least once.
//
// `queue` has remove(message) and changeVisibility(message, seconds): DeleteMessage and ChangeMessageVisibility of the SDK.
import { InFlight, KeyReused } from 'semel';

export async function work({ message, queue, semel, handle }) {
  try {
    await semel.once(message.id, (claim) => handle(message, claim), {
      namespace: 'orders',
      payload: message.body,
      leaseMs: message.visibilityTimeoutMs, // a worker that dies loses the message and the claim at the same time
      ttlMs: 14 * 86_400_000, // as long as SQS can keep a message
      onUnknown: 'retry',
    });
    await queue.remove(message); // it ran now, or it had run
  } catch (error) {
    if (error instanceof InFlight) await queue.changeVisibility(message, Math.ceil(error.retryAfterMs / 1000));
    else if (error instanceof KeyReused) throw error; // two messages with one id: a bug of the producer
    // Otherwise it comes again when its visibility timeout is over.
  }
}
