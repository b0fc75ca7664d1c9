import { type Random, systemRandom } from '../../../lib/random.ts'

/** Makes a store begin with the endpoint at this index. */
export function beginningAt(place: number): { readonly random: Random } {
  return { random: { ...systemRandom, below: () => place } }
}
