// Schemas of logout notices, which tell applications that sessions have ended.
// They must never contain a logout token.
import Type from 'typebox';
import { Timestamp } from '../http/common.ts';

export const LogoutNoticeState = Type.Union(
  [Type.Literal('waiting'), Type.Literal('sent'), Type.Literal('refused'), Type.Literal('given_up')],
  {
    description:
      'refused: the application will not take it. given_up: it was tried for as long as notices are.',
  },
);

export const LogoutNotice = Type.Object(
  {
    id: Type.String({ examples: ['1207'] }),
    sid: Type.String({ description: 'What the application knows the session by: `sid` of its ID tokens.' }),
    state: LogoutNoticeState,
    attempts: Type.Integer({ minimum: 0 }),
    status: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The HTTP status of the last answer; null if there was none.',
      examples: [503],
    }),
    error: Type.Union([Type.String(), Type.Null()], {
      description:
        'Why there was no answer, as a code: `timeout`, `address_refused`, `not_https`, `no_address`, `application_inactive`, ' +
        'or that of the connection, such as `ECONNREFUSED`.',
      examples: [null],
    }),
    created_at: Timestamp,
    next_at: Type.Union([Timestamp, Type.Null()], { description: 'The next attempt, of a waiting one.' }),
    sent_at: Type.Union([Timestamp, Type.Null()]),
  },
  { title: 'LogoutNotice' },
);
export type LogoutNotice = Type.Static<typeof LogoutNotice>;

export const LogoutNoticeQuery = Type.Object({
  state: Type.Optional(LogoutNoticeState),
  size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(
    Type.String({ pattern: '^[1-9][0-9]{0,17}$', description: '`next_cursor` of the page before.' }),
  ),
});
export type LogoutNoticeQuery = Type.Static<typeof LogoutNoticeQuery>;

/** Newest first. */
export const LogoutNoticePage = Type.Object(
  {
    data: Type.Array(LogoutNotice),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'The start of the next page; null on the last one.',
    }),
    message: Type.String(),
  },
  { title: 'LogoutNoticePage' },
);
export type LogoutNoticePage = Type.Static<typeof LogoutNoticePage>;
