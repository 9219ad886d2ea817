// Schemas of the OpenID AuthZEN Authorization API 1.0, whose shapes stand without an envelope.
// Unknown members are ignored, as the standard requires.
import Type, { type TSchema } from 'typebox';
import { decisionReasons } from './decisions.ts';

/** Maximum evaluations in one request. */
export const MAX_EVALUATIONS = 1_000;
/** Results of a page of a search without `page.limit`. */
export const DEFAULT_SEARCH_LIMIT = 100;
/** Maximum results of a page of a search. */
export const MAX_SEARCH_LIMIT = 1_000;

const anyObject = (description: string) => Type.Object({}, { additionalProperties: true, description });
const properties = Type.Optional(anyObject('Accepted and not used.'));

/** How the subject was authenticated, for permissions and accounts that ask for it. */
export const DecisionContext = Type.Object(
  {
    acr: Type.Optional(
      Type.String({
        description:
          'How strongly the subject was authenticated: `aal1`, `aal2` or `phr`. Without it, and for any other text, `aal1`. With it, what the account of the subject must have proved counts too.',
        examples: ['aal2'],
      }),
    ),
    auth_time: Type.Optional(
      Type.Integer({
        description:
          'When the subject was authenticated, in seconds since 1970. A time more than a minute in the future counts as none.',
        examples: [1_773_478_613],
      }),
    ),
  },
  {
    additionalProperties: true,
    description:
      'Other members are accepted and not used. A user who asks about themselves is judged by their own token instead.',
  },
);
export type DecisionContext = Type.Static<typeof DecisionContext>;
const optionalContext = Type.Optional(DecisionContext);

/** What a subject must have proved besides, as RFC 9470 names it. */
export const neededProof = {
  acr_values: Type.Optional(
    Type.String({
      description: 'With `step_up_required`: every level that would do, separated by spaces.',
      examples: ['aal2 phr'],
    }),
  ),
  max_age: Type.Optional(
    Type.Integer({
      description: 'With `step_up_required`: at most how many seconds ago.',
      examples: [600],
    }),
  ),
};

export const AuthzenSubject = Type.Object(
  {
    type: Type.String({ description: '`user`, `service_account` or `role`.', examples: ['user'] }),
    id: Type.String({
      description:
        'A UUID; for a `user` also an email, for a `service_account` or a `role` also a name. What is neither is looked up as an external id of a `user` or a `service_account`.',
      examples: ['ada@example.com'],
    }),
    properties,
  },
  { title: 'AuthzenSubject' },
);

export const AuthzenAction = Type.Object(
  {
    name: Type.String({
      description: 'The permission is `<resource.type>.<action.name>`, ignoring case.',
      examples: ['read'],
    }),
    properties,
  },
  { title: 'AuthzenAction' },
);

export const AuthzenResource = Type.Object(
  {
    type: Type.String({ description: 'The name of a permission group.', examples: ['orders'] }),
    id: Type.String({ description: 'Required by the standard and not used.', examples: ['order-1'] }),
    properties,
  },
  { title: 'AuthzenResource' },
);

/** One question: may this subject do this action on this resource? */
export const Evaluation = Type.Object(
  {
    subject: AuthzenSubject,
    action: AuthzenAction,
    resource: AuthzenResource,
    context: optionalContext,
  },
  { title: 'Evaluation' },
);
export type Evaluation = Type.Static<typeof Evaluation>;

export const evaluationSemantics = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;
export type EvaluationSemantics = (typeof evaluationSemantics)[number];

const evaluationsOf = (item: TSchema) =>
  Type.Object(
    {
      subject: Type.Optional(AuthzenSubject),
      action: Type.Optional(AuthzenAction),
      resource: Type.Optional(AuthzenResource),
      context: optionalContext,
      evaluations: Type.Optional(
        Type.Array(item, {
          maxItems: MAX_EVALUATIONS,
          description:
            'Each item replaces whole entities of the request. Without items, the request is one evaluation.',
        }),
      ),
      options: Type.Optional(
        Type.Object({
          evaluations_semantic: Type.Optional(
            Type.Enum([...evaluationSemantics], {
              description: 'Default: `execute_all`. The other two end with the deciding evaluation.',
            }),
          ),
        }),
      ),
    },
    { title: 'Evaluations' },
  );

