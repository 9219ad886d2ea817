// What a browser answers when somebody used or made a passkey, as the API takes it.

/** The types of browsers list the extensions that they know; those of the API take any. */
export const passkeyAnswer = <T extends { clientExtensionResults: object }>({
  clientExtensionResults,
  ...rest
}: T) => ({ ...rest, clientExtensionResults: { ...clientExtensionResults } });
