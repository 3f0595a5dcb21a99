"""A shop that charges once per Idempotency-Key: flask --app shop run"""
import os

import flask
import semel
import semel_wsgi

app = flask.Flask(__name__)
api = semel.Client(os.environ.get("SEMEL_URL", "http://127.0.0.1:8090"), os.environ["SEMEL_TOKEN"])
app.wsgi_app = semel_wsgi.Guard(app.wsgi_app, api)
charges = []


@app.post("/charges")
def charge():
    charges.append(flask.request.json["amount"])
    return {"charge": len(charges)}, 201
