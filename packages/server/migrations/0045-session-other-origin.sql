-- Phase: expand
-- With VALIDATE_TOKEN_IP=by-family, the address of a session's first refresh over the other address family than the sign-in's: IPv6
-- for a sign-in over IPv4, or the reverse. Later refreshes of that family are compared with it.
alter table sessions add column other_origin_address text;
