// Prints deliveries that the providers' own libraries signed, as JSON: sign.mjs PUBLIC_URL
import adyen from "@adyen/api-library";
import { sign as octokit } from "@octokit/webhooks-methods";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as Svix } from "svix";
import twilio from "twilio";

const url = process.argv[2];
const now = new Date();
const seconds = String(Math.floor(now / 1000));
const body = JSON.stringify({ id: "evt_real", type: "invoice.paid", note: "café ☕" });
const whsec = "whsec_Z29sZGVuLXN0YW5kYXJkLXdlYmhvb2tzLTI0YitrZXk=";
const deliveries = [];

const stripe = new Stripe("sk_test_x").webhooks.generateTestHeaderString({ payload: body, secret: "whsec_stripe" });
deliveries.push({ provider: "stripe", secret: "whsec_stripe", fields: { "Stripe-Signature": stripe }, body });

deliveries.push({ provider: "github", secret: "octo", body,
  fields: { "X-Hub-Signature-256": await octokit("octo", body), "X-GitHub-Delivery": "guid-1" } });

deliveries.push({ provider: "standard-webhooks", secret: whsec, body, fields: { "webhook-id": "msg_1",
  "webhook-timestamp": seconds, "webhook-signature": new StandardWebhook(whsec).sign("msg_1", now, body) } });

deliveries.push({ provider: "svix", secret: whsec, body, fields: { "svix-id": "msg_1", "svix-timestamp": seconds,
  "svix-signature": new Svix(whsec).sign("msg_1", now, body) } });

const form = { MessageSid: "SM1", MessageStatus: "delivered", To: "+18005551212", Body: "ünïcode & more" };
deliveries.push({ provider: "twilio", secret: "token", body: new URLSearchParams(form).toString(), fields: {
  "Content-Type": "application/x-www-form-urlencoded",
  "X-Twilio-Signature": twilio.getExpectedTwilioSignature("token", `${url}/hooks/twilio`, form) } });

const hashed = `/hooks/twilio?bodySHA256=${twilio.getExpectedBodyHash(body)}`;
deliveries.push({ provider: "twilio", secret: "token", body, target: hashed, fields: {
  "Content-Type": "application/json", "X-Twilio-Signature": twilio.getExpectedTwilioSignature("token", url + hashed, {}) } });

const key = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
const item = { pspReference: "7914073381342284", merchantAccountCode: "Test", merchantReference: "ref", eventCode: "AUTHORISATION",
  success: "true", amount: { value: 1130, currency: "EUR" }, eventDate: "2026-01-01T00:00:00+01:00", additionalData: {} };
const { hmacValidator } = adyen;
item.additionalData.hmacSignature = new hmacValidator().calculateHmac(item, key);
deliveries.push({ provider: "adyen", secret: key, fields: {},
  body: JSON.stringify({ live: "false", notificationItems: [{ NotificationRequestItem: item }] }) });

console.log(JSON.stringify(deliveries));
