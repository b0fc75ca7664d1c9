import { formatDuration, parseDuration } from '../lib/duration.ts'
import { nearest } from '../lib/nearest.ts'
import { splitCommas } from './network-types.ts'
import {
  accept,
  type Decoded,
  MAX_ITEMS,
  type Raw,
  refuse,
  type ValueSchema,
  type ValueType,
} from './value-type.ts'

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['t', true],
  ['1', true],
  ['false', false],
  ['f', false],
  ['0', false],
])

/** True or false; in flags also t, 1, f and 0. */
export const boolean: ValueType<boolean> = {
  name: 'boolean',
  schema: { type: 'boolean' },
  decode: (raw) => (typeof raw === 'boolean' ? accept(raw) : refuse('write true or false')),
  fromFlag(text) {
    const value = BOOLEANS.get(text.toLowerCase())
    return value === undefined ? refuse('write true or false') : accept(value)
  },
  encode: (value) => value,
}

/**
 * A text. `check` returns the remedy for an invalid one, and undefined for a valid one. `pattern`: a regular expression
 * that every valid one matches.
 */
export function text(
  check: (text: string) => string | undefined = () => undefined,
  pattern?: RegExp,
): ValueType<string> {
  const decode = (raw: Raw): Decoded<string> => {
    if (typeof raw !== 'string') return refuse('write text; put it in quotes')
    const remedy = check(raw)
    return remedy === undefined ? accept(raw) : refuse(remedy)
  }
  return {
    name: 'string',
    schema: matching(pattern),
    decode,
    fromFlag: decode,
    encode: (value) => value,
  }
}

function matching(pattern: RegExp | undefined): ValueSchema {
  return pattern === undefined ? { type: 'string' } : { type: 'string', pattern: pattern.source }
}

/** A whole number within bounds, both included. */
export function integer(min: number, max: number): ValueType<number> {
  const remedy = `write a whole number from ${min} to ${max}`
  const decode = (raw: Raw): Decoded<number> =>
    typeof raw === 'number' && Number.isInteger(raw) && raw >= min && raw <= max
      ? accept(raw)
      : refuse(remedy)
  return {
    name: `integer ${min}…${max}`,
    schema: { type: 'integer', minimum: min, maximum: max },
    decode,
    fromFlag: (flag) => decode(/^-?(0|[1-9][0-9]{0,15})$/.test(flag) ? Number(flag) : null),
    encode: (value) => value,
  }
}

const DECIMAL = /^[0-9]+(\.[0-9]+)?$/

/** A number above 0, at most `max`. */
export function positiveNumber(max: number): ValueType<number> {
  const remedy = `write a number above 0, at most ${max}`
  const decode = (raw: Raw): Decoded<number> =>
    typeof raw === 'number' && raw > 0 && raw <= max ? accept(raw) : refuse(remedy)
  return {
    name: 'number',
    schema: { type: 'number', exclusiveMinimum: 0, maximum: max },
    decode,
    fromFlag: (flag) => decode(DECIMAL.test(flag) ? Number(flag) : null),
    encode: (value) => value,
  }
}

/** A number from 0 to `max`. */
export function numberUpTo(max: number): ValueType<number> {
  const remedy = `write a number from 0 to ${max}`
  const decode = (raw: Raw): Decoded<number> =>
    typeof raw === 'number' && raw >= 0 && raw <= max ? accept(raw) : refuse(remedy)
  return {
    name: `number 0…${max}`,
    schema: { type: 'number', minimum: 0, maximum: max },
    decode,
    fromFlag: (flag) => decode(DECIMAL.test(flag) ? Number(flag) : null),
    encode: (value) => value,
  }
}

/** The number 0, or a text with units. */
const DURATION: ValueSchema = {
  type: ['string', 'integer'],
  pattern: '^(0|([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$',
  minimum: 0,
  maximum: 0,
}

/** A duration of at least `min` milliseconds, decoded to milliseconds; written with a unit, except for 0. */
export function duration(min = 0): ValueType<number> {
  const example = 'write a duration with a unit, such as 250ms, 30s or 1h2m'
  const decode = (raw: Raw): Decoded<number> => {
    const ms = raw === 0 ? 0 : typeof raw === 'string' ? parseDuration(raw) : undefined
    if (ms === undefined) return refuse(example)
    return ms < min ? refuse(`write at least ${formatDuration(min)}`) : accept(ms)
  }
  return { name: 'duration', schema: DURATION, decode, fromFlag: decode, encode: formatDuration }
}

/** One of several texts. */
export function oneOf<const T extends string>(values: readonly T[]): ValueType<T> {
  const choices = values.map((value) => (value === '' ? '""' : value)).join(', ')
  const decode = (raw: Raw): Decoded<T> => {
    const found = values.find((value) => value === raw)
    if (found !== undefined) return accept(found)
    const meant = typeof raw === 'string' ? nearest(raw, values) : undefined
    const hint = meant === undefined ? '' : `did you mean ${JSON.stringify(meant)}? `
    return refuse(`${hint}write one of ${choices}`)
  }
  return {
    name: `one of ${choices}`,
    schema: { enum: values },
    decode,
    fromFlag: decode,
    encode: (value) => value,
  }
}

/**
 * A list of texts; `check` returns the remedy for an invalid item, and undefined for a valid one. `pattern`: a regular
 * expression that every valid item matches. A refusal names the item, counted from 0.
 */
export function listOf(
  name: string,
  check: (item: string) => string | undefined,
  pattern?: RegExp,
): ValueType<readonly string[]> {
  const decodeItems = (items: readonly Raw[]): Decoded<readonly string[]> => {
    for (const [at, item] of items.entries()) {
      const remedy = typeof item === 'string' ? check(item) : 'write texts; put them in quotes'
      if (remedy !== undefined) return refuse(remedy, `[${at}]`)
    }
    return accept(items.map(String))
  }
  return {
    name,
    schema: { type: 'array', items: matching(pattern), maxItems: MAX_ITEMS },
    isList: true,
    decode: (raw) => (Array.isArray(raw) ? decodeItems(raw) : refuse('write a list')),
    fromFlag: (value) => decodeItems(splitCommas(value)),
    encode: (value) => value,
  }
}
