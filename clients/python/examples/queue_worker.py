"""A worker of a queue that delivers at least once and hides a message for a while (SQS and its kind).

The key is what the business calls the operation, not the id of the message: a producer that retries makes a second message. The
lease is the time for which the queue hides a message. If a worker dies, the queue shows its message again when that time is
over, and so is its lease: the next worker runs it again (on_unknown="retry"), with the next number.
"""
import semel

VISIBILITY_S = 30.0


def work(queue, api, handle, visibility=VISIBILITY_S):
    """Takes one message, if there is one. `handle(order, attempt)` does the work. False: the queue is empty."""
    message = queue.receive(visibility)
    if message is None:
        return False
    order = message["body"]
    try:
        api.once(order["id"], lambda attempt: handle(order, attempt), payload=order, lease=visibility, on_unknown="retry")
    except semel.InFlight as error:
        queue.hide(message["receipt"], error.retry_after)  # somebody is at it: look again later
        return True
    except semel.StoreUnavailable:
        queue.hide(message["receipt"], 1.0)  # nothing ran
        return True
    except semel.ClaimLost:
        return True  # another worker has it; what this one did is dropped
    except semel.KeyReused:
        queue.bury(message["receipt"])  # two orders with one id: for a person
        return True
    queue.delete(message["receipt"])
    return True
