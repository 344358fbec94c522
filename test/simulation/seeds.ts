/**
 * Seeds whose histories failed once, and do not any more. A change of the code or of the simulation makes another
 * history of a seed; it is run all the same.
 */
export const SEEDS: readonly number[] = [
  3, 902503085, 902503284, 902503324, 1006327399, 1071050856, 22, 37, 107, 190, 209, 349, 460, 565, 1246, 2774, 5065,
];
