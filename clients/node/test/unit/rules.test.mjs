// Keys, canonical JSON, expressions and signatures, as the gateway reads them.
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { canonicalJson, parsePointers } from '../../lib/canonical.js';
import { evaluate, parseExpression } from '../../lib/expression.js';
import { fingerprint } from '../../lib/fingerprint.js';
import { identify } from '../../lib/identify.js';
import { judge, parseKeep } from '../../lib/keep.js';
import { parseKeyText } from '../../lib/key.js';
import { parseRules } from '../../lib/rules.js';
import { jsonScalar } from '../../lib/scalar.js';
import { standardWebhooks } from '../../lib/webhook.js';

const canonical = (text, ignore = []) => canonicalJson(Buffer.from(text), parsePointers(ignore));

test('one spelling for what means the same', () => {
  assert.equal(canonical(' { "b" : 1.0 , "a" : [ 100, 0.25, -0, 10e-1, 2.50E+1 ] } '), '{"a":[1e2,25e-2,-0,1,25],"b":1}');
  assert.equal(canonical('"\\u00e9\\/\\u000a\\u001F"'), '"é/\\n\\u001f"');
  assert.equal(canonical('"\\ud83d\\ude00"'), '"😀"');
  assert.notEqual(canonical('9007199254740993'), canonical('9007199254740992'));
  assert.equal(canonical('{"\\uffff":1,"\\ud83d\\ude00":2}'), '{"\uffff":1,"😀":2}', 'in the order of bytes, not of UTF-16');
  assert.equal(canonical('{}'), '{}');
});

test('what parsers may disagree on has no spelling', () => {
  for (const text of ['', '{', '[1,]', '{"a":1,}', '01', '1.', '.5', '+1', '1e', 'nul', '"a', '"\\x"', '"\\ud800"', '"\\udc00"',
    '{"a":1,"\\u0061":2}', '1 2', '\ufeff1', "'a'", '"\n"', '1e10000', 'NaN', `${'['.repeat(65)}${']'.repeat(65)}`]) {
    assert.equal(canonical(text), null, text);
  }
  assert.equal(canonicalJson(Buffer.from([0x22, 0xff, 0x22])), null);
  assert.notEqual(canonical(`${'['.repeat(64)}${']'.repeat(64)}`), null);
});

test('ignored members do not count, but must be valid', () => {
  assert.equal(canonical('{"a":1,"t":2}', ['/t']), '{"a":1}');
  assert.equal(canonical('[1,2,{"x":1}]', ['/1', '/2/x']), '[1,{}]');
  assert.equal(canonical('{"a":1,"t":{"x":1,"x":2}}', ['/t']), null);
  assert.throws(() => parsePointers(['t']), /JSON pointer/);
});

test('a fingerprint is that of the gateway', () => {
  // tests/core/fingerprint_test.cc holds the gateway to the same values.
  const request = (body) => ({ method: 'POST', target: '/v1/orders?x=1', body: Buffer.from(body) });
  assert.equal(fingerprint(request('{"b":[true,"x"],"a":100}'), 'json'), 'd6521f5670697fabb4758a6b86f1bf3a03e72e548534c1034e7b5040bc6af0e0');
  assert.equal(fingerprint(request('{"a":100,"a":1}'), 'json'), '0bf5fdb79aec29f3c05e4d775a2e79a2a90a66ee86d357a65be3c511c658d58d');
  assert.equal(fingerprint(request('{"a":100,"a":1}'), 'raw'), '0bf5fdb79aec29f3c05e4d775a2e79a2a90a66ee86d357a65be3c511c658d58d');
});

test('keys are read strictly', () => {
  assert.equal(parseKeyText(['abc']), 'abc');
  assert.equal(parseKeyText(['"a b\\"c\\\\"']), 'a b"c\\');
  assert.equal(parseKeyText([`"${'k'.repeat(255)}"`]).length, 255);
  for (const lines of [[''], ['""'], ['a', 'a'], ['a b'], ['a,b'], ['a;b'], ['"a'], ['"a"b'], ['"a";p'], ['a"'], ['k'.repeat(256)],
    ['\ttab'], ['caf\u00e9'], ['"\\x"']]) {
    assert.throws(() => parseKeyText(lines), /Send one line/, JSON.stringify(lines));
  }
});

function view(fields, target = '/p?id=1', body = '') {
  const [path, query = ''] = target.split('?');
  const lines = (name) => fields.filter(([own]) => own.toLowerCase() === name).map(([, value]) => value);
  return { lines, path, query, method: 'POST', ip: '127.0.0.1', jsonScalar: (pointer) => jsonScalar(Buffer.from(body), pointer) };
}

