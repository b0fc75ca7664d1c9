const QUANTITY = /^([+-]?)(\d*)\.?(\d*)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,3})?$/
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

/** Longer texts and larger amounts do not occur in real clusters, and are left unchanged. */
const MAX_LENGTH = 64
const LARGEST = 2n ** 63n

/** The smallest unit is a billionth; amounts are counted in it. */
const NANOS = 10n ** 9n

/**
 * A quantity as Kubernetes writes it, so that equal quantities are equal texts: a whole number with the largest
 * possible suffix of its own kind (binary or decimal). Below 1Ki, and for fractions of bytes, that is a decimal
 * suffix. Less than a billionth is rounded up to it. A value that is not a quantity is returned unchanged.
 */
export function canonicalQuantity(value: unknown): unknown {
  const text = textOf(value)
  if (text === undefined) return value
  const [, sign, whole = '', fraction = '', suffix = ''] = QUANTITY.exec(text) ?? []
  if (whole + fraction === '') return value
  const nanos = amountOf(whole, fraction, suffix)
  if (nanos === undefined || nanos >= LARGEST * NANOS) return text
  if (nanos === 0n) return '0'
  return `${sign === '-' ? '-' : ''}${written(nanos, suffix)}`
}

/** A quantity in thousandths, rounded up; undefined if it is negative, too large or not a quantity. */
export function milliQuantity(value: unknown): number | undefined {
  return quantityIn(6, value)
}

/** A quantity in whole units, such as bytes, rounded up; undefined if it is negative, too large or not a quantity. */
export function wholeQuantity(value: unknown): number | undefined {
  return quantityIn(9, value)
}

/** In 10^`places` billionths. */
function quantityIn(places: number, value: unknown): number | undefined {
  const [, sign, whole = '', fraction = '', suffix = ''] = QUANTITY.exec(textOf(value) ?? '') ?? []
  if (sign === '-' || whole + fraction === '') return undefined
  const nanos = amountOf(whole, fraction, suffix)
  if (nanos === undefined) return undefined
  const amount = Number(dividedUp(nanos, places))
  return Number.isSafeInteger(amount) ? amount : undefined
}

/** Undefined if the value cannot be a quantity. */
function textOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? decimalText(value) : value
  return typeof text === 'string' && text.length <= MAX_LENGTH ? text : undefined
}

/** Not in the form `1e-7`, which is a different kind of quantity. */
function decimalText(value: number): string {
  return Math.abs(value) < 1e18 ? value.toFixed(9) : String(value)
}

/** In billionths, rounded up; undefined if the exponent is larger than any amount. */
function amountOf(whole: string, fraction: string, suffix: string): bigint | undefined {
  const digits = BigInt(whole + fraction)
  const binary = BINARY.indexOf(suffix)
  const decimal = DECIMAL.indexOf(suffix)
  const exponent = decimal < 0 ? Number(suffix.slice(1)) : decimal * 3 - 9
  if (binary > 0) return dividedUp((digits * NANOS) << BigInt(binary * 10), fraction.length)
  const shift = exponent + 9
  if (Math.abs(shift) > MAX_LENGTH) return undefined
  const raised = digits * 10n ** BigInt(Math.max(shift, 0))
  return dividedUp(raised, fraction.length + Math.max(-shift, 0))
}

function dividedUp(value: bigint, places: number): bigint {
  const divisor = 10n ** BigInt(places)
  return (value + divisor - 1n) / divisor
}

function written(nanos: bigint, suffix: string): string {
  const units = nanos / NANOS
  const isBinary = BINARY.indexOf(suffix) > 0
  if (isBinary && nanos % NANOS === 0n && units >= 1024n) {
    const { count, steps } = stripped(units, 1024n, BINARY.length - 1)
    return `${count}${BINARY[steps]}`
  }
  const { count, steps } = stripped(nanos, 1000n, DECIMAL.length - 1)
  const exponent = steps * 3 - 9
  if (!/^[eE][+-]?\d/.test(suffix)) return `${count}${DECIMAL[steps]}`
  return exponent === 0 ? String(count) : `${count}e${exponent}`
}

/** A count without its factors of `base`, and the number of these factors. */
function stripped(count: bigint, base: bigint, most: number) {
  let [rest, steps] = [count, 0]
  while (steps < most && rest % base === 0n) {
    rest /= base
    steps++
  }
  return { count: rest, steps }
}
