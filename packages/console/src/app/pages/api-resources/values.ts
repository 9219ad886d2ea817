// The fields of an API resource as the texts that a form holds, and back.
import type { ApiResource, CreateApiResource } from '@castellan/sdk';

/** Every field of the body: a new one is a compile error here. */
export type ResourceField = keyof CreateApiResource;
export type FormValues = Record<ResourceField, string>;

export const fieldNames = [
  'name',
  'identifier',
  'description',
  'permission_group_ids',
  'access_token_seconds',
  'signing_alg',
] as const satisfies readonly ResourceField[];

export const emptyValues: FormValues = {
  name: '',
  identifier: '',
  description: '',
  permission_group_ids: '',
  access_token_seconds: '300',
  signing_alg: 'RS256',
};

export const idsIn = (text: string): string[] => text.split(' ').filter((one) => one !== '');

export const valuesOf = (resource: ApiResource): FormValues => ({
  name: resource.name,
  identifier: resource.identifier,
  description: resource.description,
  permission_group_ids: [...resource.permission_group_ids].sort().join(' '),
  access_token_seconds: String(resource.access_token_seconds),
  signing_alg: resource.signing_alg,
});

/** Whether the lifetime is a whole number. The service judges how large it may be. */
export const isWhole = ({ access_token_seconds }: FormValues): boolean =>
  /^\d{1,6}$/.test(access_token_seconds.trim());

export const bodyOf = (values: FormValues) =>
  ({
    name: values.name,
    identifier: values.identifier.trim(),
    description: values.description,
    permission_group_ids: idsIn(values.permission_group_ids),
    access_token_seconds: Number(values.access_token_seconds),
    signing_alg: values.signing_alg === 'ES256' ? 'ES256' : 'RS256',
  }) satisfies Required<CreateApiResource>;
