# A client with Authlib, of Hsiaoming Yang. It prints the address to send the browser to, reads the address that the browser arrived at,
# and prints what it got as JSON. It must not know which provider it talks to.
import json
import os
import sys

import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oidc.core import CodeIDToken

issuer = os.environ["ISSUER"]
metadata = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=60).json()
session = OAuth2Session(
    os.environ["CLIENT_ID"],
    os.environ["CLIENT_SECRET"],
    scope="openid email offline_access",
    redirect_uri=os.environ["REDIRECT_URI"],
    code_challenge_method="S256",
    token_endpoint=metadata["token_endpoint"],
    revocation_endpoint=metadata["revocation_endpoint"],
)
verifier = "authlib-" + os.urandom(32).hex()
nonce = os.urandom(16).hex()
address, state = session.create_authorization_url(
    metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce, prompt="consent"
)
print(address, flush=True)

arrived = sys.stdin.readline().strip()
token = session.fetch_token(
    metadata["token_endpoint"], authorization_response=arrived, state=state, code_verifier=verifier
)
keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"], timeout=60).json())
claims = jwt.decode(
    token["id_token"],
    keys,
    claims_cls=CodeIDToken,
    claims_options={"iss": {"values": [issuer]}, "aud": {"values": [os.environ["CLIENT_ID"]]}},
    claims_params={"nonce": nonce, "client_id": os.environ["CLIENT_ID"]},
)
claims.validate()
about = session.get(metadata["userinfo_endpoint"]).json()
first = token["access_token"]
refreshed = session.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
again = session.get(metadata["userinfo_endpoint"]).json()
session.revoke_token(metadata["revocation_endpoint"], token=refreshed["access_token"])
ended = session.get(metadata["userinfo_endpoint"]).status_code
print(
    json.dumps(
        {
            "sub": claims["sub"],
            "email": about["email"],
            "again": again["sub"],
            "is_new": refreshed["access_token"] != first,
            "ended": ended,
            "id_token": refreshed.get("id_token", token["id_token"]),
            "end_session_endpoint": metadata["end_session_endpoint"],
        }
    ),
    flush=True,
)
