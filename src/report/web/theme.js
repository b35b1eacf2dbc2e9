// Light and dark: the system's, until the reader presses the button; paper is always light.
(function () {
  'use strict';
  const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');
  const followers = new Set();
  let chosen = null;  // by the reader
  let printing = false;

  const theme = {
    name: () => (printing ? 'light' : chosen || (prefersDark.matches ? 'dark' : 'light')),
    colours: () => ampere.THEMES[theme.name()],
    printing: () => printing,
    // Calls draw() whenever the look changes. Returns what ends that.
    follow: (draw) => {
      followers.add(draw);
      return () => followers.delete(draw);
    },
    apply: () => {
      document.documentElement.dataset.theme = theme.name();
      document.getElementById('theme').textContent = theme.name() === 'dark' ? 'Light' : 'Dark';
      followers.forEach((draw) => draw());
    }
  };
  ampere.theme = theme;

  document.getElementById('theme').addEventListener('click', () => {
    chosen = theme.name() === 'dark' ? 'light' : 'dark';
    theme.apply();
  });
  prefersDark.addEventListener('change', theme.apply);
  window.addEventListener('beforeprint', () => { printing = true; theme.apply(); });
  window.addEventListener('afterprint', () => { printing = false; theme.apply(); });
  let waiting = 0;
  window.addEventListener('resize', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => followers.forEach((draw) => draw()), 120);
  });
})();
