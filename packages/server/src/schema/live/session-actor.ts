// Who acts as the user of a session, and whether they still can: their own session is live, and nothing has to be done in it first.
// It must not contain a whole statement.

/** The user who acts, with what decides whether they may. */
export type Actor = { id: string; is_superuser: boolean; role_ids: string[] };

/**
 * The session `o` of the user `a` who acts in the session `s`. A scalar subquery around it is evaluated for sessions with such a user
 * alone, and never planned as a join or a hash of all sessions.
 */
const actingFor = `
  (select * from sessions where user_id = s.acted_by_id and id = s.acted_by_session_id offset 0) o
  join users a on a.id = o.user_id
  where is_live_session(o.revoked_at, o.expires_at, o.epoch, a.session_epoch, a.is_active)
    and not (a.must_change_password and a.password_hash is not null)`;

/** SQL condition on a session `s`: nobody acts in it, or somebody who still can. */
export const isActorLive = `
  case when s.acted_by_session_id is null then true else coalesce((select true from ${actingFor}), false) end`;

/** Select list item of an `Actor`, from a session `s`. */
export const actorColumn = `
  case when s.acted_by_session_id is not null then (
    select json_build_object('id', a.id, 'is_superuser', a.is_superuser,
      'role_ids', array(select r.role_id from held_user_roles r where r.user_id = a.id)) from ${actingFor}) end as actor`;

/** Null for a session of the user. */
export type ShownActor = {
  acted_by: { id: string; email: string; first_name: string; last_name: string } | null;
};

/** Select list item of `ShownActor`, from a session `s`. */
export const shownActorColumn = `
  case when s.acted_by_id is not null then (
    select json_build_object('id', a.id, 'email', a.email, 'first_name', a.first_name, 'last_name', a.last_name)
    from users a where a.id = s.acted_by_id) end as acted_by`;
