// English texts of recovery codes that are shown once, wherever that is.
export const recoveryCodeTexts = {
  shownTitle: 'Keep your recovery codes',
  list: 'Your recovery codes',
  download: 'Download',
  print: 'Print',
  kept: 'I have kept them',
  file: (service: string, email: string) =>
    `Recovery codes of ${email} for ${service}.\nEach signs in once, in the place of the second factor.\n`,
};
