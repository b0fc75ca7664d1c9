/** Random whole numbers below a bound, from a seed: the same ones again for the same seed. */
export function seededBelow(seed: number): (bound: number) => number {
  let state = seed >>> 0
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

const INTERESTING = [0, 1, 0x0c, 0x29, 0x3f, 0x40, 0x80, 0xc0, 0xff] as const
const MAX_CHANGES = 6

/** A copy of a message with bytes changed, cut off, repeated or added. */
export function mutated(message: Buffer, below: (bound: number) => number): Buffer {
  let bytes = Buffer.from(message)
  for (let changes = 1 + below(MAX_CHANGES); changes > 0; changes -= 1) {
    const at = below(bytes.length + 1)
    switch (below(6)) {
      case 0:
        if (at < bytes.length) bytes[at] = below(256)
        break
      case 1:
        if (at < bytes.length) bytes[at] = INTERESTING[below(INTERESTING.length)]!
        break
      case 2:
        if (at < bytes.length) bytes[at] = bytes[at]! ^ (1 << below(8))
        break
      case 3:
        bytes = bytes.subarray(0, at)
        break
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.alloc(below(300), below(256))])
        break
      default:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(below(at + 1))])
    }
  }
  return bytes
}
