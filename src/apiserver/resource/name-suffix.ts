import type { Random } from '../../lib/random.ts'

/** The length in characters. */
const LENGTH = 5
/** Characters without vowels, so that no words appear. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'

/** The random suffix of a generated name, in the form of Kubernetes: `x7k2m`. */
export function nameSuffix(random: Pick<Random, 'below'>): string {
  let suffix = ''
  for (let index = 0; index < LENGTH; index++) {
    suffix += ALPHABET[random.below(ALPHABET.length)]
  }
  return suffix
}
