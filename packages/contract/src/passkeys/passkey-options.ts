// Schema of the options with which a browser asks for a passkey (Web Authentication Level 3, section 5.1).
// It imports no envelope: the envelope of errors contains it.
import Type from 'typebox';

export const PasskeyDescriptor = Type.Object({
  id: Type.String(),
  type: Type.Literal('public-key'),
  transports: Type.Optional(Type.Array(Type.String())),
});

export const PasskeyRequestOptions = Type.Object(
  {
    challenge: Type.String(),
    rpId: Type.String(),
    timeout: Type.Integer({ description: 'Milliseconds.' }),
    userVerification: Type.Enum(['required', 'preferred', 'discouraged']),
    allowCredentials: Type.Optional(Type.Array(PasskeyDescriptor)),
  },
  {
    title: 'PasskeyRequestOptions',
    description: 'For `PublicKeyCredential.parseRequestOptionsFromJSON()` and `navigator.credentials.get()`.',
  },
);
