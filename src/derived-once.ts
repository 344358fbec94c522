/** Caches what is derived from immutable objects, for as long as each object lives. */
export function derivedOnce<Source extends object, Derived>(
  derive: (source: Source) => Derived,
): (source: Source) => Derived {
  const known = new WeakMap<Source, Derived>();
  return (source) => {
    let derived = known.get(source);
    if (derived === undefined) {
      derived = derive(source);
      known.set(source, derived);
    }
    return derived;
  };
}
