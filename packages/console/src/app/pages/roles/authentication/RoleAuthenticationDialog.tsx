// Sets how the holders of a role must sign in, and from when on.
import type { Role, SetRoleAuthentication } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { formatMoment } from '../../../../common/format.ts';
import { LevelChoice } from '../../../components/authentication/LevelChoice.tsx';
import { RequirementDialog } from '../../../components/authentication/RequirementDialog.tsx';
import { DateTimeInput } from '../../../components/forms/DateTimeInput.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { call, callPreview, reading, useWrite } from '../../../data/api.ts';
import type { FullRole } from '../../../data/catalogue.ts';
import { useCan } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';

/** The grace that the service gives by default. */
const GRACE_MS = 14 * 86_400_000;

/** To the minute, as people choose it. */
const inGrace = (): string => new Date(new Date(Date.now() + GRACE_MS).setSeconds(0, 0)).toISOString();

const levels = ['none', 'aal2', 'phr'] as const;
type Level = (typeof levels)[number];

type Stored = Role['authentication'];

/** Returns null while the choice is what is stored, or incomplete. */
function bodyOf(stored: Stored, level: Level, from: string | undefined): SetRoleAuthentication | null {
  if (level === 'none') return stored ? { required_acr: null } : null;
  if (from === undefined) return null;
  const isStored = level === stored?.required_acr && from === stored.enforced_from;
  return isStored ? null : { required_acr: level, enforced_from: from };
}

function textOf(stored: Stored): string {
  const texts = t.authentication.role;
  if (!stored) return texts.levels.none;
  const { required_acr, enforced_from } = stored;
  return [texts.levels[required_acr], ...(enforced_from ? [formatMoment(enforced_from)] : [])].join(', ');
}

export function RoleAuthenticationDialog({
  role,
  onClose,
}: {
  role: FullRole;
  onClose: () => void;
}): ReactElement {
  const texts = later.requirements;
  const labels = t.authentication.role;
  const stored = role.authentication;
  const [seen] = useState(() => textOf(stored));
  const [level, setLevel] = useState<Level>(stored?.required_acr ?? 'none');
  const [from, setFrom] = useState<string | undefined>(() => stored?.enforced_from ?? inGrace());
  const body = bodyOf(stored, level, from);
  const change = { path: { role_id: role.id }, body: body ?? { required_acr: null } };
  const write = useWrite<void, unknown>(
    () =>
      call('PUT /api/v1/roles/{role_id}/authentication', {
        ...change,
        headers: { 'if-match': `"${role.version}"` },
      }),
    () => {
      onClose();
      notifyDone(texts.saved(role.name));
    },
  );
  const isLater = from !== undefined && Date.parse(from) > Date.now();
  const now = textOf(stored);
  return (
    <RequirementDialog
      title={texts.roleTitle(role.name)}
      body={body}
      ask={(signal) =>
        callPreview('PUT /api/v1/roles/{role_id}/authentication', {
          ...change,
          query: { dry_run: true },
          signal,
        })
      }
      write={write}
      isLifted={level === 'none'}
      unmet={isLater ? texts.impact.roleFrom(formatMoment(from)) : texts.impact.roleNow}
      changed={seen === now ? [] : [{ label: labels.title, seen, stored: now }]}
      onClose={onClose}
    >
      <LevelChoice
        label={labels.title}
        levels={levels.map((value) => ({
          value,
          label: labels.levels[value],
          help: texts.roleHelp[value],
        }))}
        value={level}
        onChange={setLevel}
      />
      {level !== 'none' && (
        <DateTimeInput
          label={texts.from}
          description={texts.fromHelp}
          required
          value={from}
          onChange={setFrom}
        />
      )}
      <OfSettings />
    </RequirementDialog>
  );
}

/** What the settings require besides. */
function OfSettings(): ReactElement {
  const isAllowed = useCan('authentication.read');
  const read = useQuery({
    ...reading('GET /api/v1/authentication/requirements', {}),
    enabled: isAllowed,
  });
  const requiredFor = read.data?.data.settings.required_for ?? 'nobody';
  if (requiredFor === 'nobody') return <ReadErrors of={[read]} />;
  return <p className="note note-accent">{later.requirements.settings[requiredFor]}</p>;
}
