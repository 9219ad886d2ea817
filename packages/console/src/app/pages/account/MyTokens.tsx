// The personal access tokens of the signed-in person: make one, which is shown once, and end one.
import type { NewPersonalToken } from '@castellan/sdk';
import { Button, Modal, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { DateTimeInput } from '../../components/forms/DateTimeInput.tsx';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { LoadingLines } from '../../components/page/LoadingLines.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { TokenList } from '../../components/personal-tokens/TokenList.tsx';
import { Narrowing } from '../../components/secrets/Narrowing.tsx';
import { SecretDialog } from '../../components/secrets/SecretDialog.tsx';
import { call, reading, useWrite } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { later, t } from '../../text.ts';

export function MyTokens({ titleId }: { titleId: string }): ReactElement {
  const texts = later.personalTokens;
  const query = useQuery(reading('GET /api/v1/users/me/tokens', {}));
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<NewPersonalToken | null>(null);
  const tokens = query.data?.data;
  return (
    <>
      <h2 className="section-title" id={titleId}>
        {texts.title}
      </h2>
      {tokens && <p className="muted">{tokens.length === 0 ? texts.empty : texts.text}</p>}
      <ReadErrors of={[query]} />
      {!tokens && !query.error && <LoadingLines />}
      {tokens && tokens.length > 0 && (
        <TokenList
          tokens={tokens}
          end={({ id }) => call('DELETE /api/v1/users/me/tokens/{token_id}', { path: { token_id: id } })}
          endButton={({ name }, ask) => (
            <Button variant="default" size="xs" aria-label={texts.endOf(name)} onClick={ask}>
              {texts.end}
            </Button>
          )}
        />
      )}
      <div>
        <Button variant="default" onClick={() => setCreating(true)}>
          {texts.create}
        </Button>
      </div>
      {isCreating && (
        <TokenDialog
          onClose={() => setCreating(false)}
          onMade={(token) => {
            setCreating(false);
            setMade(token);
          }}
        />
      )}
      {made && (
        <SecretDialog
          secret={made.token}
          name={made.name}
          texts={texts.secret}
          onClose={() => setMade(null)}
        />
      )}
    </>
  );
}

/** The end that the dialog proposes, in days from now. */
const PROPOSED_DAYS = 30;

const inDays = (days: number): string => {
  const end = new Date();
  end.setUTCDate(end.getUTCDate() + days);
  end.setUTCSeconds(0, 0);
  return end.toISOString();
};

type DialogProps = { onClose: () => void; onMade: (token: NewPersonalToken) => void };

function TokenDialog({ onClose, onMade }: DialogProps): ReactElement {
  const texts = later.personalTokens;
  const { user } = useMe();
  const [name, setName] = useState('');
  const [expires, setExpires] = useState<string | undefined>(() => inDays(PROPOSED_DAYS));
  const [narrowed, setNarrowed] = useState<readonly string[] | null>(null);
  const write = useWrite(
    () =>
      call('POST /api/v1/users/me/tokens', {
        body: {
          name,
          expires_at: expires ?? '',
          ...(narrowed ? { permissions: [...narrowed] } : {}),
        },
      }),
    ({ data }) => onMade(data),
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.create}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => write.run(undefined)}
        isPending={write.isPending}
        error={write.error}
        fields={['name', 'expires_at']}
        submitLabel={t.common.actions.create}
        onCancel={onClose}
        isDisabled={narrowed?.length === 0 || expires === undefined}
      >
        <TextInput
          data-autofocus
          required
          label={t.serviceAccounts.keys.name}
          description={texts.nameHelp}
          autoComplete="off"
          value={name}
          error={fieldError(write.error, 'name')}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <DateTimeInput
          required
          label={texts.expires}
          description={texts.expiresHelp}
          value={expires}
          error={fieldError(write.error, 'expires_at')}
          onChange={setExpires}
        />
        <Narrowing
          texts={texts.narrowing}
          permissions={user.permissions}
          value={narrowed}
          onChange={setNarrowed}
        />
      </Form>
    </Modal>
  );
}
