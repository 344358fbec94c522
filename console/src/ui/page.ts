import { useEffect, useRef, useState } from 'preact/hooks';

/** Whether the page is as narrow as a phone. */
export function useNarrow(): boolean {
  const query = useRef(matchMedia('(max-width: 640px)'));
  const [isNarrow, setNarrow] = useState(query.current.matches);
  useEffect(() => {
    const { current } = query;
    const onChange = (): void => setNarrow(current.matches);
    current.addEventListener('change', onChange);
    return () => current.removeEventListener('change', onChange);
  }, []);
  return isNarrow;
}

/** Whether the page is scrolled down from its top. */
export function useScrolledAway(): boolean {
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    const look = (): void => setAway(scrollY > 200);
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  return isAway;
}
