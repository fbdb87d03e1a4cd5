/** The name that may be meant by one that does not exist. Imports nothing: the command bundles it. */

/** The name of `names` that is nearest to `given`, if one is near. */
export function nearest(given: string, names: readonly string[]): string | undefined {
  const near = (most: number) => names.find((known) => isNear(known, given, most))
  return near(1) ?? near(Math.min(2, given.length >> 1))
}

/** Whether `a` becomes `b` if at most `most` letters are added, left out or replaced. */
function isNear(a: string, b: string, most: number): boolean {
  if (a === b || most < 1) return a === b
  let same = 0
  while (a[same] === b[same]) same++
  const [x, y] = [a.slice(same), b.slice(same)]
  const [shortX, shortY] = [x.slice(1), y.slice(1)]
  const near = (one: string, other: string) => isNear(one, other, most - 1)
  return near(shortX, y) || near(x, shortY) || near(shortX, shortY)
}
