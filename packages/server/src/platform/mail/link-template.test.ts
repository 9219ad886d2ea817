// Tests the links that the operator configures: what is accepted, what is refused and why, and the place of the token.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillLink, parseLink, parseLinkTemplate } from './link-template.ts';

const token = 'a-b_c+d/e=f&g#h?';
const encoded = 'a-b_c%2Bd%2Fe%3Df%26g%23h%3F';

for (const [template, link] of [
  ['https://app.example.com/confirm#token={token}', `https://app.example.com/confirm#token=${encoded}`],
  [
    'https://app.example.com/confirm?t={token}&lang=de',
    `https://app.example.com/confirm?t=${encoded}&lang=de`,
  ],
  ['https://app.example.com/confirm/{token}/now', `https://app.example.com/confirm/${encoded}/now`],
  ['https://app.example.com/#/confirm/{token}', `https://app.example.com/#/confirm/${encoded}`],
  ['http://localhost:3000/?{token}', `http://localhost:3000/?${encoded}`],
  ['com.example.app:/confirm?t={token}', `com.example.app:/confirm?t=${encoded}`],
  ['HTTPS://Bücher.example/ü#{token}', `https://xn--bcher-kva.example/%C3%BC#${encoded}`],
] as const)
  test(`${template} contains the percent-encoded token`, () => {
    assert.equal(fillLink(parseLinkTemplate(template), token), link);
  });

test('a token that looks like a replacement pattern is taken literally', () => {
  assert.equal(fillLink('https://a.example/#{token}', "$&$'"), "https://a.example/#%24%26%24'");
});

for (const [template, reason] of [
  ['https://app.example.com/confirm', /exactly once/],
  ['https://app.example.com/{token}/{token}', /exactly once/],
  ['https://app.example.com/{token}?e={email}', /unknown placeholder \{email\}/],
  ['https://{token}.example.com/', /path, query or fragment|not a link/],
  ['https://app.example.com:{token}/', /not a link/],
  ['https://{token}@app.example.com/', /user name or password/],
  ['https://user:secret@app.example.com/{token}', /user name or password/],
  ['{token}://app.example.com/', /not a link/],
  ['javascript:alert({token})', /not a link/],
  ['data:text/html,{token}', /not a link/],
  ['file:///tmp/{token}', /not a link/],
  ['mailto:a@example.com?body={token}', /not a link/],
  ['myapp:/{token}', /not a link/],
  ['/confirm/{token}', /not a link/],
  ['https://app.example.com/\n{token}', /not a link/],
  ['https://app.example.com/"{token}', /not a link/],
] as const)
  test(`${JSON.stringify(template)} is refused`, () => {
    assert.throws(
      () => parseLinkTemplate(template),
      (error: Error) => reason.test(error.message) && !error.message.includes('secret'),
    );
  });

test('a link without a token allows no placeholder', () => {
  assert.equal(parseLink('https://app.example.com'), 'https://app.example.com/');
  assert.throws(() => parseLink('https://app.example.com/{token}'), /placeholder \{token\}/);
  assert.throws(() => parseLink('app.example.com'), /not a link/);
});
