// Tests the SMTP transport against a real server, well-behaved or not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { type SmtpSink, smtpRefusal, startSmtpSink } from '@castellan/testing/smtp-sink';
import type { SMTPServerOptions } from 'smtp-server';
import {
  addressOfSender,
  createMailTransport,
  MailRefusedError,
  type MailTransport,
  parseSmtpUrl,
} from './transport.ts';

const mail = {
  to: 'bob@example.com',
  subject: 'Grüße',
  text: 'Hello\nhttps://app.example.com/#s3cr3t',
  html: '<p>Hello</p>',
};
const messageId = '0192f0c1-2345-4678-9abc-def012345678';

const from = 'Castellan <no-reply@castellan.example>';
const smtp = (smtpUrl: string, sendTimeoutMs = 20_000): MailTransport =>
  createMailTransport({
    smtpUrl,
    from,
    senderName: 'The Keep',
    outboxDir: '/nonexistent',
    print: assert.fail,
    sendTimeoutMs,
  });

async function withSink(
  options: SMTPServerOptions,
  query: string,
  use: (transport: MailTransport, sink: SmtpSink) => Promise<void>,
  scheme = 'smtp://',
): Promise<void> {
  const sink = await startSmtpSink(options);
  const transport = smtp(sink.url(scheme, query));
  try {
    await use(transport, sink);
  } finally {
    transport.close();
    await sink.close();
  }
}

