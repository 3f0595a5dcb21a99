// The types hold for what users write.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

test('usage.ts compiles', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc'], { cwd: root, encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});
