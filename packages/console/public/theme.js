// Applies the color scheme, the language and the direction before the first paint. Everything else belongs into the bundles.
(() => {
  const read = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null; // storage is blocked: the system's scheme and language apply
    }
  };
  const { documentElement: root } = document;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const applyScheme = () => {
    const chosen = read('castellan.scheme');
    const isDark = chosen === 'dark' || (chosen !== 'light' && system.matches);
    root.dataset.mantineColorScheme = isDark ? 'dark' : 'light';
  };
  applyScheme();
  system.onchange = applyScheme;
  // These pages do not begin as the sign-in page does: see src/auth/sign-in/pending.ts and src/auth/pages/interaction.
  const isLater = () => {
    try {
      const { pathname, hash, search } = location;
      if (/[?&]interaction=/.test(search)) return true;
      const { [pathname]: link, 'castellan.second-step': step } = sessionStorage;
      return Boolean(link || step || /recovery/i.test(hash));
    } catch {
      return false; // without storage, nothing was kept
    }
  };
  if (isLater()) root.dataset.step = '';
  // The rule of src/common/language.ts, for what shows before the scripts have run.
  const own = read('castellan.language');
  const wanted = ['en', 'de', 'en-XB'].includes(own)
    ? own
    : [new URLSearchParams(location.search).get('ui_locales') ?? '', ...navigator.languages]
        .map((tag) => tag.split('-')[0])
        .find((tag) => ['en', 'de'].includes(tag));
  // Without a language that we have, the page keeps that of the setting LANGUAGE.
  if (wanted) root.lang = wanted;
  root.dir = wanted === 'en-XB' ? 'rtl' : 'ltr';
})();
