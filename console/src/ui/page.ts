import { signal } from '@preact/signals';

const narrow = matchMedia('(max-width: 640px)');

/** Whether the page is as narrow as a phone. */
export const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', ({ matches }) => {
  isNarrow.value = matches;
});

/** Whether the page is scrolled down from its top. */
export const isScrolledAway = signal(false);
addEventListener('scroll', () => {
  isScrolledAway.value = scrollY > 200;
});
