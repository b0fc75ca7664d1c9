import { randomBytes } from 'node:crypto'

/** The label of a value that was found, and its encoding: `password of web: base64`. */
export type Finding = string

/** The length of the parts for which is searched, so that a truncated value is found by its remaining part. */
const PART = 20

/**
 * Values that must not appear in any encoding that programs use: plain, in base64 at any position of a longer text, in
 * base64 twice, in hex, and percent-encoded.
 */
export class KnownValues {
  readonly #needles: { readonly finding: Finding; readonly bytes: Buffer }[] = []

  /** A new random value: two halves of letters and digits around characters that are often escaped. */
  make(label: string): string {
    const half = (): string => randomBytes(PART / 2).toString('hex')
    const value = `${half()}/+&="% <${half()}`
    this.#add(label, value.slice(0, PART))
    this.#add(label, value.slice(-PART))
    return value
  }

  /** Adds a value that a server made, such as a token, whose last part cannot be guessed. */
  know(label: string, value: string): string {
    this.#add(label, value.slice(-PART))
    this.#add(label, value.slice(-2 * PART, -PART))
    return value
  }

  /** Every value that the bytes contain, in every encoding. */
  foundIn(bytes: Buffer | string): readonly Finding[] {
    const text = Buffer.from(bytes)
    const found = this.#needles.filter((needle) => text.includes(needle.bytes))
    return [...new Set(found.map(({ finding }) => finding))]
  }

  #add(label: string, part: string): void {
    for (const [writing, text] of writings(part)) {
      this.#needles.push({ finding: `${label}: ${writing}`, bytes: Buffer.from(text) })
    }
  }
}

function writings(part: string): readonly (readonly [writing: string, text: string])[] {
  const hex = Buffer.from(part).toString('hex')
  const once = base64Anywhere(part)
  return [
    ['in clear', part],
    ['hex', hex],
    ['hex', hex.toUpperCase()],
    ['percent-encoded', hex.replaceAll(/../g, '%$&').toUpperCase()],
    ...once.map((text) => ['base64', text] as const),
    ...once.flatMap(base64Anywhere).map((text) => ['base64 of base64', text] as const),
  ]
}

/**
 * The base64 forms of a text at each of its possible offsets in a longer text, without the characters that depend on
 * its neighbours; also in base64url if that differs.
 */
function base64Anywhere(text: string): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.from(' '.repeat(before) + text)
    const whole = bytes
      .subarray(0, bytes.length - (bytes.length % 3))
      .subarray(before === 0 ? 0 : 3)
    return [...new Set([whole.toString('base64'), whole.toString('base64url')])]
  })
}
