"""Signs deliveries as the providers document it: what the gateway's own code is held against, so none of it is used."""
import base64
import hmac
import time


def tag(secret, message, name="sha256"):
    return hmac.new(secret, message, name).digest()


def stripe(secret, body, at):
    return [("Stripe-Signature", f"t={at},v1={tag(secret, b'%d.%s' % (at, body)).hex()}")]


def github(secret, body, _at):
    return [("X-Hub-Signature-256", "sha256=" + tag(secret, body).hex())]


def shopify(secret, body, _at):
    return [("X-Shopify-Hmac-Sha256", base64.b64encode(tag(secret, body)).decode())]


def slack(secret, body, at):
    return [("X-Slack-Request-Timestamp", str(at)), ("X-Slack-Signature", "v0=" + tag(secret, b"v0:%d:%s" % (at, body)).hex())]


def zoom(secret, body, at):
    return [("x-zm-request-timestamp", str(at)), ("x-zm-signature", "v0=" + tag(secret, b"v0:%d:%s" % (at, body)).hex())]


def lemon_squeezy(secret, body, _at):
    return [("X-Signature", tag(secret, body).hex())]


def acme(secret, body, _at):
    """Of the user's own file in tests/scenarios/providers."""
    return [("Acme-Signature", "a1:" + tag(secret, body, "sha512").hex())]


def hubspot(secret, body, at, path=b"/hubspot"):
    text = b"POST" + b"https://hooks.example.com" + path + body + b"%d" % (at * 1000)
    return [("X-HubSpot-Request-Timestamp", str(at * 1000)),
            ("X-HubSpot-Signature-v3", base64.b64encode(tag(secret, text)).decode())]


def hubspot_ordered(secret, body, at):
    """Its signatures cover the address, and this is another one."""
    return hubspot(secret, body, at, b"/ordered-batch")


def okta(secret, _body, _at):
    return [("Authorization", secret.decode())]


SIGNERS = {"stripe": stripe, "github": github, "shopify": shopify, "slack": slack, "zoom": zoom,
           "lemon-squeezy": lemon_squeezy, "acme": acme, "hubspot": hubspot,
           "hubspot-ordered": hubspot_ordered, "okta": okta}


def sign(text, body):
    """The fields for `PROVIDER SECRET [SECONDS]`, signed that many seconds ago."""
    provider, secret, *age = text.split()
    return SIGNERS[provider](secret.encode(), body or b"", int(time.time()) - int(age[0] if age else 0))