test('expressions never make one text of two requests', () => {
  const scope = (text, ...request) => evaluate(parseExpression(text, 'scope'), view(...request));
  assert.equal(scope('{header:X-A}', [['x-a', ' alice ']]), 'alice');
  assert.notEqual(scope('{header:A}{header:B}', [['A', '1'], ['B', '23']]), scope('{header:A}{header:B}', [['A', '12'], ['B', '3']]));
  assert.notEqual(scope('{header:A?}', []), scope('{header:A?}', [['A', '']]));
  assert.notEqual(scope('{header:A?}', []), scope('{header:A?}', [['A', scope('{header:A?}', [])]]));
  assert.throws(() => scope('{header:A}', []), /missing/);
  assert.throws(() => scope('{header:A}', [['A', '1'], ['A', '1']]), /more than once/);
  assert.equal(scope('{query:id}', [], '/p?x=2&id=a%20b+c'), 'a b c');
  assert.equal(scope('{cookie:op}', [['Cookie', 'a=1; op=7']]), '7');
  assert.equal(scope('{json:/o/n}', [], '/p', '{"o":{"n":1.50}}'), '1.50');
  assert.throws(() => scope('{json:/o}', [], '/p', '{"o":1,"o":2}'), /ambiguous/);
  assert.throws(() => parseExpression('{head:X}', 'scope'), /no part/);
  assert.throws(() => parseExpression('{header:X', 'scope'), /brace/);
});

test('keys and scopes of several parts are those of the gateway', async () => {
  const fields = [['X-Org', 'acme'], ['Cookie', 'user=bob']];
  const request = { ...view(fields, '/a?id=7'), target: '/a?id=7', body: Buffer.from('{}'), isJson: true };
  const rules = parseRules({ url: 'http://127.0.0.1:1', token: 't', keyFrom: '{header:X-Org}/{query:id}', scope: '{header:X-Org}{cookie:user}' });
  const found = await identify(rules, request);
  assert.equal(found.key, '\x011da19a694b9e445b663da8088503bc7ceafa654a22fbfb5dc2152a3d07874428');
  assert.equal(found.scope, '\0' + '4:acme3:bob');
});

test('statuses mean what they mean to the gateway', () => {
  const verdicts = { 200: 'store', 303: 'store', 404: 'store', 401: 'release', 409: 'release', 429: 'release', 500: 'release',
    503: 'release', 502: 'unknown', 504: 'unknown', 599: 'unknown', 101: 'unknown' };
  for (const [status, verdict] of Object.entries(verdicts)) assert.equal(judge(Number(status), [], {}), verdict, status);
  assert.equal(judge(404, [], parseKeep({ '4xx': 'release', 404: 'unknown' })), 'unknown');
  assert.equal(judge(200, [['Semel-Outcome', 'release']], {}), 'release');
  assert.equal(judge(200, [['Semel-Outcome', 'perhaps']], {}), 'store');
});

test('options that mean nothing are refused when the middleware is made', () => {
  const url = 'http://127.0.0.1:1';
  for (const [options, why] of [[{ ttl: 5 }, /no option "ttl"/], [{ key: 'maybe' }, /key: "maybe"/], [{ leaseMs: 5 }, /leaseMs/],
    [{ keep: { 600: 'store' } }, /keep/], [{ onUnknown: 'probe' }, /onUnknown/], [{ scope: '{x}' }, /scope/]]) {
    assert.throws(() => parseRules({ url, ...options }), why);
  }
});

test('Standard Webhooks: HMAC and Ed25519, any secret, any signature', () => {
  const now = 1614265330;
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  const body = Buffer.from('{"test": 2432232314}');
  const known = { 'webhook-id': id, 'webhook-timestamp': String(now), 'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' };
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const verify = (headers, options = {}) =>
    standardWebhooks({ secrets: ['whsec_AAAA', secret], now: () => now * 1000, ...options }).verify({ headers, body });
  assert.deepEqual(verify(known), { id, signsId: true });
  assert.deepEqual(verify({ ...known, 'webhook-signature': `v1,AAAA ${known['webhook-signature']}` }), { id, signsId: true });
  for (const [name, value] of [['webhook-id', 'other'], ['webhook-timestamp', String(now + 1)], ['webhook-signature', 'v1,AAAA'],
    ['webhook-signature', known['webhook-signature'].replace('v1,', 'v2,')], ['webhook-timestamp', undefined]]) {
    assert.equal(verify({ ...known, [name]: value }), null);
  }
  assert.equal(verify(known, { now: () => (now + 301) * 1000 }), null);
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
  const signature = sign(null, Buffer.from(`${id}.${now}.${body}`), privateKey).toString('base64');
  const headers = { ...known, 'webhook-signature': `v1a,${signature}` };
  assert.deepEqual(verify(headers, { secrets: [`whpk_${raw}`] }), { id, signsId: true });
  const hmac = createHmac('sha256', Buffer.from(raw, 'base64')).update(`${id}.${now}.${body}`).digest('base64');
  const confused = { ...known, 'webhook-signature': `v1,${hmac}` };
  assert.equal(verify(confused, { secrets: [`whpk_${raw}`] }), null, 'a public key is no secret');
  assert.throws(() => standardWebhooks({ secrets: [] }), /secrets/);
});
