// What is required of the sign-ins of a user, since or from when, and whether their factors reach it.
import type { AccountRequirement } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { formatDay } from '../../../../common/format.ts';
import { later } from '../../../text.ts';

export function RequirementNote({ requirement }: { requirement: AccountRequirement }): ReactElement {
  const texts = later.userSecurity;
  const { met } = requirement;
  const isInForce = isPast(requirement.enforced_from);
  const missing = isInForce ? texts.missing : texts.missingYet;
  return (
    <p className={met ? 'muted' : 'note note-warn'}>
      {requirementText(requirement, isInForce)} {met ? texts.met : missing}
    </p>
  );
}

const isPast = (from: string | null): boolean => from === null || new Date(from) <= new Date();

function requirementText({ required_acr, enforced_from }: AccountRequirement, isInForce: boolean): string {
  const texts = later.userSecurity;
  const level = texts.levels[required_acr];
  if (enforced_from === null) return texts.required(level);
  return (isInForce ? texts.requiredSince : texts.requiredFrom)(level, formatDay(enforced_from));
}
