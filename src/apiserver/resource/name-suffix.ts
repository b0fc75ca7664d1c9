import type { Random } from '../../lib/random.ts'

/** In characters. */
const LENGTH = 5
/** These characters make no words. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'

/** The random end of a generated name, as Kubernetes makes it: `x7k2m`. */
export function nameSuffix(random: Pick<Random, 'below'>): string {
  let suffix = ''
  for (let index = 0; index < LENGTH; index++) {
    suffix += ALPHABET[random.below(ALPHABET.length)]
  }
  return suffix
}
