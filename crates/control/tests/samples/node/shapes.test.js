const { test, describe, it } = require('node:test');
const assert = require('node:assert');
const { area, name } = require('./shapes');

test('area of a rectangle', () => {
  assert.equal(area(2, 3), 6) // no semicolon
});
test('nothing', () => {});
test(`in backquotes`, function () { assert.deepEqual([area(1, 2)], [2]); });
test('concise', () => assert.strictEqual(name(4), 'square'));
test('concise and async', async () => Promise.resolve(name(3)));
test('returns a promise', () => {
  return Promise.resolve(area(1, 1)).then((x) => assert.equal(x, 1));
});
test('awaits', async () => {
  await null;
  assert.equal(area(1, 2), 2);
});
test('returns in every branch', () => { if (area(1, 1)) { return; } else { return 1; } });
test.skip('skipped', () => {});
test('skipped by option', { skip: true }, () => {});
test.todo('later');
test('with options', { timeout: 60000 }, () => { assert.ok(area(1, 1)); });
test('done later', (t, done) => { setImmediate(() => done()); });
test('done at once', (t, done) => { assert.ok(area(1, 1)); done(); });
test('parent', async (t) => {
  await t.test('child # one', () => { assert.equal(area(3, 1), 3); });
});
describe('shapes', () => {
  describe('names (all)', () => {
    it("a triangle's", () => { assert.equal(name(3), 'triangle'); });
  });
  for (const sides of [3, 4]) {
    it('has ' + sides + ' sides', () => { assert.equal(area(sides, 0), 0); });
  }
  it('by a function', named);
  it('stays green', () => { assert.ok(area(1, 1)); });
});
function named() { assert.equal(name(9), 'shape'); }
