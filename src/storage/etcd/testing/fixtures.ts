import { type Random, systemRandom } from '../../../lib/random.ts'

/** A store begins with the endpoint at this place. */
export function beginningAt(place: number): { readonly random: Random } {
  return { random: { ...systemRandom, below: () => place } }
}
