// The profile of a user: names, email, account, and the acts on the account.
import type { UpdateUser, User } from '@castellan/sdk';
import { Switch, TextInput } from '@mantine/core';
import {
  IconEraser,
  IconKey,
  IconLockOpen,
  IconMail,
  IconShieldUp,
  IconTrash,
  IconUserCheck,
  IconUserShare,
} from '@tabler/icons-react';
import { type ReactElement, useState } from 'react';
import { FieldConflict } from '../../../components/forms/FieldConflict.tsx';
import { Form, fieldError, LeaveGuard } from '../../../components/forms/forms.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import type { Status } from '../../../components/text/badges.tsx';
import { Moment } from '../../../components/text/time.tsx';
import { useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import type { UserField } from '../../../data/form-fields.ts';
import { useMe } from '../../../data/me.tsx';
import { t } from '../../../text.ts';
import { ActionButton } from '../ActionButton.tsx';
import { changeUser } from '../data.ts';
import type { Act } from '../dialogs/ActDialog.tsx';
import { PasswordDialog } from '../dialogs/PasswordDialog.tsx';
import type { UserRules } from '../rules.ts';

/** As people type it: without an external id, the text is empty. */
type Editable = Pick<User, Exclude<UserField, 'external_id'>> & { external_id: string };

const editableOf = (user: User): Editable => ({
  first_name: user.first_name,
  last_name: user.last_name,
  email: user.email,
  external_id: user.external_id ?? '',
  verified: user.verified,
  must_change_password: user.must_change_password,
});

const texts = ['first_name', 'last_name', 'email', 'external_id'] as const;
const switches = ['verified', 'must_change_password'] as const;

/** Returns what differs, which is all that is sent. */
function changesOf(from: Editable, to: Editable): UpdateUser {
  const changed = (Object.keys(from) as (keyof Editable)[]).filter((key) => from[key] !== to[key]);
  return Object.fromEntries(
    changed.map((key) => [key, key === 'external_id' ? to[key].trim() || null : to[key]]),
  );
}

type Props = {
  user: User;
  etag: string | null;
  status: Status;
  rules: UserRules;
  onAct: (act: Act) => void;
};

export function ProfileTab({ user, etag, status, rules, onAct }: Props): ReactElement {
  return (
    <>
      <EditForm user={user} etag={etag} rules={rules} />
      <section className="pane-section" aria-labelledby="user-account">
        <h3 id="user-account" className="section-title">
          {t.users.profile.account}
        </h3>
        {user.deletion_due_at !== null && <p className="muted">{t.users.leaving}</p>}
        <AccountActs user={user} status={status} rules={rules} onAct={onAct} />
        <dl className="facts">
          {user.deletion_due_at !== null && (
            <div>
              <dt>{t.users.leaves}</dt>
              <dd>
                <Moment at={user.deletion_due_at} />
              </dd>
            </div>
          )}
          <div>
            <dt>{t.users.columns.created}</dt>
            <dd>
              <Moment at={user.created_at} />
            </dd>
          </div>
          <div>
            <dt>{t.users.profile.updated}</dt>
            <dd>
              <Moment at={user.updated_at} />
            </dd>
          </div>
          <div>
            <dt>{t.users.profile.id}</dt>
            <dd className="mono">{user.id}</dd>
          </div>
        </dl>
      </section>
    </>
  );
}

type EditProps = Pick<Props, 'user' | 'etag' | 'rules'>;

function EditForm({ user, etag, rules }: EditProps): ReactElement {
  const reason = rules.edit;
  const switchReason = { verified: rules.unverify, must_change_password: reason };
  // What the form began with: others may change the record while the person types, which must not change what is typed.
  const [base, setBase] = useState({ values: editableOf(user), etag });
  const [values, setValues] = useState(base.values);
  const [sent, setSent] = useState<string | null>(null);
  const body = changesOf(base.values, values);
  const isDirty = Object.keys(body).length > 0;
  const write = useWrite(
    (sent: { body: UpdateUser; version: string | null }) => changeUser(user.id, sent.body, sent.version),
    ({ result: { data } }) => {
      setBase({ values: editableOf(data), etag: null });
      setValues(editableOf(data));
      notifyDone(t.users.profile.saved);
    },
  );
  // Nothing typed: the form follows the record.
  if (!isDirty && etag !== null && base.etag !== etag) {
    setBase({ values: editableOf(user), etag });
    setValues(editableOf(user));
  }
  const set = (change: Partial<Editable>): void => setValues({ ...values, ...change });
  const save = (changes: UpdateUser, version: string | null): void => {
    setSent(version);
    write.run({ body: changes, version });
  };
  const isOutdated = isCode(write.error, 'precondition_failed');
  // Once nothing is typed, the form follows the record, and the refusal is settled.
  const isRefused = isOutdated && base.etag === sent;
  // Until the record has been read again, `user` is what the form began with, and not what is stored.
  const isConflict = isDirty && isRefused && etag !== base.etag;
  const saveResolved = (resolved: Editable): void => {
    const stored = editableOf(user);
    const changes = changesOf(stored, resolved);
    setBase({ values: stored, etag });
    setValues(resolved);
    if (Object.keys(changes).length > 0) save(changes, etag);
    else write.reset();
  };
  return (
    <>
      <Form
        onSubmit={() => save(body, base.etag)}
        isPending={write.isPending}
        error={isConflict || !isDirty || (isOutdated && !isRefused) ? null : write.error}
        fields={[...texts, ...switches]}
        submitLabel={t.common.actions.save}
        isDisabled={!isDirty || reason !== null}
      >
        <LeaveGuard when={isDirty} of={['user', 'tab']} />
        {reason && <p className="muted">{reason}</p>}
        <div className="two-fields">
          {texts.map((name) => (
            <TextInput
              key={name}
              label={t.users.fields[name]}
              description={name === 'external_id' ? t.users.fieldHelp.external_id : null}
              className={name === 'email' || name === 'external_id' ? 'wide-field' : ''}
              type={name === 'email' ? 'email' : 'text'}
              autoComplete="off"
              value={values[name]}
              readOnly={reason !== null}
              error={fieldError(write.error, name)}
              onChange={(event) => set({ [name]: event.currentTarget.value })}
            />
          ))}
        </div>
        {switches.map((name) => (
          <Switch
            key={name}
            label={t.users.fields[name]}
            description={switchReason[name] ?? t.users.fieldHelp[name]}
            checked={values[name]}
            // Unlike a disabled one, it is reached by keyboard, with the reason.
            aria-disabled={switchReason[name] !== null}
            data-disabled={switchReason[name] !== null || undefined}
            onChange={(event) => {
              if (switchReason[name] === null) set({ [name]: event.currentTarget.checked });
            }}
          />
        ))}
      </Form>
      {isConflict && (
        <FieldConflict
          versions={{ base: base.values, mine: values, theirs: editableOf(user) }}
          fields={[...texts, ...switches].map((name) => ({ name, label: t.users.fields[name] }))}
          onClose={write.reset}
          onSave={saveResolved}
        />
      )}
    </>
  );
}

function AccountActs({ user, status, rules, onAct }: Omit<Props, 'etag'>): ReactElement {
  const { can } = useMe();
  const [isPasswordOpen, setPasswordOpen] = useState(false);
  const icon = { size: 16, 'aria-hidden': true };
  return (
    <div className="account-acts">
      {can('users.act_as') && (
        <ActionButton reason={rules.actAs} icon={<IconUserShare {...icon} />} onClick={() => onAct('actAs')}>
          {t.users.acts.actAs}
        </ActionButton>
      )}
      {status === 'locked' && (
        <ActionButton reason={rules.edit} icon={<IconLockOpen {...icon} />} onClick={() => onAct('unlock')}>
          {t.users.acts.unlock}
        </ActionButton>
      )}
      {!user.verified && user.invited_at === null && (
        <ActionButton
          reason={rules.edit ?? (user.is_active ? null : t.users.rules.inactive)}
          icon={<IconMail {...icon} />}
          onClick={() => onAct('resend')}
        >
          {t.users.acts.resend}
        </ActionButton>
      )}
      <ActionButton
        reason={rules.password}
        icon={<IconKey {...icon} />}
        onClick={() => setPasswordOpen(true)}
      >
        {t.users.acts.password}
      </ActionButton>
      <ActionButton
        reason={rules.demote}
        icon={<IconShieldUp {...icon} />}
        onClick={() => onAct(user.is_superuser ? 'demote' : 'promote')}
      >
        {user.is_superuser ? t.users.acts.demote : t.users.acts.promote}
      </ActionButton>
      <ActionButton
        reason={rules.deactivate}
        icon={<IconUserCheck {...icon} />}
        isDangerous={user.is_active}
        onClick={() => onAct(user.is_active ? 'deactivate' : 'activate')}
      >
        {user.is_active ? t.users.acts.deactivate : t.users.acts.activate}
      </ActionButton>
      {user.invited_at === null && (
        <ActionButton
          reason={rules.remove}
          icon={<IconTrash {...icon} />}
          isDangerous
          onClick={() => onAct('remove')}
        >
          {t.common.actions.delete}
        </ActionButton>
      )}
      {can('users.delete') && (
        <ActionButton
          reason={rules.erase}
          icon={<IconEraser {...icon} />}
          isDangerous
          onClick={() => onAct('erase')}
        >
          {t.users.acts.erase}
        </ActionButton>
      )}
      {isPasswordOpen && <PasswordDialog user={user} onClose={() => setPasswordOpen(false)} />}
    </div>
  );
}
