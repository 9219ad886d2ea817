import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  address,
  choice,
  flag,
  integer,
  list,
  number,
  optional,
  readSettings,
  SettingsError,
  setting,
  text,
  url,
} from './config.ts';

const accepts = <T>(read: (value: string) => T, cases: [string, T][]): void => {
  for (const [value, expected] of cases) assert.deepEqual(read(value), expected, value);
};
const refuses = (read: (value: string) => unknown, values: string[], reason: RegExp): void => {
  for (const value of values) assert.throws(() => read(value), reason, JSON.stringify(value));
};

describe('readers', () => {
  test('a whole number has only digits and is within the range', () => {
    const read = integer(-1, 100);
    accepts(read, [
      ['0', 0],
      ['-1', -1],
      ['100', 100],
      ['007', 7],
    ]);
    refuses(
      read,
      ['101', '-2', '1.0', '1e1', '0x10', '+1', '1_0', '', ' ', 'NaN', 'Infinity', '9'.repeat(400), '١'],
      /write a whole number from -1 to 100/,
    );
  });

  test('a number may have decimals after a point', () => {
    const read = number(0.01, 10);
    accepts(read, [
      ['0.5', 0.5],
      ['10', 10],
      ['0.01', 0.01],
    ]);
    refuses(read, ['0', '10.1', '-1', '.5', '5.', '0,5', '1e0', ''], /write a number from 0.01 to 10/);
  });

  test('a flag has eight spellings in any case', () => {
    for (const value of ['true', '1', 'yes', 'on', 'TRUE', 'On']) assert.equal(flag(value), true, value);
    for (const value of ['false', '0', 'no', 'off', 'False']) assert.equal(flag(value), false, value);
    refuses(flag, ['2', 'y', 'enabled', ''], /write true or false/);
  });

  test('a choice is one of the words, exactly', () => {
    const read = choice('info', 'debug');
    accepts(read, [['info', 'info']]);
    refuses(read, ['INFO', 'inf', 'toString', ''], /write one of info, debug/);
  });

  test('a list is trimmed, without empty items, and one wrong item is named', () => {
    const read = list(integer(0, 9));
    accepts(read, [
      ['', []],
      [' , ', []],
      ['1, 2,,3 ', [1, 2, 3]],
    ]);
    refuses(read, ['1,x', '1;2'], /is "(x|1;2)"/);
  });

  test('an address is an IP address or localhost', () => {
    for (const value of ['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost'])
      assert.equal(address(value), value);
    refuses(address, ['example.com', '127.1', '127.0.0.1:80', '', '256.0.0.1'], /write an IP address/);
  });

  test('a URL has one of the schemes, and a refusal does not repeat it', () => {
    const read = url(['http:', 'https:']);
    assert.equal(read('https://a.example/b'), 'https://a.example/b');
    refuses(
      read,
      ['a.example', 'ftp://u:planted@h', 'javascript:alert(1)', '//h', ''],
      /^Error: is not a URL of the form/,
    );
    assert.throws(
      () => read('ftp://u:planted@h'),
      (error: Error) => !error.message.includes('planted'),
    );
  });

  test('a text is not empty, and an optional one may be missing', () => {
    assert.equal(text('a b'), 'a b');
    refuses(text, ['', '  '], /is empty/);
    assert.equal(optional(text)(''), undefined);
    assert.equal(optional(text)('x'), 'x');
  });
});

describe('readSettings', () => {
  const definitions = {
    port: setting('PORT', integer(0, 65_535), 'Port.', { default: '8000' }),
    level: setting('LEVEL', choice('info', 'debug'), 'Level.', { default: 'info' }),
    role: setting('ROLE', (value: string) => value, 'Role.', { default: 'User', emptyCounts: true }),
    key: setting('KEY', optional(text), 'Key.', { secret: 'value', shown: 'made' }),
  };

  test('takes the default for what is missing or blank, and trims what is there', () => {
    assert.deepEqual(readSettings(definitions, {}), {
      port: 8000,
      level: 'info',
      role: 'User',
      key: undefined,
    });
    assert.deepEqual(readSettings(definitions, { PORT: ' ', LEVEL: ' debug ', KEY: '', ROLE: undefined }), {
      port: 8000,
      level: 'debug',
      role: 'User',
      key: undefined,
    });
  });

  test('lets an empty variable be a value where it is declared as one', () => {
    assert.equal(readSettings(definitions, { ROLE: '' }).role, '');
  });

  test('reports every problem at once, each by the name of its variable', () => {
    assert.throws(
      () => readSettings(definitions, { PORT: 'x', LEVEL: 'y', ROLE: 'z' }),
      (error: unknown) => {
        assert.ok(error instanceof SettingsError);
        assert.deepEqual(error.problems, [
          'PORT is "x"; write a whole number from 0 to 65535',
          'LEVEL is "y"; write one of info, debug',
        ]);
        assert.match(error.message, /^2 settings are wrong:\n {2}PORT .*\n {2}LEVEL /);
        return true;
      },
    );
    assert.throws(() => readSettings(definitions, { PORT: 'x' }), /^SettingsError: A setting is wrong:/);
  });

  test('reads only the variables that are declared', () => {
    assert.deepEqual(
      Object.keys(readSettings(definitions, { PATH: '/bin', OTHER: '1' })),
      Object.keys(definitions),
    );
  });
});
