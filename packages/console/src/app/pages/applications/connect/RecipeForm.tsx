// The form of one recipe. It shows what will be registered before it is, and the configuration afterwards.
import type { NewApplication } from '@castellan/sdk';
import { TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { pageSettings } from '../../../../common/page-settings.ts';
import { Form, fieldError, LeaveGuard } from '../../../components/forms/forms.tsx';
import { call, useWrite } from '../../../data/api.ts';
import { failureOf } from '../../../data/errors.ts';
import { later } from '../../../text.ts';
import { filled, type Recipe, siteOf, type Values } from '../recipes/recipe.ts';
import { Connected } from './Connected.tsx';

const RANDOM_BYTES = 16;

const randomDigits = (): string =>
  [...crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');

/** Fields of the body that the address of the form becomes. */
const addressFields = ['home_url', 'redirect_uris', 'post_logout_redirect_uris', 'backchannel_logout_url'];

/** Returns the first error at a field that was made of the address, such as `redirect_uris.0`. */
function addressError(error: unknown): { field: string; message: string } | undefined {
  if (!error) return undefined;
  const found = [...failureOf(error).fields].find(([field]) =>
    addressFields.includes(field.split('.')[0] ?? ''),
  );
  return found && { field: found[0], message: found[1] };
}

export function RecipeForm({ recipe }: { recipe: Recipe }): ReactElement {
  const texts = later.applications.connect;
  const { asks, type, example } = recipe;
  const [name, setName] = useState(recipe.product ?? later.applications.types[type]);
  const [clientId, setClientId] = useState(recipe.clientId);
  const [typed, setTyped] = useState('');
  const [isChecked, setChecked] = useState(false);
  const [random] = useState(randomDigits);
  const [made, setMade] = useState<NewApplication | null>(null);
  const address = asks === null ? '' : asks === 'site' ? siteOf(typed) : typed.trim() || null;
  const values: Values = {
    address: address ?? example,
    issuer: pageSettings.issuer,
    client_id: clientId.trim(),
    client_secret: '',
    random,
  };
  const { application } = filled(recipe, values);
  const write = useWrite(
    () =>
      call('POST /api/v1/applications', {
        body: { ...application, type, client_id: values.client_id, name },
      }),
    ({ data }) => setMade(data),
  );
  if (made) return <Connected application={made} recipe={recipe} values={values} />;
  const atAddress = addressError(write.error);
  const wrongAddress = isChecked && address === null ? texts.notAnAddress(example) : atAddress?.message;
  const isDirty = typed !== '' || clientId !== recipe.clientId;
  return (
    <div className="recipe-form">
      <LeaveGuard when={isDirty && !write.isPending} of={['recipe']} />
      <div className="panel">
        <Form
          onSubmit={() => {
            setChecked(true);
            if (address !== null) write.run(undefined);
          }}
          isPending={write.isPending}
          error={write.error}
          fields={['name', 'client_id', ...(atAddress ? [atAddress.field] : [])]}
          submitLabel={texts.submit}
          isDisabled={name.trim() === '' || clientId.trim() === ''}
        >
          {asks !== null && (
            <TextInput
              required
              type="text"
              inputMode="url"
              label={asks === 'site' ? texts.site : texts.redirect}
              description={asks === 'site' ? texts.siteHelp : texts.redirectHelp}
              placeholder={example}
              autoComplete="off"
              spellCheck={false}
              value={typed}
              error={wrongAddress}
              onBlur={() => setChecked(typed !== '')}
              onChange={(event) => setTyped(event.currentTarget.value)}
              data-raw
            />
          )}
          <TextInput
            required
            label={texts.name}
            description={texts.nameHelp}
            autoComplete="off"
            value={name}
            error={fieldError(write.error, 'name')}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <TextInput
            required
            label={texts.clientId}
            description={texts.clientIdHelp}
            autoComplete="off"
            spellCheck={false}
            value={clientId}
            error={fieldError(write.error, 'client_id')}
            onChange={(event) => setClientId(event.currentTarget.value)}
          />
        </Form>
      </div>
      <Registered application={application} />
    </div>
  );
}

function Registered({ application }: Pick<Recipe, 'application'>): ReactElement {
  const texts = later.applications.connect;
  const rows = [
    [texts.registersRedirect, application.redirect_uris],
    [texts.registersLogout, application.post_logout_redirect_uris],
    [texts.registersBackchannel, application.backchannel_logout_url && [application.backchannel_logout_url]],
    [texts.registersClaim, application.claims?.map(({ name }) => name)],
  ] as const;
  return (
    <aside className="panel" aria-labelledby="registered">
      <h2 id="registered" className="section-title">
        {texts.registers}
      </h2>
      <dl className="registered">
        {rows.map(
          ([label, values]) =>
            values && (
              <div key={label}>
                <dt>{label}</dt>
                {values.map((value) => (
                  <dd key={value} className="mono">
                    {value}
                  </dd>
                ))}
              </div>
            ),
        )}
      </dl>
      {application.redirect_uris && <p className="muted">{texts.pkce}</p>}
    </aside>
  );
}
