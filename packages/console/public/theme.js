// Applies the color scheme and the direction before the first paint. Everything else belongs into the bundles.
(() => {
  const read = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null; // storage is blocked: the system's scheme applies
    }
  };
  const { documentElement: root } = document;
  const chosen = read('castellan.scheme');
  const isDark =
    chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  root.dataset.mantineColorScheme = isDark ? 'dark' : 'light';
  if (read('castellan.language') === 'en-XB') root.dir = 'rtl';
})();
