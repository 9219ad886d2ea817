// Creates a provider: its kind, then a form with what that kind has.
import { TextInput } from '@mantine/core';
import { IconArrowLeft, IconChevronRight } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { pageSettings } from '../../../common/page-settings.ts';
import { Form, fieldError, LeaveGuard } from '../../components/forms/forms.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { call, useWrite } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { later, t } from '../../text.ts';
import { Addresses, Happens } from './Facts.tsx';
import { fieldNames, hasField, kinds, type ProviderKind } from './form/fields.ts';
import { isWhole, namedFields, ProviderFields } from './form/ProviderFields.tsx';
import { emptyValues, faultOf, newBodyOf } from './form/values.ts';
import './identity-providers.css';

const route = getRouteApi('/identity-providers/new');

export function NewProvider(): ReactElement {
  const texts = later.identityProviders;
  const { kind } = route.useSearch();
  const { user } = useMe();
  return (
    <>
      <Link to={kind ? '/identity-providers/new' : '/identity-providers'} className="recipe-back">
        <IconArrowLeft size={15} aria-hidden className="mirrored" />{' '}
        {kind ? texts.other : t.common.nav.identityProviders}
      </Link>
      <PageHeader title={texts.create} note={kind ? texts.kinds[kind] : undefined} />
      {!user.is_superuser && <p role="alert">{texts.onlySuperusers}</p>}
      {kind ? <NewForm key={kind} kind={kind} /> : <Choice />}
    </>
  );
}

function Choice(): ReactElement {
  const texts = later.identityProviders;
  return (
    <section aria-labelledby="kinds">
      <h2 id="kinds" className="section-title">
        {texts.pick}
      </h2>
      <ul className="recipes">
        {kinds.map((kind) => (
          <li key={kind}>
            <Link to="/identity-providers/new" search={{ kind }} className="recipe">
              <span>
                <span className="row-name" data-raw>
                  {texts.kinds[kind]}
                </span>
                <span className="row-note">{texts.kindTexts[kind]}</span>
              </span>
              <IconChevronRight size={18} aria-hidden className="mirrored" />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

const isSlug = (text: string): boolean => /^[a-z0-9-]{1,40}$/.test(text);

/** As the service builds it from PUBLIC_URL. */
const addressAt = (slug: string, end: string): string | null =>
  isSlug(slug) ? `${pageSettings.issuer}/api/v1/auth/providers/${slug}/${end}` : null;

function NewForm({ kind }: { kind: ProviderKind }): ReactElement {
  const texts = later.identityProviders;
  const navigate = route.useNavigate();
  const { user } = useMe();
  const [start] = useState(() => ({
    ...emptyValues(kind),
    name: kind === 'oidc' ? '' : texts.kinds[kind],
  }));
  const [values, setValues] = useState(start);
  const firstSlug = kind === 'oidc' ? '' : kind;
  const [slug, setSlug] = useState<string>(firstSlug);
  const [isChecked, setChecked] = useState(false);
  const write = useWrite(
    () => call('POST /api/v1/identity-providers', { body: newBodyOf(kind, slug, values) }),
    ({ data }) => {
      notifyDone(texts.created(data.name));
      void navigate({ to: '/identity-providers/$id', params: { id: data.id }, replace: true });
    },
  );
  const isDirty = slug !== firstSlug || fieldNames.some((name) => values[name] !== start[name]);
  return (
    <div className="provider">
      <LeaveGuard when={isDirty && !write.isPending} of={['kind']} />
      <Form
        onSubmit={() => {
          setChecked(true);
          if (fieldNames.every((name) => faultOf(name, values[name]) === null)) write.run(undefined);
        }}
        isPending={write.isPending}
        error={write.error}
        fields={namedFields(write.error, ['slug'])}
        submitLabel={t.common.actions.create}
        isDisabled={!user.is_superuser || slug.trim() === '' || !isWhole(kind, values)}
      >
        <ProviderFields
          kind={kind}
          values={values}
          isChecked={isChecked}
          error={write.error}
          isReadOnly={!user.is_superuser}
          hasSecret={null}
          onChange={(name, value) => setValues((now) => ({ ...now, [name]: value }))}
          first={
            <TextInput
              label={texts.fields.slug.label}
              description={texts.fields.slug.help}
              required
              autoComplete="off"
              spellCheck={false}
              value={slug}
              error={fieldError(write.error, 'slug')}
              readOnly={!user.is_superuser}
              onChange={(event) => setSlug(event.currentTarget.value)}
              data-raw
            />
          }
        />
      </Form>
      <aside className="provider-facts">
        <Addresses
          redirect={addressAt(slug.trim(), 'callback')}
          backchannel={hasField(kind, 'logout') ? addressAt(slug.trim(), 'backchannel-logout') : null}
        />
        <Happens kind={kind} values={values} />
      </aside>
    </div>
  );
}