/** As documented. A request with a faulty item is answered: see `EvaluationsInput`. */
export const EvaluationsBody = evaluationsOf(Type.Partial(Evaluation, { title: 'EvaluationItem' }));
/** As validated: items may be anything, because each faulty one gets its own decision. */
export const EvaluationsInput = evaluationsOf(Type.Unknown());
export type EvaluationsInput = {
  [Entity in 'subject' | 'action' | 'resource' | 'context']?: unknown;
} & {
  evaluations?: unknown[];
  options?: { evaluations_semantic?: EvaluationSemantics };
};

export const Decision = Type.Object(
  {
    decision: Type.Boolean(),
    context: Type.Object({
      reason: Type.Optional(
        Type.Enum([...decisionReasons], {
          description: 'If several reasons hold, the first one in this order.',
        }),
      ),
      permission: Type.Optional(
        Type.String({ description: 'The permission in question.', examples: ['orders.read'] }),
      ),
      ...neededProof,
      fresh_for: Type.Optional(
        Type.Integer({
          description:
            'With the header `Prefer: live`: for how many seconds the decision does not change by time alone, at most a day. For callers that keep it and follow `/api/v1/access/feed`. Absent unless the subject is named by its id.',
          examples: [86_400],
        }),
      ),
      error: Type.Optional(
        Type.Object(
          { status: Type.Integer({ examples: [400] }), message: Type.String() },
          { description: 'Instead of the reason: why this item of a request could not be evaluated.' },
        ),
      ),
    }),
  },
  { title: 'Decision' },
);
export type Decision = Type.Static<typeof Decision>;

export const Decisions = Type.Object(
  { evaluations: Type.Array(Decision, { description: 'In the order of the request.' }) },
  { title: 'Decisions' },
);
export type Decisions = Type.Static<typeof Decisions>;
export const EvaluationsAnswer = Type.Union([Decisions, Decision]);

const SearchPage = Type.Object(
  {
    token: Type.Optional(
      Type.String({
        maxLength: 2_000,
        description: '`next_token` of the page before. All else must be as in the first request.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 2_147_483_647,
        description: `Maximum results of a page. Default: ${DEFAULT_SEARCH_LIMIT}; above ${MAX_SEARCH_LIMIT}: ${MAX_SEARCH_LIMIT}.`,
        examples: [DEFAULT_SEARCH_LIMIT],
      }),
    ),
    properties,
  },
  { title: 'SearchPageRequest' },
);
export type SearchPage = Type.Static<typeof SearchPage>;

export const SubjectSearchBody = Type.Object(
  {
    subject: Type.Object({ type: AuthzenSubject.properties.type, properties }),
    action: AuthzenAction,
    resource: AuthzenResource,
    context: optionalContext,
    page: Type.Optional(SearchPage),
  },
  { title: 'SubjectSearch', description: '`subject.id` is ignored.' },
);
export type SubjectSearchBody = Type.Static<typeof SubjectSearchBody>;

export const ActionSearchBody = Type.Object(
  {
    subject: AuthzenSubject,
    resource: AuthzenResource,
    context: optionalContext,
    page: Type.Optional(SearchPage),
  },
  { title: 'ActionSearch' },
);
export type ActionSearchBody = Type.Static<typeof ActionSearchBody>;

const searchAnswerOf = <T extends TSchema>(result: T, title: string) =>
  Type.Object(
    {
      page: Type.Object({
        next_token: Type.String({
          description: 'Empty at the end. Until then a page may have fewer results than the limit, or none.',
        }),
        count: Type.Integer({ description: 'Results of this page.' }),
        total: Type.Optional(
          Type.Integer({
            description:
              'Results of all pages at the time of the first. Left out if counting would take long.',
          }),
        ),
      }),
      results: Type.Array(result),
    },
    { title },
  );

export const SubjectSearchAnswer = searchAnswerOf(
  Type.Object({ type: Type.String(), id: Type.String() }, { title: 'FoundSubject' }),
  'SubjectSearchResult',
);
export type SubjectSearchAnswer = Type.Static<typeof SubjectSearchAnswer>;
export const ActionSearchAnswer = searchAnswerOf(
  Type.Object({ name: Type.String() }, { title: 'FoundAction' }),
  'ActionSearchResult',
);
export type ActionSearchAnswer = Type.Static<typeof ActionSearchAnswer>;

const Endpoint = Type.String({ format: 'uri' });
export const AuthzenConfiguration = Type.Object(
  {
    policy_decision_point: Endpoint,
    access_evaluation_endpoint: Endpoint,
    access_evaluations_endpoint: Endpoint,
    search_subject_endpoint: Endpoint,
    search_action_endpoint: Endpoint,
  },
  { title: 'AuthzenConfiguration' },
);
export type AuthzenConfiguration = Type.Static<typeof AuthzenConfiguration>;
