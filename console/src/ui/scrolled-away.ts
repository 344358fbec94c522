import { useEffect, useState } from 'preact/hooks';

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
