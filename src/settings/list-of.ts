import { splitCommas } from './network-types.ts'
import { accept, type Decoded, type Raw, refuse, type ValueType } from './value-type.ts'

/** A list of texts; `check` returns the remedy for an invalid item, and undefined for a valid one. */
export function listOf(
  name: string,
  check: (item: string) => string | undefined,
): ValueType<readonly string[]> {
  const decodeItems = (items: readonly Raw[]): Decoded<readonly string[]> => {
    for (const item of items) {
      const remedy = typeof item === 'string' ? check(item) : 'write texts; put them in quotes'
      if (remedy !== undefined) return refuse(`${JSON.stringify(item)} is none: ${remedy}`)
    }
    return accept(items.map(String))
  }
  return {
    name,
    isList: true,
    decode: (raw) => (Array.isArray(raw) ? decodeItems(raw) : refuse('write a list')),
    fromFlag: (value) => decodeItems(splitCommas(value)),
    encode: (value) => value,
  }
}
