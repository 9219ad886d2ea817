// Sets what a call that uses a permission must have proved, and how lately.
import type { Permission, SetPermissionAuthentication } from '@castellan/sdk';
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { agesWith, ageText } from '../../../components/authentication/ages.ts';
import { LevelChoice } from '../../../components/authentication/LevelChoice.tsx';
import { RequirementDialog } from '../../../components/authentication/RequirementDialog.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { call, callPreview, readingVersioned, useWrite } from '../../../data/api.ts';
import { later, t } from '../../../text.ts';

const levels = ['none', 'aal1', 'aal2', 'phr'] as const;
type Level = (typeof levels)[number];

type Stored = Permission['authentication'];

/** Of a permission that requires nothing, whose record has no ETag. */
const NOTHING = '"0"';

/** Returns null while the choice is what is stored. */
function bodyOf(stored: Stored, level: Level, age: number | null): SetPermissionAuthentication | null {
  if (level === 'none') return stored ? { required_acr: null, max_auth_age: null } : null;
  const isStored = level === stored?.required_acr && age === stored.max_auth_age;
  return isStored ? null : { required_acr: level, max_auth_age: age };
}

function textOf(stored: Stored): string {
  const texts = t.authentication.permission;
  if (!stored) return texts.levels.none;
  const { required_acr, max_auth_age } = stored;
  return `${texts.levels[required_acr]}, ${max_auth_age === null ? texts.anyAge : ageText(max_auth_age)}`;
}

type Props = { permission: Permission; onClose: () => void };

export function PermissionAuthenticationDialog({ permission, onClose }: Props): ReactElement {
  const texts = later.requirements;
  const labels = t.authentication.permission;
  const path = { permission_id: permission.id };
  const read = useQuery(readingVersioned('GET /api/v1/permissions/{permission_id}', { path }));
  const stored = (read.data?.result.data ?? permission).authentication;
  const [seen] = useState(permission.authentication);
  const [level, setLevel] = useState<Level>(seen?.required_acr ?? 'none');
  const [age, setAge] = useState(seen?.max_auth_age ?? null);
  const body = bodyOf(stored, level, age);
  const change = { path, body: body ?? { required_acr: null, max_auth_age: null } };
  const write = useWrite<void, unknown>(
    () =>
      call('PUT /api/v1/permissions/{permission_id}/authentication', {
        ...change,
        headers: { 'if-match': read.data?.etag ?? NOTHING },
      }),
    () => {
      onClose();
      notifyDone(texts.saved(permission.name));
    },
  );
  const [before, now] = [textOf(seen), textOf(stored)];
  return (
    <RequirementDialog
      title={texts.permissionTitle(permission.name)}
      body={read.data ? body : null}
      ask={(signal) =>
        callPreview('PUT /api/v1/permissions/{permission_id}/authentication', {
          ...change,
          query: { dry_run: true },
          signal,
        })
      }
      write={write}
      isLifted={level === 'none'}
      unmet={texts.impact.permission}
      changed={before === now ? [] : [{ label: labels.title, seen: before, stored: now }]}
      onClose={onClose}
    >
      <ReadErrors of={[read]} />
      <LevelChoice
        label={labels.asksFor}
        levels={levels.map((value) => ({
          value,
          label: labels.levels[value],
          help: texts.permissionHelp[value],
        }))}
        value={level}
        onChange={setLevel}
      />
      {level !== 'none' && (
        <NativeSelect
          label={labels.age}
          value={age ?? ''}
          onChange={({ currentTarget: { value } }) => setAge(value === '' ? null : Number(value))}
          data={[
            { value: '', label: labels.anyAge },
            ...agesWith(seen?.max_auth_age ?? null).map((one) => ({ value: `${one}`, label: ageText(one) })),
          ]}
        />
      )}
      <p className="muted">{texts.accounts}</p>
    </RequirementDialog>
  );
}
