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
