// A pg-boss worker whose jobs take effect once: pg-boss tries a job again if its worker dies or is slower than the job's expiry,
// and somebody may have sent the same order twice.
import { InFlight } from 'semel';

export function workOn(boss, queue, semel, handle) {
  return boss.work(queue, async ([job]) => {
    try {
      return await semel.once(job.data.orderId, (claim) => handle(job, claim), {
        namespace: 'jobs',
        payload: job.data,
        leaseMs: 10_000,
        onUnknown: 'retry',
      });
    } catch (error) {
      if (error instanceof InFlight) error.message += ' pg-boss tries the job again.';
      throw error; // pg-boss tries again, as often as the queue says
    }
  });
}
