const MAX_LENGTH = 80
const MAX_ITEMS = 10
const MAX_DEPTH = 3
/** What remains of a character that was cut in two. */
const HALF_CHARACTER = /[\ud800-\udbff]$/

/**
 * A value from outside as one short line for a message: JSON if it is small, otherwise abbreviated with `…`. The cost
 * does not depend on the size and depth of the value. The result has no control, formatting or unpaired characters,
 * which could manipulate a terminal or a log.
 */
export function quote(value: unknown): string {
  if (value === undefined) return '(absent)'
  const text = sketch(value, MAX_DEPTH).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escapeUnits)
  return text.length <= MAX_LENGTH
    ? text
    : `${text.slice(0, MAX_LENGTH - 1).replace(HALF_CHARACTER, '')}…`
}

/** A text without the quotation marks around it, if it has a pair. */
export function unquoted(text: string): string {
  return text.replace(/^(["'])(.*)\1$/su, '$2')
}

function sketch(value: unknown, depth: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_LENGTH))
  if (typeof value !== 'object' || value === null) return String(value)
  if (depth === 0) return '…'
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_ITEMS).map((item) => sketch(item, depth - 1))
    return `[${withRest(items, value.length)}]`
  }
  const keys = Object.keys(value)
  const fields = keys.slice(0, MAX_ITEMS).map((key) => {
    return `${sketch(key, depth)}:${sketch(value[key as keyof typeof value], depth - 1)}`
  })
  return `{${withRest(fields, keys.length)}}`
}

function withRest(items: readonly string[], length: number): string {
  return (length > items.length ? [...items, '…'] : items).join(',')
}

function escapeUnits(character: string): string {
  return [...Array(character.length).keys()]
    .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
    .join('')
}

const MAX_CHARACTERS = 512
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/**
 * Makes text from the network safe for a log line: one line of at most 512 characters, without control characters.
 */
export function printable(text: string): string {
  const line = text
    .slice(0, 4 * MAX_CHARACTERS)
    .replace(UNPRINTABLE, ' ')
    .trim()
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS - 1)}…` : line
}
