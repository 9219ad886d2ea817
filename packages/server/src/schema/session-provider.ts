// What lists of sessions show of the provider that a session began at. It must not contain a whole statement.

/** Null for a session that did not begin with an identity. */
export type ShownProvider = { provider: { slug: string; name: string } | null };

/** Select list item of `ShownProvider`, from `sessions s`. */
export const providerColumn = `
  case when s.identity_id is not null then (
    select json_build_object('slug', v.slug, 'name', v.name)
    from identities i join identity_providers v on v.id = i.provider_id where i.id = s.identity_id) end as provider`;
