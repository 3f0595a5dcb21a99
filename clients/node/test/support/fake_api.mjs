// A claims API in memory, for tests of the client's own logic: lost answers, a store that is down, a lease that lapses. What
// counts is tested against the real one (tests/clients).
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export class FakeApi {
  records = new Map();
  calls = []; // { path, items }
  held = null; // calls of this path are not answered as long as it is set
  faults = []; // for the next calls: "lose" does it and says nothing, "refuse" says nothing and does nothing, a status

  async start(port = 0) {
    this.server = http.createServer((request, response) => this.serve(request, response));
    await new Promise((resolve) => {
      this.server.listen(port, '127.0.0.1', resolve);
    });
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async serve(request, response) {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const content = JSON.parse(Buffer.concat(pieces));
    const path = request.url.replace('/v1/claims', '');
    this.calls.push({ path, items: content.items ?? [content] });
    while (this.held === path) await sleep(10);
    const fault = this.faults.shift();
    if (fault === 'refuse') return request.socket.destroy();
    const answers = (content.items ?? [content]).map((item) => this.answer(path, item));
    if (fault === 'lose') return request.socket.destroy();
    const [status, answer] = typeof fault === 'number'
      ? [fault, { type: 'urn:semel:problem:x', title: 'Planted', status: fault }]
      : content.items ? [200, { items: answers }] : [answers[0].status ?? 200, answers[0]];
    response.writeHead(status, { 'Content-Type': 'application/json' });
    return response.end(JSON.stringify(answer));
  }

  answer(path, item) {
    const name = JSON.stringify([item.namespace, item.scope ?? '', item.key]);
    const record = this.records.get(name);
    if (path === '') return this.claim(name, record, item);
    const lapsed = record?.state === 'running' && Date.now() >= record.leaseUntil;
    if (record?.fence !== item.fence || lapsed || (record.state !== 'running' && path !== '/complete')) {
      return { status: 409, type: 'urn:semel:problem:claim-lost', outcome: 'fenced', retry: 'never' };
    }
    if (path === '/renew') {
      record.leaseUntil = Date.now() + item.lease_ms;
      return { outcome: 'renewed' };
    }
    if (path === '/release') {
      record.state = 'free';
      return { outcome: 'released' };
    }
    record.state = item.outcome === 'unknown' ? 'unknown' : 'done';
    record.result = item.result;
    return { outcome: 'completed' };
  }

  claim(name, record, item) {
    const print = item.fingerprint ?? JSON.stringify(item.payload);
    const lapsed = record?.state === 'running' && Date.now() >= record.leaseUntil;
    if (lapsed) record.state = 'unknown';
    const held = record && record.state !== 'free' && record.expiresAt > Date.now();
    if (held && record.print !== print) return { status: 422, outcome: 'key-reused', retry: 'new-key' };
    const common = { attempt: record?.attempt, expires_at: held ? new Date(record.expiresAt).toISOString() : undefined };
    if (held && record.state === 'running' && record.owner === item.owner) {
      return { status: 201, outcome: 'granted', fence: record.fence, ...common };
    }
    if (held && record.state === 'done') return { outcome: 'done', result: record.result, ...common };
    if (held && record.state === 'running') return { status: 409, outcome: 'running', retry: 'same-key', retry_after_ms: 800 };
    if (held && item.on_unknown !== 'retry') return { status: 409, outcome: 'unknown', retry: 'never' };
    const attempt = (record?.attempt ?? 0) + 1;
    const fresh = { state: 'running', print, owner: item.owner, attempt, fence: `${attempt}.${Math.random()}`,
      leaseUntil: Date.now() + item.lease_ms, expiresAt: Date.now() + item.ttl_ms };
    this.records.set(name, fresh);
    return { status: 201, outcome: 'granted', fence: fresh.fence, attempt, expires_at: new Date(fresh.expiresAt).toISOString() };
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) console.log((await new FakeApi().start(Number(process.env.FAKE_PORT ?? 0))).url);
