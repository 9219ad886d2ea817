// The page New user: a form with roles, what they permit, and a first password.
import type { User } from '@castellan/sdk';
import { Anchor, Button, Group, TextInput } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useEffect, useRef, useState } from 'react';
import { addressOf } from '../../../common/page-settings.ts';
import { attributePath, useNewAttributes } from '../../components/attributes/new-attributes.ts';
import { Form, fieldError, LeaveGuard } from '../../components/forms/forms.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { RolePicker } from '../../components/roles/RolePicker.tsx';
import { call, reading, useWrite } from '../../data/api.ts';
import { readableListPath } from '../../data/early-reads.ts';
import { isCode } from '../../data/errors.ts';
import type { NewUserField } from '../../data/form-fields.ts';
import { nameOf, useCan, useMe } from '../../data/me.tsx';
import { t, withLaterTexts } from '../../text.ts';
import { useListPath } from './data.ts';
import {
  generatedChoice,
  type PasswordChoice,
  PasswordFields,
  SecretField,
} from './dialogs/PasswordFields.tsx';
import './users.css';

const NewAttributes = lazy(() =>
  withLaterTexts(import('../../components/attributes/NewAttributes.tsx')).then((file) => ({
    default: file.NewAttributes,
  })),
);

const texts = ['email', 'first_name', 'last_name', 'external_id'] as const;
const nothing = { email: '', first_name: '', last_name: '', external_id: '' };

export function NewUser(): ReactElement {
  const [created, setCreated] = useState<{ user: User; choice: PasswordChoice } | null>(null);
  return (
    <>
      <PageHeader title={t.users.new.title} />
      {created ? (
        <Created user={created.user} choice={created.choice} onNext={() => setCreated(null)} />
      ) : (
        <NewUserForm onCreated={(user, choice) => setCreated({ user, choice })} />
      )}
    </>
  );
}

type FormProps = { onCreated: (user: User, choice: PasswordChoice) => void };

