// What a decision is about: the types of subjects, the reasons of a decision, the notices about a subject.
// It must not depend on a single operation: evaluations, searches and explanations share it.

/** Everybody that a decision can be about. A role stands for somebody who has this role and no other. */
export const subjectTypes = ['user', 'service_account', 'role'] as const;
export type SubjectType = (typeof subjectTypes)[number];

/**
 * Every reason of a decision. Where several hold, the first one in this order is told. `step_up_required` takes the place
 * of `superuser` and `granted`: the subject holds the permission and has not proved what it asks for.
 */
export const decisionReasons = [
  'unknown_subject',
  'unknown_permission',
  'inactive',
  'step_up_required',
  'superuser',
  'granted',
  'not_granted',
] as const;
export type DecisionReason = (typeof decisionReasons)[number];

/** What does not change a decision, but what a reader of it should know. Only users have notices. */
export const subjectNotices = ['locked', 'unverified'] as const;
export type SubjectNotice = (typeof subjectNotices)[number];
