import { describe, expect, it, test } from 'vitest';
import { area, name } from './shapes';
test('area of a rectangle', () => { expect(area(2, 3)).toBe(6); });
test('concise', () => expect(name(4)).toEqual('square'));
test('resolves', async () => { await expect(Promise.resolve(3)).resolves.toBe(3); });
test.concurrent('concurrent', async () => { await null; expect([area(1, 2)]).toStrictEqual([2]); });
test.each([[1, 2], [2, 4]])('doubles %i to %i', (a, b) => { expect(area(a, 2)).toBe(b); expect([a]).toHaveLength(1); });
test.each`a | b
${1} | ${2}`('row $a and $b', ({ a, b }) => { expect(area(a, 2)).toBe(b); expect({ x: area(1, 1) }).toEqual({ x: 1 }); });
describe('shapes', () => {
  describe('names > all', () => {
    it('a triangle', () => { expect(name(3)).toBe('triangle'); });
  });
  it(`has ${3} sides`, () => { expect(area(3, 1)).not.toBe(1); });
  it('stays green', () => { expect(area(1, 1)).toBeTruthy(); });
});
describe.each([['x'], ['y']])('letter %s', (letter) => {
  it('is one letter', () => { expect(letter.length).toBe(1); });
});
test.skip('skipped', () => {});
test.todo('later');
test.fails('known to fail', () => { expect(area(1, 1)).toBe(2); });
