// One's own names and email. Roles are shown with the reason why they cannot be changed here.
import type { UpdateMe, User } from '@castellan/sdk';
import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { formatDay } from '../../../common/format.ts';
import { FieldConflict } from '../../components/forms/FieldConflict.tsx';
import { Form, fieldError, LeaveGuard } from '../../components/forms/forms.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { ErrorAlert } from '../../components/page/states.tsx';
import { callVersioned, readingVersioned, useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { useMe } from '../../data/me.tsx';
import { t, withLaterTexts } from '../../text.ts';

const ChangeEmail = lazy(() =>
  withLaterTexts(import('./ChangeEmail.tsx')).then((file) => ({ default: file.ChangeEmail })),
);

type Names = Pick<User, keyof UpdateMe>;

const namesOf = ({ first_name, last_name }: Names): Names => ({ first_name, last_name });

export function Profile(): ReactElement {
  const { user } = useMe();
  const query = useQuery(readingVersioned('GET /api/v1/users/me', { query: { permissions: 'builtin' } }));
  if (query.error && !query.data)
    return <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />;
  // The record with its version is under way. What is known of it has the same height.
  const isWaiting = !query.data;
  return (
    <div className="account-profile" inert={isWaiting} aria-busy={isWaiting}>
      <ProfileForm user={query.data?.result.data ?? user} etag={query.data?.etag ?? null} />
    </div>
  );
}

function ProfileForm({ user, etag }: { user: User; etag: string | null }): ReactElement {
  const me = useMe();
  const texts = t.account.profile;
  // What is typed and the version that it began with. Null: nothing is typed, the record shows.
  const [draft, setDraft] = useState<{ names: Names; base: Names; etag: string | null } | null>(null);
  const names = draft?.names ?? namesOf(user);
  const [isChanging, setChanging] = useState(false);
  const write = useWrite(
    async ({ body, version }: { body: Names; version: string | null }) =>
      callVersioned('PUT /api/v1/users/me', { body, headers: version ? { 'if-match': version } : {} }),
    () => {
      setDraft(null);
      notifyDone(texts.saved);
      void me.reload();
    },
  );
  const change = (part: Partial<Names>): void =>
    setDraft({
      names: { ...names, ...part },
      base: draft?.base ?? namesOf(user),
      etag: draft?.etag ?? etag,
    });
  const isChanged = names.first_name !== user.first_name || names.last_name !== user.last_name;
  // Until the record has been read again, `user` is what the form began with, and not what is stored.
  const isConflict = draft !== null && draft.etag !== etag && isCode(write.error, 'precondition_failed');
  const error = isConflict ? null : write.error;
  return (
    <>
      <Form
        onSubmit={() => write.run({ body: names, version: draft?.etag ?? etag })}
        isPending={write.isPending}
        error={error}
        fields={['first_name', 'last_name']}
        submitLabel={t.common.actions.save}
        isDisabled={!isChanged}
      >
        <div className="account-pair">
          <TextInput
            label={texts.firstName}
            autoComplete="given-name"
            value={names.first_name}
            error={fieldError(error, 'first_name')}
            onChange={(event) => change({ first_name: event.currentTarget.value })}
          />
          <TextInput
            label={texts.lastName}
            autoComplete="family-name"
            value={names.last_name}
            error={fieldError(error, 'last_name')}
            onChange={(event) => change({ last_name: event.currentTarget.value })}
          />
        </div>
        <dl className="account-facts">
          <div>
            <dt>{texts.email}</dt>
            <dd>
              <span data-raw>{user.email}</span>
              <Button variant="default" size="xs" onClick={() => setChanging(true)}>
                {texts.changeEmail}
              </Button>
            </dd>
          </div>
          <div>
            <dt>{texts.roles}</dt>
            <dd>
              {user.is_superuser && <span className="badge badge-accent">{t.common.status.superuser}</span>}{' '}
              {user.roles.length > 0 ? (
                <span className="chips">
                  {user.roles.map(({ id, name }) => (
                    <span key={id} className="chip">
                      {name}
                    </span>
                  ))}
                </span>
              ) : (
                <span className="muted">{texts.noRoles}</span>
              )}
              <small>{texts.rolesFixed}</small>
            </dd>
          </div>
        </dl>
        <p className="muted">{texts.since(formatDay(user.created_at))}</p>
      </Form>
      <LeaveGuard when={isChanged} />
      <Suspense>{isChanging && <ChangeEmail onClose={() => setChanging(false)} />}</Suspense>
      {isConflict && (
        <FieldConflict
          versions={{ base: draft.base, mine: names, theirs: namesOf(user) }}
          fields={[
            { name: 'first_name', label: texts.firstName },
            { name: 'last_name', label: texts.lastName },
          ]}
          onClose={write.reset}
          onSave={(body) => {
            setDraft({ names: body, base: namesOf(user), etag });
            write.run({ body, version: etag });
          }}
        />
      )}
    </>
  );
}
