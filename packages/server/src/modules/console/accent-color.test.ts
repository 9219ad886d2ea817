import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accentStyle, contrast } from './accent-color.ts';

const pages = { light: ['#ffffff', '#f6f7fb'], dark: ['#1a1b1e', '#242528'] } as const;

/** The properties of one theme, as a browser reads them. */
function propertiesOf(css: string, theme: keyof typeof pages): (name: string) => string {
  const selector = theme === 'light' ? ':root' : '[data-mantine-color-scheme="dark"]';
  const block = css.slice(css.indexOf(`${selector}{`) + selector.length + 1).split('}')[0] ?? '';
  const values = new Map(block.split(';').map((one) => [one.split(':')[0], one.split(':')[1]]));
  return (name) => {
    const value = values.get(`--accent${name}`);
    assert.match(value ?? '', /^#[0-9a-f]{6}$/, name);
    return value ?? '';
  };
}

test('the ratio is that of the WCAG examples', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21);
  assert.equal(contrast('#ffffff', '#ffffff'), 1);
  assert.equal(contrast('#777777', '#ffffff').toFixed(2), '4.48');
  assert.equal(contrast('#ff0000', '#ffffff').toFixed(2), '4.00');
});

test('for every colour of a grid, each pair has its contrast in both themes', () => {
  const levels = ['00', '20', '40', '60', '80', '9f', 'c0', 'df', 'ff'];
  const colors = levels.flatMap((red) =>
    levels.flatMap((green) => levels.map((blue) => `#${red}${green}${blue}`)),
  );
  assert.equal(colors.length, 729);
  for (const color of [...colors, '#4263eb', '#757575', '#767676', '#777777', '#7f7f7f', '#898989']) {
    const { css } = accentStyle(color);
    for (const theme of ['light', 'dark'] as const) {
      const of = propertiesOf(css, theme);
      const holds = (one: string, other: string, minimum: number, what: string): void =>
        assert.ok(contrast(one, other) >= minimum, `${color}, ${theme}, ${what}: ${one} on ${other}`);
      holds(of('-contrast'), of(''), 4.5, 'button');
      holds(of('-contrast'), of('-hover'), 4.5, 'button under the pointer');
      holds(of('-soft-text'), of('-soft'), 4.5, 'soft');
      assert.notEqual(of('-hover'), of(''), color);
      for (const page of pages[theme]) {
        holds(of('-text'), page, 4.5, 'text');
        holds(of('-ring'), page, 3, 'ring');
      }
    }
  }
});

test('a colour with enough contrast is used as it is, and others are reported with what replaces them', () => {
  const own = accentStyle('#4263EB');
  const light = propertiesOf(own.css, 'light');
  for (const name of ['', '-text', '-ring']) assert.equal(light(name), '#4263eb');
  assert.equal(light('-contrast'), '#ffffff');
  assert.deepEqual(
    own.adjusted.map(({ theme, property }) => [theme, property]),
    [
      ['dark', '--accent-text'],
      ['dark', '--accent-ring'],
    ],
  );

  const yellow = accentStyle('#ffd43b');
  assert.equal(propertiesOf(yellow.css, 'light')(''), '#ffd43b');
  assert.equal(propertiesOf(yellow.css, 'light')('-contrast'), '#1a1b1e');
  assert.deepEqual(
    yellow.adjusted.map(({ theme, property }) => [theme, property]),
    [
      ['light', '--accent-text'],
      ['light', '--accent-ring'],
    ],
  );
  for (const { theme, property, color } of [...own.adjusted, ...yellow.adjusted])
    assert.ok(color.startsWith('#') && property.startsWith('--accent-') && theme.length > 0);

  // Neither white nor near-black has 4.5:1 on this grey.
  const grey = accentStyle('#7c7c7c');
  assert.ok(grey.adjusted.some(({ property }) => property === '--accent'));
  const moved = propertiesOf(grey.css, 'light')('');
  assert.ok(Math.abs(Number.parseInt(moved.slice(1, 3), 16) - 0x7c) <= 8, moved);
});

test('only # and six hexadecimal digits are a colour', () => {
  for (const wrong of ['', 'red', '4263eb', '#4263e', '#4263eb0', '#4263eg', '#4263eb;}', 'rgb(1,2,3)'])
    assert.throws(() => accentStyle(wrong), /write a colour as # and six hexadecimal digits/, wrong);
});
