// Bodies and content types that no operation accepts.
// It must not send them.
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

export const oddTypes: readonly string[] = [
  'text/plain',
  'text/json',
  'text/html',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/vnd.api+json',
  'application/jsonx',
  'application/json, application/json',
  'application/json text/plain',
  '*/*',
  'application/*',
  'application',
  ';application/json',
  '/',
  '"application/json"',
  'application/json\u00e9',
];

/** Returns the compressed body for each name of a content coding. */
export const packedAs = (text: string): [coding: string, body: Buffer][] => {
  const bytes = Buffer.from(text);
  return Object.entries({
    gzip: gzipSync(bytes),
    deflate: deflateSync(bytes),
    br: brotliCompressSync(bytes),
    zstd: zstdCompressSync(bytes),
    compress: bytes,
    'identity, gzip': gzipSync(bytes),
    'x-gzip': gzipSync(bytes),
  });
};

// RFC 3629: overlong, surrogates, beyond the last code point, truncated, continuation alone; and other encodings.
const noUtf8: readonly Buffer[] = [
  ...['c0af', 'e080af', 'eda080', 'edb080', 'f4908080', 'f8888080', 'c3', 'e282', '80', 'ff', 'fe'].map(
    (hex) => Buffer.concat([Buffer.from('{"name":"'), Buffer.from(hex, 'hex'), Buffer.from('"}')]),
  ),
  Buffer.from('\ufeff{"name":"x"}', 'utf16le'),
  Buffer.from('{"name":"\u00e9"}', 'latin1'),
  Buffer.from([0]),
  gzipSync('{"name":"x"}'),
];
/** Text that is not JSON, or JSON that no operation accepts: keys of prototypes, more than 32 levels. */
export const noJson: readonly (string | Buffer)[] = [
  ...noUtf8,
  '{"name":"x"',
  "{'name':'x'}",
  '{name:"x"}',
  '{"name":"x",}',
  '{"name":"x"}{"name":"y"}',
  '{"name":NaN}',
  '{"name":0x10}',
  '{"name":01}',
  '{"name":"a\nb"}',
  '{"name":"\\x41"}',
  '{"name":"\\u12"}',
  '// x\n{"name":"x"}',
  'name=x&email=y%40example.com',
  '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nx\r\n--x--\r\n',
  '<name>x</name>',
  '\ufeff\ufeff{"name":"x"}',
  '{"__proto__":{"is_superuser":true}}',
  '['.repeat(33) + ']'.repeat(33),
  `{"a":${'{"a":'.repeat(32)}1${'}'.repeat(33)}`,
  '['.repeat(16_000),
  '{"a":'.repeat(3_000),
];
