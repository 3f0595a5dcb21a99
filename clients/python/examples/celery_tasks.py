"""Celery tasks that take effect once, however often they are delivered: celery -A celery_tasks worker

acks_late gives a task that was cut off to another worker. It also delivers tasks twice: after a visibility timeout, a lost
connection, a producer that retried. Semel remembers which of them have run.
"""
import os

import celery
import semel

app = celery.Celery("shop", broker=os.environ["BROKER"])
app.conf.update(task_acks_late=True, broker_transport_options=dict(pair.split("=") for pair in
                                                                   os.environ.get("BROKER_OPTIONS", "").split(",") if pair))
api = semel.Client(os.environ["SEMEL_URL"], os.environ["SEMEL_TOKEN"], namespace="tasks", on_unknown="retry", lease=10)


def charge_card(order, amount):
    with open(os.environ["CHARGES"], "a", encoding="utf-8") as charges:
        charges.write(f"{order} {amount}\n")
    return {"order": order, "charged": amount}


@app.task(bind=True, max_retries=None)
def charge(self, order, amount):
    try:
        return api.once(f"charge {order}", lambda attempt: charge_card(order, amount), payload=[order, amount])
    except (semel.InFlight, semel.StoreUnavailable) as error:
        raise self.retry(exc=error, countdown=error.retry_after)
