// The rules for a new password, each marked while the password is typed.
import type { PasswordRule } from '@castellan/sdk';
import type { ReactElement } from 'react';
import type { passwordTexts } from './messages/en/password.ts';
import type { Widened } from './messages/type.ts';
import { type RuleState, stateOf } from './password-rules.ts';
import './password-checklist.css';

type Props = {
  id: string;
  rules: readonly PasswordRule[];
  password: string;
  /** The sentences with which the service refused this very password. */
  refused?: readonly string[];
  texts: Widened<typeof passwordTexts>;
};

const marks: Readonly<Record<RuleState, string>> = { met: '✓', open: '○', broken: '✕', later: '·' };

/** Name it in the field's `aria-describedby`. Shows nothing until the rules are known. */
export function PasswordChecklist({ id, rules, password, refused = [], texts }: Props): ReactElement | null {
  const shown = rules
    .map((rule) => ({ rule, state: stateOf(rule, password, refused) }))
    // The upper limit is of interest only to those who exceed it.
    .filter(({ rule, state }) => rule.code !== 'too_long' || (state !== 'met' && password !== ''));
  if (shown.length === 0) return null;
  return (
    <div id={id} className="checklist">
      <ul aria-label={texts.rules}>
        {shown.map(({ rule, state }) => (
          <li key={rule.code} data-state={state}>
            <span aria-hidden="true">{marks[state]}</span>
            <span>
              {texts.item(rule)} <span className="visually-hidden">({texts[state]})</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
