/** 64 secret bits, so that a client cannot choose addresses that fall into the same bucket. */
export type HashKey = readonly [low: number, high: number]

/**
 * HalfSipHash-1-3 (Aumasson and Bernstein) of the first `count` words, as the Linux kernel implements it for its own
 * hash tables (`hsiphash`). 32 bits, signed.
 */
export function halfSipHash(words: Int32Array, count: number, [low, high]: HashKey): number {
  let a = low
  let b = high
  let c = 0x6c796765 ^ low
  let d = 0x74656462 ^ high
  for (let step = 0; step < count + 4; step++) {
    const word = step < count ? words[step]! : step === count ? count << 26 : 0
    if (step === count + 1) c ^= 0xff
    d ^= word
    a = (a + b) | 0
    b = ((b << 5) | (b >>> 27)) ^ a
    a = (a << 16) | (a >>> 16)
    c = (c + d) | 0
    d = ((d << 8) | (d >>> 24)) ^ c
    a = (a + d) | 0
    d = ((d << 7) | (d >>> 25)) ^ a
    c = (c + b) | 0
    b = ((b << 13) | (b >>> 19)) ^ c
    c = (c << 16) | (c >>> 16)
    a ^= word
  }
  return b ^ d
}