describe('over SMTP', () => {
  test('a mail arrives with both bodies, the given Message-ID and the mark of an automatic mail', () =>
    withSink({}, '', async (transport, { mails }) => {
      await transport.verify();
      await transport.send(mail, { messageId });
      assert.equal(mails.length, 1);
      const raw = mails[0]?.raw ?? '';
      assert.deepEqual(mails[0]?.to, ['bob@example.com']);
      assert.match(raw, new RegExp(`^Message-ID: <${messageId}@castellan\\.example>\r$`, 'm'));
      assert.match(raw, /^From: Castellan <no-reply@castellan\.example>\r$/m);
      assert.match(raw, /^To: bob@example\.com\r$/m);
      assert.match(raw, /^Auto-Submitted: auto-generated\r$/m);
      assert.match(raw, /text\/plain/);
      assert.match(raw, /text\/html/);
    }));

  for (const [mailFrom, header] of [
    ['no-reply@castellan.example', 'The Keep <no-reply@castellan.example>'],
    ['<no-reply@castellan.example>', 'The Keep <no-reply@castellan.example>'],
    ['Our Desk <no-reply@castellan.example>', 'Our Desk <no-reply@castellan.example>'],
    ['no-reply@bücher.example', 'The Keep <no-reply@xn--bcher-kva.example>'],
    ['Our Desk <no-reply@bücher.example>', 'Our Desk <no-reply@xn--bcher-kva.example>'],
  ] as const)
    test(`a mail from "${mailFrom}" arrives from ${header}`, async () => {
      const sink = await startSmtpSink();
      const options = {
        smtpUrl: sink.url(),
        from: mailFrom,
        senderName: 'The Keep',
        outboxDir: '/nonexistent',
      };
      const transport = createMailTransport(options);
      await transport.send(mail, { messageId });
      assert.ok(sink.mails[0]?.raw.includes(`\r\nFrom: ${header}\r\n`), sink.mails[0]?.raw);
      assert.match(sink.mails[0]?.raw ?? '', /^Message-ID: <[!-~]+>\r$/m);
      transport.close();
      await sink.close();
    });

  test('a sender name cannot end its header or begin another', async () => {
    const sink = await startSmtpSink();
    const senderName = 'Keep"\r\nBcc: eve@example.com, <eve@example.com>';
    const sender = 'no-reply@castellan.example';
    const options = { smtpUrl: sink.url(), from: sender, senderName, outboxDir: '/nonexistent' };
    const transport = createMailTransport(options);
    await transport.send(mail, { messageId });
    assert.deepEqual(sink.mails[0]?.to, ['bob@example.com']);
    assert.doesNotMatch(sink.mails[0]?.raw ?? '', /^Bcc:/m);
    transport.close();
    await sink.close();
  });

  test('the credentials of the URL are used', () =>
    withSink(
      {
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: ({ username, password }, _session, done) =>
          username === 'us er' && password === 'p@ss/:#'
            ? done(null, { user: username })
            : done(new Error('no')),
      },
      '',
      async (_transport, sink) => {
        const login = `smtp://${encodeURIComponent('us er')}:${encodeURIComponent('p@ss/:#')}@`;
        const transport = smtp(sink.url(login));
        await transport.send(mail, { messageId });
        assert.equal(sink.mails[0]?.user, 'us er');
        assert.ok(!transport.description.includes('p%40ss') && !transport.description.includes('us'));
        transport.close();
      },
    ));

  test('refused credentials lead to a retry: the operator can correct them', () =>
    withSink(
      { allowInsecureAuth: true, onAuth: (_auth, _session, done) => done(new Error('no')) },
      '',
      async (_t, sink) => {
        const transport = smtp(sink.url('smtp://user:wrong@'));
        await assert.rejects(
          transport.send(mail, { messageId }),
          (error) => !(error instanceof MailRefusedError),
        );
        await assert.rejects(transport.verify());
        transport.close();
      },
    ));

  const stages: [string, SMTPServerOptions, boolean][] = [
    ['5yz to the recipient', { onRcptTo: (_a, _s, done) => done(smtpRefusal(550)) }, true],
    ['4yz to the recipient', { onRcptTo: (_a, _s, done) => done(smtpRefusal(450)) }, false],
    ['503 to the recipient', { onRcptTo: (_a, _s, done) => done(smtpRefusal(503)) }, false],
    ['5yz to the sender', { onMailFrom: (_a, _s, done) => done(smtpRefusal(530)) }, false],
    ['5yz to the connection', { onConnect: (_s, done) => done(smtpRefusal(554)) }, false],
    [
      '5yz to the message',
      { onData: (stream, _s, done) => void stream.resume().on('end', () => done(smtpRefusal(554))) },
      true,
    ],
    [
      '4yz to the message',
      { onData: (stream, _s, done) => void stream.resume().on('end', () => done(smtpRefusal(451))) },
      false,
    ],
  ];
  for (const [name, options, final] of stages) {
    test(`${name} is ${final ? 'final' : 'retried'}`, () =>
      withSink(options, '', async (transport) => {
        await assert.rejects(
          transport.send(mail, { messageId }),
          (error) => error instanceof MailRefusedError === final,
        );
      }));
  }

  test('STARTTLS is used when offered, and an untrusted certificate is refused', () =>
    withSink({ disabledCommands: [] }, '', async (transport, sink) => {
      await assert.rejects(transport.send(mail, { messageId }), /certificate|self.signed/i);
      assert.deepEqual(sink.mails, []);
    }));

  test('the URL can accept an untrusted certificate', () =>
    withSink({ disabledCommands: [] }, '/?tls.rejectUnauthorized=false', async (transport, { mails }) => {
      await transport.send(mail, { messageId });
      assert.equal(mails[0]?.secure, true);
    }));

  test('smtps:// uses TLS from the first byte', () =>
    withSink(
      { secure: true },
      '/?tls.rejectUnauthorized=false',
      async (transport, { mails }) => {
        await transport.send(mail, { messageId });
        assert.equal(mails[0]?.secure, true);
      },
      'smtps://',
    ));

  test('requireTLS sends nothing to a server without it', () =>
    withSink({}, '/?requireTLS=true', async (transport, sink) => {
      await assert.rejects(transport.send(mail, { messageId }));
      assert.deepEqual(sink.mails, []);
    }));

  const hanging: [string, SMTPServerOptions][] = [
    ['never greets', { onConnect: () => {} }],
    ['never answers the recipient', { onRcptTo: () => {} }],
    ['never answers the message', { onData: (stream) => void stream.resume() }],
  ];
  for (const [name, options] of hanging) {
    test(`a server that ${name} is given up in time`, async () => {
      const sink = await startSmtpSink(options);
      const transport = smtp(sink.url(), 200);
      const patient = smtp(sink.url());
      const later = patient.send(mail, { messageId }).catch(() => 'given up');
      await assert.rejects(
        transport.send(mail, { messageId }),
        (error) => !(error instanceof MailRefusedError),
      );
      // One of more patience, asked first, still waits.
      assert.equal(await Promise.race([later, 'waits']), 'waits');
      patient.close();
      transport.close();
      await sink.close();
    });
  }

  test('a server that never ends its reply is given up in time', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write('220 hello\r\n');
      const trickle = setInterval(() => socket.write('250-more to come\r\n'), 20);
      socket.once('close', () => clearInterval(trickle));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const transport = smtp(`smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, 200);
    try {
      await assert.rejects(transport.send(mail, { messageId }), /did not accept the mail within 200 ms/);
    } finally {
      transport.close();
      server.close();
    }
  });

  test('no mail is lost when the server closes a connection between mails', () =>
    withSink({}, '', async (transport, sink) => {
      for (let round = 1; round <= 5; round += 1) {
        await transport.send(mail, { messageId });
        assert.equal(sink.mails.length, round);
        sink.dropConnections();
      }
    }));

  test('a mail cannot contain a second recipient, header or command', () =>
    withSink({}, '', async (transport, { mails }) => {
      const recipients = [
        'bob@example.com,eve@example.com',
        'bob@example.com\r\nRCPT TO:<eve@example.com>',
        'bob@example.com\r\nBcc: eve@example.com',
        'Bob <bob@example.com>',
        '"bob,"@example.com',
        'bob@example.com eve@example.com',
        'bob\u0000@example.com',
        'bob',
        '',
      ];
      for (const to of recipients)
        await assert.rejects(transport.send({ ...mail, to }, { messageId }), MailRefusedError);
      await assert.rejects(transport.send(mail, { messageId: 'a>\r\nBcc: <eve@example.com' }), TypeError);
      assert.equal(mails.length, 0);
      await transport.send({ ...mail, subject: 'Hi\r\nBcc: eve@example.com\r\n\r\nbody' }, { messageId });
      assert.deepEqual(mails[0]?.to, ['bob@example.com']);
      assert.doesNotMatch(mails[0]?.raw ?? '', /^Bcc:/m);
    }));
});

describe('settings', () => {
  test('an SMTP URL can set TLS options, and none that overrides a timeout or prints mails', () => {
    for (const url of [
      'smtp://h',
      'smtps://u:p@h:465',
      'smtp://[::1]:25/?requireTLS=true&tls.servername=h',
    ]) {
      assert.equal(parseSmtpUrl(url), url);
    }
    const wrong = [
      '',
      'h:25',
      'http://h',
      'smtp://',
      'smtp://u:s3cr3t@h?debug=true',
      'smtp://h?socketTimeout=9',
    ];
    for (const url of wrong) {
      assert.throws(
        () => parseSmtpUrl(url),
        (error: Error) => /^(is|has) /.test(error.message) && !/s3cr3t/.test(error.message),
      );
    }
  });

  test('a sender is an address, with or without a name', () => {
    assert.equal(addressOfSender('no-reply@localhost'), 'no-reply@localhost');
    assert.equal(addressOfSender('The Keep <a@b.c>'), 'a@b.c');
    for (const text of ['', 'nobody', 'a@b.c, d@e.f', 'X <a@b.c>\nBcc: d@e.f', 'X <a@b.c> <d@e.f>']) {
      assert.throws(() => addressOfSender(text), /^Error: is not a sender/);
    }
  });
});
