const assert = require('node:assert');
const { area, name } = require('./shapes');

it('area of a rectangle', () => { assert.equal(area(2, 3), 6); });
describe('shapes', function () {
  describe('names', function () {
    it('a triangle', function () { assert.strictEqual(name(3), 'triangle'); });
    it('a promise', function () { return Promise.resolve(name(3)); });
  });
  it('done later', function (done) { setTimeout(done, 1); });
  it('done within', function (done) { assert.equal(area(1, 1), 1); (() => done())(); });
  it('done at once', function (done) { assert.ok(area(1, 1)); done(); });
  it('stays green', function () { assert.ok(area(1, 1)); });
  it('pending');
  xit('skipped', function () {});
  specify('specified', () => { assert.equal(area(1, 1), 1); });
});