function NewUserForm({ onCreated }: FormProps): ReactElement {
  const { can } = useMe();
  const mayList = readableListPath(can) !== undefined;
  const [values, setValues] = useState(nothing);
  const [roles, setRoles] = useState<string[]>([]);
  const [choice, setChoice] = useState(generatedChoice);
  const attributes = useNewAttributes();
  const [sent, setSent] = useState<{ email: string; password: string } | null>(null);
  const write = useWrite(
    () =>
      call('POST /api/v1/users', {
        body: {
          ...values,
          external_id: values.external_id.trim() || null,
          attributes: attributes.values,
          password: choice.password,
          must_change_password: choice.mustChange,
          ...(roles.length > 0 ? { role_id: roles } : {}),
        } satisfies Record<NewUserField, unknown>,
      }),
    ({ data }) => onCreated(data, choice),
  );
  const wasTaken = isCode(write.error, 'email_taken');
  const isTaken = wasTaken && sent?.email === values.email;
  const isDirty = Object.values(values).some(Boolean) || roles.length > 0 || attributes.isDirty;
  const errorAt = (name: (typeof texts)[number]): string | null => {
    if (name === 'email' && wasTaken) return isTaken ? t.users.new.taken : null;
    return fieldError(write.error, name);
  };
  return (
    <div className="new-user">
      <LeaveGuard when={isDirty && !write.isPending} />
      <div className="panel">
        <Form
          onSubmit={() => {
            if (!attributes.check()) return;
            setSent({ email: values.email, password: choice.password });
            write.run(undefined);
          }}
          isPending={write.isPending}
          error={write.error}
          fields={[
            ...texts,
            'role_id',
            'password',
            ...attributes.attributes.map(({ name }) => attributePath(name)),
          ]}
          submitLabel={t.users.create}
          isDisabled={
            values.email.trim() === '' ||
            values.first_name.trim() === '' ||
            choice.password === '' ||
            !attributes.isComplete
          }
        >
          <div className="two-fields">
            {texts.map((name) => (
              <TextInput
                key={name}
                label={t.users.fields[name]}
                description={name === 'external_id' ? t.users.fieldHelp.external_id : null}
                className={name === 'email' || name === 'external_id' ? 'wide-field' : ''}
                type={name === 'email' ? 'email' : 'text'}
                required={name === 'email' || name === 'first_name'}
                autoComplete="off"
                value={values[name]}
                error={errorAt(name)}
                onChange={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
              />
            ))}
          </div>
          {isTaken && mayList && <Existing email={values.email} />}
          <RolePicker
            label={t.users.columns.roles}
            description={t.users.new.rolesHelp}
            value={roles}
            onChange={setRoles}
            error={fieldError(write.error, 'role_id')}
          />
          <fieldset className="plain-fieldset">
            <legend>{t.users.password.label}</legend>
            <PasswordFields
              choice={choice}
              onChange={setChoice}
              error={write.error}
              sent={sent?.password ?? null}
            />
          </fieldset>
          <Suspense>
            <NewAttributes state={attributes} error={write.error} />
          </Suspense>
        </Form>
      </div>
      <ResultingPermissions roleIds={roles} />
    </div>
  );
}

/** Leads to the account that already has the email. */
function Existing({ email }: { email: string }): ReactElement | null {
  const found = useQuery(reading(`GET ${useListPath()}`, { query: { email: email.trim(), size: 1 } }));
  const user = found.data?.data.items[0];
  if (!user) return <ReadErrors of={[found]} />;
  return (
    <Anchor renderRoot={(props) => <Link to="/users" search={{ user: user.id }} {...props} />}>
      {t.users.new.openExisting(nameOf(user))}
    </Anchor>
  );
}

function ResultingPermissions({ roleIds }: { roleIds: readonly string[] }): ReactElement {
  const mayRead = useCan('role.read');
  const roles = useQueries({
    queries: roleIds.map((id) => ({
      ...reading('GET /api/v1/roles/{role_id}', { path: { role_id: id } }),
      enabled: mayRead,
    })),
  });
  const granted = new Map<string, string[]>();
  for (const role of roles.flatMap(({ data }) => data?.data ?? []))
    for (const { name } of role.permissions) granted.set(name, [...(granted.get(name) ?? []), role.name]);
  const names = [...granted].sort(([one], [other]) => one.localeCompare(other));
  return (
    <aside className="panel" aria-labelledby="resulting">
      <h2 id="resulting" className="section-title">
        {roles.some(({ error }) => error)
          ? t.users.new.permissionsUnknown
          : t.users.new.permissions(names.length)}
      </h2>
      <ReadErrors of={roles} />
      {roleIds.length === 0 && <p className="muted">{t.users.new.noPermissions}</p>}
      {names.length > 0 && (
        <ul className="permission-list">
          {names.map(([name, roles]) => (
            <li key={name}>
              <span className="mono">{name}</span>
              <span className="row-note">{t.users.new.via(roles.join(', '))}</span>
            </li>
          ))}
        </ul>
      )}
    </aside>
  );
}

type CreatedProps = { user: User; choice: PasswordChoice; onNext: () => void };

/** Takes the focus, as the form that had it is gone, and tells what the person needs to sign in. */
function Created({ user, choice, onNext }: CreatedProps): ReactElement {
  const { can } = useMe();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className="panel created" aria-labelledby="created">
      <h2 id="created" className="section-title" ref={heading} tabIndex={-1}>
        {t.users.new.created(nameOf(user))}
      </h2>
      <p>
        {t.users.new.passOn} {choice.mustChange ? t.users.new.mustChange : t.users.new.mayKeep}
      </p>
      <dl className="sign-in-facts">
        <dt>{t.users.new.signInAt}</dt>
        <dd>{`${location.origin}${addressOf('/login')}`}</dd>
        <dt>{t.users.fields.email}</dt>
        <dd>{user.email}</dd>
      </dl>
      {choice.mode === 'generated' && (
        <SecretField label={t.users.password.label} value={choice.password} note={t.users.password.once} />
      )}
      <Group gap="xs">
        {readableListPath(can) && (
          <Button renderRoot={(props) => <Link to="/users" search={{ user: user.id }} {...props} />}>
            {t.users.new.open}
          </Button>
        )}
        <Button variant="default" onClick={onNext}>
          {t.users.new.another}
        </Button>
      </Group>
    </section>
  );
}
