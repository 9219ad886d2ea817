// Invites people: addresses, pasted one a line, and for all of them roles, required attributes and how long their links work; then
// what became of each row.
import type { RefusedInvitation, UserAttribute } from '@castellan/sdk';
import { Button, Group, Modal, NativeSelect, Stack, Textarea } from '@mantine/core';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { useNewAttributes } from '../../../components/attributes/new-attributes.ts';
import { Form, fieldError, LeaveGuard } from '../../../components/forms/forms.tsx';
import { RolePicker } from '../../../components/roles/RolePicker.tsx';
import { call, useWrite } from '../../../data/api.ts';
import { messageOfCode, textOfField } from '../../../data/errors.ts';
import { later, t } from '../../../text.ts';
import { type InvitedRow, MAX_INVITED, readAddresses } from './addresses.ts';
import { InviteAttributes } from './InviteAttributes.tsx';
import { areComplete, leftLines, splitValues } from './row-values.ts';

/** `refusal`: null for a row that was invited. */
type Judged = { row: InvitedRow; refusal: string | null };

/** How long a link can work; the service takes any number of hours up to the last. */
const lifetimeDays = [1, 3, 7, 14, 30];
const HOURS_A_DAY = 24;

export function InviteDialog({ onClose }: { onClose: () => void }): ReactElement {
  const [text, setText] = useState('');
  const [roles, setRoles] = useState<string[]>([]);
  // Empty: as the service sets it.
  const [days, setDays] = useState('');
  const [judged, setJudged] = useState<readonly Judged[] | null>(null);
  const rows = readAddresses(text);
  const attributes = useNewAttributes();
  const required = attributes.attributes.filter((one) => one.required);
  const write = useWrite(
    (sent: readonly InvitedRow[]) =>
      call('POST /api/v1/users/invitations/bulk', {
        body: {
          invitations: sent.map(({ line: _line, text: _text, ...row }, index) => ({
            ...row,
            attributes: splitValues(required, attributes.texts, { index, of: sent.length }),
            ...(roles.length > 0 ? { role_id: roles } : {}),
            ...(days === '' ? {} : { expires_in_hours: Number(days) * HOURS_A_DAY }),
          })),
        },
      }),
    ({ data }, sent) => {
      const refusals = new Map(data.refused.map((one) => [one.index, reasonOf(one, required)]));
      setJudged(sent.map((row, index) => ({ row, refusal: refusals.get(index) ?? null })));
    },
  );
  const tooMany = rows.length > MAX_INVITED ? later.userInvite.tooMany(rows.length) : null;
  return (
    <Modal
      opened
      onClose={onClose}
      title={later.userInvite.title}
      size="lg"
      // What was pasted must not be lost by a slip.
      closeOnClickOutside={rows.length === 0 || judged !== null}
      closeOnEscape={rows.length === 0 || judged !== null}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      {judged ? (
        <Verdicts
          judged={judged}
          onRetry={(left) => {
            setText(left.map((row) => row.text).join('\n'));
            attributes.setTexts(
              leftLines(required, attributes.texts, { rows: judged.map(({ row }) => row), left }),
            );
            setJudged(null);
          }}
          onClose={onClose}
        />
      ) : (
        <Form
          onSubmit={() => {
            if (attributes.check()) write.run(rows);
          }}
          isPending={write.isPending}
          error={write.error}
          fields={[]}
          submitLabel={later.userInvite.submit(rows.length)}
          isDisabled={
            rows.length === 0 || tooMany !== null || !areComplete(required, attributes.texts, rows.length)
          }
          onCancel={onClose}
        >
          <LeaveGuard when={rows.length > 0 && !write.isPending} />
          <p className="muted">{later.userInvite.text}</p>
          <Textarea
            label={later.userInvite.addresses}
            description={later.userInvite.addressesHelp}
            placeholder={'ada@example.com\nGrace Hopper <grace@example.com>'}
            autosize
            minRows={5}
            maxRows={14}
            data-autofocus
            spellCheck={false}
            value={text}
            error={tooMany}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <RolePicker
            label={t.users.columns.roles}
            description={t.users.new.rolesHelp}
            value={roles}
            onChange={setRoles}
            error={fieldError(write.error, 'role_id')}
          />
          <InviteAttributes state={attributes} attributes={required} people={rows.length} />
          <NativeSelect
            label={later.userInvite.lifetime}
            value={days}
            onChange={(event) => setDays(event.currentTarget.value)}
            data={[
              { value: '', label: later.userInvite.lifetimeOfService },
              ...lifetimeDays.map((count) => ({
                value: String(count),
                label: later.userInvite.days(count),
              })),
            ]}
          />
        </Form>
      )}
    </Modal>
  );
}

/** Says which attributes are refused, and why; another refusal by its code. */
function reasonOf(
  { code, detail, errors = [] }: RefusedInvitation,
  attributes: readonly UserAttribute[],
): string {
  const ofAttributes = errors.flatMap(({ field, ...error }) => {
    const [, name] = /^invitations\.\d+\.attributes\.(.+)$/.exec(field) ?? [];
    const label = attributes.find((one) => one.name === name)?.label ?? name;
    return label === undefined ? [] : [`${label}: ${textOfField(error)}`];
  });
  return ofAttributes.length > 0 ? ofAttributes.join('; ') : (messageOfCode(code) ?? detail);
}

type VerdictsProps = {
  judged: readonly Judged[];
  onRetry: (refused: readonly InvitedRow[]) => void;
  onClose: () => void;
};

/** Takes the focus, as the form that had it is gone. */
function Verdicts({ judged, onRetry, onClose }: VerdictsProps): ReactElement {
  const summary = useRef<HTMLParagraphElement>(null);
  useEffect(() => summary.current?.focus(), []);
  const refused = judged.filter(({ refusal }) => refusal !== null);
  return (
    <Stack gap="sm">
      <p role="status" tabIndex={-1} ref={summary}>
        {later.userInvite.result(judged.length - refused.length, refused.length)}
      </p>
      <ul className="invite-verdicts" aria-label={later.userInvite.verdicts}>
        {judged.map(({ row, refusal }) => (
          <li key={row.line}>
            <span className={`badge badge-${refusal === null ? 'active' : 'locked'}`}>
              {refusal === null ? later.userInvite.invited : later.userInvite.refused}
            </span>{' '}
            <span>{row.email}</span>
            {refusal !== null && <span className="row-note">{refusal}</span>}
          </li>
        ))}
      </ul>
      <Group justify="flex-end" gap="xs">
        {refused.length > 0 && (
          <Button variant="default" onClick={() => onRetry(refused.map(({ row }) => row))}>
            {later.userInvite.retry}
          </Button>
        )}
        <Button onClick={onClose}>{t.common.actions.close}</Button>
      </Group>
    </Stack>
  );
}
